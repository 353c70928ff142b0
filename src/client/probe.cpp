#include "client/probe.h"

#include <algorithm>

#include <fmt/format.h>

#include "protocol/codec.h"
#include "protocol/wire.h"

namespace patchbay {
namespace {

bool in(std::span<const std::string_view> ours, std::string_view version) {
  return std::ranges::find(ours, version) != ours.end();
}

// The newest of ours that the server has too.
std::optional<std::string> common(std::span<const std::string_view> ours, const std::vector<std::string>& theirs) {
  for (auto version : ours) {
    if (std::ranges::find(theirs, version) != theirs.end()) return std::string(version);
  }
  return std::nullopt;
}

Error no_common_version(const std::vector<std::string>& theirs) {
  std::vector<std::string_view> ours(modern_versions().begin(), modern_versions().end());
  ours.insert(ours.end(), legacy_versions().begin(), legacy_versions().end());
  return Error(
      Errc::unsupported,
      fmt::format("no common protocol revision: the server speaks {}, Patchbay speaks {}; update the older of the two",
                  fmt::join(theirs, ", "), fmt::join(ours, ", ")));
}

// Whether an HTTP answer to the first request says that its sender does not know it: some
// 4xx, or a success in which there is no answer to it, be it a body or a whole stream.
bool says_unknown(const Error& error) {
  const int status = error.http_status().value_or(0);
  if (error.code() == Errc::protocol || error.code() == Errc::closed) return status / 100 == 2;
  return error.code() == Errc::http && status / 100 == 4 && status != 408 && status != 429;
}

// What a server without Streamable HTTP answers to a POST.
bool wants_older_transport(const Error& error) {
  const int status = error.http_status().value_or(0);
  if (error.rpc_code() && is_modern_error(*error.rpc_code())) return false;
  return status == 400 || status == 404 || status == 405;
}

// An answer to initialize that says what is spoken from now on.
Result<Probe::Step> read_initialize_result(const Json& answer) {
  const Json& version = answer["protocolVersion"];
  if (!version.is_string())
    return fail(Errc::protocol,
                "the server's answer to initialize has no \"protocolVersion\"; report it to the server's author");
  if (in(modern_versions(), version.as_text())) {
    return fail(Errc::unsupported, fmt::format("the server answered initialize with protocol revision {}, which does "
                                               "not have this request; report it to the server's author",
                                               version.as_text()));
  }
  if (!in(legacy_versions(), version.as_text()))
    return std::unexpected(no_common_version({std::string(version.as_text())}));
  Probe::Step step{.what = Probe::Step::Do::settled, .version = std::string(version.as_text())};
  step.server.protocol_version = step.version;
  step.server.supported_versions = {step.version};
  if (auto info = decode<Implementation>(answer["serverInfo"])) step.server.info = std::move(*info);
  if (const Json* capabilities = answer.find("capabilities")) {
    if (auto decoded = decode<ServerCapabilities>(*capabilities)) step.server.capabilities = std::move(*decoded);
  }
  if (const auto text = answer["instructions"].text()) step.server.instructions = *text;
  return step;
}

}  // namespace

Probe::Probe(std::string_view wanted, bool older_transport, FirstQuestion first)
    : wanted_(wanted.empty() ? "auto" : wanted),
      older_transport_(older_transport),
      remembered_(wanted_ == "auto" && first == FirstQuestion::initialize) {}

bool Probe::is_modern(const Json& discover_answer) {
  const auto server = read_discover_result(discover_answer);
  return server && common(modern_versions(), server->supported_versions);
}

Probe::Step Probe::failed(Error error) { return Step{.what = Step::Do::fail, .error = std::move(error)}; }

Probe::Step Probe::discover(std::string version) {
  discover_open_ = true;
  discovered_with_.insert(version);
  return Step{.what = Step::Do::send_discover, .version = std::move(version)};
}

Probe::Step Probe::initialize(std::string version) {
  initialize_open_ = true;
  initialize_sent_ = true;
  initialized_with_.insert(version);
  return Step{.what = Step::Do::send_initialize, .version = std::move(version)};
}

Probe::Step Probe::start() {
  if (remembered_) return initialize(std::string(legacy_versions().front()));
  if (wanted_ == "auto") return discover(std::string(modern_versions().front()));
  if (wanted_ == "legacy") return initialize(std::string(legacy_versions().front()));
  if (in(modern_versions(), wanted_)) return discover(wanted_);
  if (in(legacy_versions(), wanted_)) return initialize(wanted_);
  return failed(Error(Errc::config, fmt::format("unknown protocol \"{}\"; use auto, legacy or a revision such as {}",
                                                wanted_, legacy_versions().front())));
}

Probe::Step Probe::choose(const std::vector<std::string>& supported, const ServerDescription* server) {
  if (auto modern = common(modern_versions(), supported)) {
    if (server) {
      Step step{.what = Step::Do::settled, .version = *modern, .server = *server};
      step.server.protocol_version = *modern;
      step.legacy = false;
      return step;
    }
    if (!discovered_with_.contains(*modern)) return discover(*modern);
    // It refused the very revision it lists: ask once more, then believe the refusal.
    if (!retried_same_) {
      retried_same_ = true;
      return discover(*modern);
    }
    return failed(Error(Errc::protocol, fmt::format("the server says that it supports protocol revision {}, but "
                                                    "refuses a request that uses it; report it to the server's author",
                                                    *modern)));
  }
  if (auto legacy = common(legacy_versions(), supported); legacy && wanted_ == "auto") {
    if (initialize_open_) return Step{};
    if (!initialized_with_.contains(*legacy)) return initialize(*legacy);
    return failed(refusal_.value_or(Error(Errc::protocol,
                                          "the server refused both requests that can open a session, server/discover "
                                          "and initialize; report it to the server's author")));
  }
  return failed(no_common_version(supported));
}

Probe::Step Probe::not_modern() {
  if (in(modern_versions(), wanted_)) {
    return failed(Error(Errc::unsupported, fmt::format("the server does not support protocol revision {}, which its "
                                                       "entry requires; change \"protocol\" in the entry",
                                                       wanted_)));
  }
  if (!initialize_sent_) return initialize(std::string(legacy_versions().front()));
  if (initialize_open_) return Step{};
  return give_up(refusal_.value_or(Error(Errc::protocol,
                                         "the server refused both requests that can open a session, server/discover "
                                         "and initialize; report it to the server's author")));
}

// Both ways to begin were refused over this transport.
Probe::Step Probe::give_up(const Error& error) {
  if (!older_transport_ || !wants_older_transport(error)) return failed(error);
  older_transport_ = false;
  auto step = initialize(std::string(legacy_versions().front()));
  step.what = Step::Do::fall_back;
  step.error = error;
  return step;
}

Probe::Step Probe::on_discover(const Result<Json>& answer) {
  discover_open_ = false;
  if (answer) {
    if (auto server = read_discover_result(*answer)) return choose(server->supported_versions, &*server);
    return not_modern();
  }
  const auto& error = answer.error();
  if (says_unknown(error)) return not_modern();
  if (error.code() != Errc::rpc) {
    return initialize_open_ ? Step{} : failed(error);
  }
  if (error.rpc_code() == modern_code::unsupported_version) {
    auto supported = supported_versions_of(error);
    return supported.empty() ? failed(error) : choose(supported, nullptr);
  }
  if (is_modern_error(*error.rpc_code())) return failed(error);
  return not_modern();
}

Probe::Step Probe::on_initialize(const Result<Json>& answer) {
  initialize_open_ = false;
  if (answer) {
    auto step = read_initialize_result(*answer);
    if (!step) return remembered_ ? initialize_refused(std::move(step).error()) : failed(std::move(step).error());
    // A server that was not asked otherwise, or has not answered that yet, showed nothing new.
    const bool asked = remembered_ ? !discovered_with_.empty() && !discover_open_ : !discovered_with_.empty();
    if (asked) step->legacy = true;
    return std::move(*step);
  }
  const auto& error = answer.error();
  if (error.code() == Errc::rpc && !is_modern_error(*error.rpc_code())) {
    // Some servers refuse an unknown revision instead of offering their own.
    if (auto other = common(legacy_versions(), supported_versions_of(error));
        other && !initialized_with_.contains(*other)) {
      return initialize(*other);
    }
  }
  return initialize_refused(error);
}

Probe::Step Probe::initialize_refused(Error error) {
  refusal_ = error;
  if (discover_open_) return Step{};
  const bool answered = error.code() == Errc::rpc || error.code() == Errc::protocol ||
                        error.code() == Errc::unsupported || says_unknown(error);
  if (only_remembered() && answered) return discover(std::string(modern_versions().front()));
  return give_up(error);
}

Probe::Step Probe::on_silence() {
  if (only_remembered() && initialize_open_) return discover(std::string(modern_versions().front()));
  if (initialize_sent_ || wanted_ != "auto") return Step{};
  return initialize(std::string(legacy_versions().front()));
}

Probe::Step Probe::on_closed(const Error& error) {
  // It ended before it read anything: another first request would end in the same way.
  if (error.carried_out() == CarriedOut::no) return failed(error);
  // Some old servers end at the first request they do not know, however long they took to
  // read it: whether initialize was sent as well meanwhile does not matter.
  const bool nothing_answered = discover_open_ && (initialize_open_ || !initialize_sent_);
  if (nothing_answered && !reopened_ && wanted_ == "auto") {
    reopened_ = true;
    discover_open_ = false;
    auto step = initialize(std::string(legacy_versions().front()));
    step.what = Step::Do::reopen;
    return step;
  }
  // Or it has changed, and what is remembered of it ends it.
  if (only_remembered() && initialize_open_ && !reopened_) {
    reopened_ = true;
    initialize_open_ = initialize_sent_ = false;
    initialized_with_.clear();
    auto step = discover(std::string(modern_versions().front()));
    step.what = Step::Do::start_over;
    return step;
  }
  return failed(remembered_ && refusal_ ? *refusal_ : error);
}

}  // namespace patchbay
