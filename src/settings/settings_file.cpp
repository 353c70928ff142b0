#include "settings/settings_file.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <patchbay/permission.h>

#include "base/strings.h"
#include "http/url.h"
#include "http/url_pattern.h"
#include "json/kind_text.h"
#include "text/document.h"
#include "text/report.h"

namespace patchbay {
namespace {

using Member = ConfigDocument::Member;

bool is_plain_name(std::string_view name) noexcept {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

// Keys that let or keep something away: a slip in one of them changes what may happen.
constexpr auto guarding_keys = std::to_array<std::string_view>(
    {"permissions", "enableAllProjectMcpServers", "enabledMcpjsonServers", "disabledMcpjsonServers",
     "allowedMcpServers", "deniedMcpServers", "allowManagedMcpServersOnly", "allowAllClaudeAiMcps",
     "strictPluginOnlyCustomization", "disableClaudeAiConnectors", "disableSideloadFlags", "dangerouslySkipPermissions",
     "hooks", "disableAllHooks", "allowManagedHooksOnly", "sampling", "channelsEnabled", "allowedChannelPlugins"});
constexpr auto permission_keys =
    std::to_array<std::string_view>({"allow", "ask", "deny", "defaultMode", "disableBypassPermissionsMode"});
// Of other programs, which read the same object.
constexpr auto foreign_permission_keys =
    std::to_array<std::string_view>({"additionalDirectories", "disableAutoMode", "skipDangerousModePermissionPrompt"});

// The key that was meant, if it is one slip away, two in a long one, or differs in case alone. Most keys of these
// files belong to other programs, so nothing is reported about what is merely similar.
std::string_view meant_key(std::string_view key, std::span<const std::string_view> known) {
  const auto lower = to_lower_ascii(key);
  for (const auto one : known) {
    const std::size_t slips = one.size() < 8 ? 1 : 2;
    if (edit_distance(lower, to_lower_ascii(one), slips) <= slips) return one;
  }
  return {};
}

bool holds_server_rule(const Json& value) {
  const auto* items = value.if_array();
  return items != nullptr && std::ranges::any_of(*items, [](const Json& item) {
           const auto text = item.text();
           return text && (text->starts_with("mcp__") || text->starts_with("MCPTool"));
         });
}

class SettingsReader {
 public:
  SettingsReader(std::string_view text, SettingsLayer& layer)
      : text_(text), layer_(layer), report_(text, layer.file, layer.problems) {}

  // In the order of the file, so that problems are too.
  void read(const Member& top) {
    each(top, [&](const std::string& key, const Member& at) {
      if (key == "enableAllProjectMcpServers") {
        layer_.enable_all_project_servers = truth(at, key);
      } else if (key == "enabledMcpjsonServers") {
        layer_.enabled_project_servers = texts(at, key);
      } else if (key == "disabledMcpjsonServers") {
        layer_.disabled_project_servers = texts(at, key);
      } else if (key == "allowedMcpServers") {
        read_allowed(at);
      } else if (key == "deniedMcpServers") {
        read_denied(at);
      } else if (key == "allowManagedMcpServersOnly") {
        layer_.allow_managed_only = enterprise_only(truth(at, key), at, key);
      } else if (key == "allowAllClaudeAiMcps") {
        layer_.allow_all_connectors = enterprise_only(truth(at, key), at, key);
      } else if (key == "strictPluginOnlyCustomization") {
        layer_.only_plugins = enterprise_only(only_plugins(at), at, key);
      } else if (key == "disableSideloadFlags") {
        layer_.no_sideload = enterprise_only(truth(at, key), at, key);
      } else if (key == "disableClaudeAiConnectors") {
        layer_.disable_connectors = truth(at, key);
      } else if (key == "hooks") {
        layer_.hooks = read_hooks(at, report_);
      } else if (key == "disableAllHooks") {
        layer_.hooks_off = truth(at, key);
      } else if (key == "allowManagedHooksOnly") {
        layer_.only_managed_hooks = enterprise_only(truth(at, key), at, key);
      } else if (key == "dangerouslySkipPermissions") {
        layer_.skip_permissions = not_in_repository(truth(at, key), at, key);
      } else if (key == "pins") {
        read_pins(at);
      } else if (key == "xaaIdp") {
        read_identity_provider(at);
      } else if (key == "sandbox") {
        read_sandbox_default(at);
      } else if (key == "recorder") {
        read_recorder(at);
      } else if (key == "sampling") {
        read_sampling(at);
      } else if (key == "model") {
        read_model(at);
      } else if (key == "channels") {
        read_channels(at);
      } else if (key == "channelsEnabled") {
        read_channels_enabled(at);
      } else if (key == "allowedChannelPlugins") {
        read_allowed_channels(at);
      } else if (key == "env") {
        // What comes with a repository sets no variable of the person's.
        if (!is_inside_repository(layer_.source)) layer_.env = read_variables(at, report_);
      } else if (key == "permissions") {
        read_permissions(at);
      } else if (std::ranges::find(permission_keys, key) != permission_keys.end()) {
        unknown_key(at, key, "it belongs inside \"permissions\"");
      } else if (const auto meant = meant_key(key, guarding_keys); !meant.empty()) {
        unknown_key(at, key, fmt::format("did you mean \"{}\"?", meant));
      }
    });
  }

 private:
  template <class Function>
  static void each(const Member& object, Function function) {
    std::size_t i = 0;
    for (const auto& [key, value] : *object.value->if_object()) {
      function(std::string(key), Member{&value, &object.place->children[i++]});
    }
  }

  SettingPlace place(const Member& at) {
    auto [line, column] = report_.position(at.place->value);
    return {line, column};
  }

  // Whoever types a flag is there to correct it.
  void mistake(std::size_t offset, std::string message) {
    if (layer_.source == SettingsSource::flag) {
      report_.error(offset, std::move(message));
    } else {
      report_.warning(offset, std::move(message));
    }
  }

  void wrong_kind(const Member& at, std::string_view key, std::string_view expected) {
    mistake(at.place->value,
            fmt::format("\"{}\" must be {}, found {}; it is ignored", key, expected, kind_with_article(*at.value)));
  }

  void unknown_key(const Member& at, std::string_view key, std::string_view advice) {
    mistake(at.place->key, fmt::format("unknown key {} is ignored; {}", to_text(Json(key)), advice));
  }

  std::optional<BoolSetting> truth(const Member& at, std::string_view key) {
    if (const auto value = at.value->to_bool()) return BoolSetting{*value, place(at)};
    wrong_kind(at, key, "true or false");
    return std::nullopt;
  }

  // What comes with a repository does not decide what is seen of it.
  void read_recorder(const Member& at) {
    if (is_inside_repository(layer_.source)) {
      report_.warning(at.place->key, "\"recorder\" is ignored in a file inside the repository");
      return;
    }
    const auto word = at.value->text();
    if (!word || (*word != "on" && *word != "off")) return wrong_kind(at, "recorder", "\"on\" or \"off\"");
    layer_.recorder = BoolSetting{*word == "on", place(at)};
  }

  std::optional<BoolSetting> enterprise_only(std::optional<BoolSetting> setting, const Member& at,
                                             std::string_view key) {
    if (!setting || layer_.source == SettingsSource::enterprise) return setting;
    if (setting->value) {
      report_.warning(at.place->key, fmt::format("\"{}\" has an effect only in the settings of an organisation", key));
    }
    return std::nullopt;
  }

  std::optional<BoolSetting> not_in_repository(std::optional<BoolSetting> setting, const Member& at,
                                               std::string_view key) {
    if (setting && setting->value && is_inside_repository(layer_.source)) {
      report_.warning(
          at.place->key,
          fmt::format("\"{}\" is ignored: a file inside the repository cannot turn permission checks off", key));
    }
    return setting;
  }

  TextSetting text_setting(const Member& at, const std::string& value) {
    // Behind the quote.
    return {value, place(at), text_.substr(at.place->value + 1, value.size()) == value};
  }

  std::vector<TextSetting> texts(const Member& at, std::string_view key) {
    std::vector<TextSetting> out;
    const auto* items = at.value->if_array();
    if (items == nullptr) {
      wrong_kind(at, key, "an array of strings");
      return out;
    }
    for (std::size_t i = 0; i < items->size(); ++i) {
      const Member item{&(*items)[i], &at.place->children[i]};
      if (const auto text = item.value->text()) {
        out.push_back(text_setting(item, std::string(*text)));
      } else {
        wrong_kind(item, fmt::format("{}[{}]", key, i), "a string");
      }
    }
    return out;
  }

  // true means everything that can be customised, an array names the kinds.
  std::optional<BoolSetting> only_plugins(const Member& at) {
    constexpr std::string_view key = "strictPluginOnlyCustomization";
    if (const auto* kinds = at.value->if_array()) {
      const bool named = std::ranges::any_of(*kinds, [](const Json& kind) { return kind == Json("mcp"); });
      return BoolSetting{named, place(at)};
    }
    return truth(at, key);
  }

  void read_pins(const Member& at) {
    const auto text = at.value->text();
    const auto mode = text ? pin_mode(*text) : std::nullopt;
    if (!mode) {
      return mistake(at.place->value, "\"pins\" must be \"off\", \"record\" or \"ask\"; it is ignored");
    }
    layer_.pins = mode;
  }

  // --- sandbox

  // The other keys of this object are those of another program.
  void read_sandbox_default(const Member& at) {
    if (!at.value->is_object()) return;
    const auto value = member_of(at, "default");
    if (!value) return;
    auto setting = read_sandbox(*value.value);
    if (!setting) {
      // What was meant is not known, so it is taken for the strictest.
      report_.error(value.place->value,
                    fmt::format("sandbox.default: {}; until this is fixed it counts as \"required\"", setting.error()));
      setting.emplace();
      setting->mode = SandboxMode::required;
    }
    layer_.sandbox = std::move(*setting);
  }

  // --- sign-in

  void read_identity_provider(const Member& at) {
    // Whoever signs the user in gets their password: no repository chooses that.
    if (is_inside_repository(layer_.source)) {
      report_.warning(at.place->key, "\"xaaIdp\" is ignored in a file inside the repository");
      return;
    }
    if (!at.value->is_object()) return wrong_kind(at, "xaaIdp", "an object");
    IdentityProviderSetting provider;
    provider.place = place(at);
    const auto issuer = (*at.value)["issuer"].text();
    const auto client = (*at.value)["clientId"].text();
    const auto url = parse_url(issuer.value_or(""));
    if (!url || (url->scheme != "https" && !is_loopback_host(url->host))) {
      return mistake(at.place->value, "\"xaaIdp.issuer\" must be an https URL; the identity provider is ignored");
    }
    if (!client || client->empty()) {
      return mistake(at.place->value, "\"xaaIdp.clientId\" must be a text; the identity provider is ignored");
    }
    provider.issuer = *issuer;
    provider.client_id = *client;
    if (const auto& port = (*at.value)["callbackPort"]; !port.is_null()) {
      const auto number = port.to_int();
      if (number && *number >= 1 && *number <= 65535) {
        provider.callback_port = static_cast<std::uint16_t>(*number);
      } else {
        mistake(at.place->value, "\"xaaIdp.callbackPort\" must be a port from 1 to 65535; it is ignored");
      }
    }
    layer_.identity_provider = std::move(provider);
  }

  // --- the model

  // Whoever answers reads everything, so no repository chooses that. Another program has this key as well: about what
  // is in the files it shares with us nothing is reported.
  void read_model(const Member& at) {
    if (is_inside_repository(layer_.source)) return;
    const auto name = at.value->text();
    if (!name || name->empty()) {
      const bool ours = layer_.source == SettingsSource::own || layer_.source == SettingsSource::flag;
      if (ours) wrong_kind(at, "model", "a text");
      return;
    }
    layer_.model = text_setting(at, std::string(*name));
  }

  // --- what servers may have of the model

  void read_sampling(const Member& at) {
    if (!at.value->is_object()) return wrong_kind(at, "sampling", "an object");
    auto& out = layer_.sampling;
    each(at, [&](const std::string& key, const Member& value) {
      const auto whole = "sampling." + key;
      if (key == "allow" || key == "deny") {
        auto names = texts(value, whole);
        if (key == "allow" && is_inside_repository(layer_.source)) {
          report_.warning(value.place->key, "\"sampling.allow\" is ignored in a file inside the repository");
          return;
        }
        auto& list = key == "allow" ? out.allow : out.deny;
        for (auto& name : names) list.push_back(std::move(name.value));
        // What is denied is not known: everything is.
        if (key == "deny" && names.size() != value.value->size()) list.emplace_back("*");
        if (key == "deny" && !value.value->is_array()) list.emplace_back("*");
      } else if (key == "requestsPerCall") {
        out.requests_per_call = count(value, whole);
      } else if (key == "tokensPerCall") {
        out.tokens_per_call = count(value, whole);
      } else if (key == "requestsPerServer") {
        out.requests_per_server = count(value, whole);
      } else if (key == "tokensPerServer") {
        out.tokens_per_server = count(value, whole);
      } else {
        unknown_key(value, key,
                    "\"sampling\" has allow, deny, requestsPerCall, tokensPerCall, requestsPerServer and "
                    "tokensPerServer");
      }
    });
  }

  std::optional<std::uint64_t> count(const Member& at, std::string_view key) {
    const auto value = at.value->is_integer() ? at.value->to_uint() : std::nullopt;
    if (!value) wrong_kind(at, key, "a whole number that is at least 0");
    return value;
  }

  // --- channels

  // What comes with a repository lets nobody speak to the person's model.
  void read_channels(const Member& at) {
    if (is_inside_repository(layer_.source)) {
      report_.warning(at.place->key, "\"channels\" is ignored in a file inside the repository");
      return;
    }
    layer_.channels = texts(at, "channels");
  }

  void read_channels_enabled(const Member& at) {
    constexpr std::string_view key = "channelsEnabled";
    if (layer_.source == SettingsSource::enterprise && !at.value->is_bool()) {
      report_.error(at.place->value,
                    fmt::format("\"{}\" must be true or false, found {}; until this is fixed there are no channels",
                                key, kind_with_article(*at.value)));
      layer_.channels_enabled = BoolSetting{false, place(at)};
      return;
    }
    layer_.channels_enabled = enterprise_only(truth(at, key), at, key);
  }

  void read_allowed_channels(const Member& at) {
    constexpr std::string_view key = "allowedChannelPlugins";
    if (layer_.source != SettingsSource::enterprise) {
      report_.warning(at.place->key, fmt::format("\"{}\" has an effect only in the settings of an organisation", key));
      return;
    }
    layer_.allowed_channels_place = place(at);
    // A list that cannot be read allows what an empty one does: nothing.
    auto& allowed = layer_.allowed_channel_plugins.emplace();
    const auto* items = at.value->if_array();
    if (items == nullptr) {
      report_.error(at.place->value, fmt::format("\"{}\" must be an array of objects, found {}; until this is fixed no "
                                                 "server is allowed as a channel",
                                                 key, kind_with_article(*at.value)));
      return;
    }
    for (std::size_t i = 0; i < items->size(); ++i) {
      const Member item{&(*items)[i], &at.place->children[i]};
      const auto plugin = (*item.value)["plugin"].text();
      const auto marketplace = (*item.value)["marketplace"].text();
      if (plugin && marketplace) {
        allowed.push_back(fmt::format("{}@{}", *plugin, *marketplace));
      } else {
        report_.warning(item.place->value,
                        fmt::format("{}[{}] is ignored and allows nothing: it must be an object with the texts "
                                    "\"marketplace\" and \"plugin\"",
                                    key, i));
      }
    }
  }

  // --- lists of servers

  void read_allowed(const Member& at) {
    const auto* items = at.value->if_array();
    layer_.allowed_place = place(at);
    // A list that cannot be read allows what an empty one does: nothing.
    layer_.allowed_servers.emplace();
    if (items == nullptr) {
      report_.error(
          at.place->value,
          fmt::format(
              "\"allowedMcpServers\" must be an array of objects, found {}; until this is fixed no server is allowed",
              kind_with_article(*at.value)));
      return;
    }
    for (std::size_t i = 0; i < items->size(); ++i) {
      const Member item{&(*items)[i], &at.place->children[i]};
      std::string fault;
      auto entries = policy_entries(item, fault);
      if (fault.empty() && entries.front().by == PolicyEntry::By::name && !is_plain_name(entries.front().text)) {
        fault = "\"serverName\" can only contain letters, digits, '_' and '-'";
      }
      if (fault.empty()) {
        layer_.allowed_servers->push_back(std::move(entries.front()));
      } else {
        report_.warning(item.place->value,
                        fmt::format("allowedMcpServers[{}] is ignored and allows nothing: {}", i, fault));
      }
    }
  }

  void read_denied(const Member& at) {
    const auto* items = at.value->if_array();
    if (items == nullptr) {
      denied_fault(
          at, fmt::format("\"deniedMcpServers\" must be an array of objects, found {}", kind_with_article(*at.value)));
      return;
    }
    for (std::size_t i = 0; i < items->size(); ++i) {
      const Member item{&(*items)[i], &at.place->children[i]};
      std::string fault;
      auto entries = policy_entries(item, fault);
      // What could be read of a wrong entry denies all the same.
      std::ranges::move(entries, std::back_inserter(layer_.denied_servers));
      if (!fault.empty()) denied_fault(item, fmt::format("deniedMcpServers[{}]: {}", i, fault));
    }
  }

  void denied_fault(const Member& at, std::string message) {
    if (layer_.source == SettingsSource::enterprise) {
      message += "; until this is fixed every server is denied";
      if (!layer_.denied_unreadable) layer_.denied_unreadable = place(at);
    }
    report_.error(at.place->value, std::move(message));
  }

  // What an element names. A fault says that it is not exactly one thing.
  std::vector<PolicyEntry> policy_entries(const Member& at, std::string& fault) {
    std::vector<PolicyEntry> out;
    if (!at.value->is_object()) {
      fault = fmt::format("expected an object, found {}", kind_with_article(*at.value));
      return out;
    }
    each(at, [&](const std::string& key, const Member& value) {
      PolicyEntry entry;
      entry.place = place(at);
      if (key == "serverName" || key == "serverUrl") {
        const auto text = value.value->text();
        if (!text) {
          fault = fmt::format("\"{}\" must be a string, found {}", key, kind_with_article(*value.value));
          return;
        }
        entry.by = key == "serverName" ? PolicyEntry::By::name : PolicyEntry::By::url;
        entry.text = *text;
        if (entry.by == PolicyEntry::By::url && text->find("${") == std::string::npos) {
          if (auto pattern = UrlPattern::parse(*text); !pattern) {
            fault = fmt::format("\"serverUrl\": {}", pattern.error().message());
            return;
          }
        }
      } else if (key == "serverCommand") {
        entry.by = PolicyEntry::By::command;
        const auto* items = value.value->if_array();
        if (items == nullptr || items->empty() ||
            !std::ranges::all_of(*items, [](const Json& item) { return item.is_string(); })) {
          fault = "\"serverCommand\" must be an array of strings: the command and its arguments";
          return;
        }
        for (const auto& item : *items) entry.argv.emplace_back(item.as_text());
      } else {
        fault =
            fmt::format("unknown key {}; use \"serverName\", \"serverCommand\" or \"serverUrl\"", to_text(Json(key)));
        return;
      }
      out.push_back(std::move(entry));
    });
    if (fault.empty() && out.size() != 1) {
      fault = "expected exactly one of \"serverName\", \"serverCommand\" and \"serverUrl\"";
    }
    return out;
  }

  // --- rules

  void read_permissions(const Member& at) {
    if (!at.value->is_object()) {
      rules_fault(at, fmt::format("\"permissions\" must be an object, found {}", kind_with_article(*at.value)));
      return;
    }
    each(at, [&](const std::string& key, const Member& value) {
      if (key == "allow") {
        layer_.allow_rules = rules(value, RuleList::allow);
      } else if (key == "ask") {
        layer_.ask_rules = rules(value, RuleList::ask);
      } else if (key == "deny") {
        layer_.deny_rules = rules(value, RuleList::deny);
      } else if (key == "defaultMode") {
        read_mode(value);
      } else if (key == "disableBypassPermissionsMode") {
        // "disable" is the only word it has; anything else but false is taken for it.
        const auto flag = value.value->to_bool();
        layer_.bypass_switched_off = BoolSetting{flag.value_or(true), place(value)};
      } else if (key == "additionalDirectories") {
        // What comes with a repository names no folders of the person's.
        if (!is_inside_repository(layer_.source)) layer_.folders = texts(value, "permissions.additionalDirectories");
      } else if (std::ranges::find(foreign_permission_keys, key) == foreign_permission_keys.end()) {
        const auto meant = meant_key(key, permission_keys);
        if (!meant.empty()) {
          unknown_key(value, key, fmt::format("did you mean \"{}\"?", meant));
        } else if (holds_server_rule(*value.value)) {
          unknown_key(value, key, "rules belong in \"allow\", \"ask\" and \"deny\"");
        }
      }
    });
  }

  void rules_fault(const Member& at, std::string message) {
    if (!layer_.rules_unreadable) layer_.rules_unreadable = place(at);
    report_.error(
        at.place->value,
        fmt::format("{}; until this is fixed no tool can be called, because the deny rules are unknown", message));
  }

  std::vector<TextSetting> rules(const Member& at, RuleList list) {
    std::vector<TextSetting> out;
    const auto key = fmt::format("permissions.{}", to_string(list));
    const auto* items = at.value->if_array();
    if (items == nullptr) {
      rule_kind_fault(at, key, "an array of strings", list);
      return out;
    }
    for (std::size_t i = 0; i < items->size(); ++i) {
      const Member item{&(*items)[i], &at.place->children[i]};
      const auto text = item.value->text();
      if (!text) {
        rule_kind_fault(item, fmt::format("{}[{}]", key, i), "a string", list);
        continue;
      }
      out.push_back(text_setting(item, std::string(*text)));
    }
    return out;
  }

  void rule_kind_fault(const Member& at, std::string_view key, std::string_view expected, RuleList list) {
    if (list == RuleList::allow) {
      wrong_kind(at, key, expected);
    } else {
      rules_fault(at, fmt::format("\"{}\" must be {}, found {}", key, expected, kind_with_article(*at.value)));
    }
  }

  void read_mode(const Member& at) {
    const auto text = at.value->text();
    if (!text) {
      wrong_kind(at, "permissions.defaultMode", "a string");
      return;
    }
    const auto mode = permission_mode(*text);
    if (!mode) {
      mistake(at.place->value, fmt::format("unknown mode {} in \"permissions.defaultMode\" is ignored; the modes are "
                                           "default, acceptReads, bypass and dontAsk",
                                           to_text(*at.value)));
      return;
    }
    if (*mode == PermissionMode::bypass && is_inside_repository(layer_.source)) {
      report_.warning(
          at.place->value,
          "\"permissions.defaultMode\" is ignored: a file inside the repository cannot turn permission checks off");
    }
    if (const auto remark = foreign_mode_remark(*text); !remark.empty()) {
      const auto [line, column] = place(at);
      // Whoever chose plan counts on nothing being changed; the others are wishes about other tools.
      layer_.problems.push_back({layer_.file,
                                 line,
                                 column,
                                 remark,
                                 {},
                                 *text != "plan"                         ? Severity::note
                                 : layer_.source == SettingsSource::flag ? Severity::error
                                                                         : Severity::warning});
    }
    layer_.default_mode = text_setting(at, std::string(*text));
  }

  std::string_view text_;
  SettingsLayer& layer_;
  ConfigReport report_;
};

}  // namespace

std::string_view to_string(SettingsSource source) noexcept {
  static constexpr std::array names{"enterprise", "flag", "own", "user", "project", "project_local"};
  return names.at(static_cast<std::size_t>(source));
}

std::string_view to_string(RuleList list) noexcept {
  static constexpr std::array names{"allow", "ask", "deny"};
  return names.at(static_cast<std::size_t>(list));
}

std::string foreign_mode_remark(std::string_view mode) {
  if (mode == "plan") {
    return "Patchbay has no mode \"plan\"; the mode \"default\" is used instead, which can allow calls that change "
           "things; the mode \"dontAsk\" refuses every call that no rule allows";
  }
  if (mode == "acceptEdits" || mode == "auto") {
    return fmt::format(
        "the mode \"{}\" is only about tools that do not belong to a server; the mode \"default\" is used instead",
        mode);
  }
  return {};
}

bool is_inside_repository(SettingsSource source) noexcept {
  return source == SettingsSource::project || source == SettingsSource::project_local;
}

int settings_rank(SettingsSource source) noexcept {
  switch (source) {
    case SettingsSource::enterprise:
      return 0;
    case SettingsSource::flag:
      return 1;
    case SettingsSource::project_local:
      return 2;
    case SettingsSource::project:
      return 3;
    case SettingsSource::own:
      return 4;
    case SettingsSource::user:
      return 5;
  }
  return 5;
}

std::string to_text(const PolicyEntry& entry) {
  switch (entry.by) {
    case PolicyEntry::By::name:
      return to_text(Json{{"serverName", entry.text}});
    case PolicyEntry::By::url:
      return to_text(Json{{"serverUrl", entry.text}});
    case PolicyEntry::By::command:
      break;
  }
  Json argv = Json::array();
  for (const auto& word : entry.argv) argv.push_back(word);
  return to_text(Json{{"serverCommand", std::move(argv)}});
}

SettingsLayer parse_settings(std::string_view text, SettingsSource source, const std::string& file) {
  SettingsLayer layer;
  layer.source = source;
  layer.file = file;
  auto document = read_document(text, file, "an object with settings");
  if (!document) {
    layer.unreadable = true;
    layer.problems.push_back(std::move(document).error());
    return layer;
  }
  if (!document->root.is_object()) {
    layer.unreadable = true;
    auto [line, column] = position_of(text, document->place.value);
    layer.problems.push_back(
        {file,
         line,
         column,
         fmt::format("expected an object with settings, found {}; {}", kind_with_article(document->root), fix_the_file),
         {},
         Severity::error});
    return layer;
  }
  SettingsReader(text, layer).read(document->top());
  return layer;
}

}  // namespace patchbay
