// What settings files say about servers and tools: approvals, an organisation's lists, permission
// rules. The files belong to other programs and hold much more; what is not read here is not looked
// at. Pure: a text in, values and problems out. Which files there are is decided by load, what the
// values lead to by permission/policy.h, servers/settle.h and permission/rules.h. The layers travel to the host in
// LoadedConfig::settings.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/config.h>

#include "pins/pin_mode.h"
#include "sandbox/setting.h"
#include "settings/hook_settings.h"
#include "settings/variables.h"

namespace patchbay {

enum class SettingsSource : std::uint8_t { enterprise, flag, own, user, project, project_local };
std::string_view to_string(SettingsSource source) noexcept;

// Files inside the repository: they can forbid, and nothing else.
bool is_inside_repository(SettingsSource source) noexcept;
// Of two sources that set one value, the smaller rank counts: enterprise, flag, project_local,
// project, own, user.
int settings_rank(SettingsSource source) noexcept;

struct BoolSetting {
  bool value = false;
  SettingPlace place;
  bool operator==(const BoolSetting&) const = default;
};

struct TextSetting {
  std::string value;
  SettingPlace place;
  // Whether the text stands in the file as it is, so that an offset in it is one in the file.
  bool verbatim = true;
  bool operator==(const TextSetting&) const = default;
};

// One element of allowedMcpServers or deniedMcpServers.
struct PolicyEntry {
  enum class By : std::uint8_t { name, command, url };
  By by = By::name;
  std::string text;               // the name or the URL pattern
  std::vector<std::string> argv;  // by command
  SettingPlace place;
  bool operator==(const PolicyEntry&) const = default;
};
// As it would be written: {"serverName":"x"}.
std::string to_text(const PolicyEntry& entry);

// The lists of permission rules that a file may have.
enum class RuleList : std::uint8_t { allow, ask, deny };
std::string_view to_string(RuleList list) noexcept;

// "xaaIdp": who signs the user in for many servers at once.
struct IdentityProviderSetting {
  std::string issuer;
  std::string client_id;
  std::optional<std::uint16_t> callback_port;
  SettingPlace place;
  bool operator==(const IdentityProviderSetting&) const = default;
};

// "sampling": which servers may have text from the user's model, and how much. Of a file inside the repository
// only what denies and lowers counts.
struct SamplingSettings {
  std::vector<std::string> allow;
  std::vector<std::string> deny;  // "*": all
  std::optional<std::uint64_t> requests_per_call;
  std::optional<std::uint64_t> tokens_per_call;
  std::optional<std::uint64_t> requests_per_server;
  std::optional<std::uint64_t> tokens_per_server;
  bool operator==(const SamplingSettings&) const = default;
};

struct SettingsLayer {
  SettingsSource source = SettingsSource::user;
  std::string file;
  // It is there and cannot be read, or is not JSON, or no object: what it forbids is not known.
  bool unreadable = false;

  std::optional<BoolSetting> enable_all_project_servers;
  std::vector<TextSetting> enabled_project_servers;
  std::vector<TextSetting> disabled_project_servers;

  // Absent: this file has no list. Entries that could not be read are left out with a problem.
  std::optional<std::vector<PolicyEntry>> allowed_servers;
  SettingPlace allowed_place;
  std::vector<PolicyEntry> denied_servers;
  // Something in deniedMcpServers that could not be read.
  std::optional<SettingPlace> denied_unreadable;

  // Count in enterprise settings alone.
  std::optional<BoolSetting> allow_managed_only;
  std::optional<BoolSetting> allow_all_connectors;
  std::optional<BoolSetting> only_plugins;  // strictPluginOnlyCustomization with "mcp"
  std::optional<BoolSetting> no_sideload;   // disableSideloadFlags

  std::vector<VariableSetting> env;  // none of a file inside the repository

  std::optional<BoolSetting> disable_connectors;
  std::optional<BoolSetting> recorder;  // "on", "off"; none of a file inside the repository

  std::optional<PinMode> pins;

  std::optional<IdentityProviderSetting> identity_provider;  // none of a file inside the repository

  std::optional<SandboxSetting> sandbox;  // sandbox.default: of local servers; files in a repository only take away

  std::vector<TextSetting> allow_rules;
  std::vector<TextSetting> ask_rules;
  std::vector<TextSetting> deny_rules;
  // Something in permissions.deny or permissions.ask that is not text.
  std::optional<SettingPlace> rules_unreadable;
  std::optional<TextSetting> default_mode;         // permissions.defaultMode
  std::optional<BoolSetting> skip_permissions;     // dangerouslySkipPermissions
  std::optional<BoolSetting> bypass_switched_off;  // permissions.disableBypassPermissionsMode
  std::vector<TextSetting> folders;                // permissions.additionalDirectories, absolute; none of a repository

  SamplingSettings sampling;

  std::optional<TextSetting> model;  // whom a conversation is held with; none of a file inside the repository
  // "channels": servers that may push messages, "server:NAME" or "plugin:NAME@MARKETPLACE"; none of a repository.
  std::vector<TextSetting> channels;
  // Count in enterprise settings alone: whether there are any, and which plugins' servers may be ("NAME@MARKETPLACE").
  std::optional<BoolSetting> channels_enabled;
  std::optional<std::vector<std::string>> allowed_channel_plugins;
  SettingPlace allowed_channels_place;

  std::vector<HookSetting> hooks;
  std::optional<BoolSetting> hooks_off;           // disableAllHooks
  std::optional<BoolSetting> only_managed_hooks;  // allowManagedHooksOnly; counts in enterprise settings alone

  std::vector<ConfigProblem> problems;  // in the order of the file
  bool operator==(const SettingsLayer&) const = default;
};

// An empty text is an empty layer. What the rules say is not looked at: permission/rules.h does that.
SettingsLayer parse_settings(std::string_view text, SettingsSource source, const std::string& file);

// What is reported about a permission mode that other programs have and that is another one here; empty for ours.
std::string foreign_mode_remark(std::string_view mode);

}  // namespace patchbay
