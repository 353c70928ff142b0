// Changes one member of a configuration text and nothing else. An edit is a few byte ranges put
// into the text as it is: comments, blanks, order and spelling of everything that is not
// meant stay as they are, and what is new follows the indentation, the line breaks and the commas
// of its neighbours. The result is read again and compared with the value it must have, so that
// no edit can damage a file. Pure; own_store.h reads, locks and writes. It does not know what the
// keys mean.
#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/json.h>

namespace patchbay {

struct ConfigEdit {
  enum class Kind : std::uint8_t { set, remove, rename, add_item, remove_item };
  Kind kind = Kind::set;
  std::vector<std::string> path;  // keys from the top of the text; never empty
  Json value;                     // set; the item of the others
  std::string name;               // rename: the new last key
  bool operator==(const ConfigEdit&) const = default;
};

// Replaces the member's value in place, or adds it behind its siblings with every missing object
// above it. An empty text, or one of comments only, becomes an object.
ConfigEdit set_member(std::vector<std::string> path, Json value);
// Comments around the member stay; those inside its value go with it.
ConfigEdit remove_member(std::vector<std::string> path);
ConfigEdit rename_member(std::vector<std::string> path, std::string name);
// Of the array at `path`: added behind the others unless it is there, made with the array when there
// is none; taken out wherever it is there.
ConfigEdit add_item(std::vector<std::string> path, Json value);
ConfigEdit remove_item(std::vector<std::string> path, Json value);

// The text after all edits, each on the result of the one before. The fault points into `text`
// when the text itself is the reason (not JSON, a key twice, no object where one must be), else
// to its beginning.
std::expected<std::string, JsonFault> edit_text(std::string_view text, std::span<const ConfigEdit> edits);
std::expected<std::string, JsonFault> edit_text(std::string_view text, const ConfigEdit& edit);

}  // namespace patchbay
