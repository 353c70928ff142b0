#include "agent/grants.h"

#include <algorithm>

#include <fmt/format.h>

namespace patchbay {
namespace {

// As decisions know it (permission/decide).
constexpr std::string_view interaction_key = "anthropic/requiresUserInteraction";

bool wants_person(const Tool& tool) {
  const auto* wanted = tool.meta.find(interaction_key);
  return wanted != nullptr && *wanted == Json(true);
}

bool destroys(const Tool& tool) { return tool.annotations && tool.annotations->destructive_hint == true; }

// The same value gives the same text whatever the order of its members is.
Json sorted(const Json& value) {
  if (const auto* items = value.if_array()) {
    Json out = Json::array();
    for (const auto& item : *items) out.push_back(sorted(item));
    return out;
  }
  const auto* members = value.if_object();
  if (members == nullptr) return value;
  std::vector<std::pair<std::string, Json>> all;
  for (const auto& [key, each] : *members) all.emplace_back(std::string(key), sorted(each));
  std::ranges::sort(all, {}, [](const auto& one) { return one.first; });
  Json out = Json::object();
  for (auto& [key, each] : all) out[key] = std::move(each);
  return out;
}

std::string text_of(const Json& arguments) { return to_text(sorted(arguments.is_null() ? Json::object() : arguments)); }

}  // namespace

std::vector<GrantScope> possible_grants(const PermissionQuestion& question) {
  // An ask rule is there to be asked.
  if (!question.decision.rule.empty() || wants_person(*question.tool.tool)) return {};
  std::vector<GrantScope> out{GrantScope::arguments, GrantScope::tool};
  if (!destroys(*question.tool.tool)) out.push_back(GrantScope::server);
  return out;
}

void Grants::add(const PermissionQuestion& question, GrantScope scope) {
  const auto possible = possible_grants(question);
  if (std::ranges::find(possible, scope) == possible.end()) return;
  const ToolName tool{question.tool.server, question.tool.tool->name};
  switch (scope) {
    case GrantScope::arguments:
      add(question, question.arguments.value());
      break;
    case GrantScope::tool:
      tools_.insert(tool);
      break;
    case GrantScope::server:
      servers_.insert(question.tool.server);
      break;
  }
}

void Grants::add(const PermissionQuestion& question, const Json& arguments) {
  if (possible_grants(question).empty() || calls_.size() >= most_calls) return;
  calls_.emplace(ToolName{question.tool.server, question.tool.tool->name}, text_of(arguments));
}

bool Grants::cover(const PermissionQuestion& question) const {
  const auto possible = possible_grants(question);
  if (possible.empty()) return false;
  const ToolName tool{question.tool.server, question.tool.tool->name};
  if (tools_.contains(tool)) return true;
  const bool by_server = std::ranges::find(possible, GrantScope::server) != possible.end();
  if (by_server && servers_.contains(question.tool.server)) return true;
  return !calls_.empty() && calls_.contains({tool, text_of(question.arguments.value())});
}

std::vector<std::string> Grants::tools() const {
  std::vector<std::string> out;
  for (const auto& [server, tool] : tools_) out.push_back(fmt::format("{}/{}", server, tool));
  return out;
}

std::vector<std::string> Grants::servers() const { return {servers_.begin(), servers_.end()}; }

void Grants::clear() { *this = Grants(); }

}  // namespace patchbay
