// The session era: results and params of every method, the handshake, and errors that ask
// for input. Input: the method on a line of its own, then JSON that is taken as its result
// and as its params.
#include "fuzz/codec_rules.h"

using namespace patchbay;
using fuzz::require;

FUZZ_TARGET(wire_legacy) {
  const auto name = fuzz::take_line(input);
  const auto value = parse_json(input);
  if (!value) return;
  const Wire& wire = *find_wire(legacy_versions()[name.size() % legacy_versions().size()]);

  fuzz::check_params(name, *value);
  fuzz::check_members(wire, *value);
  (void)read_meta(*value);
  if (name == method::initialize) {
    if (const auto request = fuzz::stable<InitializeRequest>(*value)) {
      fuzz::stable<ClientCapabilities>(encode(request->capabilities));
    }
    if (const auto result = fuzz::stable<InitializeResult>(*value)) {
      fuzz::stable<ServerCapabilities>(encode(result->capabilities));
      fuzz::stable<Implementation>(encode(result->server_info));
    }
  }

  const auto outcome = wire.outcome(name, *value);
  require(outcome.has_value() == value->is_object(), "a legacy result is any object and nothing else");
  if (outcome) {
    const Json* result = std::get_if<Json>(&*outcome);
    require(result != nullptr && result->find("resultType") == nullptr, "a legacy result keeps an envelope");
    fuzz::check_result(name, *result);
    require(wire.complete(name, *result, {}, {}) == *result, "a legacy result gained something");
  }

  const auto input_needed = wire.input_needed(Error::rpc(-32042, "go there", std::string(input)));
  if (input_needed) {
    require(!input_needed->requests.empty(), "input is needed, but none is asked for");
    for (const auto& [key, request] : input_needed->requests) {
      const auto* elicit = std::get_if<ElicitRequest>(&request);
      require(elicit != nullptr && elicit->mode == ElicitRequest::Mode::url && elicit->url.has_value(),
              "only a URL can be asked for by an error");
    }
  }
}
