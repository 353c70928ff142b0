#include "settings/plugins.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/strings.h"
#include "json/kind_text.h"
#include "text/report.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;
using Member = ConfigDocument::Member;

bool is_name(std::string_view text) noexcept {
  return !text.empty() && text.size() <= 128 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
}

std::string as_name(std::string_view text) {
  std::string out;
  for (char c : text) out += is_name(std::string_view(&c, 1)) ? c : '-';
  return out.empty() ? "plugin" : out;
}

// A file below the plugin's root; empty when it would be elsewhere.
std::string below(const std::string& root, std::string_view relative) {
  auto path = (fs::path(root) / relative).lexically_normal();
  auto inside = path.lexically_relative(fs::path(root).lexically_normal());
  if (relative.starts_with('/') || inside.empty() || *inside.begin() == "..") return {};
  return path.string();
}

class PluginReader {
 public:
  PluginReader(const PluginPlace& plugin, const PluginContext& context) : plugin_(plugin), context_(context) {
    auto root = fs::path(plugin.root).lexically_normal();
    if (!root.has_filename()) root = root.parent_path();
    root_ = root.string();
    name_ = as_name(plugin.id.empty() ? root.filename().string() : plugin.id.substr(0, plugin.id.find('@')));
  }

  std::vector<ParsedServers> read() {
    read_manifest();
    read_file(root_ + "/.mcp.json");
    return std::move(out_);
  }

 private:
  void read_manifest() {
    std::string file = root_ + "/.claude-plugin/plugin.json";
    auto text = context_.text_of(file);
    if (!text) {
      file = root_ + "/plugin.json";
      text = context_.text_of(file);
    }
    if (!text) return;
    auto document = read_document(*text, file, "an object");
    if (!document) {
      out_.push_back({{}, {std::move(document).error()}, {}, {}});
      return;
    }
    if (auto name = member_of(document->top(), "name"); name && name.value->is_string()) {
      name_ = as_name(name.value->as_text());
    }
    if (auto servers = member_of(document->top(), "mcpServers")) read_servers(*text, file, servers);
  }

  // An object of servers, the name of a file with some, or several of either.
  void read_servers(std::string_view text, const std::string& file, const Member& at) {
    if (const auto path = at.value->text()) {
      auto named = below(root_, *path);
      if (named.empty()) {
        complain(text, file, at,
                 fmt::format("{} is outside the directory of the plugin and is not read; move the file into it",
                             quoted_name(*path)));
      } else if (!read_file(named)) {
        complain(
            text, file, at,
            fmt::format("the file {} with its servers cannot be read; create it, or correct \"mcpServers\"", named));
      }
    } else if (const auto* items = at.value->if_array()) {
      for (std::size_t i = 0; i < items->size(); ++i) {
        if ((*items)[i].is_array()) continue;
        read_servers(text, file, {&(*items)[i], &at.place->children[i]});
      }
    } else {
      add(parse_server_map(text, at, origin(file)));
    }
  }

  bool read_file(const std::string& file) {
    if (file == manifest_mcp_) return true;
    auto text = context_.text_of(file);
    if (!text) return false;
    // The usual file may be named by the manifest as well.
    if (file == root_ + "/.mcp.json") manifest_mcp_ = file;
    add(parse_servers(*text, origin(file), ServerMap::wrapped_or_bare));
    return true;
  }

  static ConfigOrigin origin(const std::string& file) {
    return {file, 0, ConfigScope::plugin, ConfigTrust::trusted, 0};
  }

  void complain(std::string_view text, const std::string& file, const Member& at, std::string message) {
    ParsedServers out;
    ConfigReport(text, file, out.problems).error(at.place->value, fmt::format("plugin {}: {}", name_, message));
    out_.push_back(std::move(out));
  }

  void add(ParsedServers parsed) {
    auto full = [&](const std::string& server) { return fmt::format("plugin:{}:{}", name_, server); };
    const auto variables = variables_of_plugin();
    for (auto& server : parsed.servers) {
      server.name = full(server.name);
      server.variables = variables;
    }
    for (auto& broken : parsed.broken) broken.name = full(broken.name);
    for (auto& use : parsed.uses) use.server = full(use.server);
    for (auto& problem : parsed.problems) {
      if (!problem.server.empty()) problem.server = full(problem.server);
    }
    out_.push_back(std::move(parsed));
  }

  NamedTexts variables_of_plugin() const {
    NamedTexts out{{"CLAUDE_PLUGIN_ROOT", root_},
                   {"CLAUDE_PLUGIN_DATA", context_.data_dir + "/" + as_name(plugin_.id.empty() ? name_ : plugin_.id)},
                   {"CLAUDE_PROJECT_DIR", context_.project_dir}};
    if (!plugin_.id.empty()) out.emplace_back(plugin_id_variable, plugin_.id);
    for (const auto& id : {plugin_.id, name_}) {
      auto found = context_.settings.values.find(id);
      if (id.empty() || found == context_.settings.values.end()) continue;
      for (const auto& [key, value] : found->second) out.emplace_back("user_config." + key, value);
      break;
    }
    return out;
  }

  const PluginPlace& plugin_;
  const PluginContext& context_;
  std::string root_;
  std::string name_;
  std::string manifest_mcp_;
  std::vector<ParsedServers> out_;
};

}  // namespace

void add_plugin_settings(PluginSettings& settings, std::string_view text, bool inside_repository) {
  const auto document = read_document(text, {}, "an object");
  if (!document) return;  // said by whoever reads the file for its settings
  if (const auto* enabled = document->root["enabledPlugins"].if_object()) {
    for (const auto& [id, value] : *enabled) {
      const auto on = value.to_bool();
      if (!on) continue;
      // Off anywhere is off: who wants it off has a reason. On counts from the user alone.
      auto [known, fresh] = settings.enabled.try_emplace(std::string(id), *on);
      if (!*on) known->second = false;
      if (fresh && *on && inside_repository) settings.enabled.erase(known);
    }
  }
  if (inside_repository) return;
  if (const auto* configs = document->root["pluginConfigs"].if_object()) {
    for (const auto& [id, value] : *configs) {
      const auto* options = value["options"].if_object();
      if (options == nullptr) continue;
      auto& values = settings.values[std::string(id)];
      for (const auto& [key, option] : *options) {
        if (const auto one = option.text()) {
          values.emplace_back(key, *one);
        } else if (option.is_number() || option.is_bool()) {
          values.emplace_back(key, to_text(option));
        }
      }
    }
  }
}

std::vector<PluginPlace> installed_plugins(std::string_view text, const std::string& file,
                                           const PluginSettings& settings, std::vector<ConfigProblem>& problems) {
  std::vector<PluginPlace> out;
  const auto document = read_document(text, file, "an object");
  if (!document) {
    problems.push_back(document.error());
    return out;
  }
  const auto* plugins = document->root["plugins"].if_object();
  if (plugins == nullptr) return out;
  for (const auto& [id, value] : *plugins) {
    auto on = settings.enabled.find(std::string(id));
    if (on == settings.enabled.end() || !on->second) continue;
    // Once an object, later a list with one object per scope.
    const Json* one = &value;
    if (const auto* list = value.if_array()) {
      if (list->empty()) continue;
      one = &list->front();
    }
    const auto path = (*one)["installPath"].text();
    if (path && path->starts_with('/')) out.push_back({std::string(*path), std::string(id)});
  }
  return out;
}

std::vector<ParsedServers> read_plugin(const PluginPlace& plugin, const PluginContext& context) {
  return PluginReader(plugin, context).read();
}

}  // namespace patchbay
