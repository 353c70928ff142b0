#include "acp/editor_words.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "text/visible_text.h"

namespace patchbay::acp {
namespace {

std::string text_at(const Json& object, std::string_view key) {
  const auto text = object[key].text();
  return text ? std::string(*text) : std::string();
}

std::unexpected<Error> wrong(std::string message) { return fail(Errc::invalid_argument, std::move(message)); }

// A file that the editor puts into the prompt: the model is told which one it is.
std::string embedded(const Json& resource) {
  const auto text = resource["text"].text();
  if (!text) return fmt::format("[{}: not a text]", text_at(resource, "uri"));
  return fmt::format("<resource uri=\"{}\">\n{}\n</resource>", text_at(resource, "uri"), *text);
}

std::string link(const Json& block) {
  const auto uri = text_at(block, "uri");
  const auto name = text_at(block, "name");
  return name.empty() || name == uri ? uri : fmt::format("[{}]({})", name, uri);
}

// {"name": …, "value": …} as an object.
std::optional<Json> named_values(const Json& list) {
  auto all = Json::object();
  for (const auto& one : list.items()) {
    const auto name = text_at(one, "name");
    const auto value = one["value"].text();
    if (name.empty() || !value) return std::nullopt;
    all[name] = *value;
  }
  return all;
}

// The entry of a server as files have it; nothing when it is none.
std::optional<Json> entry_of(const Json& server) {
  const auto type = text_at(server, "type");
  Json entry;
  if (type.empty() || type == "stdio") {
    if (text_at(server, "command").empty()) return std::nullopt;
    entry["type"] = "stdio";
    entry["command"] = server["command"];
    if (server["args"].is_array()) entry["args"] = server["args"];
    auto env = named_values(server["env"]);
    if (!env) return std::nullopt;
    if (env->size() > 0) entry["env"] = std::move(*env);
    return entry;
  }
  if ((type != "http" && type != "sse") || text_at(server, "url").empty()) return std::nullopt;
  entry["type"] = type;
  entry["url"] = server["url"];
  auto headers = named_values(server["headers"]);
  if (!headers) return std::nullopt;
  if (headers->size() > 0) entry["headers"] = std::move(*headers);
  return entry;
}

}  // namespace

EditorCan editor_can(const Json& client_capabilities) {
  return {.show_notices = client_capabilities["session"]["notices"].is_object(),
          .fill_forms = client_capabilities["elicitation"]["form"].is_object()};
}

Result<AgentInput> prompt_input(const Json& blocks) {
  if (!blocks.is_array()) return wrong("\"prompt\" must be an array of content blocks");
  AgentInput input;
  const auto add = [&](std::string text) {
    if (!input.text.empty()) input.text += '\n';
    input.text += text;
  };
  for (const auto& block : blocks.items()) {
    const auto type = text_at(block, "type");
    if (type == "text") {
      // Texts and links between them are one line that somebody typed.
      input.text += text_at(block, "text");
    } else if (type == "image") {
      input.images.push_back({.data = text_at(block, "data"), .mime_type = text_at(block, "mimeType")});
    } else if (type == "resource_link") {
      input.text += link(block);
    } else if (type == "resource") {
      add(embedded(block["resource"]));
    } else {
      return wrong(fmt::format("content of type \"{}\" is not taken", type));
    }
  }
  return input;
}

Result<std::string> editor_servers(const Json& servers) {
  if (servers.is_null() || (servers.is_array() && servers.size() == 0)) return std::string();
  if (!servers.is_array()) return wrong("\"mcpServers\" must be an array");
  auto all = Json::object();
  for (const auto& server : servers.items()) {
    const auto name = text_at(server, "name");
    if (name.empty()) return wrong("a server of \"mcpServers\" has no name");
    if (all.find(name)) return wrong(fmt::format("two servers of \"mcpServers\" are named \"{}\"", name));
    auto entry = entry_of(server);
    if (!entry) return wrong(fmt::format("the server \"{}\" of \"mcpServers\" cannot be read", name));
    all[name] = std::move(*entry);
  }
  return to_text(Json{{"mcpServers", std::move(all)}});
}

std::string verbatim(std::string_view text) {
  std::size_t longest = 2;
  std::size_t run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  return fmt::format("{}text\n{}{}{}\n", fence, text, text.ends_with('\n') ? "" : "\n", fence);
}

std::string form_message(std::string_view server, std::string_view message) {
  auto shown = visible_text(server) + ": ";
  for (std::size_t begin = 0; begin <= message.size();) {
    const auto end = std::min(message.find('\n', begin), message.size());
    if (begin > 0) shown += '\n';
    shown += visible_message(message.substr(begin, end - begin));
    begin = end + 1;
  }
  return shown;
}

std::string chosen_option(const Json& answer) {
  const auto& outcome = answer["outcome"];
  return text_at(outcome, "outcome") == "selected" ? text_at(outcome, "optionId") : std::string();
}

ElicitResult form_answer(const Json& answer) {
  using Action = ElicitResult::Action;
  const auto action = text_at(answer, "action");
  if (action == "decline") return {.action = Action::decline};
  if (action != "accept") return {.action = Action::cancel};
  return {.action = Action::accept, .content = answer["content"].is_object() ? answer["content"] : Json::object()};
}

}  // namespace patchbay::acp
