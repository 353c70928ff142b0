#include "host/kept/recorder.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/loop_clock.h"
#include "base/offload.h"
#include "base/strings.h"
#include "base/timeout.h"
#include "host/failure_memory.h"
#include "host/kept/server_files.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using std::chrono::floor;

constexpr auto between_writes = 500ms;
// The end of a program does not wait for a disk that hangs.
constexpr auto for_last_write = 2s;
constexpr std::size_t longest_line = 4096;
constexpr std::size_t most_of_line = 2 * longest_line;  // before secrets are taken out
constexpr std::size_t line_overhead = 32;               // of a line's time and kind
constexpr std::size_t most_unwritten = 256u << 10;      // of one log: a server may write faster than a disk

std::string state_words(const ServerStatus& status, std::string_view error) {
  std::string out(to_string(status.state));
  if (status.state == ServerState::connected) {
    out += fmt::format(": {}", plural(status.tool_count, "tool"));
    if (status.server) out += fmt::format(", protocol {}", status.server->protocol_version);
  }
  if (const auto reason = to_string(status.reason); !reason.empty()) out += fmt::format(" ({})", reason);
  if (!error.empty()) out += fmt::format(": {}", error);
  return out;
}

std::string_view to_words(ShutdownStep step) {
  switch (step) {
    case ShutdownStep::none:
      break;
    case ShutdownStep::input_closed:
      return "stdin closed";
    case ShutdownStep::interrupted:
      return "SIGINT";
    case ShutdownStep::terminated:
      return "SIGTERM";
    case ShutdownStep::killed:
      return "SIGKILL";
  }
  return "";
}

// Who ended it, and how it ended.
std::string end_words(const ProcessEnd& end) {
  const auto who = end.step == ShutdownStep::none ? std::string("ended by itself")
                                                  : fmt::format("ended by Patchbay ({})", to_words(end.step));
  return fmt::format("{}: {}", who,
                     end.status ? describe(*end.status) : "its guard process (patchbay-warden) was killed");
}

}  // namespace

ServerRecorder::ServerRecorder(std::string state_directory, Log log)
    : directory_(std::move(state_directory)), log_(std::move(log)) {}

void ServerRecorder::begin(asio::any_io_executor executor) {
  if (!scope_) scope_.emplace(std::move(executor));
}

void ServerRecorder::use(const LoadedConfig& config, const VariableLookup& startup) {
  context_ = key_context(config, startup);
  project_ = config.project_dir;
  environment_ = environment_of_process();
  for (const auto& variable : config.environment) environment_[variable.name] = variable.value;
  policy_ = kept_policy(context_.variables);
  log_paths_.clear();
}

const ServerRecorder::Started& ServerRecorder::started(const ServerConfig& config) {
  auto key = server_key(config, context_);
  auto& known = started_[config.name];
  // The entry may have been edited since.
  if (known.key.hash != key.hash) {
    known.stamp = stamp_of(key.files);
    known.key = std::move(key);
  }
  return known;
}

const std::string& ServerRecorder::log_path(const ServerConfig& config) {
  auto& path = log_paths_[config.name];
  if (path.empty()) path = server_log_path(directory_, config, project_);
  return path;
}

void ServerRecorder::note(const ServerConfig& config, const ServerStatus& status, const Tools& tools) {
  if (!scope_ || finished_ || config.standing != ServerStanding::active || config.origin.scope == ConfigScope::embedded)
    return;
  if (status.reason == ServerReason::closed) return;
  held_back_.erase(config.name);
  if (status.reason == ServerReason::connecting) started_.erase(config.name);
  const auto& [key, stamp] = started(config);
  const auto second = floor<std::chrono::seconds>(now());
  std::string error;
  if (status.error) {
    error = failure_of(config, context_.variables, environment_, *status.error, "", second).message;
  }
  if (auto words = state_words(status, error); told_[config.name] != words) {
    add_event(config, words);
    told_[config.name] = std::move(words);
  }
  const bool settled = status.state == ServerState::connected || status.state == ServerState::failed ||
                       status.state == ServerState::needs_auth;
  if (!settled) return;
  if (auto credential = refusal_key(config, key, stamp)) {
    if (status.state == ServerState::needs_auth) {
      work_.refusals[*credential] = {KnownRefusal{second, error}, second};
    } else if (status.state == ServerState::connected && recall_refusal(directory_, *credential, second)) {
      work_.refusals[*credential] = {std::nullopt, second};
    }
  }
  if (policy_.on) {
    KeptServer kept;
    kept.name = config.name;
    kept.stamp = stamp;
    kept.state = KeptState{status.state, std::string(to_string(status.reason)), std::move(error), second};
    if (status.server)
      kept.description = KeptDescription{*status.server, status.era ? std::string(to_string(*status.era)) : ""};
    const bool listed = status.reason == ServerReason::none || status.reason == ServerReason::changed_tools;
    if (status.state == ServerState::connected && listed) {
      kept.tools = KeptList<std::shared_ptr<const Tool>>{second, tools};
    }
    work_.servers.insert_or_assign(key.hash, std::pair(key, std::move(kept)));
  }
  write_soon();
}

StartWatch ServerRecorder::starting(const ServerConfig& config, TextSecrets secrets) {
  if (!scope_ || finished_ || config.origin.scope == ConfigScope::embedded) return {};
  // The program as it is before it is started: one that is replaced meanwhile is another one.
  started_.erase(config.name);
  (void)started(config);
  if (config.kind != ServerKind::stdio) return {};
  told_.erase(config.name);
  add_event(config, "starting");
  auto stream = std::make_shared<Stream>(Stream{config, std::make_shared<const TextSecrets>(std::move(secrets))});
  std::erase_if(streams_, [](const auto& one) { return one.expired(); });
  streams_.push_back(stream);
  return {.wrote =
              [weak = weak_from_this(), stream](std::string_view text) {
                if (const auto self = weak.lock()) self->wrote(*stream, text);
              },
          .ended =
              [weak = weak_from_this(), stream](const ProcessEnd& end) {
                if (const auto self = weak.lock()) self->ended(*stream, end);
              }};
}

// Of a line that is too long the beginning is kept. It is kept whole until then: a secret that was written in two
// pieces is one.
void ServerRecorder::wrote(Stream& stream, std::string_view text) {
  if (!scope_ || finished_) return;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const auto part = text.substr(0, end);
    if (!stream.skips_rest) {
      stream.line.append(part.substr(0, most_of_line - stream.line.size()));
      if (stream.line.size() == most_of_line) {
        end_line(stream, true);
        stream.skips_rest = true;
      }
    }
    if (end == text.npos) return;
    if (!std::exchange(stream.skips_rest, false)) end_line(stream, false);
    text.remove_prefix(end + 1);
  }
}

void ServerRecorder::end_line(Stream& stream, bool cut_off) {
  const auto time = floor<std::chrono::milliseconds>(now());
  add_line(stream.config, {.line = {time, ServerLogKind::wrote, std::exchange(stream.line, {})},
                           .secrets = stream.secrets,
                           .cut_off = cut_off});
}

void ServerRecorder::ended(Stream& stream, const ProcessEnd& end) {
  if (!scope_ || finished_) return;
  if (!stream.line.empty()) end_line(stream, true);
  stream.skips_rest = false;
  add_event(stream.config, end_words(end));
}

void ServerRecorder::add_event(const ServerConfig& config, std::string_view text) {
  const auto time = floor<std::chrono::milliseconds>(now());
  add_line(config, {.line = {time, ServerLogKind::event, std::string(text)}});
}

void ServerRecorder::add_line(const ServerConfig& config, Line line) {
  auto& log = work_.logs[log_path(config)];
  if (log.bytes > most_unwritten) return;
  const auto time = line.line.time;
  log.bytes += line.line.text.size() + line_overhead;
  log.lines.push_back(std::move(line));
  if (log.bytes > most_unwritten) {
    log.lines.push_back({.line = {time, ServerLogKind::event, "lines are missing here: too many came at once"}});
  }
  write_soon();
}

std::optional<Error> ServerRecorder::hold_back(const ServerConfig& config) {
  if (!scope_ || config.kind == ServerKind::stdio || config.standing != ServerStanding::active) return std::nullopt;
  const auto key = server_key(config, context_);
  const auto credential = refusal_key(config, key, stamp_of(key.files));
  if (!credential) return std::nullopt;
  const auto second = floor<std::chrono::seconds>(now());
  const auto known = recall_refusal(directory_, *credential, second);
  if (!known) return std::nullopt;
  held_back_.insert(config.name);
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(second - known->time).count();
  return Error(
      Errc::unauthorized,
      fmt::format("{} (it said so {}; it is asked again {} after that, or at once when it is named)", known->message,
                  minutes == 0 ? std::string("just now")
                               : fmt::format("{} ago", plural(static_cast<std::size_t>(minutes), "minute")),
                  plural(static_cast<std::size_t>(refusals_last.count()), "minute")));
}

Clock::WallTime ServerRecorder::now() const { return loop_clock(scope_->executor()).wall(); }

void ServerRecorder::write_soon() {
  if (!scope_ || finished_ || std::exchange(writing_, true)) return;
  scope_->spawn(write_until_done());
}

// Waits a moment first: what happens at the same time is written together.
Task<void> ServerRecorder::write_until_done() {
  const auto self = shared_from_this();
  while (!work_.empty()) {
    if (!finished_) (void)co_await as_result(with_timeout(wake_.wait(), between_writes, "it is time"));
    auto outcome = co_await as_result(write_all());
    if (!outcome) break;
  }
  writing_ = false;
  idle_.notify_all();
}

std::string ServerRecorder::write(const std::string& directory, Work work) {
  std::string first;
  auto look = [&first](const Result<void>& written) {
    if (!written && first.empty()) first = written.error().message();
  };
  for (auto& [hash, one] : work.servers) look(keep_server(directory, one.first, std::move(one.second)));
  for (auto& [path, log] : work.logs) {
    std::string text;
    for (auto& [line, secrets, cut_off] : log.lines) {
      if (secrets) {
        if (cut_off) line.text = secrets->without_begun(line.text);
        line.text = secrets->lines(line.text, 1, longest_line);
      }
      text += write_log_line(line);
    }
    look(append_server_log(path, text));
  }
  for (const auto& [key, one] : work.refusals) look(remember_refusal(directory, key, one.first, one.second));
  return first;
}

Task<void> ServerRecorder::write_all() {
  if (work_.empty()) co_return;
  auto work = std::make_shared<Work>(std::exchange(work_, {}));
  auto run = [directory = directory_, work] { return write(directory, std::move(*work)); };
  const auto failure = co_await offload(Pool::slow, std::move(run));
  if (!failure.empty()) warn(failure);
}

void ServerRecorder::warn(const std::string& why) {
  if (!std::exchange(warned_, true)) log_(LogLevel::warning, "state_not_kept", "text", why);
}

Task<void> ServerRecorder::written() {
  while (writing_) co_await idle_.wait();
}

Task<void> ServerRecorder::finish() {
  const auto self = shared_from_this();
  if (!scope_) co_return;
  for (const auto& one : streams_) {
    if (const auto stream = one.lock(); stream && !stream->line.empty()) end_line(*stream, true);
  }
  write_soon();
  finished_ = true;
  wake_.notify_all();
  (void)co_await as_result(with_timeout(written(), for_last_write, "the state directory did not answer in time"));
  scope_->cancel();
  (void)co_await as_result(scope_->join());
}

}  // namespace patchbay
