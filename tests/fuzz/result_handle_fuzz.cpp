// Handles in arguments and JSON pointers: whatever the texts are, a reference that is found can be written again, and
// what is put in is not looked at again.
#include "fuzz/fuzz.h"
#include "results/handle.h"
#include "results/outline.h"
#include "results/pointer.h"

using namespace patchbay;
using fuzz::require;

FUZZ_TARGET(result_handle) {
  auto rest = input;
  const auto first = fuzz::take_line(rest);
  if (const auto reference = parse_handle(first)) {
    const auto again = parse_handle(handle_of(reference->id) + (reference->raw ? "/raw" : ""));
    require(again && again->id == reference->id && again->raw == reference->raw, "a handle that reads otherwise");
    require(reference->pointer.empty() || reference->pointer.front() == '/', "a pointer that is none");
  }
  const auto value = parse_json(rest);
  if (!value) return;
  require(outline_of(*value).size() < 2100, "a shape that is long");
  if (const auto at = at_pointer(*value, first)) require(*at != nullptr, "a pointer to nothing");
  std::size_t asked = 0;
  const Json put_in = "@result:again";
  const ResultLookup lookup = [&](const ResultRef& reference) -> Result<const Json*> {
    ++asked;
    if (reference.id == "again") return fail(Errc::invalid_argument, "looked at what was put in");
    return &put_in;
  };
  const bool may = may_name_results(to_text(*value));
  const bool named = rest.find("again") != std::string_view::npos;
  const auto made = with_results(*value, lookup, 1 << 20);
  require(asked == 0 || may, "a handle that the search does not find");
  if (made && asked == 0 && !may) require(*made == *value, "arguments without handles changed");
  require(made || asked > 0, "refused without a handle");
  require(made || named || asked >= 1000 || made.error().code() == Errc::limit, "what was put in was looked at");
}
