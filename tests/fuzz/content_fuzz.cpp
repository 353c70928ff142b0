// Blocks of content as text and by size, and secrets taken out of what is shown.
#include "fuzz/codec_rules.h"
#include "secrets/names.h"
#include "secrets/redact.h"

using namespace patchbay;
using fuzz::require;

namespace {

// No text or number may be anywhere below a name that says it is secret.
void require_hidden(const Json& value, bool secret) {
  if (const auto* object = value.if_object()) {
    for (const auto& [key, member] : *object) require_hidden(member, secret || is_secret_name(key));
  } else if (const auto* array = value.if_array()) {
    for (const Json& item : *array) require_hidden(item, secret);
  } else if (secret && (value.is_string() || value.is_number())) {
    require(value == Json("[redacted]"), "a secret is shown");
  }
}

}  // namespace

FUZZ_TARGET(content) {
  const std::string shown = redacted_text(input);
  const auto value = parse_json(input);
  if (!value) return;
  const auto again = parse_json(shown);
  require(again.has_value(), "redacted JSON is no JSON");
  require_hidden(*again, false);
  require(redacted_text(shown) == shown, "redacting twice changes more");

  const auto block = fuzz::stable<Content>(*value);
  require(block.has_value(), "a block of content is never an error");
  (void)text_of(*block);
  (void)size_text(approximate_size(*block));
  if (const auto* image = std::get_if<ImageContent>(&*block)) {
    require(base64_decoded_size(image->data) <= image->data.size(), "base64 grew");
  }
  fuzz::stable<SamplingMessage>(*value);
  fuzz::stable<PromptMessage>(*value);
  fuzz::stable<ResourceContents>(*value);
  fuzz::stable<Annotations>(*value);
  fuzz::stable<ToolAnnotations>(*value);
  fuzz::stable<ModelPreferences>(*value);
  fuzz::stable<Icon>(*value);
}
