#include "json/schema_references.h"

#include <algorithm>

#include <fmt/format.h>

#include "json/schema_uri.h"

namespace patchbay::schema {

enum class Holds : std::uint8_t { schema, schemas, map, schema_or_array };

struct Applicator {
  enum class Drafts : std::uint8_t { both, only_07, only_2020_12 };
  std::string_view keyword;
  Holds holds;
  Drafts drafts = Drafts::both;

  bool is_of(SchemaDialect draft) const noexcept {
    return drafts == Drafts::both || (drafts == Drafts::only_07) == (draft == SchemaDialect::draft_07);
  }
};

namespace {

constexpr std::string_view schema_2020_12 = "https://json-schema.org/draft/2020-12/schema";
constexpr std::string_view vocabulary_2020_12 = "https://json-schema.org/draft/2020-12/vocab/";
constexpr std::string_view schema_07 = "http://json-schema.org/draft-07/schema";
constexpr std::string_view schema_07_tls = "https://json-schema.org/draft-07/schema";

using enum Applicator::Drafts;

// Where subschemas, and with them identifiers, are. An $id anywhere else is just data.
constexpr Applicator applicators[] = {
    {"$defs", Holds::map, only_2020_12},
    {"definitions", Holds::map},
    {"properties", Holds::map},
    {"patternProperties", Holds::map},
    {"additionalProperties", Holds::schema},
    {"propertyNames", Holds::schema},
    {"dependentSchemas", Holds::map, only_2020_12},
    {"dependencies", Holds::map},
    {"items", Holds::schema, only_2020_12},
    {"items", Holds::schema_or_array, only_07},
    {"additionalItems", Holds::schema, only_07},
    {"prefixItems", Holds::schemas, only_2020_12},
    {"contains", Holds::schema},
    {"allOf", Holds::schemas},
    {"anyOf", Holds::schemas},
    {"oneOf", Holds::schemas},
    {"not", Holds::schema},
    {"if", Holds::schema},
    {"then", Holds::schema},
    {"else", Holds::schema},
    {"unevaluatedItems", Holds::schema, only_2020_12},
    {"unevaluatedProperties", Holds::schema, only_2020_12},
    {"contentSchema", Holds::schema, only_2020_12},
};

}  // namespace

bool is_schema(const Json& json) { return json.is_object() || json.is_bool(); }

std::string shown(std::string_view text) {
  constexpr std::size_t most = 120;
  return text.size() <= most ? std::string(text) : std::string(text.substr(0, most)) + "…";
}

void bad(const Place& place, std::string_view keyword, std::string_view reason) {
  std::string where = location_of(place);
  if (!keyword.empty()) {
    where += '/';
    append_pointer_token(where, keyword);
  }
  throw Error(Errc::invalid_argument, fmt::format("{}: {}", where, reason));
}

References::References(const SchemaOptions& options, Program& program) : options_(options), program_(program) {
  default_dialect_.draft = options.default_dialect;
}

Resource* References::add_root(const Json& schema) {
  auto* root = add_document(schema, resolve_uri("", options_.base_uri));
  default_dialect_ = root->dialect;  // documents that do not say are taken to speak as the schema does
  return root;
}

Place* References::place_of(const Json& json) const {
  const auto found = places_.find(&json);
  return found == places_.end() ? nullptr : found->second;
}

Resource* References::add_document(const Json& document, std::string uri) {
  const Json& owned = program_.documents.emplace_back(document);
  auto& resource = program_.resources.emplace_back();
  resource.uri = std::move(uri);
  resource.dialect = default_dialect_;
  by_uri_.emplace(resource.uri, &resource);
  scan(owned, {.place = {.resource = &resource}, .begins_document = true});
  return &resource;
}

// Gives a Place to `json` and to every subschema in it.
Place* References::scan(const Json& json, Scan first) {
  first.place.json = &json;
  std::vector<Scan> open{first};
  Place* outcome = nullptr;
  while (!open.empty()) {
    const Scan next = open.back();
    open.pop_back();
    if (places_.contains(next.place.json)) continue;
    if (places_.size() >= options_.max_subschemas) {
      throw Error(Errc::limit,
                  fmt::format("the schema has more than {} subschemas, which is the limit", options_.max_subschemas));
    }
    Place& place = program_.places.emplace_back(next.place);
    if (!outcome) outcome = &place;
    places_.emplace(place.json, &place);
    if (next.begins_document) place.resource->root = &place;
    const auto* object = place.json->if_object();
    if (!object) continue;
    identify(place, *object, next.begins_document);
    for (const Applicator& applicator : applicators) {
      const Json* value = applicator.is_of(place.resource->dialect.draft) ? object->find(applicator.keyword) : nullptr;
      if (value) open_children(place, applicator, *value, open);
    }
  }
  return outcome;
}

void References::open_children(const Place& place, const Applicator& applicator, const Json& value,
                               std::vector<Scan>& open) {
  const Place child{.resource = place.resource, .parent = &place, .keyword = applicator.keyword};
  const auto add = [&](const Json& json, std::string_view key, std::size_t index) {
    Place item = child;
    item.json = &json;
    item.key = key;
    item.index = index;
    open.push_back({.place = item});
  };
  const auto* array = value.if_array();
  if (applicator.holds == Holds::map) {
    if (const auto* map = value.if_object()) {
      for (const auto& [key, json] : *map) {
        if (is_schema(json)) add(json, key, Place::no_index);
      }
    }
  } else if (array && applicator.holds != Holds::schema) {
    for (std::size_t i = 0; i < array->size(); ++i) add((*array)[i], {}, i);
  } else if (!array && applicator.holds != Holds::schemas) {
    add(value, {}, Place::no_index);
  }
}

// $schema, $id and the anchors of one subschema.
void References::identify(Place& place, const Json::Object& object, bool begins_document) {
  const auto text_of = [&object](std::string_view keyword) {
    const Json* value = object.find(keyword);
    return value ? value->text() : std::nullopt;
  };
  auto id = text_of("$id");
  const auto dialect = text_of("$schema");
  if (begins_document && dialect) place.resource->dialect = dialect_named(*dialect, 0);
  // In draft-07 a $ref hides everything beside it.
  if (place.resource->dialect.draft == SchemaDialect::draft_07 && text_of("$ref")) id = std::nullopt;

  std::string_view anchor;
  if (id) {
    const auto fragment = split_uri(*id).fragment;
    const std::string_view before = id->substr(0, id->find('#'));
    if (!before.empty()) {
      std::string uri = resolve_uri(place.resource->uri, before);
      if (!begins_document) {
        auto& resource = program_.resources.emplace_back();
        resource.dialect = dialect ? dialect_named(*dialect, 0) : place.resource->dialect;
        resource.root = &place;
        place.resource = &resource;
        place.parent = nullptr;
      }
      place.resource->uri = std::move(uri);
      const auto [known, fresh] = by_uri_.emplace(place.resource->uri, place.resource);
      if (!fresh && known->second != place.resource && !begins_document) {
        throw Error(Errc::invalid_argument, fmt::format("two schemas have the $id \"{}\"", shown(place.resource->uri)));
      }
    }
    if (fragment && !fragment->empty()) {
      if (place.resource->dialect.draft != SchemaDialect::draft_07)
        bad(place, "$id", "an $id must not have a fragment (a part after \"#\")");
      anchor = *fragment;
    }
  }
  auto& resource = *place.resource;
  if (!anchor.empty()) resource.anchors.emplace_back(anchor, &place);
  if (resource.dialect.draft == SchemaDialect::draft_07) return;
  if (const auto name = text_of("$anchor")) resource.anchors.emplace_back(*name, &place);
  if (const auto name = text_of("$dynamicAnchor")) {
    resource.anchors.emplace_back(*name, &place);
    resource.dynamic_anchors.emplace_back(*name, &place);
  }
}

Dialect References::dialect_named(std::string_view uri, int depth) {
  const std::string_view bare = uri.substr(0, uri.find('#'));
  if (bare == schema_2020_12) return {};
  if (bare == schema_07 || bare == schema_07_tls) return {.draft = SchemaDialect::draft_07};
  const Json* meta = supplied(bare);
  if (!meta || depth > 8) {
    throw Error(Errc::unsupported, fmt::format("the schema dialect \"{}\" is not known; known are \"{}\" and \"{}#\"",
                                               shown(uri), schema_2020_12, schema_07));
  }
  const auto parent = (*meta)["$schema"].text();
  Dialect dialect = parent && *parent != uri ? dialect_named(*parent, depth + 1) : default_dialect_;
  const auto* vocabularies = (*meta)["$vocabulary"].if_object();
  if (!vocabularies || dialect.draft == SchemaDialect::draft_07) return dialect;
  dialect = {.applicator = false, .unevaluated = false, .validation = false};
  for (const auto& [name, required] : *vocabularies) {
    const std::string_view brief = std::string_view(name).starts_with(vocabulary_2020_12)
                                       ? std::string_view(name).substr(vocabulary_2020_12.size())
                                       : std::string_view();
    if (brief == "applicator") {
      dialect.applicator = true;
    } else if (brief == "unevaluated") {
      dialect.unevaluated = true;
    } else if (brief == "validation") {
      dialect.validation = true;
    } else if (brief == "format-assertion") {
      dialect.format_assertion = true;
    } else if (brief != "core" && brief != "meta-data" && brief != "format-annotation" && brief != "content" &&
               required == Json(true)) {
      throw Error(Errc::unsupported, fmt::format("the schema dialect \"{}\" requires the vocabulary \"{}\", "
                                                 "which is not known",
                                                 shown(uri), shown(name)));
    }
  }
  return dialect;
}

const Json* References::supplied(std::string_view uri) const {
  if (!options_.documents) return nullptr;
  const auto found = options_.documents->find(uri);
  return found == options_.documents->end() ? nullptr : &found->second;
}

Resource* References::resource_at(const std::string& uri) {
  if (const auto known = by_uri_.find(uri); known != by_uri_.end()) return known->second;
  if (const Json* document = supplied(uri)) return add_document(*document, uri);
  if (const auto text = builtin_document(uri); !text.empty()) return add_document(*parse_json(text), uri);
  return nullptr;
}

References::Target References::follow(const Place& from, std::string_view keyword, std::string_view reference) {
  const auto leads_nowhere = [&](std::string_view reason) {
    bad(from, keyword, fmt::format("\"{}\" cannot be resolved: {}", shown(reference), reason));
  };
  const std::string_view before = std::string_view(reference).substr(0, reference.find('#'));
  Resource* resource = from.resource;
  if (!before.empty()) {
    const std::string uri = resolve_uri(resource->uri, before);
    resource = resource_at(uri);
    if (!resource) {
      leads_nowhere(fmt::format("there is no document \"{}\", and nothing is fetched from the network", shown(uri)));
    }
  }
  const auto fragment = percent_decoded(split_uri(reference).fragment.value_or(""));
  if (!fragment) leads_nowhere("the part after \"#\" is not correctly percent-encoded");
  if (fragment->empty()) return {.place = resource->root, .dynamic = false};
  if (fragment->starts_with('/')) {
    Place* place = at_pointer(*resource, *fragment);
    if (!place) leads_nowhere("the schema has nothing at this place");
    return {.place = place, .dynamic = false};
  }
  for (const auto& [name, place] : resource->dynamic_anchors) {
    if (name == *fragment) return {.place = place, .dynamic = true, .anchor = name};
  }
  for (const auto& [name, place] : resource->anchors) {
    if (name == *fragment) return {.place = place, .dynamic = false};
  }
  leads_nowhere("the schema has no such anchor");
  return {};
}

Place* References::at_pointer(const Resource& resource, std::string_view pointer) {
  const Json* json = resource.root->json;
  Place* nearest = resource.root;
  std::string_view behind = pointer;  // what leads from `nearest` to `json`
  for (std::string_view rest = pointer; !rest.empty();) {
    const auto end = rest.find('/', 1);
    std::string token;
    for (std::size_t i = 1; i < std::min(end, rest.size()); ++i) {
      const bool escaped = rest[i] == '~' && i + 1 < rest.size() && (rest[i + 1] == '0' || rest[i + 1] == '1');
      token += escaped ? (rest[++i] == '0' ? '~' : '/') : rest[i];
    }
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end);
    if (const auto* array = json->if_array()) {
      std::size_t index = 0;
      const bool number = !token.empty() && token.size() <= 9 && (token == "0" || token[0] != '0') &&
                          std::ranges::all_of(token, [](char c) { return c >= '0' && c <= '9'; });
      for (char c : token) index = number ? index * 10 + static_cast<std::size_t>(c - '0') : 0;
      if (!number || index >= array->size()) return nullptr;
      json = &(*array)[index];
    } else {
      json = json->find(token);
      if (!json) return nullptr;
    }
    if (const auto known = places_.find(json); known != places_.end()) {
      nearest = known->second;
      behind = rest;
    }
  }
  if (nearest->json == json) return nearest;
  // Nothing told us that this is a schema; being referred to, it is one.
  const std::string& raw = program_.texts.emplace_back(behind.substr(1));
  return scan(*json, {.place = {.resource = nearest->resource, .parent = nearest, .keyword = raw, .raw = true}});
}

void append_pointer_token(std::string& out, std::string_view token) {
  for (char c : token) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
}

std::string location_of(const Place& place) {
  std::vector<const Place*> way;
  for (const Place* at = &place; at->parent; at = at->parent) way.push_back(at);
  std::string out = place.resource->uri + "#";
  for (auto at = way.rbegin(); at != way.rend(); ++at) {
    out += '/';
    if ((*at)->raw) {
      out += (*at)->keyword;
      continue;
    }
    append_pointer_token(out, (*at)->keyword);
    if ((*at)->index != Place::no_index) {
      fmt::format_to(std::back_inserter(out), "/{}", (*at)->index);
    } else if ((*at)->key.data()) {
      out += '/';
      append_pointer_token(out, (*at)->key);
    }
  }
  return out;
}

}  // namespace patchbay::schema
