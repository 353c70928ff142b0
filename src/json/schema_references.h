// Where the subschemas of a schema are and what leads to them: documents, identifiers, anchors, dialects, $ref.
// The first half of compiling: schema_compile.cpp makes nodes of the places it finds. Nobody else includes this.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "json/schema_program.h"

namespace patchbay::schema {

struct Applicator;

bool is_schema(const Json& json);
// A text of the schema in a message.
std::string shown(std::string_view text);
// Throws Errc::invalid_argument with the place in front.
[[noreturn]] void bad(const Place& place, std::string_view keyword, std::string_view reason);

class References {
 public:
  // Both outlive it. Places and resources are added to `program`.
  References(const SchemaOptions& options, Program& program);

  // The schema itself; once, before anything else.
  Resource* add_root(const Json& schema);
  // The place of a subschema; null when nothing says that it is one.
  Place* place_of(const Json& json) const;

  struct Target {
    Place* place;
    bool dynamic;             // found by a name that is a dynamic anchor
    std::string_view anchor;  // that name, in the document
  };
  Target follow(const Place& from, std::string_view keyword, std::string_view reference);

 private:
  // A place to be, and whether a document begins there.
  struct Scan {
    Place place;
    bool begins_document = false;
  };

  Resource* add_document(const Json& document, std::string uri);
  Place* scan(const Json& json, Scan first);
  static void open_children(const Place& place, const Applicator& applicator, const Json& value,
                            std::vector<Scan>& open);
  void identify(Place& place, const Json::Object& object, bool begins_document);
  Dialect dialect_named(std::string_view uri, int depth);
  const Json* supplied(std::string_view uri) const;
  Resource* resource_at(const std::string& uri);
  Place* at_pointer(const Resource& resource, std::string_view pointer);

  const SchemaOptions& options_;
  Program& program_;
  Dialect default_dialect_;
  std::unordered_map<const Json*, Place*> places_;
  std::map<std::string, Resource*, std::less<>> by_uri_;
};

}  // namespace patchbay::schema
