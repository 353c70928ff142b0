// A tool's input schema as one model API accepts it. What an API refuses is a row of rules here and nowhere else; the
// rest of a schema goes through as the server sent it: keys, enum, const, pattern are kept or left out, never changed.
// Pure: values in, values out; a table of cases is its test. The model view calls it for one tool at a time.
#pragma once

#include <string>
#include <vector>

#include <patchbay/error.h>
#include <patchbay/json.h>
#include <patchbay/model_view.h>

namespace patchbay {

struct SchemaView {
  Json schema;                       // only if something was changed
  std::string before;                // a sentence for the model, to be put before the tool's description
  std::string after;                 // the text of a schema that could not be sent, to be put behind it
  std::vector<std::string> changes;  // what was changed and why; none: send the schema as it is
};

// Errc::unsupported with the reason when no schema can be made that this API accepts.
Result<SchemaView> view_schema(const Json& schema, ModelApi api);

}  // namespace patchbay
