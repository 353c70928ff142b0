#include "server/context.h"

#include <utility>

#include <fmt/format.h>

#include "protocol/codec.h"
#include "protocol/methods.h"
#include "protocol/schema_check.h"

namespace patchbay {
namespace {

template <class T>
Task<T> typed(Task<InputResponse> answer) {
  auto response = co_await std::move(answer);
  co_return std::get<T>(std::move(response));
}

template <class T>
Task<T> failed(Error error) {
  throw error;
  co_return T{};
}

template <class T>
Result<InputResponse> as_answer(Json answer) {
  auto decoded = decode<T>(std::move(answer));
  if (!decoded) return std::unexpected(std::move(decoded).error());
  return InputResponse(std::move(*decoded));
}

}  // namespace

Json missing_capability(const ClientCapabilities& capabilities, const InputRequest& question) {
  if (const auto* elicit = std::get_if<ElicitRequest>(&question)) {
    const auto& declared = capabilities.elicitation;
    if (elicit->mode == ElicitRequest::Mode::url) {
      return declared && declared->url ? Json() : Json{{"elicitation", Json{{"url", Json::object()}}}};
    }
    // Declared without a mode it means forms.
    return declared && (declared->form || !declared->url) ? Json()
                                                          : Json{{"elicitation", Json{{"form", Json::object()}}}};
  }
  if (const auto* sample = std::get_if<CreateMessageRequest>(&question)) {
    const auto& declared = capabilities.sampling;
    const bool tools = !sample->tools.empty() || sample->tool_choice;
    if (tools) return declared && declared->tools ? Json() : Json{{"sampling", Json{{"tools", Json::object()}}}};
    return declared ? Json() : Json{{"sampling", Json::object()}};
  }
  return capabilities.roots ? Json() : Json{{"roots", Json::object()}};
}

std::string_view method_of(const InputRequest& question) noexcept {
  if (std::holds_alternative<ElicitRequest>(question)) return method::elicit;
  return std::holds_alternative<CreateMessageRequest>(question) ? method::create_message : method::list_roots;
}

Result<InputResponse> decode_answer(const InputRequest& question, Json answer, std::uint64_t steps) {
  if (const auto* elicit = std::get_if<ElicitRequest>(&question)) {
    auto decoded = decode<ElicitResult>(std::move(answer));
    if (!decoded) return std::unexpected(std::move(decoded).error());
    const bool form = elicit->mode == ElicitRequest::Mode::form && decoded->action == ElicitResult::Action::accept;
    if (form && !(decoded->content && decoded->content->is_object())) {
      return fail(Errc::protocol, "content: an accepted form needs an object");
    }
    if (form) {
      if (auto fits = check_form(elicit->requested_schema, *decoded->content, steps); !fits) {
        return fail(Errc::protocol, fmt::format("the content does not match the form: {}", fits.error().message()));
      }
    }
    return InputResponse(std::move(*decoded));
  }
  if (std::holds_alternative<CreateMessageRequest>(question)) return as_answer<CreateMessageResult>(std::move(answer));
  return as_answer<ListRootsResult>(std::move(answer));
}

Peer* Context::listener() const {
  if (task_ && (task_->ended() || !tasks_talk())) return nullptr;
  return link_->peer;
}

Peer& PeerLink::required() const {
  if (!peer) throw Error(Errc::closed, "the connection was closed");
  return *peer;
}

Json Context::message_meta() const { return task_ ? related_task_meta(task_->task().id) : Json(); }

void Context::status(std::string message) {
  if (task_) task_->say(std::move(message));
}

bool Context::start_task() {
  if (!task_ && starter_) task_ = std::exchange(starter_, nullptr)();
  return task_ != nullptr;
}

// Not a coroutine, so that questions have the order in which they were asked.
Task<InputResponse> Context::ask(InputRequest question, std::string name) {
  if (!task_) return ask_client(std::move(question), std::move(name));
  require(question);
  return task_->ask(std::move(question), std::move(name));
}

void Context::progress(double value, std::optional<double> total, std::optional<std::string> message) {
  // The specification wants every value above the one before; a handler that counts
  // badly must not make its client drop the call.
  auto* peer = listener();
  if (!peer || !caller_.progress_token || (last_progress_ && value <= *last_progress_)) return;
  last_progress_ = value;
  ProgressNotification notification{.token = *caller_.progress_token,
                                    .progress = {.progress = value, .total = total, .message = std::move(message)},
                                    .meta = message_meta(),
                                    .extra = {}};
  (void)peer->notify(method::progress, encode(notification), about());
}

void Context::log(LoggingLevel level, Json data, std::optional<std::string> logger) {
  auto* peer = listener();
  const auto least = peer ? log_level() : std::nullopt;
  if (!least || level < *least) return;
  LogMessage message{
      .level = level, .logger = std::move(logger), .data = std::move(data), .meta = message_meta(), .extra = {}};
  (void)peer->notify(method::log_message, encode(message), about());
}

void Context::release_stream(std::optional<std::chrono::milliseconds> retry) {
  if (auto* peer = listener(); peer && about()) peer->channel().release_stream(*about(), retry);
}

// Not a coroutine, so that a question takes its number when it is asked.
Task<ElicitResult> Context::elicit(ElicitRequest request, std::string name) {
  if (request.mode == ElicitRequest::Mode::form) {
    if (auto usable = check_form_schema(request.requested_schema); !usable) {
      return failed<ElicitResult>(std::move(usable).error());
    }
  }
  return typed<ElicitResult>(ask(std::move(request), std::move(name)));
}

Task<CreateMessageResult> Context::sample(CreateMessageRequest request, std::string name) {
  return typed<CreateMessageResult>(ask(std::move(request), std::move(name)));
}

Task<std::vector<Root>> Context::list_roots(std::string name) {
  return [](Task<InputResponse> answer) -> Task<std::vector<Root>> {
    auto response = co_await std::move(answer);
    co_return std::move(std::get<ListRootsResult>(response).roots);
  }(ask(ListRootsRequest{}, std::move(name)));
}

}  // namespace patchbay
