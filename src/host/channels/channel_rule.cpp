#include "host/channels/channel_rule.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "entries/expand.h"
#include "settings/plugins.h"
#include "text/file_and_line.h"
#include "text/visible_text.h"

namespace patchbay {
namespace {

constexpr std::string_view server_prefix = "server:";
constexpr std::string_view plugin_prefix = "plugin:";

std::string_view plugin_of(const ServerConfig& server) {
  if (server.origin.scope != ConfigScope::plugin) return {};
  const auto found = std::ranges::find(server.variables, plugin_id_variable, &NamedTexts::value_type::first);
  return found == server.variables.end() ? std::string_view() : std::string_view(found->second);
}

bool is_meant(const ChannelName& name, const ServerConfig& server) {
  if (name.kind == ChannelName::Kind::server) return name.name == server.name;
  return !name.name.empty() && name.name == plugin_of(server);
}

bool names(std::string_view word, const ServerConfig& server) {
  const auto name = channel_name(word);
  return name && is_meant(*name, server);
}

ChannelVerdict forbidden(std::string_view setting, const SettingsLayer& layer, SettingPlace place,
                         std::string_view why) {
  return {ChannelVerdict::Outcome::forbidden,
          std::string(setting),
          layer.file,
          place.line,
          place.column,
          fmt::format("{} ({} in {})", why, setting, file_and_line(layer.file, place.line))};
}

// What an organisation says about it, whoever names it.
std::optional<ChannelVerdict> judge_managed(const ServerConfig& server, std::span<const SettingsLayer> layers) {
  for (const auto& layer : layers) {
    if (layer.source != SettingsSource::enterprise) continue;
    if (layer.unreadable) {
      return ChannelVerdict{.outcome = ChannelVerdict::Outcome::forbidden,
                            .file = layer.file,
                            .reason = fmt::format("{} cannot be read, so it is not known what it forbids", layer.file)};
    }
    if (layer.channels_enabled && !layer.channels_enabled->value) {
      return forbidden("channelsEnabled", layer, layer.channels_enabled->place,
                       "the settings of the organisation switch channels off");
    }
    if (const auto& allowed = layer.allowed_channel_plugins) {
      const auto plugin = plugin_of(server);
      if (plugin.empty() || std::ranges::find(*allowed, plugin) == allowed->end()) {
        return forbidden("allowedChannelPlugins", layer, layer.allowed_channels_place,
                         plugin.empty() ? "the settings of the organisation allow servers of some plugins alone"
                                        : "its plugin is not on the list of the organisation");
      }
    }
  }
  return std::nullopt;
}

// Who names it.
std::optional<ChannelVerdict> find_opener(const ServerConfig& server, std::span<const SettingsLayer> layers,
                                          const ChannelOptions& options) {
  for (const auto& word : options.open) {
    if (!names(word, server)) continue;
    return ChannelVerdict{.outcome = ChannelVerdict::Outcome::open,
                          .by = options.name,
                          .reason = fmt::format("{} names {}", options.name, visible_word(word))};
  }
  for (const auto& layer : layers) {
    if (is_inside_repository(layer.source)) continue;
    for (const auto& word : layer.channels) {
      if (!names(word.value, server)) continue;
      // The user meant the server that had this name then.
      if (came_with_repository(server.origin)) {
        return ChannelVerdict{
            .by = "channels",
            .file = layer.file,
            .line = word.place.line,
            .column = word.place.column,
            .reason = fmt::format(
                "{} names {}, but here a file of the project declares the server of that name; {} can open it",
                file_and_line(layer.file, word.place.line), visible_word(word.value), options.name)};
      }
      return ChannelVerdict{
          .outcome = ChannelVerdict::Outcome::open,
          .by = "channels",
          .file = layer.file,
          .line = word.place.line,
          .column = word.place.column,
          .reason = fmt::format("{} names {}", file_and_line(layer.file, word.place.line), visible_word(word.value))};
    }
  }
  return std::nullopt;
}

bool any_has(std::string_view word, std::span<const ServerConfig> servers) {
  return std::ranges::any_of(servers, [&](const ServerConfig& server) { return names(word, server); });
}

}  // namespace

Result<ChannelName> channel_name(std::string_view word) {
  if (word.starts_with(server_prefix) && word.size() > server_prefix.size()) {
    return ChannelName{ChannelName::Kind::server, std::string(word.substr(server_prefix.size()))};
  }
  if (word.starts_with(plugin_prefix)) {
    const auto id = word.substr(plugin_prefix.size());
    const auto at = id.find('@');
    if (at != 0 && at != std::string_view::npos && at + 1 < id.size()) {
      return ChannelName{ChannelName::Kind::plugin, std::string(id)};
    }
  }
  return fail(Errc::invalid_argument,
              fmt::format("{} is not a channel; write server:NAME, or plugin:NAME@MARKETPLACE for the servers of a "
                          "plugin",
                          visible_word(word)));
}

ChannelVerdict judge_channel(const ServerConfig& server, std::span<const SettingsLayer> layers,
                             const ChannelOptions& options) {
  auto named = find_opener(server, layers, options);
  if (!named) return {.reason = "nobody names it as a channel"};
  if (!named->open()) return std::move(*named);
  if (auto managed = judge_managed(server, layers)) return std::move(*managed);
  return std::move(*named);
}

std::vector<ConfigProblem> channel_problems(std::span<const ServerConfig> servers,
                                            std::span<const SettingsLayer> layers, const ChannelOptions& options) {
  std::vector<ConfigProblem> problems;
  auto look = [&](std::string_view word, const std::string& file, SettingPlace place, Severity unknown) {
    if (const auto name = channel_name(word); !name) {
      problems.push_back({file, place.line, place.column, name.error().message(), "", Severity::warning});
    } else if (!any_has(word, servers)) {
      problems.push_back({file, place.line, place.column,
                          fmt::format("no server is called {}, so no channel is opened for it", visible_word(word)), "",
                          unknown});
    }
  };
  for (const auto& word : options.open) look(word, options.name, {}, Severity::warning);
  for (const auto& layer : layers) {
    // A server that the user's settings name may be one of another project.
    for (const auto& word : layer.channels) look(word.value, layer.file, word.place, Severity::note);
  }
  return problems;
}

}  // namespace patchbay
