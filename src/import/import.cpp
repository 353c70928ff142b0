#include "import/import.h"

#include <algorithm>
#include <array>

#include "import/entry.h"
#include "text/formats.h"

namespace patchbay {
namespace {

constexpr auto clients = std::to_array<ImportClientName>({
    {ImportClient::claude_desktop, "claude-desktop", "Claude Desktop"},
    {ImportClient::cursor, "cursor", "Cursor"},
    {ImportClient::vscode, "vscode", "VS Code"},
    {ImportClient::codex, "codex", "Codex"},
    {ImportClient::gemini, "gemini", "Gemini CLI"},
    {ImportClient::windsurf, "windsurf", "Windsurf"},
    {ImportClient::opencode, "opencode", "opencode"},
    {ImportClient::zed, "zed", "Zed"},
    {ImportClient::goose, "goose", "goose"},
    {ImportClient::cline, "cline", "Cline"},
    {ImportClient::mcporter, "mcporter", "mcporter"},
    {ImportClient::registry, "registry", "server.json"},
    {ImportClient::mcp_json, "mcp-json", ".mcp.json"},
});

VariableStyle style_of(ImportClient client) noexcept {
  switch (client) {
    case ImportClient::cursor:
    case ImportClient::vscode:
    case ImportClient::windsurf:
    case ImportClient::cline:
      return VariableStyle::editor;
    case ImportClient::gemini:
      return VariableStyle::windows;
    case ImportClient::opencode:
      return VariableStyle::braces;
    case ImportClient::mcporter:
      return VariableStyle::mcporter;
    case ImportClient::mcp_json:
      return VariableStyle::ours;
    default:
      return VariableStyle::none;
  }
}

std::expected<ConfigDocument, ConfigProblem> read_source(ImportClient client, std::string_view text,
                                                         const std::string& file) {
  if (client == ImportClient::codex) return read_toml(text, file);
  if (client == ImportClient::goose) return read_yaml(text, file);
  return read_document(text, file, "an object with servers");
}

bool ends_in(std::string_view path, std::string_view name) noexcept {
  if (!path.ends_with(name)) return false;
  const auto before = path.size() - name.size();
  return before == 0 || path[before - 1] == '/' || name.front() == '.';
}

// How the name ends; the more exact come first.
constexpr auto file_names = std::to_array<std::pair<std::string_view, ImportClient>>({
    {"claude_desktop_config.json", ImportClient::claude_desktop},
    {".cursor/mcp.json", ImportClient::cursor},
    {".copilot/mcp-config.json", ImportClient::vscode},
    {"devcontainer.json", ImportClient::vscode},
    {".vscode/mcp.json", ImportClient::vscode},
    {"User/mcp.json", ImportClient::vscode},
    {".gemini/settings.json", ImportClient::gemini},
    {"mcp_config.json", ImportClient::windsurf},
    {"opencode.json", ImportClient::opencode},
    {"opencode.jsonc", ImportClient::opencode},
    {"zed/settings.json", ImportClient::zed},
    {"cline_mcp_settings.json", ImportClient::cline},
    {"mcporter.json", ImportClient::mcporter},
    {"mcporter.jsonc", ImportClient::mcporter},
    {".toml", ImportClient::codex},
    {".yaml", ImportClient::goose},
    {".yml", ImportClient::goose},
});

}  // namespace

std::span<const ImportClientName> import_clients() noexcept { return clients; }

const ImportClientName& name_of(ImportClient client) noexcept {
  return *std::ranges::find(clients, client, &ImportClientName::client);
}

std::optional<ImportClient> import_client(std::string_view id) noexcept {
  const auto* found = std::ranges::find(clients, id, &ImportClientName::id);
  if (found == clients.end()) return std::nullopt;
  return found->client;
}

std::string_view to_string(ImportFate fate) noexcept {
  switch (fate) {
    case ImportFate::changed:
      return "changed";
    case ImportFate::kept:
      return "kept as it is";
    case ImportFate::left_out:
      break;
  }
  return "left out";
}

ImportedFile import_text(ImportClient client, std::string_view text, const std::string& file) {
  ImportedFile out{client, file, {}, {}, {}};
  auto document = read_source(client, text, file);
  if (!document) {
    out.problems.push_back(std::move(document.error()));
    return out;
  }
  ImportWork work(out, text, style_of(client));
  switch (client) {
    case ImportClient::codex:
    case ImportClient::gemini:
    case ImportClient::opencode:
    case ImportClient::goose:
      import_agent(work, *document);
      break;
    case ImportClient::registry:
      import_registry(work, *document);
      break;
    default:
      import_editor(work, *document);
  }
  return out;
}

std::optional<ImportClient> recognise_import(std::string_view path, std::string_view text) {
  for (const auto& [end, client] : file_names) {
    if (ends_in(path, end)) return client;
  }
  auto document = read_document(text, {}, {});
  if (!document || !document->root.is_object()) return std::nullopt;
  const auto& root = document->root;
  if (root.find("mcpServers")) return ImportClient::mcp_json;
  if (root.find("context_servers")) return ImportClient::zed;
  if (root.find("packages") || root.find("remotes") || root["server"].is_object() || root["servers"].is_array()) {
    return ImportClient::registry;
  }
  if (root["servers"].is_object() || root["customizations"].is_object()) return ImportClient::vscode;
  if (root["mcp"].is_object()) return ImportClient::opencode;
  return ImportClient::mcp_json;
}

}  // namespace patchbay
