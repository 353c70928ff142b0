#include "settings/hook_settings.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/strings.h"
#include "entries/entry.h"
#include "http/url.h"
#include "json/kind_text.h"

namespace patchbay {
namespace {

using Member = ConfigDocument::Member;

constexpr std::size_t most_hooks = 500;   // of one file
constexpr double longest_timeout = 3600;  // seconds

constexpr auto event_names = std::to_array<std::string_view>(
    {"PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure", "PermissionDenied", "Elicitation",
     "ElicitationResult", "UserPromptSubmit", "Stop", "SessionStart", "SessionEnd", "SubagentStart", "SubagentStop",
     "PreCompact", "Notification"});
static_assert(event_names.size() == hook_events);

std::optional<HookEvent> event_named(std::string_view name) {
  const auto found = std::ranges::find(event_names, name);
  if (found == event_names.end()) return std::nullopt;
  return static_cast<HookEvent>(found - event_names.begin());
}

// What a failing hook of this event refuses.
std::string_view guarded(HookEvent event) noexcept {
  switch (event) {
    case HookEvent::elicitation:
      return "every question";
    case HookEvent::user_prompt_submit:
      return "every message";
    default:
      return "every call";
  }
}

// One of ours with a slip in it. Those of others have names of their own, so they are not looked at.
std::string_view meant_event(std::string_view name) {
  const auto lower = to_lower_ascii(name);
  for (const auto one : event_names) {
    if (edit_distance(lower, to_lower_ascii(one), 2) <= 2) return one;
  }
  return {};
}

class HookReader {
 public:
  explicit HookReader(ConfigReport& report) : report_(report) {}

  std::vector<HookSetting> read(const Member& at) {
    if (!at.value->is_object()) {
      const auto fault = fmt::format("\"hooks\" must be an object, found {}", kind_with_article(*at.value));
      for (const auto event : {HookEvent::pre_tool_use, HookEvent::elicitation, HookEvent::user_prompt_submit}) {
        add(broken({.event = event}, at, fault));
      }
      tell(HookEvent::pre_tool_use, at, fault);
      return std::move(out_);
    }
    each(at, [&](std::string_view key, const Member& groups) {
      if (const auto event = event_named(key)) {
        read_groups(*event, groups);
      } else if (const auto meant = meant_event(key); !meant.empty()) {
        report_.warning(groups.place->key, fmt::format("unknown event {} in \"hooks\" is ignored; did you mean \"{}\"?",
                                                       to_text(Json(key)), meant));
      }
    });
    return std::move(out_);
  }

 private:
  template <class Function>
  static void each(const Member& object, Function function) {
    std::size_t i = 0;
    for (const auto& [key, value] : *object.value->if_object()) {
      function(std::string_view(key), Member{&value, &object.place->children[i++]});
    }
  }
  template <class Function>
  static void each_item(const Member& array, Function function) {
    const auto& items = *array.value->if_array();
    for (std::size_t i = 0; i < items.size(); ++i) function(Member{&items[i], &array.place->children[i]});
  }

  void add(HookSetting hook) {
    if (out_.size() <= most_hooks) out_.push_back(std::move(hook));
  }

  HookSetting broken(HookSetting hook, const Member& at, std::string fault) {
    const auto [line, column] = report_.position(at.place->value);
    hook.place = {line, column};
    hook.fault = std::move(fault);
    return hook;
  }

  void tell(HookEvent event, const Member& at, const std::string& fault) {
    if (guards(event)) {
      report_.error(at.place->value,
                    fmt::format("{}; until this is fixed {} it is about is refused", fault, guarded(event)));
    } else {
      report_.warning(at.place->value, fmt::format("{}; it is not run", fault));
    }
  }

  void refuse(HookSetting hook, const Member& at, const std::string& fault) {
    tell(hook.event, at, fault);
    add(broken(std::move(hook), at, fault));
  }

  void read_groups(HookEvent event, const Member& groups) {
    const auto name = to_string(event);
    if (!groups.value->is_array()) {
      return refuse(
          {.event = event}, groups,
          fmt::format("\"hooks.{}\" must be an array of objects, found {}", name, kind_with_article(*groups.value)));
    }
    each_item(groups, [&](const Member& group) { read_group(event, group); });
  }

  void read_group(HookEvent event, const Member& group) {
    HookSetting common{.event = event};
    if (!group.value->is_object()) {
      return refuse(common, group,
                    fmt::format("an element of \"hooks.{}\" must be an object, found {}", to_string(event),
                                kind_with_article(*group.value)));
    }
    if (const auto matcher = member_of(group, "matcher")) {
      const auto text = matcher.value->text();
      if (!text) {
        return refuse(common, matcher,
                      fmt::format("\"matcher\" must be a string, found {}", kind_with_article(*matcher.value)));
      }
      common.matcher = *text;
    }
    const auto hooks = member_of(group, "hooks");
    if (!hooks || !hooks.value->is_array()) {
      return refuse(common, hooks ? hooks : group,
                    fmt::format("an element of \"hooks.{}\" needs an array \"hooks\"", to_string(event)));
    }
    each_item(hooks, [&](const Member& hook) {
      if (out_.size() == most_hooks) {
        // What is left out may have guarded anything.
        return refuse({.event = HookEvent::pre_tool_use}, hook,
                      fmt::format("the file has more than {} hooks", most_hooks));
      }
      read_hook(common, hook);
    });
  }

  // The text of a member that must be there; a fault otherwise.
  static std::string text_of(const Json& hook, std::string_view key, std::string& fault) {
    const auto* value = hook.find(key);
    const auto text = value ? value->text() : std::nullopt;
    if (!text || trim(*text).empty()) {
      if (fault.empty()) fault = fmt::format("a hook of this type needs a string \"{}\"", key);
      return {};
    }
    if (text->find('\0') != std::string_view::npos && fault.empty()) {
      fault = fmt::format("\"{}\" contains a NUL character", key);
    }
    return std::string(*text);
  }

  static std::vector<std::string> texts_of(const Json& value, std::string_view key, std::string& fault) {
    std::vector<std::string> out;
    const auto* items = value.if_array();
    if (items == nullptr || !std::ranges::all_of(*items, [](const Json& item) { return item.is_string(); })) {
      if (fault.empty()) fault = fmt::format("\"{}\" must be an array of strings", key);
      return out;
    }
    for (const auto& item : *items) out.emplace_back(item.as_text());
    return out;
  }

  static void read_command(const Json& value, HookSetting& hook, std::string& fault) {
    hook.command = text_of(value, "command", fault);
    if (const auto* args = value.find("args")) hook.args = texts_of(*args, "args", fault);
  }

  static void read_http(const Json& value, HookSetting& hook, std::string& fault) {
    hook.kind = HookSetting::Kind::http;
    hook.url = text_of(value, "url", fault);
    const auto url = parse_url(hook.url);
    if (fault.empty() && (!url || (url->scheme != "http" && url->scheme != "https"))) {
      fault = "\"url\" must be an http or https URL";
    }
    if (const auto* headers = value.find("headers")) {
      if (!headers->is_object() && fault.empty()) fault = "\"headers\" must be an object";
      for (auto [name, header] : headers->members()) {
        const auto text = header.text();
        auto wrong = text ? header_fault(name, *text) : fmt::format("the header \"{}\" must be a string", name);
        if (!wrong.empty() && fault.empty()) fault = std::move(wrong);
        if (text) hook.headers.emplace_back(name, *text);
      }
    }
    if (const auto* allowed = value.find("allowedEnvVars")) {
      hook.allowed_variables = texts_of(*allowed, "allowedEnvVars", fault);
    }
  }

  static void read_tool(const Json& value, HookSetting& hook, std::string& fault) {
    hook.kind = HookSetting::Kind::mcp_tool;
    hook.server = text_of(value, "server", fault);
    hook.tool = text_of(value, "tool", fault);
    if (const auto* input = value.find("input")) {
      if (!input->is_object() && fault.empty()) fault = "\"input\" must be an object";
      hook.input = *input;
    }
  }

  static void read_limits(const Json& value, HookSetting& hook, std::string& fault) {
    if (const auto* timeout = value.find("timeout")) {
      const auto seconds = timeout->to_double();
      if (!seconds || !(*seconds > 0)) {
        if (fault.empty()) fault = "\"timeout\" must be a number of seconds above 0";
      } else {
        const auto bounded = std::min(*seconds, longest_timeout);
        hook.timeout = std::chrono::milliseconds(std::max<std::int64_t>(1, std::llround(bounded * 1000)));
      }
    }
    if (const auto* on_error = value.find("onError")) {
      if (*on_error == Json("allow") || *on_error == Json("deny")) {
        hook.refuses_on_error = *on_error == Json("deny");
      } else if (fault.empty()) {
        fault = "\"onError\" must be \"allow\" or \"deny\"";
      }
    }
  }

  void read_hook(HookSetting hook, const Member& at) {
    if (!at.value->is_object()) {
      return refuse(std::move(hook), at,
                    fmt::format("a hook must be an object, found {}", kind_with_article(*at.value)));
    }
    const auto& value = *at.value;
    std::string fault;
    read_limits(value, hook, fault);
    const auto type = value["type"].text().value_or("");
    if (type == "command") {
      read_command(value, hook, fault);
    } else if (type == "http") {
      read_http(value, hook, fault);
    } else if (type == "mcp_tool") {
      read_tool(value, hook, fault);
    } else if (fault.empty()) {
      fault = fmt::format("the \"type\" of a hook must be \"command\", \"http\" or \"mcp_tool\", found {}",
                          to_text(value["type"]));
    }
    if (!fault.empty()) return refuse(std::move(hook), at, fault);
    const auto [line, column] = report_.position(at.place->value);
    hook.place = {line, column};
    add(std::move(hook));
  }

  ConfigReport& report_;
  std::vector<HookSetting> out_;
};

}  // namespace

std::string_view to_string(HookEvent event) noexcept { return event_names.at(static_cast<std::size_t>(event)); }

bool guards(HookEvent event) noexcept {
  return event == HookEvent::pre_tool_use || event == HookEvent::elicitation || event == HookEvent::user_prompt_submit;
}

bool can_guard(HookEvent event) noexcept {
  return !is_of_agent(event) || event == HookEvent::user_prompt_submit || event == HookEvent::pre_compact;
}

bool is_of_agent(HookEvent event) noexcept { return event >= HookEvent::user_prompt_submit; }

std::vector<HookSetting> read_hooks(const ConfigDocument::Member& at, ConfigReport& report) {
  return HookReader(report).read(at);
}

}  // namespace patchbay
