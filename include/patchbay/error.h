// The one error type of Patchbay. Coroutines throw it, pure code returns it in a
// Result. Errc says what the caller can do about it, the message what happened, and a Remedy
// what would help, for a program to put into its own words. A tool that answers with
// isError is not an Error: that is a value (see types.h).
#pragma once

#include <cstdint>
#include <exception>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <patchbay/compiler.h>

namespace patchbay {

enum class Errc : std::uint8_t {
  cancelled,         // the caller asked for it
  timeout,           // a limit of ours ran out
  closed,            // the connection ended while something was pending
  connect,           // the server could not be started or reached
  tls,               // a certificate or handshake was refused
  http,              // an HTTP status that is neither sign-in nor session
  unauthorized,      // sign-in needed
  forbidden,         // signed in, but not allowed
  protocol,          // the peer broke the protocol
  rpc,               // the peer answered with a JSON-RPC error
  unsupported,       // the peer or this build lacks the feature
  invalid_argument,  // the caller's input is wrong
  limit,             // a size, depth or count limit was passed
  config,            // a configuration file or entry is wrong
  denied,            // a rule or a person said no
  internal,          // a bug of ours
};

std::string_view to_string(Errc code) noexcept;

// Whether a call that failed happened all the same. Set by the layer that knows: a transport
// knows what was sent, the answer says what was refused.
enum class CarriedOut : std::uint8_t {
  no,       // it never reached the server, or the server said so: it may be repeated
  refused,  // the server read it and refused it: repeating it unchanged is of no use
  unknown,  // it was sent: it may have been carried out
};

std::string_view to_string(CarriedOut whether) noexcept;

// What would help. The message does not say it: what there is to press or to type is known to the program alone.
struct Remedy {
  enum class Kind : std::uint8_t {
    approve_server,          // somebody who trusts it approves `server`
    undo_rejection,          // `server` was rejected; approving it takes that back
    enable_server,           // `server` is switched off
    trust_project,           // somebody who trusts the directory of the project says so
    import_file,             // `file` belongs to another client; its servers can be copied
    give_more_time,          // a longer limit, for this call or in the entry of `server`
    list_tools,              // a look at the tools there are
    choose_permission_mode,  // another PermissionMode
    sign_in,                 // the user signs in at `server`
    approve_changes,         // somebody looks at what changed in the tools of `server`, and agrees
    renew_lock,              // somebody looks at what `server` is now, and writes the lock file `file` anew
  };
  Kind kind;
  std::string server = {};  // where one is meant
  std::string file = {};
  bool operator==(const Remedy&) const = default;
};

// What a server that refused us says about signing in (RFC 6750, RFC 9728). Empty where it says nothing.
struct SignInNeed {
  std::string resource_metadata = {};  // where it says who signs people in
  std::string scope = {};              // what it wants, separated by blanks
  bool more_scope = false;             // signed in, and that is not enough (insufficient_scope)
  bool proof = false;                  // tokens with a proof (DPoP)
  bool operator==(const SignInNeed&) const = default;
};

// As small as an address: results of calls carry one, and coroutines keep several.
class Error : public std::exception {
 public:
  Error(Errc code, std::string message);
  Error(const Error& other);
  Error(Error&& other) noexcept = default;
  Error& operator=(const Error& other);
  Error& operator=(Error&& other) noexcept = default;
  ~Error() override;

  // A JSON-RPC error as the peer sent it; `data` is JSON text, empty when absent.
  static Error rpc(std::int64_t rpc_code, std::string message, std::string data = {});

  Errc code() const noexcept { return state().code; }
  const std::string& message() const noexcept { return state().message; }
  const char* what() const noexcept override { return message().c_str(); }

  // Set for Errc::rpc, and for errors a server handler wants on the wire as given.
  std::optional<std::int64_t> rpc_code() const noexcept { return state().rpc_code; }
  const std::string& rpc_data() const noexcept { return state().rpc_data; }

  // The status of the HTTP answer behind this error, where there was one.
  std::optional<int> http_status() const noexcept { return state().http_status; }
  Error with_http_status(int status) &&;

  // Lines that explain without being the message: a stderr tail, a response body.
  const std::string& detail() const noexcept { return state().detail; }
  Error with_detail(std::string detail) &&;

  // Absent for an error that belongs to no call.
  std::optional<CarriedOut> carried_out() const noexcept { return state().carried_out; }
  Error with_carried_out(CarriedOut whether) &&;
  // For what belongs to no call of the caller's: what was asked on the way to it, say.
  Error without_carried_out() &&;

  const std::optional<Remedy>& remedy() const noexcept { return state().remedy; }
  Error with_remedy(Remedy remedy) &&;
  // For who has put it into the message.
  Error without_remedy() &&;

  // Set where a server wants somebody to sign in, and that is possible.
  const std::optional<SignInNeed>& sign_in() const noexcept { return state().sign_in; }
  Error with_sign_in(SignInNeed need) &&;

  // The same error with "context: " in front of its message.
  Error within(std::string_view context) const;
  // The same error in other words.
  Error with_message(std::string message) const;
  Error with_rpc_data(std::string data) &&;

  // The error that this one tells of in other words, with a server and a tool named; itself where there is no other.
  const Error& original() const noexcept { return state().original ? *state().original : *this; }
  Error with_original(Error original) &&;

  // Marks one failure that several may report: a copy of this error, in whatever words, is known to be the same
  // failure.
  Error marked() const;
  bool is_same_failure(const Error& other) const noexcept { return state().mark && state().mark == other.state().mark; }

  bool operator==(const Error&) const;

 private:
  struct State {
    Errc code = Errc::internal;
    std::string message;
    std::optional<std::int64_t> rpc_code;
    std::string rpc_data;
    std::optional<int> http_status;
    std::string detail;
    std::optional<CarriedOut> carried_out;
    std::optional<Remedy> remedy;
    std::optional<SignInNeed> sign_in;
    std::shared_ptr<const Error> original;
    std::shared_ptr<const char> mark;  // its address alone counts
  };
  const State& state() const noexcept { return state_ ? *state_ : nothing(); }
  static const State& nothing() noexcept;  // of an error that was moved from
  State& own();

  std::unique_ptr<State> state_;
};

template <class T = void>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(Errc code, std::string message) {
  return std::unexpected(Error(code, std::move(message)));
}

}  // namespace patchbay
