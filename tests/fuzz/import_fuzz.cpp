// Files of other clients with any content; the first line names the client. What is taken over is read by
// our own reader, everything said has a place in the file, and one bad entry costs no other.
#include <algorithm>
#include <set>

#include "entries/expand.h"
#include "entries/parse.h"
#include "fuzz/fuzz.h"
#include "import/import.h"
#include "import/plan.h"

using namespace patchbay;
using fuzz::require;

namespace {

void check_entry(const ImportedEntry& entry) {
  Json file;
  file["mcpServers"]["name"] = entry.entry;
  const auto read = parse_servers(to_text(file), {.file = "f"});
  require(read.servers.size() == 1, "an entry that our own reader refuses");
  require(entry.missing.empty() || read.servers.front().disabled, "something is missing and it is not disabled");
  for (const auto& reference : secret_references(read.servers.front())) {
    if (reference.kind == SecretKind::command) require(read.servers.front().disabled, "a command would be run");
  }
  const auto& oauth = entry.entry["oauth"];
  require(!oauth.find("clientSecret") && !oauth.find("client_secret"), "a client secret came along");
}

void check(const ImportedFile& result, std::string_view text) {
  // YAML knows line ends that others do not count; none of them is one of the last line.
  const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
  for (const auto& entry : result.entries) {
    check_entry(entry);
    require(entry.line >= 1 && entry.line <= lines && entry.column >= 1, "an entry outside the file");
  }
  for (const auto& note : result.notes) {
    require(note.line >= 1 && note.line <= lines && note.column >= 1, "a note outside the file");
    require(!note.message.empty() && !note.field.empty(), "a note that says nothing");
  }
  for (const auto& problem : result.problems) {
    require(problem.line >= 1 && problem.line <= lines && problem.column >= 1, "a problem outside the file");
    require(!problem.message.empty(), "a problem that says nothing");
  }
}

void check_plan(ImportedFile result) {
  for (auto scope : {ConfigScope::user, ConfigScope::project}) {
    ImportPlan plan(scope, {{"there", comparable_entry(Json{{"command", "x"}})}});
    std::set<std::string> names{"there"};
    for (const auto& planned : plan.add(result)) {
      if (planned.action != ImportAction::add) continue;
      require(is_addable_name(planned.name), "a name that may not be added");
      require(names.insert(planned.name).second, "two servers of one name");
    }
    // What has been taken over is not taken over again.
    for (const auto& planned : plan.add(result)) require(planned.action != ImportAction::add, "taken over twice");
  }
}

// The text as one entry among others.
void check_sibling(ImportClient client, std::string_view text) {
  const char* container = client == ImportClient::zed      ? "context_servers"
                          : client == ImportClient::vscode ? "servers"
                                                           : "mcpServers";
  const bool by_name = client != ImportClient::codex && client != ImportClient::goose &&
                       client != ImportClient::opencode && client != ImportClient::registry;
  if (!by_name || !parse_json(text)) return;
  const auto file =
      "{\"" + std::string(container) + "\": {\"bad\": " + std::string(text) + ", \"good\": {\"command\": \"x\"}}}";
  const auto result = import_text(client, file, "f");
  check(result, file);
  if (!parse_json(file)) return;  // one level too deep
  require(!result.entries.empty() && result.entries.back().name == "good", "a good entry was lost");
  require(result.entries.size() == 2 || !result.problems.empty(), "an entry was lost without a word");
}

}  // namespace

FUZZ_TARGET(import) {
  auto text = input;
  const auto client = import_client(fuzz::take_line(text));
  if (!client) return;
  const auto result = import_text(*client, text, "/x/f");
  check(result, text);
  check_plan(result);
  check_sibling(*client, text);
  (void)recognise_import("x.json", text);
}
