#include "json/regex.h"

#include <algorithm>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include "json/utf8.h"

namespace patchbay {
namespace {

// What a search may remember grows with what it may do: touching new memory costs more than a
// step does, and a small budget is meant to be a short time.
constexpr std::uint64_t steps_per_kib = 25;
constexpr std::uint64_t least_heap_kib = 1024;
constexpr std::uint64_t most_heap_kib = 32 * 1024;
// Only a second line of defence: PCRE2 counts anew for every starting position, so it
// cannot bound a search. The callouts do.
constexpr std::uint32_t match_limit = 20'000'000;

pcre2_code* code_of(void* code) noexcept { return static_cast<pcre2_code*>(code); }

struct Budget {
  std::uint64_t* steps;
  std::size_t last = 0;  // the position of the callout before
};

// Between two callouts PCRE2 does work proportional to the pattern and to the way it moved.
int on_callout(pcre2_callout_block* block, void* data) {
  auto& budget = *static_cast<Budget*>(data);
  const std::size_t at = block->current_position;
  const std::size_t way = at > budget.last ? at - budget.last : budget.last - at;
  budget.last = at;
  const unsigned number = block->callout_number;
  std::uint64_t work = way;
  if (number == regex::whole_text_callout) {
    work = block->subject_length;
  } else if (number > regex::plain_callouts) {
    work = std::uint64_t{way} << (number - regex::plain_callouts);
  } else {
    work += number;
  }
  const std::uint64_t cost = 1 + work / 32;
  if (cost > *budget.steps) {
    *budget.steps = 0;
    return PCRE2_ERROR_CALLOUT;
  }
  *budget.steps -= cost;
  return 0;
}

}  // namespace

RegexScratch::~RegexScratch() {
  pcre2_match_data_free(static_cast<pcre2_match_data*>(match_data_));
  pcre2_match_context_free(static_cast<pcre2_match_context*>(match_context_));
}

void Regex::Free::operator()(void* code) const noexcept { pcre2_code_free(code_of(code)); }

Result<Regex> Regex::compile(std::string_view pattern, std::size_t max_bytes, RegexCase letter_case) {
  if (pattern.size() > max_bytes) {
    return fail(Errc::limit, fmt::format("the pattern has {} bytes; the limit is {}", pattern.size(), max_bytes));
  }
  auto translated = regex::translate(pattern);
  if (!translated) return std::unexpected(translated.error());
  const std::uint32_t options = PCRE2_UTF | PCRE2_NO_UTF_CHECK | PCRE2_MATCH_UNSET_BACKREF | PCRE2_NEVER_BACKSLASH_C |
                                (letter_case == RegexCase::ignored ? PCRE2_CASELESS : 0);
  int error = 0;
  std::size_t offset = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated->data()), translated->size(), options,
                                   &error, &offset, nullptr);
  if (!code) {
    PCRE2_UCHAR reason[160] = {};
    pcre2_get_error_message(error, reason, sizeof reason);
    return fail(Errc::invalid_argument, reinterpret_cast<const char*>(reason));
  }
  return Regex(code);
}

Regex::Outcome Regex::search(std::string_view text, RegexScratch& scratch, std::uint64_t& steps) const {
  const std::uint64_t entry = 1 + text.size() / 64;
  if (entry > steps) {
    steps = 0;
    return Outcome::limit;
  }
  steps -= entry;
  if (first_invalid_utf8(text) != all_utf8) return Outcome::no_match;

  if (!scratch.match_data_) scratch.match_data_ = pcre2_match_data_create(1, nullptr);
  if (!scratch.match_context_) scratch.match_context_ = pcre2_match_context_create(nullptr);
  auto* data = static_cast<pcre2_match_data*>(scratch.match_data_);
  auto* context = static_cast<pcre2_match_context*>(scratch.match_context_);
  if (!data || !context) return Outcome::limit;
  Budget budget{.steps = &steps};
  const auto heap_kib = std::clamp(steps / steps_per_kib, least_heap_kib, most_heap_kib);
  pcre2_set_heap_limit(context, static_cast<std::uint32_t>(heap_kib));
  pcre2_set_match_limit(context, match_limit);
  pcre2_set_callout(context, on_callout, &budget);
  const char* const begin = text.data() ? text.data() : "";
  const int found = pcre2_match(code_of(code_.get()), reinterpret_cast<PCRE2_SPTR>(begin), text.size(), 0,
                                PCRE2_NO_UTF_CHECK, data, context);
  if (found >= 0) return Outcome::match;  // 0 says that groups did not fit, which nobody asked for
  return found == PCRE2_ERROR_NOMATCH ? Outcome::no_match : Outcome::limit;
}

}  // namespace patchbay
