#include "entries/text_secrets.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/strings.h"
#include "entries/expand.h"
#include "http/url.h"
#include "secrets/names.h"
#include "secrets/redact.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

constexpr std::size_t shortest_secret = 4;     // anything shorter stands in every text
constexpr std::size_t shortest_inherited = 8;  // TOKEN=on says nothing of what it is
constexpr std::string_view mark = "[redacted]";

// Marks around a word do not belong to it.
bool is_token(std::string_view word) {
  constexpr std::string_view around = "\"'`()[]{}<>,;:.";
  const auto first = word.find_first_not_of(around);
  return first != std::string_view::npos && looks_like_token(word.substr(first));
}

// NAME=value and NAME: value, where the name says that the value is secret; words that look like tokens.
std::string without_named_secrets(std::string_view line) {
  std::string out;
  bool follows = false;
  for (const auto word : split(line, ' ')) {
    if (!out.empty()) out += ' ';
    const auto sign = word.find_first_of("=:");
    const bool has_value = sign != std::string_view::npos && sign > 0;
    const bool named = has_value && is_secret_variable(word.substr(0, sign));
    if ((follows && !word.empty()) || is_token(word)) {
      out += mark;
    } else if (has_value && sign + 1 < word.size() && (named || is_token(word.substr(sign + 1)))) {
      out += fmt::format("{}{}", word.substr(0, sign + 1), mark);
    } else {
      out += word;
    }
    follows = (named && sign + 1 == word.size() && word[sign] == '=') || (follows && word.empty());
  }
  return out;
}

std::string cut(std::string text, std::size_t longest) {
  return text.size() <= longest ? text : fmt::format("{}…", cut_utf8(text, longest));
}

}  // namespace

TextSecrets::TextSecrets(const Environment& environment) {
  for (const auto& [name, value] : environment) {
    if (is_secret_variable(name) && value.size() >= shortest_inherited) hide(value);
  }
  sort();
}

TextSecrets::TextSecrets(const Environment& environment, const ServerConfig& written, const VariableLookup& lookup)
    : TextSecrets(environment) {
  add_entry(written, lookup);
}

void TextSecrets::add_entry(const ServerConfig& written, const VariableLookup& lookup, const SecretValues& secrets) {
  add(written);
  add(expand_server(written, lookup, secrets));
  for (const auto& [reference, value] : secrets) hide(value);
  for (const auto& arg : written.args) hide_variables(arg, lookup);
  for (const auto& [name, value] : written.env) hide_variables(value, lookup);
  hide_variables(written.command, lookup);
  hide_variables(written.url, lookup);
  sort();
}

void TextSecrets::add(const ServerConfig& server) {
  for (const auto& [name, value] : server.env) {
    if (is_secret_variable(name)) hide(value);
    hide_url(value);
  }
  // A short word is a setting, unless its name says otherwise.
  for (const auto& [name, value] : server.headers) {
    if (is_secret_variable(name) || value.size() >= shortest_inherited) hide(value);
  }
  hide(server.tls.passphrase);
  hide_url(server.url);
  hide_arguments(server.args);
}

void TextSecrets::add_variables(const NamedTexts& variables) {
  for (const auto& [name, value] : variables) {
    if (is_secret_variable(name)) hide(value);
    hide_url(value);
  }
  sort();
}

// Longest first, so that no secret is left with only its beginning hidden.
void TextSecrets::sort() {
  std::ranges::sort(replacements_, [](const auto& left, const auto& right) {
    if (left.first.size() != right.first.size()) return left.first.size() > right.first.size();
    return left < right;
  });
  // What is gathered again is known already.
  const auto twice = std::ranges::unique(replacements_);
  replacements_.erase(twice.begin(), twice.end());
}

void TextSecrets::hide(std::string_view value) {
  if (value.size() < shortest_secret) return;
  replacements_.emplace_back(value, mark);
  // A text of several lines is met line by line.
  if (value.find('\n') != std::string_view::npos) {
    for (const auto part : split(value, '\n')) hide(trim(part));
    return;
  }
  // Of "Bearer abc" the second word by itself as well.
  if (const auto blank = value.rfind(' '); blank != std::string_view::npos) hide(value.substr(blank + 1));
}

void TextSecrets::hide_url(const std::string& value) {
  if (value.find("://") == std::string::npos) return;
  if (auto shown = redacted_url(value); shown != value) replacements_.emplace_back(value, std::move(shown));
}

// --api-key VALUE, --api-key=VALUE, API_KEY=VALUE.
void TextSecrets::hide_arguments(const std::vector<std::string>& args) {
  bool follows = false;
  for (const auto& arg : args) {
    hide_url(arg);
    const auto sign = arg.find_first_of("=:");
    if (follows && !arg.starts_with('-')) {
      hide(arg);
    } else if (sign != std::string::npos && is_secret_flag(std::string_view(arg).substr(0, sign))) {
      hide(trim(std::string_view(arg).substr(sign + 1)));
    }
    follows = arg.starts_with('-') && sign == std::string::npos && is_secret_flag(arg);
  }
}

// ${NAME}, ${NAME:-default} and ${env:NAME}: under whatever key the value stands, its variable may say what it is.
void TextSecrets::hide_variables(std::string_view written, const VariableLookup& lookup) {
  constexpr std::string_view open = "${", kind = "env:";
  for (auto at = written.find(open); at != std::string_view::npos; at = written.find(open, at + 1)) {
    auto name = written.substr(at + open.size());
    if (name.starts_with(kind)) name.remove_prefix(kind.size());
    name = name.substr(0, name.find_first_of(":}"));
    if (!is_secret_variable(name)) continue;
    if (const auto value = lookup(name)) hide(*value);
  }
}

std::string TextSecrets::without_values(std::string_view text) const {
  std::string out(text);
  for (const auto& [secret, shown] : replacements_) {
    for (auto at = out.find(secret); at != std::string::npos; at = out.find(secret, at + shown.size())) {
      out.replace(at, secret.size(), shown);
    }
  }
  return out;
}

std::string TextSecrets::without_begun(std::string_view text) const {
  std::size_t longest = 0;
  for (const auto& [secret, shown] : replacements_) {
    for (auto length = std::min(secret.size() - 1, text.size()); length >= shortest_secret && length > longest;
         --length) {
      if (text.ends_with(std::string_view(secret).substr(0, length))) longest = length;
    }
  }
  return longest == 0 ? std::string(text) : fmt::format("{}{}", text.substr(0, text.size() - longest), mark);
}

std::string TextSecrets::hidden(std::string_view text) const { return redacted(Json(without_values(text))).as_text(); }

Json TextSecrets::json(Json value) const {
  if (const auto* object = value.if_object()) {
    Json::Object out;
    for (const auto& [key, member] : *object) out.append(without_values(key), json(member));
    return out;
  }
  if (auto* array = value.if_array()) {
    for (auto& item : *array) item = json(std::move(item));
    return value;
  }
  if (const auto text = value.text()) return without_values(*text);
  return value;
}

std::string TextSecrets::line(std::string_view text, std::size_t longest) const {
  auto clean = clean_line(redacted(Json(without_values(text))).as_text());
  return cut(without_named_secrets(clean), longest);
}

std::string TextSecrets::lines(std::string_view text, std::size_t most, std::size_t longest) const {
  auto whole = without_values(text);  // before it is taken apart: a secret may have several lines
  while (!whole.empty() && std::string_view(" \t\r\n").contains(whole.back())) whole.pop_back();
  const auto parts = split(whole, '\n');
  std::string out;
  for (std::size_t i = parts.size() > most ? parts.size() - most : 0; i < parts.size(); ++i) {
    const auto one = line(parts[i], longest);
    if (one.empty()) continue;
    out += (out.empty() ? "" : "\n") + indentation_of(parts[i]) + one;
  }
  return out;
}

std::string TextSecrets::all(std::string_view text) const {
  constexpr auto any = std::numeric_limits<std::size_t>::max();
  return lines(text, any, any);
}

}  // namespace patchbay
