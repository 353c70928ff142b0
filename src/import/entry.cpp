#include "import/entry.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include <fmt/format.h>

#include "base/strings.h"
#include "entries/expand.h"
#include "entries/parse.h"
#include "json/kind_text.h"

namespace patchbay {
namespace {

struct KindName {
  std::string_view spelling;
  ServerKind kind;
};
// In lower case and without '-' and '_'.
constexpr auto kind_names = std::to_array<KindName>({
    {"stdio", ServerKind::stdio},
    {"local", ServerKind::stdio},
    {"http", ServerKind::http},
    {"streamablehttp", ServerKind::http},
    {"remote", ServerKind::http},
    {"sse", ServerKind::sse},
    {"ws", ServerKind::websocket},
    {"websocket", ServerKind::websocket},
});

std::string squeezed(std::string_view text) {
  auto out = to_lower_ascii(text);
  std::erase_if(out, [](char c) { return c == '-' || c == '_'; });
  return out;
}

// Below a second our reader takes a limit for a mistake, and thirty years are enough.
constexpr double least_milliseconds = 1000;
constexpr double most_milliseconds = 1e12;

bool is_client_secret(std::string_view key) { return squeezed(key) == "clientsecret"; }

// What is asked for, with the words an editor would ask with.
std::string input_text(std::string_view id, const ImportWork& work) {
  for (const auto& [known, text] : work.input_texts) {
    if (known == id && !text.empty()) return fmt::format("{} ({})", id, text);
  }
  return std::string(id);
}

}  // namespace

std::string ImportWork::directory_of(const std::string& file) {
  const auto slash = file.rfind('/');
  return slash == std::string::npos ? std::string() : file.substr(0, slash);
}

void ImportWork::note(std::string field, ImportFate fate, std::size_t offset, std::string message) {
  auto [line, column] = positions_.at(offset);
  out_.notes.push_back({{}, std::move(field), fate, line, column, std::move(message)});
}

std::string too_many_servers() {
  return fmt::format("there are more than {} servers; this one and the rest are left out", import_entry_limit);
}

void ImportWork::problem(std::string_view server, std::size_t offset, std::string message) {
  auto [line, column] = positions_.at(offset);
  if (!server.empty()) message = fmt::format("MCP server {}: {}", quoted_name(server), message);
  out_.problems.push_back({out_.file, line, column, std::move(message), std::string(server), Severity::error});
}

ConfigDocument::Member EntryImport::take(std::string_view key) {
  auto at = peek(key);
  if (at) taken_.emplace_back(key);
  return at;
}

ConfigDocument::Member EntryImport::take_first(std::initializer_list<std::string_view> keys) {
  Member first;
  std::string_view chosen;
  for (auto key : keys) {
    auto at = take(key);
    if (!at) continue;
    if (!first) {
      first = at;
      chosen = key;
    } else {
      left_out(at, key, fmt::format("\"{}\" means the same and is used instead", chosen));
    }
  }
  return first;
}

void EntryImport::add_note(const Member& at, std::string_view field, ImportFate fate, std::string message) {
  auto [line, column] = work_.position(at.place->key);
  notes_.push_back({name_, std::string(field.empty() ? "\"\"" : field), fate, line, column, std::move(message)});
}
void EntryImport::left_out(const Member& at, std::string_view field, std::string message) {
  add_note(at, field, ImportFate::left_out, std::move(message));
}
void EntryImport::changed(const Member& at, std::string_view field, std::string message) {
  add_note(at, field, ImportFate::changed, std::move(message));
}

void EntryImport::leave_out(std::initializer_list<std::string_view> keys, std::string_view message) {
  for (auto key : keys) {
    if (auto at = take(key)) left_out(at, key, std::string(message));
  }
}

void EntryImport::leave_out_approvals(std::initializer_list<std::string_view> keys) {
  leave_out(keys, "rules decide here which tools run without a question");
}

void EntryImport::fail(std::size_t offset, std::string message) {
  failed_ = true;
  work_.problem(name_, offset, std::move(message));
}

void EntryImport::wrong_type(const Member& at, std::string_view field, std::string_view expected) {
  fail(at.place->value, fmt::format("\"{}\" must be {}, found {}", field, expected, kind_with_article(*at.value)));
}

void EntryImport::needs(const Member& at, std::string_view field, std::string what) {
  changed(at, field,
          fmt::format("needs {}; the server is imported as disabled: set the variable, then enable the server", what));
  missing_.push_back(std::move(what));
}

std::string EntryImport::translated(const Member& at, std::string_view field, const std::string& text) {
  // Escapes of a URL look like %NAME%.
  const bool url = to_lower_ascii(field).ends_with("url");
  const auto style = url && work_.style == VariableStyle::windows ? VariableStyle::shell : work_.style;
  auto made = translate_variables(text, style, work_.directory());
  for (const auto& remark : made.remarks) {
    const bool lost = remark.fate == ImportFate::left_out;
    // The text is written as it is: only the user knows what belongs there.
    add_note(
        at, field, lost ? ImportFate::kept : remark.fate,
        fmt::format("{} {}{}", remark.variable, remark.message,
                    lost ? "; the server is imported as disabled: write a value there, then enable the server" : ""));
    if (lost) missing_.push_back(remark.variable);
  }
  for (const auto& id : made.inputs) {
    changed(
        at, field,
        fmt::format("the other client asks for {}; here it is the variable {}; the server is imported as disabled: set "
                    "the variable, then enable the server",
                    input_text(id, work_), input_variable(id)));
    missing_.push_back(input_variable(id));
  }
  return std::move(made.text);
}

std::optional<std::string> EntryImport::plain_text(const Member& at, std::string_view field) {
  if (!at) return std::nullopt;
  if (const auto text = at.value->text()) return std::string(*text);
  wrong_type(at, field, "a string");
  return std::nullopt;
}

std::optional<std::string> EntryImport::text(const Member& at, std::string_view field) {
  auto plain = plain_text(at, field);
  if (!plain) return std::nullopt;
  return translated(at, field, *plain);
}

std::optional<bool> EntryImport::flag(const Member& at, std::string_view field) {
  if (!at) return std::nullopt;
  if (const auto value = at.value->to_bool()) return *value;
  wrong_type(at, field, "true or false");
  return std::nullopt;
}

std::optional<std::vector<std::string>> EntryImport::texts(const Member& at, std::string_view field) {
  if (!at) return std::nullopt;
  const auto* items = at.value->if_array();
  if (items == nullptr) {
    wrong_type(at, field, "an array of strings");
    return std::nullopt;
  }
  std::vector<std::string> out;
  for (std::size_t i = 0; i < items->size(); ++i) {
    const auto& item = (*items)[i];
    const Member element{&item, &child_of(*at.place, i)};
    const auto shown = fmt::format("{}[{}]", field, i);
    if (item.is_number()) {
      out.push_back(to_text(item));
    } else if (auto text = this->text(element, shown)) {
      out.push_back(std::move(*text));
    }
  }
  return out;
}

std::optional<Json> EntryImport::named_texts(const Member& at, std::string_view field) {
  if (!at || at.value->is_null()) return std::nullopt;
  const auto* members = at.value->if_object();
  if (members == nullptr) {
    wrong_type(at, field, "an object of strings");
    return std::nullopt;
  }
  Json::Object out;
  std::size_t i = 0;
  for (const auto& [name, value] : *members) {
    const Member element{&value, &child_of(*at.place, i++)};
    const auto shown = fmt::format("{}.{}", field, name);
    if (value.is_number() || value.is_bool()) {
      out.append(name, to_text(value));
    } else if (value.is_null()) {
      left_out(element, shown, "removes a variable, which an entry cannot do here");
    } else if (auto text = this->text(element, shown)) {
      out.append(name, std::move(*text));
    }
  }
  return Json(std::move(out));
}

void EntryImport::carry_text(std::string_view from, std::string_view to) {
  if (auto value = text(take(from), from)) out_[to] = std::move(*value);
}

void EntryImport::carry_texts(std::string_view from, std::string_view to) {
  auto values = texts(take(from), from);
  if (!values) return;
  auto items = Json::array();
  for (auto& value : *values) items.push_back(std::move(value));
  out_[to] = std::move(items);
}

void EntryImport::carry_named_texts(std::string_view from, std::string_view to) {
  auto values = named_texts(take(from), from);
  if (!values || values->size() == 0) return;
  auto& target = out_[to];
  if (target.is_null()) target = Json::object();
  for (const auto& [name, value] : values->as_object()) target.as_object().set(name, value);
}

void EntryImport::carry_flag(std::string_view from, std::string_view to) {
  if (auto value = flag(take(from), from)) out_[to] = *value;
}

void EntryImport::carry_enabled(std::string_view from) {
  if (auto value = flag(take(from), from); value && !*value) out_["disabled"] = true;
}

void EntryImport::carry_time(std::string_view from, std::string_view to, double milliseconds_each) {
  carry_time(take(from), from, to, milliseconds_each);
}

void EntryImport::carry_time(const Member& at, std::string_view field, std::string_view to, double milliseconds_each) {
  if (!at || at.value->is_null()) return;
  const auto number = at.value->to_double();
  if (!number) {
    left_out(at, field, fmt::format("expected a number, found {}", kind_with_article(*at.value)));
    return;
  }
  const auto milliseconds = std::round(*number * milliseconds_each);
  if (!(milliseconds >= least_milliseconds)) {
    left_out(at, field, "a limit of less than a second is not copied");
    return;
  }
  out_[to] = static_cast<std::int64_t>(std::min(milliseconds, most_milliseconds));
}

void EntryImport::carry_oauth(std::string_view from,
                              std::initializer_list<std::pair<std::string_view, std::string_view>> fields) {
  auto at = take(from);
  if (!at || at.value->is_null()) return;
  const auto* members = at.value->if_object();
  if (members == nullptr) {
    left_out(at, from, "Patchbay cannot sign in to servers yet; write a token as a header");
    return;
  }
  std::size_t i = 0;
  for (const auto& [key, value] : *members) {
    const Member element{&value, &child_of(*at.place, i++)};
    const auto shown = fmt::format("{}.{}", from, key);
    const auto field = std::ranges::find(fields, key, [](const auto& pair) { return pair.first; });
    if (is_client_secret(key)) {
      left_out(element, shown,
               "a client secret is not copied: a configuration file must not contain secrets; give it when you add the "
               "server");
    } else if (field == fields.end()) {
      left_out(element, shown, "has no equivalent in Patchbay");
    } else if (field->second == "callbackPort") {
      const auto port = value.to_int();
      if (port && *port >= 1 && *port <= 65535) {
        out_["oauth"]["callbackPort"] = *port;
      } else {
        left_out(element, shown, "is not a port number");
      }
    } else if (field->second == "xaa") {
      if (auto on = flag(element, shown)) out_["oauth"]["xaa"] = *on;
    } else if (field->second == "scopes" && value.is_array()) {
      if (auto scopes = texts(element, shown); scopes && !scopes->empty()) out_["oauth"]["scopes"] = join(*scopes, " ");
    } else if (auto text = plain_text(element, shown)) {
      auto made = translate_variables(*text, work_.style, work_.directory()).text;
      if (made.find("${") != std::string::npos) {
        left_out(element, shown, "variables are not replaced there; write the value itself");
      } else {
        out_["oauth"][field->second] = std::move(made);
      }
    }
  }
}

void EntryImport::set_header(std::string name, std::string value) {
  auto& headers = out_["headers"];
  if (headers.is_null()) headers = Json::object();
  headers.as_object().set(name, std::move(value));
}

void EntryImport::set_env(std::string name, std::string value) {
  auto& env = out_["env"];
  if (env.is_null()) env = Json::object();
  env.as_object().set(name, std::move(value));
}

std::optional<ServerKind> EntryImport::decide_kind(std::initializer_list<std::string_view> type_keys,
                                                   const Member& command, const Member& url) {
  std::optional<ServerKind> kind;
  if (auto at = take_first(type_keys); at && !at.value->is_null()) {
    auto type = plain_text(at, "type");
    if (!type) return std::nullopt;
    const auto* known = std::ranges::find(kind_names, squeezed(*type), &KindName::spelling);
    if (known == kind_names.end()) {
      fail(at.place->value, fmt::format("servers of type {} cannot be used here", quoted_name(*type)));
      return std::nullopt;
    }
    kind = known->kind;
  }
  if (!kind && command) kind = ServerKind::stdio;
  if (!kind && url) kind = ServerKind::http;
  if (!kind) {
    fail(entry_.place->key, "has neither a command to start nor a URL to connect to");
    return std::nullopt;
  }
  const bool local = *kind == ServerKind::stdio;
  if (local && !command) {
    fail(entry_.place->key, "has a type that needs a command, but has no command");
    return std::nullopt;
  }
  if (!local && !url) {
    fail(entry_.place->key, "has a type that needs a URL, but has no URL");
    return std::nullopt;
  }
  out_["type"] = to_string(*kind);
  return kind;
}

// What was a text in another program must not begin to read files or run commands because it is ours now,
// and what a repository wrote must not by way of an import.
void EntryImport::report_references(const ServerConfig& server) {
  for (const auto& reference : secret_references(server)) {
    const auto kind = reference.kind;
    if (kind == SecretKind::environment) continue;
    const bool theirs = kind == SecretKind::file && work_.out().client == ImportClient::windsurf;
    if (theirs && reference.argument.starts_with('/')) continue;
    const auto text = fmt::format("${{{}:{}}}", to_string(kind), reference.argument);
    changed(entry_, reference.place,
            fmt::format("{} {}; the server is imported as disabled: check it, then enable the server", text,
                        kind == SecretKind::file      ? "reads a file here"
                        : kind == SecretKind::command ? "runs a command here"
                                                      : "takes a secret from the store here"));
    missing_.push_back("a check of " + text);
  }
}

void EntryImport::finish() {
  if (failed_) return;
  std::size_t i = 0;
  for (const auto& [key, value] : *entry_.value->if_object()) {
    const Member at{&value, &child_of(*entry_.place, i++)};
    if (std::ranges::find(taken_, key) == taken_.end()) left_out(at, key, "has no equivalent in Patchbay");
  }
  Json file;
  file["mcpServers"]["server"] = out_;
  const auto checked = parse_servers(to_text(file), {.file = {}}, ServerMap::wrapped);
  if (checked.servers.size() != 1) {
    fail(entry_.place->key,
         checked.broken.empty() ? std::string("cannot be written as an entry") : checked.broken.front().reason);
    return;
  }
  report_references(checked.servers.front());
  if (!missing_.empty()) out_["disabled"] = true;
  std::ranges::sort(notes_, {},
                    [](const ImportNote& note) { return std::tie(note.line, note.column, note.field, note.message); });
  auto& out = work_.out();
  auto [line, column] = work_.position(entry_.place->key);
  out.notes.insert(out.notes.end(), std::make_move_iterator(notes_.begin()), std::make_move_iterator(notes_.end()));
  out.entries.push_back({name_, std::move(out_), line, column, std::move(missing_)});
}

}  // namespace patchbay
