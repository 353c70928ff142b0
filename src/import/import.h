// Server entries of other clients, translated into ours. A text goes in; entries in the spelling of
// .mcp.json come out, with a note for every field that could not be carried as it was and a problem
// for every entry that could not be carried at all. Pure: import_places.h says where the files are,
// import_plan.h under which names the entries are taken over, and the command line reads and writes.
// Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/config.h>

namespace patchbay {

enum class ImportClient : std::uint8_t {
  claude_desktop,
  cursor,
  vscode,
  codex,
  gemini,
  windsurf,
  opencode,
  zed,
  goose,
  cline,
  mcporter,
  registry,  // server.json of a server's author
  mcp_json,  // any file in the form of .mcp.json
};

struct ImportClientName {
  ImportClient client;
  std::string_view id;     // what a person types: "claude-desktop"
  std::string_view title;  // "Claude Desktop"
};
std::span<const ImportClientName> import_clients() noexcept;
const ImportClientName& name_of(ImportClient client) noexcept;
std::optional<ImportClient> import_client(std::string_view id) noexcept;

// What became of a field that is not simply there in the new entry.
enum class ImportFate : std::uint8_t {
  left_out,  // it has no counterpart
  changed,   // it is there in another form, or means something else here
  kept,      // it is there as it was, and means nothing here
};
std::string_view to_string(ImportFate fate) noexcept;  // "left out", "changed", "kept as it is"

struct ImportNote {
  std::string server;  // as the file names it; empty: it is about the file
  std::string field;   // "oauth.redirectUri"
  ImportFate fate = ImportFate::left_out;
  std::size_t line = 0;
  std::size_t column = 0;
  std::string message;
  bool operator==(const ImportNote&) const = default;
};

struct ImportedEntry {
  std::string name;  // as the file names it
  Json entry;        // an object that our own reader accepts
  std::size_t line = 0;
  std::size_t column = 0;
  // Values only the user has. The entry is written disabled until they are filled in.
  std::vector<std::string> missing;
  bool operator==(const ImportedEntry&) const = default;
};

struct ImportedFile {
  ImportClient client = ImportClient::mcp_json;
  std::string file;
  std::vector<ImportedEntry> entries;   // in the order of the file
  std::vector<ImportNote> notes;        // by entry, then in the order of its fields
  std::vector<ConfigProblem> problems;  // the text, or entries of it, that could not be used
  bool operator==(const ImportedFile&) const = default;
};

// Never fails as a whole. `file` is how messages call it; when it is a path, relative references to
// other files are taken from its directory.
ImportedFile import_text(ImportClient client, std::string_view text, const std::string& file);

// Whose file this is, by its name and else by what is in it.
std::optional<ImportClient> recognise_import(std::string_view path, std::string_view text);

}  // namespace patchbay
