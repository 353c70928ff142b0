// The rule of the codec that both wire targets hold it to: what decodes is written as JSON
// that decodes again, and from then on nothing changes. The first writing may differ from
// what came in: a wrong kind where the model is lenient is replaced by the default.
#pragma once

#include <type_traits>

#include "fuzz/fuzz.h"
#include "protocol/codec.h"
#include "protocol/content.h"
#include "protocol/methods.h"
#include "protocol/wire.h"

namespace patchbay::fuzz {

// Through text, as a peer would get it.
inline Json sent(const Json& value) {
  auto read = parse_json(to_text(value), {.max_depth = 1'000});
  require(read.has_value(), "what is sent is not JSON");
  return std::move(*read);
}

template <class T>
std::optional<T> stable(const Json& value) {
  auto first = decode<T>(value);
  if (!first) {
    require(first.error().code() == Errc::protocol, "decoding failed in another way than Errc::protocol");
    return std::nullopt;
  }
  const Json written = sent(encode(*first));
  const auto second = decode<T>(written);
  require(second.has_value(), second ? "" : "what was written does not decode: " + second.error().message());
  require(sent(encode(*second)) == written, "decoding and writing again changed something: " + to_text(written));
  return std::move(*first);
}

template <class T>
void stable_page(const Json& value, std::string_view key) {
  const auto first = decode_page<T>(value, key);
  if (!first) return;
  const Json written = sent(encode_page(*first, key));
  const auto second = decode_page<T>(written, key);
  require(second.has_value() && second->problems.empty(), "a written page does not decode");
  require(second->items.size() == first->items.size(), "a written page has another length");
  require(sent(encode_page(*second, key)) == written, "writing a page again changed it");
}

// The result of a method without its envelope.
inline void check_result(std::string_view name, const Json& result) {
  if (name == method::list_tools) return stable_page<Tool>(result, "tools");
  if (name == method::list_resources) return stable_page<Resource>(result, "resources");
  if (name == method::list_resource_templates) return stable_page<ResourceTemplate>(result, "resourceTemplates");
  if (name == method::list_prompts) return stable_page<Prompt>(result, "prompts");
  if (name == method::list_skills) return stable_page<Skill>(result, "skills");
  if (name == method::call_tool) {
    if (const auto call = stable<CallToolResult>(result)) {
      (void)text_of(*call);
      (void)approximate_size(*call);
    }
  } else if (name == method::read_resource) {
    stable<ReadResourceResult>(result);
  } else if (name == method::get_prompt) {
    stable<GetPromptResult>(result);
  } else if (name == method::complete) {
    stable<CompleteResult>(result);
  } else if (name == method::elicit) {
    stable<ElicitResult>(result);
  } else if (name == method::create_message) {
    stable<CreateMessageResult>(result);
  } else if (name == method::list_roots) {
    stable<ListRootsResult>(result);
  }
}

inline void check_params(std::string_view name, const Json& params) {
  if (name == method::list_tools || name == method::list_resources || name == method::list_prompts) {
    stable<ListRequest>(params);
  } else if (name == method::call_tool) {
    stable<CallToolRequest>(params);
  } else if (name == method::read_resource) {
    stable<ReadResourceRequest>(params);
  } else if (name == method::subscribe || name == method::unsubscribe || name == method::resource_updated) {
    stable<ResourceUri>(params);
  } else if (name == method::get_prompt) {
    stable<GetPromptRequest>(params);
  } else if (name == method::complete) {
    stable<CompleteRequest>(params);
  } else if (name == method::set_log_level) {
    stable<SetLevelRequest>(params);
  } else if (name == method::log_message) {
    stable<LogMessage>(params);
  } else if (name == method::progress) {
    stable<ProgressNotification>(params);
  } else if (name == method::cancelled) {
    stable<CancelledNotification>(params);
  } else if (name == method::elicitation_complete) {
    stable<ElicitationComplete>(params);
  } else if (name == method::listen || name == method::listen_acknowledged) {
    stable<SubscriptionFilter>(params);
    stable<SubscriptionFilter>(params["notifications"]);
  } else if (name == method::elicit) {
    stable<ElicitRequest>(params);
  } else if (name == method::create_message) {
    stable<CreateMessageRequest>(params);
  } else if (name == method::list_roots) {
    stable<ListRootsRequest>(params);
  }
}

inline void check_members(const Wire& wire, const Json& params) {
  const auto* object = params.if_object();
  if (object == nullptr) return;
  Members members;
  for (const auto& [key, value] : *object) members.emplace_back(key, value);
  const ClientIdentity client{{.name = "fuzz", .version = "1"}, {}};
  const Payload written = wire.params(members, client, {.progress_token = ProgressToken(std::int64_t{7})});
  const auto read = parse_json(written.text(), {.max_depth = 1'000});
  require(read.has_value(), "written params are not JSON");
  for (const auto& [key, value] : *object) {
    if (key != "_meta") require((*read)[key] == value, "a member of params changed");
  }
  const auto meta = read_meta(*read);
  // What the caller put into _meta may be anything; our own keys win over it.
  if (meta) require(meta->progress_token == ProgressToken(std::int64_t{7}), "the progress token was lost");
}

}  // namespace patchbay::fuzz
