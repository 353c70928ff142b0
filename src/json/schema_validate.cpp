#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "json/schema_plain_checks.h"
#include "json/schema_program.h"
#include "json/schema_run.h"
#include "json/schema_words.h"

namespace patchbay::schema {
namespace {

class Run : PlainChecks {
 public:
  Run(const Program& program, const ValidateOptions& options)
      : PlainChecks(options.max_steps), program_(program), max_depth_(options.max_depth) {}

  bool accepts(const Json& value) {
    const Scope scope{nullptr, program_.root->resource};
    return evaluate<false>(*program_.root, value, scope, nullptr, nullptr);
  }

  bool accepts(const Node& node, const Json& value, Steps& steps) {
    const Scope scope{nullptr, node.resource};
    const bool accepted = evaluate<false>(node, value, scope, nullptr, nullptr);
    steps = steps_;
    return accepted;
  }

  void collect(const Json& value, std::vector<Violation>& into, std::size_t most) {
    findings_.open(into, most);
    const Scope scope{nullptr, program_.root->resource};
    try {
      evaluate<true>(*program_.root, value, scope, nullptr, nullptr);
    } catch (const Enough&) {
    }
  }

 private:
  template <bool collecting>
  bool evaluate(const Node& node, const Json& value, const Scope& outer, Marks* marks, const Path* path) {
    steps_.charge(1);
    if (node.fixed != Node::Fixed::no) {
      if (node.fixed == Node::Fixed::accepts) return true;
      if constexpr (collecting) report(node, "false", path, "nothing is allowed here");
      return false;
    }
    if (depth_ >= max_depth_)
      throw Exhausted{fmt::format("the check against the schema would go deeper than {} levels", max_depth_)};
    struct Level {
      std::uint32_t& depth;
      explicit Level(std::uint32_t& d) : depth(d) { ++depth; }
      ~Level() { --depth; }
    } level(depth_);
    const Scope inner{&outer, node.resource};
    const Scope& scope = outer.resource == node.resource ? outer : inner;
    if (node.only_ref) return evaluate<collecting>(*node.ref, value, scope, marks, path);
    const bool unevaluated =
        (node.unevaluated_properties && value.is_object()) || (node.unevaluated_items && value.is_array());
    if (unevaluated) return with_unevaluated<collecting>(node, value, scope, marks, path);
    return apply<collecting>(node, value, scope, marks, path);
  }

  // Everything but unevaluatedProperties and unevaluatedItems.
  template <bool collecting>
  bool apply(const Node& node, const Json& value, const Scope& scope, Marks* marks, const Path* path) {
    Verdict verdict;
    if (node.types != 0 && (node.types & type_of(value)) == 0) {
      // The other keywords would only say the same again.
      failed<collecting>(verdict, node, "type", path, [&] { return wrong_type(node.types, value); });
      return false;
    }
    if (node.values && !check_values<collecting>(node, *node.values, value, path)) {
      if (!collecting) return false;
      verdict.good = false;
    }
    bool good = true;
    switch (value.kind()) {
      case Json::Kind::integer:
      case Json::Kind::unsigned_integer:
      case Json::Kind::real:
      case Json::Kind::big_number:
        if (node.number) good = check_number<collecting>(node, *node.number, value, path);
        break;
      case Json::Kind::string:
        if (node.string) good = check_string<collecting>(node, *node.string, value.as_text(), path);
        break;
      case Json::Kind::array:
        if (node.array) good = check_array<collecting>(node, *node.array, *value.if_array(), scope, marks, path);
        break;
      case Json::Kind::object:
        if (node.object) good = check_object<collecting>(node, *node.object, value, scope, marks, path);
        break;
      default:
        break;
    }
    if (!good) {
      if (!collecting) return false;
      verdict.good = false;
    }
    if (node.ref && !evaluate<collecting>(*node.ref, value, scope, marks, path)) {
      if (!collecting) return false;
      verdict.good = false;
    }
    if (node.in_place && !check_in_place<collecting>(node, *node.in_place, value, scope, marks, path)) {
      verdict.good = false;
    }
    return verdict.good;
  }

  template <bool collecting>
  bool check_array(const Node& node, const ArrayRules& rules, const Json::Array& array, const Scope& scope,
                   Marks* marks, const Path* path) {
    Verdict verdict;
    const std::size_t size = array.size();
    if (size < rules.min_items &&
        failed<collecting>(verdict, node, "minItems", path, [&] { return too_few(rules.min_items, "item", size); })) {
      return false;
    }
    if (size > rules.max_items &&
        failed<collecting>(verdict, node, "maxItems", path, [&] { return too_many(rules.max_items, "item", size); })) {
      return false;
    }
    if (rules.unique) {
      const auto [first, second] = find_duplicate(array, steps_);
      if (first != second &&
          failed<collecting>(verdict, node, "uniqueItems", path, [&] { return equal_items(first, second); })) {
        return false;
      }
    }
    const std::size_t prefix = std::min(size, rules.prefix.size());
    for (std::size_t i = 0; i < size; ++i) {
      const Node* item = i < prefix ? rules.prefix[i] : rules.rest;
      if (!item) break;
      if (i >= prefix && item->fixed != Node::Fixed::no) {
        // One verdict for all that are left.
        if (item->fixed == Node::Fixed::rejects && failed<collecting>(verdict, node, rules.rest_keyword, path,
                                                                      [&] { return too_many(prefix, "item", size); })) {
          return false;
        }
        break;
      }
      const Path here{path, {}, i};
      if (!evaluate<collecting>(*item, array[i], scope, nullptr, collecting ? &here : nullptr)) {
        if (!collecting) return false;
        verdict.good = false;
      }
    }
    if (marks) {
      for (std::size_t i = 0; i < prefix; ++i) marks->add(i);
      if (rules.rest) marks->add_all();
    }
    if (rules.contains && !check_contains<collecting>(node, rules, array, scope, marks, path)) verdict.good = false;
    return verdict.good;
  }

  template <bool collecting>
  bool check_contains(const Node& node, const ArrayRules& rules, const Json::Array& array, const Scope& scope,
                      Marks* marks, const Path* path) {
    Verdict verdict;
    const bool mark = marks && rules.contains_evaluates;
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < array.size(); ++i) {
      const bool all_known = !mark && found >= rules.min_contains && rules.max_contains == UINT64_MAX;
      if (all_known) break;
      if (!evaluate<false>(*rules.contains, array[i], scope, nullptr, nullptr)) continue;
      ++found;
      if (mark) marks->add(i);
    }
    if (found < rules.min_contains) {
      const std::string_view keyword = rules.min_contains == 1 ? "contains" : "minContains";
      failed<collecting>(verdict, node, keyword, path, [&] { return contains_too_few(rules, found); });
    } else if (found > rules.max_contains) {
      failed<collecting>(verdict, node, "maxContains", path, [&] { return contains_too_many(rules, found); });
    }
    return verdict.good;
  }

  template <bool collecting>
  bool check_object(const Node& node, const ObjectRules& rules, const Json& value, const Scope& scope, Marks* marks,
                    const Path* path) {
    Verdict verdict;
    const Json::Object& object = *value.if_object();
    const std::size_t size = object.size();
    steps_.charge(size / 4);
    if (size < rules.min_properties &&
        failed<collecting>(
            verdict, node, "minProperties", path, [&] { return too_few(rules.min_properties, "property", size); })) {
      return false;
    }
    if (size > rules.max_properties && failed<collecting>(verdict, node, "maxProperties", path, [&] {
          return too_many(rules.max_properties, "property", size);
        })) {
      return false;
    }
    std::uint32_t required = 0;
    std::size_t position = 0;
    for (const auto& [name, member] : object) {
      const Path here{path, name, Place::no_index};
      const Path* const below = collecting ? &here : nullptr;
      bool looked_at = false;
      if (const Property* property = find_property(rules, name)) {
        required += property->required ? 1 : 0;
        if (property->node) {
          looked_at = true;
          if (!evaluate<collecting>(*property->node, member, scope, nullptr, below)) {
            if (!collecting) return false;
            verdict.good = false;
          }
        }
      }
      for (const auto& pattern : rules.patterns) {
        if (!matches(*pattern.regex, name)) continue;
        looked_at = true;
        if (!evaluate<collecting>(*pattern.node, member, scope, nullptr, below)) {
          if (!collecting) return false;
          verdict.good = false;
        }
      }
      if (rules.additional && !looked_at) {
        looked_at = true;
        if (rules.additional->fixed == Node::Fixed::rejects) {
          if (failed<collecting>(verdict, node, "additionalProperties", path,
                                 [&] { return unexpected_property(rules, name); })) {
            return false;
          }
        } else if (!evaluate<collecting>(*rules.additional, member, scope, nullptr, below)) {
          if (!collecting) return false;
          verdict.good = false;
        }
      }
      if (marks && looked_at) marks->add(position);
      if (rules.names && !check_name<collecting>(node, *rules.names, name, scope, path)) {
        if (!collecting) return false;
        verdict.good = false;
      }
      ++position;
    }
    if (required < rules.required_count) {
      if (!collecting) return false;
      for (const Property& property : rules.properties) {
        if (!property.required || object.contains(property.name)) continue;
        failed<collecting>(verdict, node, "required", path, [&] { return missing_property(property.name); });
      }
    }
    if (!rules.dependencies.empty() && !check_dependencies<collecting>(node, rules, value, scope, marks, path)) {
      verdict.good = false;
    }
    return verdict.good;
  }

  template <bool collecting>
  bool check_name(const Node& node, const Node& rule, std::string_view name, const Scope& scope, const Path* path) {
    steps_.charge(name.size() / 256);
    const Json text(name);
    if (evaluate<false>(rule, text, scope, nullptr, nullptr)) return true;
    if constexpr (collecting) {
      report(node, "propertyNames", path, name_not_allowed(name, first_reason(rule, text, scope)));
    }
    return false;
  }

  template <bool collecting>
  bool check_dependencies(const Node& node, const ObjectRules& rules, const Json& value, const Scope& scope,
                          Marks* marks, const Path* path) {
    Verdict verdict;
    const Json::Object& object = *value.if_object();
    steps_.charge(rules.dependencies.size() / 4);
    for (const Dependency& dependency : rules.dependencies) {
      if (!object.contains(dependency.name)) continue;
      steps_.charge(dependency.required.size() / 4);
      for (std::string_view name : dependency.required) {
        if (object.contains(name)) continue;
        if (failed<collecting>(verdict, node, dependency.keyword, path,
                               [&] { return missing_dependency(name, dependency); })) {
          return false;
        }
      }
      if (dependency.node && !evaluate<collecting>(*dependency.node, value, scope, marks, path)) {
        if (!collecting) return false;
        verdict.good = false;
      }
    }
    return verdict.good;
  }

  template <bool collecting>
  bool check_in_place(const Node& node, const InPlaceRules& rules, const Json& value, const Scope& scope, Marks* marks,
                      const Path* path) {
    Verdict verdict;
    if (rules.dynamic_ref && !evaluate<collecting>(dynamic_target(rules, scope), value, scope, marks, path)) {
      if (!collecting) return false;
      verdict.good = false;
    }
    for (const Node* part : rules.all_of) {
      if (evaluate<collecting>(*part, value, scope, marks, path)) continue;
      if (!collecting) return false;
      verdict.good = false;
    }
    if (!rules.any_of.empty() && !any_of(rules.any_of, value, scope, marks) &&
        failed<collecting>(verdict, node, "anyOf", path, [&] { return no_alternative(rules.any_of, value, scope); })) {
      return false;
    }
    if (!rules.one_of.empty()) {
      const auto [first, second] = one_of(rules.one_of, value, scope, marks);
      if (first == nothing && failed<collecting>(verdict, node, "oneOf", path,
                                                 [&] { return no_alternative(rules.one_of, value, scope); })) {
        return false;
      }
      if (second != nothing &&
          failed<collecting>(verdict, node, "oneOf", path, [&] { return two_alternatives(first, second); })) {
        return false;
      }
    }
    if (rules.negated && evaluate<false>(*rules.negated, value, scope, nullptr, nullptr) &&
        failed<collecting>(verdict, node, "not", path,
                           [] { return "matches the schema in \"not\", which it must not match"; })) {
      return false;
    }
    if (rules.condition && !check_condition<collecting>(rules, value, scope, marks, path)) verdict.good = false;
    return verdict.good;
  }

  template <bool collecting>
  bool check_condition(const InPlaceRules& rules, const Json& value, const Scope& scope, Marks* marks,
                       const Path* path) {
    const Node* consequence = with_own_marks(*rules.condition, value, scope, marks) ? rules.then : rules.otherwise;
    return !consequence || evaluate<collecting>(*consequence, value, scope, marks, path);
  }

  // The marks of an alternative count only if it matches.
  bool with_own_marks(const Node& node, const Json& value, const Scope& scope, Marks* marks) {
    if (!marks) return evaluate<false>(node, value, scope, nullptr, nullptr);
    Marks own;
    if (!evaluate<false>(node, value, scope, &own, nullptr)) return false;
    steps_.charge(own.cost());
    marks->add(own);
    return true;
  }

  bool any_of(const std::vector<const Node*>& nodes, const Json& value, const Scope& scope, Marks* marks) {
    bool found = false;
    for (const Node* node : nodes) {
      if (with_own_marks(*node, value, scope, marks)) {
        if (!marks) return true;
        found = true;
      }
    }
    return found;
  }

  static constexpr std::size_t nothing = static_cast<std::size_t>(-1);

  // The first two that match.
  std::pair<std::size_t, std::size_t> one_of(const std::vector<const Node*>& nodes, const Json& value,
                                             const Scope& scope, Marks* marks) {
    std::size_t found = nothing;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!with_own_marks(*nodes[i], value, scope, marks)) continue;
      if (found != nothing) return {found, i};
      found = i;
    }
    return {found, nothing};
  }

  const Node& dynamic_target(const InPlaceRules& rules, const Scope& scope) {
    const Node* target = rules.dynamic_ref;
    if (!rules.dynamic_name) return *target;
    std::uint64_t seen = 0;
    for (const Scope* at = &scope; at; at = at->outer) {
      seen += 1 + at->resource->dynamic_targets.size();
      for (const auto& [name, node] : at->resource->dynamic_targets) {
        if (name == *rules.dynamic_name) target = node;
      }
    }
    steps_.charge(seen / 8);
    return *target;
  }

  template <bool collecting>
  bool with_unevaluated(const Node& node, const Json& value, const Scope& scope, Marks* marks, const Path* path) {
    Marks own;
    bool good = apply<collecting>(node, value, scope, &own, path);
    if (!good && !collecting) return false;
    if (const auto* object = value.if_object()) {
      const Node& rule = *node.unevaluated_properties;
      std::size_t position = 0;
      for (const auto& [name, member] : *object) {
        if (!own.has(position++))
          good = good_rest<collecting>(node, rule, "unevaluatedProperties", member, name, scope, path) && good;
        if (!good && !collecting) return false;
      }
    } else {
      const Node& rule = *node.unevaluated_items;
      const Json::Array& array = *value.if_array();
      for (std::size_t i = 0; i < array.size(); ++i) {
        if (!own.has(i)) good = good_item<collecting>(node, rule, array[i], i, scope, path) && good;
        if (!good && !collecting) return false;
      }
    }
    if (marks) marks->add_all();
    return good;
  }

  template <bool collecting>
  bool good_rest(const Node& node, const Node& rule, std::string_view keyword, const Json& member,
                 std::string_view name, const Scope& scope, const Path* path) {
    if (collecting && rule.fixed == Node::Fixed::rejects) {
      report(node, keyword, path, unexpected_property(name));
      return false;
    }
    const Path here{path, name, Place::no_index};
    return evaluate<collecting>(rule, member, scope, nullptr, &here);
  }

  template <bool collecting>
  bool good_item(const Node& node, const Node& rule, const Json& item, std::size_t index, const Scope& scope,
                 const Path* path) {
    if (collecting && rule.fixed == Node::Fixed::rejects) {
      report(node, "unevaluatedItems", path, unexpected_item(index));
      return false;
    }
    const Path here{path, {}, index};
    return evaluate<collecting>(rule, item, scope, nullptr, &here);
  }

  // ---- reasons, for messages only ------------------------------------------------------

  std::string first_reason(const Node& node, const Json& value, const Scope& scope) {
    std::vector<Violation> found;
    const Findings outer = findings_;
    findings_.open(found, 1);
    const std::uint32_t depth = depth_;
    ++reasons_;
    const auto restore = [&] {
      --reasons_;
      findings_ = outer;
      depth_ = depth;
    };
    try {
      evaluate<true>(node, value, scope, nullptr, nullptr);
    } catch (const Enough&) {
    } catch (...) {
      restore();
      throw;
    }
    restore();
    if (found.empty()) return {};
    const Violation& first = found.front();
    return first.instance_path.empty() ? first.message : first.instance_path + ": " + first.message;
  }

  std::string no_alternative(const std::vector<const Node*>& nodes, const Json& value, const Scope& scope) {
    constexpr std::size_t most = 4;
    std::string out = fmt::format("matches none of {}", plural(nodes.size(), "alternative"));
    // Alternatives of alternatives of alternatives explain nothing, and would multiply.
    if (reasons_ >= 2) return out;
    for (std::size_t i = 0; i < std::min(nodes.size(), most); ++i) {
      std::string reason = first_reason(*nodes[i], value, scope);
      out += fmt::format("{} ({}) {}", i == 0 ? ":" : ";", i + 1, cut(std::move(reason), 160));
    }
    if (nodes.size() > most) out += "; …";
    return out;
  }

  const Program& program_;
  const std::uint32_t max_depth_;
  std::uint32_t depth_ = 0;
  int reasons_ = 0;  // how many alternatives deep first_reason() is
};

}  // namespace

Result<bool> accepts(const Program& program, const Json& value, const ValidateOptions& options) {
  try {
    return Run(program, options).accepts(value);
  } catch (const Exhausted& exhausted) {
    return fail(Errc::limit, exhausted.reason);
  }
}

bool accepts_part(const Program& program, const Node& node, const Json& value, Steps& steps, std::uint32_t max_depth) {
  return Run(program, {.max_steps = steps.left(), .max_depth = max_depth}).accepts(node, value, steps);
}

std::vector<Violation> violations(const Program& program, const Json& value, const ValidateOptions& options) {
  std::vector<Violation> found;
  try {
    Run(program, options).collect(value, found, std::max<std::size_t>(options.max_violations, 1));
  } catch (const Exhausted& exhausted) {
    // The verdict stands, only the reasons are incomplete.
    if (found.empty()) {
      found.push_back({.instance_path = "",
                       .keyword = "",
                       .schema_location = location_of(*program.root->place),
                       .message = "is not valid; why is not known, because " + exhausted.reason});
    }
  }
  return found;
}

}  // namespace patchbay::schema
