// A schema whose root is one plain object, made of one whose root combines several (anyOf, oneOf, allOf), for model
// APIs that refuse those. What it loses is said in a sentence for the model. Arguments are still checked against the
// schema as the server sent it. Pure: values in, values out; a table of cases is its test.
#pragma once

#include <string>

#include <patchbay/error.h>
#include <patchbay/json.h>

namespace patchbay {

struct FlatSchema {
  Json schema;
  std::string sentence;  // which arguments belong together; may be empty
};

// allOf: the properties and required names of all. anyOf, oneOf: the properties of all, the required names that all
// have; the sentence names the groups. `root` is an object. Errc::unsupported with the reason when no object can fit,
// Errc::limit when there are too many branches to tell.
Result<FlatSchema> flatten_root(const Json& root);

}  // namespace patchbay
