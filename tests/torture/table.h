// The table of JSON texts in cases.txt, as values, and the one spelling in which the values of
// three readers (ours, Python's, JavaScript's) are compared. cases.txt describes both.
// Used by json_table_test.cpp. Pure, except that load_table() reads the file.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <patchbay/json.h>

namespace patchbay::torture {

// "reject", or "accept " and the value as spelled() writes it.
using Verdict = std::string;

struct Difference {
  Verdict verdict;
  std::string reason;
};

struct Case {
  int line = 0;
  std::string name;
  std::string bytes;
  bool accepted = false;
  std::string value;                              // of an accepted text
  std::size_t offset = 0;                         // of the fault in a rejected one
  std::map<std::string, Difference> differences;  // by reader

  Verdict verdict() const { return accepted ? "accept " + value : "reject"; }
};

inline std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// "a<00>" and "<5b*128>": bytes in hexadecimal, and how often.
inline std::string expanded(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto open = std::min(text.find('<'), text.size());
    out += text.substr(0, open);
    if (open == text.size()) break;
    const auto close = text.find('>', open);
    if (close == text.npos) throw std::runtime_error("'<' without '>'");
    const auto inside = text.substr(open + 1, close - open - 1);
    const auto star = std::min(inside.find('*'), inside.size());
    const int times = star == inside.size() ? 1 : std::stoi(std::string(inside.substr(star + 1)));
    if (star % 2 != 0) throw std::runtime_error("half a byte in <>");
    std::string part;
    for (std::size_t i = 0; i < star; i += 2) {
      part += static_cast<char>(std::stoi(std::string(inside.substr(i, 2)), nullptr, 16));
    }
    for (int i = 0; i < times; ++i) out += part;
    text.remove_prefix(close + 1);
  }
  return out;
}

// Throws std::runtime_error naming the line that makes no sense.
inline std::vector<Case> load_table(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::vector<Case> cases;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    try {
      const auto text = trimmed(line);
      if (text.empty() || text.front() == '#') continue;
      const auto blank = text.find(' ');
      if (blank == text.npos) throw std::runtime_error("a word alone");
      const auto word = text.substr(0, blank);
      const auto rest = trimmed(text.substr(blank));
      if (word == "python" || word == "node") {
        if (cases.empty()) throw std::runtime_error("a difference before the first case");
        const auto bar = rest.rfind(" | ");
        if (bar == rest.npos) throw std::runtime_error("a difference needs a reason");
        Difference difference{expanded(trimmed(rest.substr(0, bar))), std::string(trimmed(rest.substr(bar + 3)))};
        if (difference.reason.empty()) throw std::runtime_error("a difference needs a reason");
        if (!cases.back().differences.emplace(word, std::move(difference)).second) {
          throw std::runtime_error("a reader differs once");
        }
        continue;
      }
      if (word != "accept" && word != "reject") throw std::runtime_error("neither accept nor reject");
      const auto first = rest.find(" | ");
      const auto last = rest.rfind(" | ");
      if (first == rest.npos || first == last) throw std::runtime_error("a case has three fields");
      Case one;
      one.line = number;
      one.accepted = word == "accept";
      one.name = trimmed(rest.substr(0, first));
      one.bytes = expanded(trimmed(rest.substr(first + 3, last - first - 3)));
      const auto outcome = trimmed(rest.substr(last + 3));
      if (one.accepted) {
        one.value = expanded(outcome);
      } else {
        one.offset = std::stoul(std::string(outcome));
      }
      cases.push_back(std::move(one));
    } catch (const std::exception& error) {
      throw std::runtime_error(fmt::format("{}:{}: {}", path, number, error.what()));
    }
  }
  return cases;
}

inline void spell_string(std::string& out, std::string_view text) {
  const auto unit = [&](unsigned code) { out += fmt::format("\\u{:04x}", code); };
  out += '"';
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    unsigned code = length == 1 ? lead : lead & (0x7Fu >> length);
    for (std::size_t k = 1; k < length; ++k) code = code << 6 | (static_cast<unsigned char>(text.at(i + k)) & 0x3Fu);
    i += length;
    const bool plain = code >= 0x20 && code < 0x7F && code != '"' && code != '\\' && code != '<' && code != '|';
    if (plain) {
      out += static_cast<char>(code);
    } else if (code < 0x10000) {
      unit(code);
    } else {
      unit(0xD800 + ((code - 0x10000) >> 10));
      unit(0xDC00 + ((code - 0x10000) & 0x3FF));
    }
  }
  out += '"';
}

inline void spell(std::string& out, const Json& value) {
  switch (value.kind()) {
    case Json::Kind::null:
      out += "null";
      break;
    case Json::Kind::boolean:
      out += *value.to_bool() ? "true" : "false";
      break;
    case Json::Kind::integer:
      out += fmt::format("{}", *value.to_int());
      break;
    case Json::Kind::unsigned_integer:
      out += fmt::format("{}", *value.to_uint());
      break;
    case Json::Kind::real: {
      const double real = *value.to_double();
      if (real == 0) {
        out += std::signbit(real) ? "-0" : "0";
      } else if (std::trunc(real) == real && std::fabs(real) <= 0x1p64) {
        out += fmt::format("{:.0f}", real);
      } else {
        out += fmt::format("f:{:016x}", std::bit_cast<std::uint64_t>(real));
      }
      break;
    }
    case Json::Kind::big_number:
      out += value.number_text();
      break;
    case Json::Kind::string:
      spell_string(out, value.as_text());
      break;
    case Json::Kind::array: {
      out += '[';
      bool first = true;
      for (const auto& item : *value.if_array()) {
        if (!std::exchange(first, false)) out += ',';
        spell(out, item);
      }
      out += ']';
      break;
    }
    case Json::Kind::object: {
      out += '{';
      bool first = true;
      for (const auto& [key, member] : *value.if_object()) {
        if (!std::exchange(first, false)) out += ',';
        spell_string(out, key);
        out += ':';
        spell(out, member);
      }
      out += '}';
      break;
    }
  }
}

inline std::string spelled(const Json& value) {
  std::string out;
  spell(out, value);
  return out;
}

}  // namespace patchbay::torture
