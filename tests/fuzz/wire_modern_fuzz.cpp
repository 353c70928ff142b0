// The stateless era: results with their envelope, questions inside results, what requests
// carry in `_meta`, discovery. Input: the method on a line of its own, then JSON that is
// taken as its result and as its params.
#include "fuzz/codec_rules.h"

using namespace patchbay;
using fuzz::require;

namespace {

void check_questions(const Wire& wire, const InputRequired& asked) {
  require(!asked.requests.empty() || asked.state.has_value(), "input is needed, but none is asked for");
  const Implementation server{.name = "s", .version = "1"};
  const Json written = fuzz::sent(wire.needs_input(asked, server));
  const auto again = wire.outcome(method::call_tool, written);
  require(again.has_value(), again ? "" : "written questions do not decode: " + again.error().message());
  const auto* questions = std::get_if<InputRequired>(&*again);
  require(questions != nullptr && questions->state == asked.state, "the state changed");
  require(questions->requests.size() == asked.requests.size(), "a question was lost");
  require(fuzz::sent(wire.needs_input(*questions, server)) == written, "writing questions again changed them");

  // Every question answered, as a client would repeat the request.
  InputAnswers answers;
  for (const auto& [key, request] : asked.requests) {
    if (std::holds_alternative<ElicitRequest>(request)) {
      answers.emplace_back(key, ElicitResult{.action = ElicitResult::Action::accept, .content = Json::object()});
    } else if (std::holds_alternative<CreateMessageRequest>(request)) {
      answers.emplace_back(key, CreateMessageResult{.content = {TextContent{.text = "x"}}, .model = "m"});
    } else {
      answers.emplace_back(key, ListRootsResult{});
    }
  }
  Members members;
  wire.add_input(members, answers, asked.state);
  const auto params = parse_json(wire.params(members, {}, {}).text(), {.max_depth = 1'000});
  require(params.has_value() && is_modern_request(*params), "a repeated request is not modern JSON");
  const auto carried = read_carried_input(*params);
  require(carried.has_value() && carried->state == asked.state, "the state was not carried back as it was");
  require(carried->answers.size() == answers.size(), "an answer was lost");
}

}  // namespace

FUZZ_TARGET(wire_modern) {
  const auto name = fuzz::take_line(input);
  const auto value = parse_json(input);
  if (!value) return;
  const Wire& wire = *find_wire(modern_versions().front());

  fuzz::check_params(name, *value);
  fuzz::check_members(wire, *value);
  const auto meta = read_meta(*value);
  if (meta) require(meta->protocol_version.has_value() == is_modern_request(*value), "two opinions on the era");
  if (meta && meta->client_capabilities) fuzz::stable<ClientCapabilities>(encode(*meta->client_capabilities));
  (void)read_carried_input(*value);
  (void)subscription_id_of(*value);
  (void)supported_versions_of(Error::rpc(modern_code::unsupported_version, "no", std::string(input)));
  require(*subscription_id_of(Json{{"_meta", subscription_meta(*value)}}) == *value, "a subscription id changed");

  if (const auto server = read_discover_result(*value)) {
    std::vector<std::string_view> versions(server->supported_versions.begin(), server->supported_versions.end());
    const auto again = read_discover_result(fuzz::sent(discover_result(*server, versions)));
    require(again.has_value() && again->supported_versions == server->supported_versions &&
                encode(again->capabilities) == fuzz::sent(encode(server->capabilities)) &&
                again->instructions == server->instructions,
            "a written discovery reads differently");
  }

  const auto outcome = wire.outcome(name, *value);
  if (!outcome) return;
  if (const auto* asked = std::get_if<InputRequired>(&*outcome)) return check_questions(wire, *asked);
  const Json& result = std::get<Json>(*outcome);
  fuzz::check_result(name, result);
  if (const Json& inner = result["_meta"]; !inner.is_null() && !inner.is_object()) return;
  const auto again = wire.outcome(name, fuzz::sent(wire.complete(name, result, {.name = "s", .version = "1"}, {})));
  require(again.has_value() && std::holds_alternative<Json>(*again), "a completed result is not complete");
}
