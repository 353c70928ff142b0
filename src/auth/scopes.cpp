#include "auth/scopes.h"

#include <algorithm>

#include "base/strings.h"

namespace patchbay {
namespace {

constexpr std::size_t most_scopes = 1000;

void add(Scopes& scopes, std::string_view scope) {
  if (scopes.size() < most_scopes && std::ranges::find(scopes, scope) == scopes.end()) scopes.emplace_back(scope);
}

bool has(const std::optional<Scopes>& scopes) { return scopes && !scopes->empty(); }

Scopes named_scopes(const ScopeSources& sources) {
  if (sources.configured) return split_scopes(*sources.configured);
  if (sources.challenged) {
    if (auto scopes = split_scopes(*sources.challenged); !scopes.empty()) return scopes;
  }
  if (has(sources.resource)) return *sources.resource;
  return has(sources.named_document) ? *sources.named_document : Scopes();
}

}  // namespace

Scopes split_scopes(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  Scopes scopes;
  for (std::size_t at = 0; (at = text.find_first_not_of(blanks, at)) != text.npos;) {
    const auto end = std::min(text.find_first_of(blanks, at), text.size());
    add(scopes, text.substr(at, end - at));
    at = end;
  }
  return scopes;
}

std::string join_scopes(const Scopes& scopes) { return join(scopes, " "); }

Scopes scope_union(Scopes first, const Scopes& more) {
  for (const auto& scope : more) add(first, scope);
  return first;
}

bool has_scopes(const Scopes& all, const Scopes& wanted) {
  return std::ranges::all_of(wanted, [&all](const auto& one) { return std::ranges::find(all, one) != all.end(); });
}

Scopes wanted_scopes(const ScopeSources& sources) {
  auto scopes = named_scopes(sources);
  constexpr std::string_view offline = "offline_access";
  // Alone it would ask for less than leaving the parameter out.
  const bool offered = sources.issuer && std::ranges::find(*sources.issuer, offline) != sources.issuer->end();
  if (!scopes.empty() && offered) add(scopes, offline);
  return scopes;
}

Scopes stepped_up(const Scopes& requested, const std::optional<std::string>& challenged) {
  return scope_union(requested, split_scopes(challenged.value_or("")));
}

}  // namespace patchbay
