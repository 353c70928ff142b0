#include "catalog/search/deferral.h"

#include <charconv>

#include <fmt/format.h>

#include "base/strings.h"
#include "catalog/search/tool_hints.h"

namespace patchbay {
namespace {

constexpr std::size_t bytes_of_token = 4;

}  // namespace

Result<ToolSearchMode> parse_tool_search_mode(std::string_view text) {
  const auto word = to_lower_ascii(trim(text));
  using When = ToolSearchMode::When;
  if (word == "true" || word == "1") return ToolSearchMode{When::always, 0};
  if (word == "false" || word == "0") return ToolSearchMode{When::never, 0};
  if (word == "auto") return ToolSearchMode{};
  if (word.starts_with("auto:")) {
    const auto number = std::string_view(word).substr(5);
    unsigned percent = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), percent);
    if (!number.empty() && error == std::errc() && end == number.data() + number.size() && percent <= 100) {
      return ToolSearchMode{When::automatic, percent};
    }
  }
  return fail(Errc::config,
              fmt::format("ENABLE_TOOL_SEARCH is \"{}\"; it may be auto, auto:N with a percentage from 0 to 100, true "
                          "or false",
                          cut_utf8(text, 40)));
}

bool may_be_deferred(const CatalogEntry& entry, const std::set<std::string, std::less<>>& always) noexcept {
  const auto said = always_load(*entry.tool);
  return said ? !*said : !always.contains(entry.server);
}

Deferral decide_deferral(const ToolIndex& index, const DeferralOptions& options) {
  Deferral out;
  std::size_t bytes = 0;
  std::size_t count = 0;
  for (const auto& part : index.parts()) {
    std::size_t at = 0;
    for (const auto& entry : part->fragment()->entries) {
      const auto size = part->bytes(at++);
      if (!may_be_deferred(entry, options.always_load)) continue;
      bytes += size;
      ++count;
    }
  }
  out.tokens = bytes / bytes_of_token;
  switch (options.mode.when) {
    case ToolSearchMode::When::never:
      break;
    case ToolSearchMode::When::always:
      out.searching = count > 0;
      break;
    case ToolSearchMode::When::automatic:
      out.limit = options.context_tokens / 100 * options.mode.percent;
      out.searching = out.tokens > out.limit;
      break;
  }
  return out;
}

}  // namespace patchbay
