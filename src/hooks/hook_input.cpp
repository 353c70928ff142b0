#include "hooks/hook_input.h"

#include <algorithm>

#include "base/strings.h"

namespace patchbay {
namespace {

constexpr std::size_t most_filled_in = 16u << 20;

std::string_view mode_name(PermissionMode mode) noexcept {
  // The word that hooks of other programs know.
  return mode == PermissionMode::bypass ? "bypassPermissions" : to_string(mode);
}

Json common(HookEvent event, const HookSurroundings& run) {
  return {{"session_id", run.session_id},
          {"transcript_path", run.transcript},
          {"cwd", run.cwd},
          {"permission_mode", mode_name(run.mode)},
          {"hook_event_name", to_string(event)}};
}

const Json* value_at(const Json& facts, std::string_view path) {
  const Json* at = &facts;
  for (const auto part : split(path, '.')) {
    at = at->find(part);
    if (at == nullptr) return nullptr;
  }
  return at;
}

class Filler {
 public:
  explicit Filler(const Json& facts) : facts_(facts) {}

  Json fill(const Json& value) {
    if (const auto text = value.text()) return filled_text(*text);
    if (value.is_array()) {
      Json out = Json::array();
      for (const auto& item : value.items()) out.push_back(fill(item));
      return out;
    }
    if (value.is_object()) {
      Json out = Json::object();
      for (auto [name, member] : value.members()) out[name] = fill(member);
      return out;
    }
    return value;
  }

 private:
  void count(std::size_t bytes) {
    if (bytes > most_filled_in - used_) throw Error(Errc::limit, "its input would be larger than 16 MiB");
    used_ += bytes;
  }

  Json filled_text(std::string_view text) {
    // The whole text is one reference: its value stays what it is.
    if (text.starts_with("${") && text.find('}') == text.size() - 1) {
      const auto* value = value_at(facts_, text.substr(2, text.size() - 3));
      if (value == nullptr) return {};
      count(to_text(*value).size());
      return *value;
    }
    std::string out;
    while (!text.empty()) {
      const auto open = text.find("${");
      const auto close = open == std::string_view::npos ? open : text.find('}', open);
      if (close == std::string_view::npos) break;
      out += text.substr(0, open);
      if (const auto* value = value_at(facts_, text.substr(open + 2, close - open - 2))) {
        const auto words = value->text();
        const auto put = words ? std::string(*words) : to_text(*value);
        count(put.size());
        out += put;
      }
      text.remove_prefix(close + 1);
    }
    out += text;
    return out;
  }

  const Json& facts_;
  std::size_t used_ = 0;
};

}  // namespace

Json tool_hook_input(HookEvent event, const HookSurroundings& run, const CatalogEntry& tool, const Json& arguments,
                     std::uint64_t call_id) {
  auto out = common(event, run);
  out["tool_name"] = tool.name;
  out["tool_input"] = arguments.is_null() ? Json::object() : arguments;
  if (event == HookEvent::permission_request) {
    out["permission_suggestions"] = Json::array();
  } else {
    out["tool_use_id"] = std::to_string(call_id);
  }
  out["mcp_server"] = tool.server;
  return out;
}

Json elicitation_hook_input(HookEvent event, const HookSurroundings& run, std::string_view server,
                            const ElicitRequest& question) {
  auto out = common(event, run);
  const bool form = question.mode == ElicitRequest::Mode::form;
  out["mcp_server_name"] = server;
  out["message"] = question.message;
  out["mode"] = form ? "form" : "url";
  if (question.url) out["url"] = *question.url;
  if (question.elicitation_id) out["elicitation_id"] = *question.elicitation_id;
  if (form) out["requested_schema"] = question.requested_schema;
  return out;
}

Json agent_hook_input(HookEvent event, const HookSurroundings& run, Json facts) {
  auto out = common(event, run);
  for (auto [name, value] : facts.members()) out[name] = value;
  return out;
}

Result<Json> filled_in(const Json& input, const Json& facts) {
  try {
    return input.is_null() ? Json::object() : Filler(facts).fill(input);
  } catch (const Error& error) {
    return std::unexpected(error);
  }
}

std::string filled_in_header(std::string_view text, const std::vector<std::string>& allowed,
                             const VariableLookup& variables) {
  const auto is_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  std::string out;
  while (!text.empty()) {
    const auto dollar = text.find('$');
    out += text.substr(0, dollar);
    if (dollar == std::string_view::npos) break;
    text.remove_prefix(dollar + 1);
    const bool braces = text.starts_with('{');
    const auto rest = text.substr(braces ? 1 : 0);
    const auto end = static_cast<std::size_t>(std::ranges::find_if_not(rest, is_name) - rest.begin());
    const auto name = rest.substr(0, end);
    if (name.empty() || (braces && !rest.substr(end).starts_with('}'))) {
      out += '$';
      continue;
    }
    text.remove_prefix(end + (braces ? 2 : 0));
    if (std::ranges::find(allowed, name) == allowed.end()) continue;
    out += variables(name).value_or(std::string());
  }
  return out;
}

}  // namespace patchbay
