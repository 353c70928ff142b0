#include "import/plan.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "entries/entry.h"
#include "entries/parse.h"
#include "entries/signature.h"
#include "import/variables.h"
#include "secrets/names.h"

namespace patchbay {
namespace {

bool is_name_character(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

bool is_literal(std::string_view text) noexcept { return !text.empty() && text.find("${") == std::string_view::npos; }

// Why `add` would refuse it.
std::string name_reason(std::string_view name) {
  auto fault = server_name_fault(name);
  return fault.empty() ? "a name can only contain letters, digits, \"_\" and \"-\"" : fault;
}

class Withholder {
 public:
  Withholder(std::string_view server, Json& entry) : server_(server), entry_(entry) {}

  std::vector<WithheldSecret> run() {
    each_value("env", [&](const std::string& name, std::string& value) { environment(name, value); });
    each_value("headers", [&](const std::string& name, std::string& value) { header(name, value); });
    if (auto* args = entry_.find("args"); args != nullptr && args->is_array()) arguments(*args->if_array());
    if (auto* address = entry_.find("url"); address != nullptr && address->is_string()) {
      change(*address, [&](std::string& text) { url(text, "url"); });
    }
    return std::move(out_);
  }

 private:
  template <class Change>
  static void change(Json& value, Change change) {
    std::string text(value.as_text());
    change(text);
    if (text != value.as_text()) value = std::move(text);
  }

  template <class Each>
  void each_value(std::string_view key, Each each) {
    auto* members = entry_.find(key);
    if (members == nullptr || !members->is_object()) return;
    std::vector<std::string> names;
    for (const auto& [name, value] : *members->if_object()) names.emplace_back(name);
    for (const auto& name : names) {
      auto* value = members->find(name);
      if (value != nullptr && value->is_string()) change(*value, [&](std::string& text) { each(name, text); });
    }
  }

  void environment(const std::string& name, std::string& value) {
    if (!is_literal(value) || !(is_secret_name(name) || looks_like_token(value))) return;
    replace(value, 0, "env." + name, is_variable_name(name) ? name : variable_named_after(name));
  }

  // A scheme in front of a token stays: "Bearer ${...}".
  void header(const std::string& name, std::string& value) {
    const auto start = credential_scheme(value).size();
    const auto token = std::string_view(value).substr(start);
    if (!is_literal(value) || !(start > 0 || is_secret_name(name) || looks_like_token(token))) return;
    replace(value, start, "headers." + name, variable_named_after(fmt::format("{}_{}", server_, name)));
  }

  // --token=abc, and --token abc.
  void arguments(Json::Array& args) {
    bool names_secret = false;
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (!args[i].is_string()) continue;
      const std::string arg(args[i].as_text());
      const auto equals = arg.find('=');
      const bool flag = arg.starts_with('-');
      const auto start = flag && equals != std::string::npos ? equals + 1 : 0;
      const auto value = std::string_view(arg).substr(start);
      const bool named = flag ? start > 0 && is_secret_flag(std::string_view(arg).substr(0, equals)) : names_secret;
      const bool secret = is_literal(value) && (named || looks_like_token(value));
      names_secret = flag && start == 0 && is_secret_flag(arg);
      const auto field = fmt::format("args[{}]", i);
      if (secret && !(flag && start == 0)) {
        change(args[i], [&](std::string& text) {
          replace(text, start, field, variable_named_after(fmt::format("{}_secret", server_)));
        });
      } else if (arg.contains("://")) {
        change(args[i], [&](std::string& text) { url(text, field); });
      }
    }
  }

  // https://user:password@host, https://token@host, and ?api_key=abc&…
  void url(std::string& text, const std::string& field) {
    const auto known = out_.size();
    const auto host = text.find("://");
    if (host == std::string::npos) return;
    const auto authority = text.substr(host + 3, text.find_first_of("/?#", host + 3) - host - 3);
    const auto at = authority.rfind('@');
    if (at != std::string::npos) {
      const auto person = authority.substr(0, at);
      const auto colon = std::min(person.find(':'), person.size());
      const auto user = person.substr(0, colon);
      // From behind, so that what is in front keeps its place.
      if (colon < person.size() && is_literal(person.substr(colon + 1))) {
        url_part(text, host + 3 + colon + 1, person.size() - colon - 1, field, "password");
      }
      if (is_literal(user) && looks_like_token(user)) url_part(text, host + 3, user.size(), field, "user");
    }
    auto begin = text.find_first_of("?#");
    while (begin < text.size() && text[begin] != '#') {
      const auto end = std::min(text.find_first_of("&#", begin + 1), text.size());
      const auto pair = std::string_view(text).substr(begin + 1, end - begin - 1);
      const auto sign = pair.find('=');
      const auto name = std::string(pair.substr(0, sign));
      const auto value = sign == std::string_view::npos ? std::string_view() : pair.substr(sign + 1);
      if (!is_literal(value) || !(is_secret_parameter(name) || looks_like_token(value))) {
        begin = end;
        continue;
      }
      begin = url_part(text, begin + 1 + sign + 1, value.size(), field, name);
    }
    for (auto i = known; i < out_.size(); ++i) out_[i].instead = text;
  }

  // Returns where the text goes on.
  std::size_t url_part(std::string& text, std::size_t start, std::size_t size, const std::string& field,
                       const std::string& name) {
    const auto variable = free_variable(variable_named_after(fmt::format("{}_{}", server_, name)));
    const auto reference = fmt::format("${{{}}}", variable);
    text.replace(start, size, reference);
    out_.push_back({fmt::format("{} ({})", field, name), variable, {}});
    return start + reference.size();
  }

  std::string free_variable(const std::string& wanted) {
    auto name = wanted;
    for (int n = 2; !used_.insert(name).second; ++n) name = fmt::format("{}_{}", wanted, n);
    return name;
  }

  // Two values never share a variable.
  void replace(std::string& value, std::size_t start, std::string field, const std::string& variable) {
    auto name = free_variable(variable);
    value = fmt::format("{}${{{}}}", std::string_view(value).substr(0, start), name);
    out_.push_back({std::move(field), std::move(name), value});
  }

  std::string_view server_;
  Json& entry_;
  std::set<std::string> used_;
  std::vector<WithheldSecret> out_;
};

}  // namespace

std::string_view to_string(ImportAction action) noexcept {
  switch (action) {
    case ImportAction::add:
      return "add";
    case ImportAction::already_there:
      return "already there";
    case ImportAction::skip:
      return "skip";
  }
  return "skip";
}

bool is_addable_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, is_name_character) && server_name_fault(name).empty();
}

std::string mended_name(std::string_view name) {
  std::string out;
  for (char c : trim(name)) {
    if (is_name_character(c)) {
      out.push_back(c);
    } else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) {
      out.push_back('_');  // one for a character, however many bytes it has
    }
  }
  if (!out.empty() && !server_name_fault(out).empty()) out += "_1";
  return out;
}

std::vector<WithheldSecret> withhold_secrets(std::string_view server, Json& entry) {
  return Withholder(server, entry).run();
}

std::string committed_secret_text(const WithheldSecret& secret) {
  return fmt::format(
      "{} looks like a secret, and .mcp.json is usually committed: everybody who has the project can read it. Write {} "
      "instead and set the variable {}",
      secret.field, secret.instead, secret.variable);
}

Json comparable_entry(const ServerConfig& server) {
  auto entry = canonical_entry(server);
  if (auto* members = entry.if_object()) members->erase("disabled");
  return entry;
}

Json comparable_entry(const Json& entry) {
  Json file;
  file["mcpServers"]["server"] = entry;
  const auto read = parse_servers(to_text(file), {.file = {}}, ServerMap::wrapped);
  return read.servers.size() == 1 ? comparable_entry(read.servers.front()) : Json();
}

const ExistingEntry* ImportPlan::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find(taken_, name, &ExistingEntry::name);
  return found == taken_.end() ? nullptr : &*found;
}

// The name itself, or the first of name_1, name_2, ... that is free or has this very server.
void ImportPlan::choose_name(PlannedEntry& planned, const Json& comparable) const {
  const auto wanted = planned.name;
  for (std::size_t n = 1;; ++n) {
    const auto* there = find(planned.name);
    if (there == nullptr) break;
    if (there->comparable == comparable) {
      planned.action = ImportAction::already_there;
      planned.reason = fmt::format("the same server already exists as {}", planned.name);
      return;
    }
    planned.name = fmt::format("{}_{}", wanted, n);
  }
  if (planned.name != wanted) {
    planned.reason = fmt::format("another server is called {}", wanted);
  } else if (wanted != planned.original) {
    planned.reason = fmt::format("{} is not a valid name here ({}), so it is called {}", quoted_name(planned.original),
                                 name_reason(planned.original), planned.name);
  }
}

std::vector<PlannedEntry> ImportPlan::add(ImportedFile& file, const std::vector<std::string>& only) {
  std::vector<PlannedEntry> out;
  for (const auto& entry : file.entries) {
    PlannedEntry planned{entry.name, mended_name(entry.name), entry.entry, ImportAction::add,
                         {},         entry.missing,           entry.line,  entry.column};
    if (!only.empty() && std::ranges::find(only, planned.original) == only.end() &&
        std::ranges::find(only, planned.name) == only.end()) {
      continue;
    }
    if (planned.name.empty() || (names_ == ImportNames::refuse && !is_addable_name(planned.original))) {
      planned.action = ImportAction::skip;
      planned.name = planned.original;
      planned.reason = name_reason(planned.original);
      out.push_back(std::move(planned));
      continue;
    }
    if (scope_ == ConfigScope::project) {
      for (const auto& secret : withhold_secrets(planned.name, planned.entry)) {
        file.notes.push_back(
            {entry.name, secret.field, ImportFate::changed, entry.line, entry.column,
             fmt::format(
                 "looks like a secret, so it is not written to a file of the project; set {} in the environment",
                 secret.variable)});
      }
    }
    auto comparable = comparable_entry(planned.entry);
    choose_name(planned, comparable);
    if (planned.action == ImportAction::add) taken_.push_back({planned.name, std::move(comparable)});
    out.push_back(std::move(planned));
  }
  return out;
}

}  // namespace patchbay
