#include "hooks/hook_matcher.h"

#include <algorithm>

#include <fmt/format.h>
#include <re2/re2.h>

#include "base/strings.h"
#include "catalog/naming.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

constexpr std::size_t longest_matcher = 8u << 10;
constexpr std::int64_t pattern_memory = 1 << 20;

bool is_list_character(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ' ' ||
         c == ',' || c == '|' || c == '-';
}

}  // namespace

Result<HookMatcher> HookMatcher::compile(std::string_view text) {
  HookMatcher out;
  if (text.empty() || text == "*") return out;
  out.everything_ = false;
  if (text.size() > longest_matcher) {
    return fail(Errc::invalid_argument, fmt::format("the matcher is longer than {} bytes", longest_matcher));
  }
  if (std::ranges::all_of(text, is_list_character)) {
    for (const auto part : split(text, '|')) {
      for (const auto name : split(part, ',')) {
        if (const auto plain = trim(name); !plain.empty()) out.names_.emplace_back(plain);
      }
    }
    return out;
  }
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(pattern_memory);
  auto pattern = std::make_shared<const RE2>(re2::StringPiece(text.data(), text.size()), options);
  if (!pattern->ok()) {
    return fail(Errc::invalid_argument, fmt::format("the matcher is not a regular expression of RE2: {}",
                                                    clean_excerpt(pattern->error(), 200)));
  }
  out.pattern_ = std::move(pattern);
  return out;
}

bool HookMatcher::matches(std::string_view name) const {
  if (everything_) return true;
  if (!pattern_) return std::ranges::find(names_, name) != names_.end();
  const re2::StringPiece text(name.data(), name.size());
  return pattern_->Match(text, 0, name.size(), RE2::UNANCHORED, nullptr, 0);
}

bool HookMatcher::may_name_server_tool() const {
  if (everything_ || pattern_) return true;
  return std::ranges::any_of(names_, [](const auto& name) { return name.starts_with(full_name_prefix); });
}

}  // namespace patchbay
