// Wire: how one era of the protocol writes what the model means. Stateless and pure; a
// connection picks one wire when it is negotiated and never asks about the era again.
// The client half is used by src/client, the server half by the fronts in src/server.
//
// A method absent from an era is absent from its table: has_request() is the only answer
// to "can I do this here".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <patchbay/json.h>
#include <patchbay/questions.h>
#include <patchbay/types.h>

#include "protocol/wire_types.h"

namespace patchbay {

// Parameters on their way out: values that stay bytes until they are written.
using Members = std::vector<std::pair<std::string, Payload>>;

struct ClientIdentity {
  Implementation info;
  ClientCapabilities capabilities;
};

// What one request says about itself.
struct RequestMeta {
  std::optional<ProgressToken> progress_token;
  std::optional<LoggingLevel> log_level;  // legacy servers are told once, by a request of its own
  bool tasks = true;                      // whether the answer may be a task, where the server decides
};

// The same, as a server reads it.
struct ReceivedMeta {
  std::optional<std::string> protocol_version;  // modern requests carry it, legacy ones do not
  std::optional<Implementation> client_info;
  std::optional<ClientCapabilities> client_capabilities;
  std::optional<ProgressToken> progress_token;
  std::optional<LoggingLevel> log_level;
};

using InputAnswers = std::vector<std::pair<std::string, InputResponse>>;

// What the extension for tasks is called where it is one.
inline constexpr std::string_view tasks_extension = "io.modelcontextprotocol/tasks";

// How it stands with a task. One era tells all of it at once; in the other, questions come
// as requests and the result is asked for.
struct TaskState {
  RemoteTask task;
  std::vector<std::pair<std::string, InputRequest>> requests;  // unanswered, by key
  std::optional<Json> result;
  std::optional<Error> error;
};

// What a caller that wants a task says about it.
struct TaskWish {
  std::optional<std::int64_t> ttl_ms;
  bool operator==(const TaskWish&) const = default;
};

// An answer is final, or the server needs something first, or works on as a task.
using Outcome = std::variant<Json, InputRequired, RemoteTask>;

class Wire {
 public:
  virtual ~Wire() = default;

  virtual Era era() const noexcept = 0;
  virtual std::string_view version() const noexcept = 0;
  // Whether a client may send this request.
  virtual bool has_request(std::string_view method) const noexcept = 0;
  // Whether a server may send this request of its own (modern servers ask inside results).
  virtual bool has_server_request(std::string_view method) const noexcept = 0;
  virtual bool allows_batches() const noexcept = 0;
  // Whether a broken-off request is cancelled by closing its stream, where it has one.
  virtual bool closing_cancels() const noexcept = 0;
  // Whether a request repeats its method and more in headers, where the transport has some.
  virtual bool repeats_in_headers() const noexcept = 0;

  // Whether a stream over HTTP opens with an empty event, so that it can be resumed from its beginning.
  virtual bool primes_streams() const noexcept = 0;
  // Of what could be declared, what this revision knows.
  virtual ClientCapabilities offered(ClientCapabilities capabilities) const = 0;
  virtual ServerCapabilities offered(ServerCapabilities capabilities) const = 0;

  // Client half.
  // Whether this server wants to be told which calls shall be tasks; else it decides.
  virtual bool asks_for_tasks(const ServerCapabilities& server) const noexcept = 0;
  virtual void add_task_wish(Members& members, const TaskWish& wish) const = 0;
  virtual Result<TaskState> read_task(Json state) const = 0;
  virtual Payload params(const Members& members, const ClientIdentity& client, const RequestMeta& meta) const = 0;
  // The result without its envelope; errors when the peer broke the rules of this era.
  virtual Result<Outcome> outcome(std::string_view method, Json result) const = 0;
  // Reads the result of a tool call straight from its text when it is complete and of the
  // plainest kind: text, a flag, structured content. False, and `out` is nothing to look at,
  // when it is more than that or broken: then outcome() and decode() say what it is. `text`
  // has been validated.
  virtual bool read_plain(std::string_view text, CallToolResult& out) const = 0;
  // Some errors mean "ask the user, then try again".
  virtual std::optional<InputRequired> input_needed(const Error& error) const = 0;
  // The members to repeat a request with.
  virtual void add_input(Members& members, const InputAnswers& answers,
                         const std::optional<std::string>& state) const = 0;

  // Server half.
  virtual Json complete(std::string_view method, Json result, const Implementation& server,
                        const CacheHints& cache) const = 0;
  virtual Json needs_input(const InputRequired& input, const Implementation& server) const = 0;
  virtual std::int64_t resource_not_found_code() const noexcept = 0;
  // The wish for a task among a request's params; an error when it is malformed.
  virtual Result<std::optional<TaskWish>> task_wish(const Json& params) const = 0;
  // The answer that a call has become this task.
  virtual Json task_created(const RemoteTask& task, const Implementation& server) const = 0;
  virtual Json write_task(const TaskState& state) const = 0;
  // Whether a task whose tool answered isError counts as failed.
  virtual bool tool_error_fails_task() const noexcept = 0;
};

// Null when this build does not speak the revision.
const Wire* find_wire(std::string_view version) noexcept;
// Newest first.
std::span<const std::string_view> modern_versions() noexcept;
std::span<const std::string_view> legacy_versions() noexcept;

// Reads `_meta` of a request's params, whatever the era; malformed parts are errors.
Result<ReceivedMeta> read_meta(const Json& params);
// Whether the params say they are modern, without judging the rest.
bool is_modern_request(const Json& params) noexcept;

// What a client carried back into a repeated request.
struct CarriedInput {
  std::vector<std::pair<std::string, Json>> answers;  // not yet decoded: the handler knows the kind
  std::optional<std::string> state;
};
Result<CarriedInput> read_carried_input(const Json& params);

// The answer to the probe, if `result` has the shape of one (lenient servers answer any
// method with an empty object).
std::optional<ServerDescription> read_discover_result(const Json& result);
Json discover_result(const ServerDescription& server, std::span<const std::string_view> versions);

// The tag that ties notifications to the listen request they belong to.
Json subscription_meta(const Json& subscription_id);
const Json* subscription_id_of(const Json& params) noexcept;

// Ties a message to the task it belongs to, where messages of tasks travel on their own.
Json related_task_meta(std::string_view task_id);
// The task that a message with such a tag in its params belongs to.
std::optional<std::string> related_task_of(const Json& params);
// Whether answers to this client may be tasks, where it says so with each request.
bool declares_tasks(const ClientCapabilities& client) noexcept;
// The capability it lacks otherwise, as an object that would declare it.
Json tasks_capability();

// Errors that only modern servers send, and their data.
namespace modern_code {
inline constexpr std::int64_t header_mismatch = -32020;
inline constexpr std::int64_t missing_client_capability = -32021;
inline constexpr std::int64_t unsupported_version = -32022;
}  // namespace modern_code
bool is_modern_error(std::int64_t code) noexcept;
// `data.supported` of an unsupported-version error; empty when there is none.
std::vector<std::string> supported_versions_of(const Error& error);
Error unsupported_version_error(std::string_view requested, std::span<const std::string_view> supported);
Error missing_capability_error(const Json& required_capabilities);

}  // namespace patchbay
