#include "base/shell_word.h"

#include <algorithm>

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

std::string shell_operands(const std::vector<std::string>& words) {
  const bool flag = std::ranges::any_of(words, [](const std::string& word) { return word.starts_with('-'); });
  std::string out = flag ? " --" : "";
  for (const auto& word : words) out += " " + shell_word(word);
  return out;
}

}  // namespace patchbay
