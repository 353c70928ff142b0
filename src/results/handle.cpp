#include "results/handle.h"

#include <fmt/format.h>

#include "base/limit_text.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

constexpr std::size_t longest_id = 40;
constexpr std::size_t longest_pointer = 4096;
constexpr std::size_t most_references = 1000;
constexpr std::string_view raw_word = "/raw";
constexpr std::string_view ends_handle = " \t\r\n\v\f\"'`<>()[]{},;|";
constexpr std::string_view ends_sentence = ".:!?";

bool is_id_character(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool coded =
        text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0;
    if (!coded) {
      out += text[i];
      continue;
    }
    out += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
    i += 2;
  }
  return out;
}

// Takes a reference off the front of a text that begins behind the mark. `whole`: nothing may follow it.
std::optional<ResultRef> take_reference(std::string_view& text, bool whole) {
  std::size_t at = 0;
  while (at < text.size() && is_id_character(text[at])) ++at;
  if (at == 0 || at > longest_id) return std::nullopt;
  ResultRef found{.id = std::string(text.substr(0, at))};
  if (text.substr(at).starts_with(raw_word)) {
    const auto behind = at + raw_word.size();
    if (behind == text.size() || !is_id_character(text[behind])) {
      found.raw = true;
      at = behind;
    }
  }
  if (at < text.size() && text[at] == '#') {
    auto end = std::min(text.find_first_of(ends_handle, at), text.size());
    if (!whole || end < text.size()) {
      while (end > at + 1 && ends_sentence.contains(text[end - 1])) --end;
    }
    // "#" alone, or what is no pointer, belongs to the text around it.
    if (end > at + 1 && text[at + 1] == '/' && end - at <= longest_pointer) {
      found.pointer = percent_decoded(text.substr(at + 1, end - at - 1));
      at = end;
    } else if (whole && end == at + 1) {
      at = end;
    }
  }
  text.remove_prefix(at);
  return found;
}

// About as many bytes as it is as JSON.
std::size_t size_of(const Json& value) {
  std::size_t size = 8;
  if (const auto text = value.text()) return size + text->size();
  for (const auto& item : value.items()) size += size_of(item);
  for (const auto& [name, member] : value.members()) size += name.size() + size_of(member);
  return size;
}

class Inserting {
 public:
  Inserting(const ResultLookup& lookup, std::size_t most_bytes)
      : lookup_(lookup), most_(most_bytes), left_(most_bytes) {}

  // Depth is that of a value that was read: bounded.
  Result<void> into(Json& value) {
    if (auto* items = value.if_array()) {
      for (auto& item : *items) {
        if (auto done = into(item); !done) return done;
      }
    } else if (auto* members = value.if_object()) {
      // TODO(cleanup): members are visited by name because ranges over objects are for reading.
      std::vector<std::string> names;
      names.reserve(members->size());
      for (const auto& [name, member] : *members) names.emplace_back(name);
      for (const auto& name : names) {
        if (auto done = into(*members->find(name)); !done) return done;
      }
    } else if (const auto text = value.text(); text && may_name_results(*text)) {
      auto made = from_text(*text);
      if (!made) return std::unexpected(std::move(made).error());
      value = std::move(*made);
    }
    return {};
  }

 private:
  Result<Json> from_text(std::string_view text) {
    if (text.starts_with(handle_mark)) {
      auto rest = text.substr(handle_mark.size());
      if (const auto whole = take_reference(rest, true); whole && rest.empty()) {
        auto value = look_up(*whole);
        if (!value) return std::unexpected(std::move(value).error());
        if (auto paid = pay(size_of(**value)); !paid) return std::unexpected(std::move(paid).error());
        return **value;
      }
    }
    std::string out;
    while (!text.empty()) {
      const auto at = std::min(text.find(handle_mark), text.size());
      out += text.substr(0, at);
      const bool escaped = out.ends_with('\\') && at < text.size();
      // Part of a word, such as an address.
      const bool inside = at > 0 && at < text.size() && is_id_character(text[at - 1]);
      text.remove_prefix(at);
      if (text.empty()) break;
      text.remove_prefix(handle_mark.size());
      if (escaped) out.pop_back();
      auto rest = text;
      const auto found = escaped || inside ? std::nullopt : take_reference(rest, false);
      if (!found) {
        out += handle_mark;
        continue;
      }
      auto value = look_up(*found);
      if (!value) return std::unexpected(std::move(value).error());
      const auto written = (*value)->text();
      const auto piece = written ? std::string(*written) : to_text(**value);
      if (auto paid = pay(piece.size()); !paid) return std::unexpected(std::move(paid).error());
      out += piece;
      text = rest;
    }
    return Json(std::move(out));
  }

  Result<const Json*> look_up(const ResultRef& reference) {
    if (++references_ > most_references) {
      return fail(Errc::invalid_argument, fmt::format("the arguments name more than {} results", most_references));
    }
    return lookup_(reference);
  }

  Result<void> pay(std::size_t bytes) {
    if (bytes > left_) {
      return fail(Errc::limit,
                  fmt::format("the results named in the arguments have more than {} together", limit_text(most_)));
    }
    left_ -= bytes;
    return {};
  }

  const ResultLookup& lookup_;
  std::size_t most_;
  std::size_t left_;
  std::size_t references_ = 0;
};

}  // namespace

std::string handle_of(std::string_view id) { return std::string(handle_mark) + std::string(id); }

std::optional<ResultRef> parse_handle(std::string_view text) {
  if (text.starts_with(handle_mark)) text.remove_prefix(handle_mark.size());
  auto found = take_reference(text, true);
  return found && text.empty() ? found : std::nullopt;
}

Result<Json> with_results(Json arguments, const ResultLookup& lookup, std::size_t most_bytes) {
  if (auto done = Inserting(lookup, most_bytes).into(arguments); !done) return std::unexpected(std::move(done).error());
  return arguments;
}

}  // namespace patchbay
