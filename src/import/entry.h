// One entry while it is translated: the importers say which field goes where, and this keeps the books.
// A field nobody took is reported when the entry is finished, a value of the wrong type makes the entry unusable,
// and what comes out is given to our own reader before it counts. Pure; a helper of the import_*.cpp
// files.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "import/import.h"
#include "import/variables.h"
#include "text/document.h"
#include "text/places.h"

namespace patchbay {

// More servers than this in one file are nobody's choice.
inline constexpr std::size_t import_entry_limit = 1000;
std::string too_many_servers();

// The file an importer works on: its document, where lines are, and the results so far.
class ImportWork {
 public:
  using Member = ConfigDocument::Member;

  ImportWork(ImportedFile& out, std::string_view text, VariableStyle style)
      : style(style), out_(out), positions_(text), directory_(directory_of(out.file)) {}

  void note(std::string field, ImportFate fate, std::size_t offset, std::string message);  // about the file
  void problem(std::string_view server, std::size_t offset, std::string message);
  Position position(std::size_t offset) { return positions_.at(offset); }
  ImportedFile& out() noexcept { return out_; }
  std::string_view directory() const noexcept { return directory_; }

  VariableStyle style;
  // What a person would be asked for, by id: "API key, kept secret".
  std::vector<std::pair<std::string, std::string>> input_texts;

 private:
  static std::string directory_of(const std::string& file);

  ImportedFile& out_;
  PositionCounter positions_;
  std::string directory_;
};

class EntryImport {
 public:
  using Member = ConfigDocument::Member;

  EntryImport(ImportWork& work, std::string name, const Member& entry)
      : work_(work), name_(std::move(name)), entry_(entry) {}

  const std::string& name() const noexcept { return name_; }
  const Member& whole() const noexcept { return entry_; }
  Json& out() noexcept { return out_; }
  bool failed() const noexcept { return failed_; }

  // How variables are written in the fields that are read next.
  void use_style(VariableStyle style) noexcept { work_.style = style; }

  // The field, whoever takes it; and taking it.
  Member peek(std::string_view key) const noexcept { return member_of(entry_, key); }
  Member take(std::string_view key);
  // The first of these that is there; the others of them are reported as left out.
  Member take_first(std::initializer_list<std::string_view> keys);

  // Readers of one value. `field` is what messages call it. A wrong type makes the entry unusable.
  std::optional<std::string> text(const Member& at, std::string_view field);
  std::optional<std::string> plain_text(const Member& at, std::string_view field);  // variables stay as they are
  std::optional<bool> flag(const Member& at, std::string_view field);
  std::optional<std::vector<std::string>> texts(const Member& at, std::string_view field);
  // Numbers and true or false become their text; null is left out with a note.
  std::optional<Json> named_texts(const Member& at, std::string_view field);

  // From a field of theirs to one of ours; nothing happens when it is absent.
  void carry_text(std::string_view from, std::string_view to);
  void carry_texts(std::string_view from, std::string_view to);
  void carry_named_texts(std::string_view from, std::string_view to);
  void carry_flag(std::string_view from, std::string_view to);
  void carry_time(std::string_view from, std::string_view to, double milliseconds_each);
  void carry_time(const Member& at, std::string_view field, std::string_view to, double milliseconds_each);
  void carry_enabled(std::string_view from);  // "enabled": false becomes "disabled": true
  // {clientId, callbackPort, scopes}; their names come in pairs of theirs and ours.
  void carry_oauth(std::string_view from, std::initializer_list<std::pair<std::string_view, std::string_view>> fields);
  void set_header(std::string name, std::string value);
  void set_env(std::string name, std::string value);

  // Reports.
  void left_out(const Member& at, std::string_view field, std::string message);
  void changed(const Member& at, std::string_view field, std::string message);
  // Takes fields that have no counterpart, each with the same reason.
  void leave_out(std::initializer_list<std::string_view> keys, std::string_view message);
  // Takes lists of tools that run without asking.
  void leave_out_approvals(std::initializer_list<std::string_view> keys);
  void fail(std::size_t offset, std::string message);
  // Something only the user has: the entry will be written disabled.
  void needs(const Member& at, std::string_view field, std::string what);

  // How it is reached, from a field that says so and else from whether there is something to start or to
  // connect to. Written to the result; nothing after a failure.
  std::optional<ServerKind> decide_kind(std::initializer_list<std::string_view> type_keys, const Member& command,
                                        const Member& url);

  // Reports what is left, checks the result with our own reader and adds it.
  void finish();

 private:
  void report_references(const ServerConfig& server);
  void add_note(const Member& at, std::string_view field, ImportFate fate, std::string message);
  void wrong_type(const Member& at, std::string_view field, std::string_view expected);
  std::string translated(const Member& at, std::string_view field, const std::string& text);

  ImportWork& work_;
  std::string name_;
  Member entry_;
  Json out_ = Json::object();
  std::vector<std::string> taken_;
  std::vector<std::string> missing_;
  std::vector<ImportNote> notes_;  // told only when the entry is carried at all
  bool failed_ = false;
};

// The place of an element; of the whole where the document does not point that deep.
inline const Place& child_of(const Place& place, std::size_t i) noexcept {
  return i < place.children.size() ? place.children[i] : place;
}

// Each member of a map of servers, given to `import`; what is not an object is a problem.
template <class Import>
void for_each_entry(ImportWork& work, const ConfigDocument::Member& map, Import import) {
  const auto* servers = map.value->if_object();
  if (servers == nullptr) {
    work.problem({}, map.place->value, "expected an object of servers here");
    return;
  }
  std::size_t i = 0;
  for (const auto& [name, value] : *servers) {
    if (i == import_entry_limit) {
      work.problem({}, child_of(*map.place, i).key, too_many_servers());
      return;
    }
    const auto& place = child_of(*map.place, i++);
    if (!value.is_object()) {
      work.problem(name, place.value, "expected an object that describes a server");
      continue;
    }
    EntryImport entry(work, std::string(name), {&value, &place});
    import(entry);
    entry.finish();
  }
}

// The importers, by file: editors (mcpServers and its relatives), agents, the registry.
void import_editor(ImportWork& work, const ConfigDocument& document);
void import_agent(ImportWork& work, const ConfigDocument& document);
void import_registry(ImportWork& work, const ConfigDocument& document);

}  // namespace patchbay
