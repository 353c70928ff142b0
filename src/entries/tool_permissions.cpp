#include "entries/tool_permissions.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "entries/entry.h"
#include "json/kind_text.h"

namespace patchbay {
namespace {

using Member = ConfigDocument::Member;
using Faults = std::vector<ToolPermissionFault>;
using Words = std::array<std::string_view, 3>;

constexpr Words policies{"always_allow", "always_ask", "always_deny"};
constexpr Words permissions{"allow", "ask", "blocked"};

void check(Faults& out, std::string_view key, const Member& word, std::string_view tool, const Words& words) {
  const auto text = word.value->text();
  if (text && std::ranges::find(words, *text) != words.end()) return;
  out.push_back({word.place->value,
                 fmt::format("the permission of {} in \"{}\" must be {}, {} or {}, found {}; its calls are denied",
                             quoted_name(tool), key, words[0], words[1], words[2], to_text(*word.value))});
}

ToolPermissionFault wrong_kind(const Member& at, std::string_view key, std::string_view expected) {
  return {at.place->value, fmt::format("\"{}\" must be {}, found {}", key, expected, kind_with_article(*at.value)),
          true};
}

}  // namespace

std::vector<ToolPermissionFault> tool_permission_faults(std::string_view key, const Member& at) {
  Faults out;
  if (key == "toolPermissions") {
    const auto* members = at.value->if_object();
    if (members == nullptr) return {wrong_kind(at, key, "an object")};
    std::size_t i = 0;
    for (const auto& [name, word] : *members) check(out, key, {&word, &at.place->children[i++]}, name, permissions);
    return out;
  }
  const auto* tools = at.value->if_array();
  if (tools == nullptr) return {wrong_kind(at, key, "an array of objects")};
  for (std::size_t i = 0; i < tools->size(); ++i) {
    const Member tool{&(*tools)[i], &at.place->children[i]};
    const auto name = member_of(tool, "name");
    const auto policy = member_of(tool, "permission_policy");
    if (!name || !name.value->is_string()) {
      out.push_back({tool.place->value, fmt::format("\"tools[{}]\" must have a \"name\", which is a string", i), true});
    } else if (policy) {
      check(out, key, policy, name.value->as_text(), policies);
    }
  }
  return out;
}

}  // namespace patchbay
