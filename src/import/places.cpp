#include "import/places.h"

#include <fmt/format.h>

namespace patchbay {
namespace {

class Places {
 public:
  Places(ImportClient client, const ImportSurroundings& around) : client_(client), around_(around) {}

  std::vector<ImportPlace> take() { return std::move(out_); }

  void at(std::string path, ConfigScope scope = ConfigScope::user) {
    if (!path.starts_with('/')) return;
    ImportPlace place{client_, std::move(path), scope};
    for (const auto& known : out_) {
      if (known.path == place.path) return;
    }
    out_.push_back(std::move(place));
  }
  void home(std::string_view path) { at(fmt::format("{}/{}", around_.home, path)); }
  void config(std::string_view path) { at(fmt::format("{}/{}", around_.config_home, path)); }
  void project(std::string_view path) {
    for (const auto& directory : around_.projects) at(fmt::format("{}/{}", directory, path), ConfigScope::local);
  }
  // Below the directory a variable names, else below home.
  void variable_or_home(std::string_view variable, std::string_view home_directory, std::string_view path) {
    auto directory = around_.variables ? around_.variables(variable) : std::nullopt;
    at(directory && !directory->empty() ? fmt::format("{}/{}", *directory, path)
                                        : fmt::format("{}/{}/{}", around_.home, home_directory, path));
  }
  void variable(std::string_view name, std::string_view path = {}) {
    auto value = around_.variables ? around_.variables(name) : std::nullopt;
    if (value && !value->empty()) at(path.empty() ? *value : fmt::format("{}/{}", *value, path));
  }

 private:
  ImportClient client_;
  const ImportSurroundings& around_;
  std::vector<ImportPlace> out_;
};

constexpr std::string_view code_editors[] = {"Code", "Code - Insiders", "VSCodium"};

}  // namespace

std::vector<ImportPlace> import_places(ImportClient client, const ImportSurroundings& surroundings) {
  Places places(client, surroundings);
  switch (client) {
    case ImportClient::claude_desktop:
      places.config("Claude/claude_desktop_config.json");
      places.home("Library/Application Support/Claude/claude_desktop_config.json");
      break;
    case ImportClient::cursor:
      places.home(".cursor/mcp.json");
      places.project(".cursor/mcp.json");
      break;
    case ImportClient::vscode:
      for (auto editor : code_editors) places.config(fmt::format("{}/User/mcp.json", editor));
      places.home(".copilot/mcp-config.json");
      places.project(".vscode/mcp.json");
      places.project(".devcontainer/devcontainer.json");
      break;
    case ImportClient::codex:
      places.variable_or_home("CODEX_HOME", ".codex", "config.toml");
      places.project(".codex/config.toml");
      break;
    case ImportClient::gemini:
      places.home(".gemini/settings.json");
      places.project(".gemini/settings.json");
      break;
    case ImportClient::windsurf:
      places.home(".codeium/windsurf/mcp_config.json");
      places.home(".codeium/mcp_config.json");
      break;
    case ImportClient::opencode:
      places.variable("OPENCODE_CONFIG");
      for (std::string_view name : {"opencode.json", "opencode.jsonc"}) {
        places.variable("OPENCODE_CONFIG_DIR", name);
        places.config(fmt::format("opencode/{}", name));
        places.project(name);
      }
      break;
    case ImportClient::zed:
      places.config("zed/settings.json");
      places.project(".zed/settings.json");
      break;
    case ImportClient::goose:
      places.config("goose/config.yaml");
      break;
    case ImportClient::cline:
      for (auto editor : code_editors) {
        places.config(
            fmt::format("{}/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json", editor));
      }
      break;
    case ImportClient::mcporter:
      for (std::string_view end : {"json", "jsonc"}) places.home(fmt::format(".mcporter/mcporter.{}", end));
      for (std::string_view end : {"json", "jsonc"}) places.project(fmt::format("config/mcporter.{}", end));
      break;
    case ImportClient::registry:
      places.project("server.json");
      break;
    case ImportClient::mcp_json:
      break;
  }
  return places.take();
}

std::vector<ImportPlace> import_places(const ImportSurroundings& surroundings) {
  std::vector<ImportPlace> out;
  for (const auto& known : import_clients()) {
    if (known.client == ImportClient::registry || known.client == ImportClient::mcp_json) continue;
    for (auto& place : import_places(known.client, surroundings)) out.push_back(std::move(place));
  }
  return out;
}

}  // namespace patchbay
