#include "text/shell_word.h"

#include <algorithm>

#include <fmt/format.h>

#include "text/utf8.h"
#include "text/visible_text.h"

namespace patchbay {

std::string shell_word(std::string_view word) {
  constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./:=@%+,";
  if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos) return std::string(word);
  std::string out = "'";
  for (char c : word) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out.push_back(c);
    }
  }
  return out + "'";
}

std::string pasted_word(std::string_view word) {
  std::string out = "$'";
  bool odd = false;
  for (std::size_t at = 0; at < word.size();) {
    const auto character = decode_utf8(word, at);
    const auto bytes = word.substr(at, character.length);
    at += character.length;
    if (!character.valid || !shows_itself(character.value)) {
      odd = true;
      for (char byte : bytes) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    } else {
      if (bytes == "'" || bytes == "\\") out += '\\';
      out += bytes;
    }
  }
  return odd ? out + "'" : shell_word(word);
}

std::string shell_operands(const std::vector<std::string>& words) {
  const bool flag = std::ranges::any_of(words, [](const std::string& word) { return word.starts_with('-'); });
  std::string out = flag ? " --" : "";
  for (const auto& word : words) out += " " + pasted_word(word);
  return out;
}

}  // namespace patchbay
