#include "cli/session/control.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

#include <patchbay/version.h>

#include "base/crypto.h"
#include "base/scope.h"
#include "cli/texts/present.h"
#include "cli/texts/time_words.h"
#include "gateway/host_view.h"
#include "rpc/error_data.h"
#include "rpc/peer.h"
#include "settings/folders.h"

namespace patchbay::cli {
namespace {

constexpr std::size_t name_digits = 32;
// A session that is busy reads its files soon by itself.
constexpr std::chrono::milliseconds change_limit{2000};

bool is_private_folder(const std::string& path) {
  struct stat about{};
  // By its mode as well: to root, access() says yes about /proc, where nothing can be made.
  return ::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == ::geteuid() &&
         (about.st_mode & 0322) == 0300 && ::access(path.c_str(), W_OK | X_OK) == 0;
}

Task<void> ask(Fd socket, std::string method, Json params, std::chrono::milliseconds limit, Result<Json>& answer) {
  auto executor = co_await asio::this_coro::executor;
  const Runtime runtime;
  auto peer =
      std::make_shared<Peer>(executor, socket_channel(executor, std::move(socket), runtime), runtime, Peer::Handlers{});
  peer->start();
  PeerCall call;
  call.id = peer->reserve_id();
  call.method = std::move(method);
  if (!params.is_null()) call.params = std::move(params);
  call.total = limit;
  auto answered = co_await peer->ask(std::move(call));
  co_await peer->close(CloseMode::quick);
  if (answered) {
    answer = std::move(*answered).take();
    co_return;
  }
  // As it was thrown in the session.
  RpcError told;
  if (auto data = Payload::parse(answered.error().rpc_data())) told.data = std::move(*data);
  answer = std::unexpected(carried_error(told).value_or(answered.error()));
}

std::string text_in(const Json& object, std::string_view key) {
  const auto text = object[key].text();
  return text ? std::string(*text) : std::string();
}

}  // namespace

std::string session_directory() {
  std::error_code gone;
  auto directory = std::filesystem::canonical(std::filesystem::current_path(gone), gone);
  if (gone) {
    throw Error(Errc::config, fmt::format("the current directory does not exist any more ({}); change to another one",
                                          gone.message()));
  }
  return directory.string();
}

std::optional<SocketPlace> session_place(const std::string& directory, const VariableLookup& lookup) {
  const auto name = sha256_hex(directory).substr(0, name_digits) + ".sock";
  if (auto run = lookup("XDG_RUNTIME_DIR"); run && run->starts_with('/') && is_private_folder(*run)) {
    return SocketPlace{*run + "/patchbay", name};
  }
  const auto state = state_folder(lookup);
  if (state.empty()) return std::nullopt;
  return SocketPlace{state + "/session", name};
}

SocketPlace session_place() {
  auto place = session_place(session_directory(), process_environment());
  if (!place) throw Error(Errc::config, "there is no place for the socket of a session: set XDG_RUNTIME_DIR or HOME");
  return std::move(*place);
}

std::optional<SessionAnswer> ask_session(const SocketPlace& place, std::string_view method, Json params,
                                         std::chrono::milliseconds limit) {
  auto socket = connect_own_socket(place);
  if (!socket) throw std::move(socket).error();
  if (!*socket) return std::nullopt;
  SessionAnswer out{(*socket)->pid, Json()};
  asio::io_context loop(1);
  Scope scope(loop.get_executor());
  scope.spawn(ask(std::move((*socket)->fd), std::string(method), std::move(params), limit, out.answer));
  loop.run();
  return out;
}

Task<Json> answer_of_session(SocketPlace place, std::string method, Json params, std::chrono::milliseconds limit) {
  auto socket = connect_own_socket(place);
  if (!socket) throw std::move(socket).error();
  if (!*socket) throw Error(Errc::connect, "the session has ended");
  Result<Json> answer = Json();
  co_await ask(std::move((*socket)->fd), std::move(method), std::move(params), limit, answer);
  co_return value_or_throw(std::move(answer));
}

std::optional<SessionState> running_session() {
  const auto found = session_place(session_directory(), process_environment());
  if (!found) return std::nullopt;
  const auto& place = *found;
  auto said = ask_session(place, session_method::status);
  if (!said) return std::nullopt;
  if (!said->answer) {
    // It ended while it was asked.
    if (said->answer.error().code() == Errc::closed && !connect_own_socket(place).value_or(std::nullopt)) {
      return std::nullopt;
    }
    throw Error(Errc::timeout, fmt::format("the session of this directory (process {}) does not answer: {}; to end it: "
                                           "patchbay session stop; to do without it: --no-session",
                                           said->pid, said->answer.error().message()));
  }
  SessionState state;
  state.place = place;
  state.pid = said->pid;
  state.all = std::move(*said->answer);
  const auto& all = std::as_const(state.all);
  state.version = text_in(all, "version");
  state.since = text_in(all, "since");
  state.directory = text_in(all, "directory");
  return state;
}

void require_same_version(const SessionState& session) {
  if (session.version == version()) return;
  throw Error(
      Errc::config,
      fmt::format("a session of patchbay {} runs in this directory, and this program is patchbay {}; to restart "
                  "it: patchbay session stop && patchbay session start",
                  safe_name(session.version, 40), version()));
}

std::optional<SessionState> session_seen() {
  try {
    return running_session();
  } catch (const Error&) {
    return std::nullopt;
  }
}

void tell_session_of_change() noexcept {
  try {
    const auto place = session_place(session_directory(), process_environment());
    // Its answer comes after it has read them.
    if (place) (void)ask_session(*place, session_method::status, {}, change_limit);
  } catch (...) {
  }
}

std::optional<SessionServer> server_in(const SessionState& session, std::string_view server) {
  for (const auto& said : session.all["servers"].items()) {
    if (text_in(said, "name") != server) continue;
    SessionServer out{.reason = text_in(said, "reason"), .error = text_in(said, "error")};
    const auto count = [&](std::string_view key) {
      return static_cast<std::size_t>(std::max<std::int64_t>(said[key].to_int().value_or(0), 0));
    };
    out.tool_count = count("toolCount");
    out.attempt = count("attempt");
    out.attempts = count("attempts");
    if (const Json& failure = said["lastFailure"]; failure.is_object()) {
      out.last_failure =
          LastFailure{text_in(failure, "error"), std::chrono::seconds(failure["age"].to_int().value_or(0))};
    }
    for (const auto state : {ServerState::connected, ServerState::failed, ServerState::needs_auth, ServerState::pending,
                             ServerState::disabled}) {
      if (text_in(said, "state") == to_string(state)) out.state = state;
    }
    return out;
  }
  return std::nullopt;
}

std::string session_line(const SessionState& session) {
  return fmt::format("session: running since {}, pid {}\n", safe_name(local_time(session.since), 40), session.pid);
}

Json session_json(const SessionState& session) {
  return {{"running", true},
          {"pid", session.pid},
          {"since", session.since},
          {"socket", session.place.path()},
          {"version", session.version},
          {"directory", session.directory}};
}

}  // namespace patchbay::cli
