#include "server/legacy_front.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/as_result.h"
#include "protocol/codec.h"
#include "protocol/methods.h"
#include "server/context.h"
#include "server/requests.h"

namespace patchbay {
namespace {

std::string random_id(const Random& random) {
  std::array<std::uint8_t, 16> bytes;
  random(bytes);
  return base64url_encode(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

class LegacyContext final : public Context {
 public:
  LegacyContext(Peer& peer, Caller caller, const Wire& wire, const LoggingLevel& level, const Runtime& runtime)
      : Context(peer, std::move(caller)), wire_(wire), level_(level), runtime_(runtime) {}

 protected:
  std::optional<LoggingLevel> log_level() const override { return level_; }

  Task<InputResponse> ask(InputRequest question, std::string) override {
    const auto method = method_of(question);
    if (!wire_.has_server_request(method) || !missing_capability(client_capabilities(), question).is_null()) {
      throw Error(Errc::unsupported, fmt::format("the client does not support {}", method));
    }
    PeerCall call;
    call.id = peer().reserve_id();
    call.method = method;
    call.about = request();
    // A person or a model may take as long as the call itself may; a list of roots may not.
    if (std::holds_alternative<ListRootsRequest>(question)) {
      call.total = runtime_.limits.request;
    } else if (auto* elicit = std::get_if<ElicitRequest>(&question)) {
      if (elicit->mode == ElicitRequest::Mode::url && !elicit->elicitation_id) {
        elicit->elicitation_id = random_id(runtime_.random);
      }
      call.params = encode(*elicit);
    } else {
      call.params = encode(std::get<CreateMessageRequest>(question));
    }
    auto answer = co_await as_result(peer().call(std::move(call)));
    if (!answer) {
      // The client's refusal is no error of the request it sent: without its code, a tool
      // that does not handle it reports it to the model.
      if (!answer.error().rpc_code()) throw std::move(answer).error();
      throw Error(Errc::rpc, fmt::format("the client refused {}: {}", method, answer.error().message()));
    }
    auto decoded = decode_answer(question, std::move(*answer).take());
    if (!decoded) throw decoded.error().within(fmt::format("the client's answer to {}", method));
    co_return std::move(*decoded);
  }

 private:
  const Wire& wire_;
  const LoggingLevel& level_;  // the session's: it may change during the call
  const Runtime& runtime_;
};

// Clients of these revisions reject a whole answer over a member of an unexpected kind.
void fit_result(std::string_view method, Json& result) {
  if (method == method::call_tool) {
    if (const Json* structured = result.find("structuredContent"); structured && !structured->is_object()) {
      result.as_object().erase("structuredContent");
    }
  } else if (method == method::list_tools) {
    for (Json& tool : result["tools"].as_array()) {
      const Json* schema = tool.find("outputSchema");
      if (schema && (*schema)["type"] != Json("object")) tool.as_object().erase("outputSchema");
    }
  }
}

}  // namespace

Json LegacyFront::initialize(Json params) {
  if (wire_) throw Error::rpc(rpc_code::invalid_request, "the session is already initialized");
  auto request = params_or_throw(decode<InitializeRequest>(std::move(params)));
  const Wire* wire = find_wire(request.protocol_version);
  if (!wire || wire->era() != Era::legacy) wire = find_wire(legacy_versions().front());
  wire_ = wire;
  client_ = std::move(request.client_info);
  capabilities_ = std::move(request.capabilities);
  declared_ = core_->capabilities();
  peer_.channel().set_protocol_version(wire_->version());
  return encode(InitializeResult{.protocol_version = std::string(wire_->version()),
                                 .capabilities = declared_,
                                 .server_info = core_->options.info,
                                 .instructions = core_->options.instructions,
                                 .meta = {},
                                 .extra = {}});
}

void LegacyFront::set_log_level(Json params) {
  log_level_ = params_or_throw(decode<SetLevelRequest>(std::move(params))).level;
}

void LegacyFront::subscribe(std::string_view method, Json params) {
  auto request = params_or_throw(decode<ResourceUri>(std::move(params)));
  if (method == method::unsubscribe) {
    subscriptions_.erase(request.uri);
    return;
  }
  if (subscriptions_.size() >= runtime_.limits.items && !subscriptions_.contains(request.uri)) {
    throw invalid_params(fmt::format("no more than {} subscriptions at once", runtime_.limits.items));
  }
  subscriptions_.insert(std::move(request.uri));
}

Task<Json> LegacyFront::handle(RequestId id, std::string method, Json params) {
  if (method == method::initialize) co_return initialize(std::move(params));
  if (method == method::ping) co_return Json::object();
  if (!wire_->has_request(method) || !core_->offers(method)) throw method_not_found(method);
  if (method == method::set_log_level) {
    set_log_level(std::move(params));
    co_return Json::object();
  }
  if (method == method::subscribe || method == method::unsubscribe) {
    subscribe(method, std::move(params));
    co_return Json::object();
  }
  auto meta = params_or_throw(read_meta(params));
  LegacyContext context(peer_, Caller{client_, capabilities_, std::move(meta.progress_token), std::move(id)}, *wire_,
                        log_level_, runtime_);
  auto result = co_await serve_method(core_, *wire_, context, method, std::move(params));
  fit_result(method, result);
  co_return wire_->complete(method, std::move(result), core_->options.info, {});
}

void LegacyFront::on_notification(std::string_view method) {
  if (method == method::initialized && wire_) initialized_ = true;
}

void LegacyFront::on_change(const Change& change) {
  if (!initialized_) return;
  switch (change.kind) {
    case Change::Kind::tools:
      if (declared_.tools) (void)peer_.notify(method::tools_changed, {});
      break;
    case Change::Kind::prompts:
      if (declared_.prompts) (void)peer_.notify(method::prompts_changed, {});
      break;
    case Change::Kind::resources:
      if (declared_.resources) (void)peer_.notify(method::resources_changed, {});
      break;
    case Change::Kind::resource_updated:
      if (std::ranges::any_of(subscriptions_, [&](const auto& uri) { return concerns(uri, change.uri); })) {
        (void)peer_.notify(method::resource_updated, Json{{"uri", change.uri}});
      }
      break;
    case Change::Kind::roots:
      break;
  }
}

}  // namespace patchbay
