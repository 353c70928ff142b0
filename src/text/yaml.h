// YAML as values with the place of each part, by libyaml's events. read_yaml of formats.h reads the files of other
// programs; here is what it shares with the header of a skill, which is read strictly. Pure and bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "text/document.h"
#include "text/formats.h"

namespace patchbay {

struct YamlRules {
  // Only what every program reads alike: no anchors, aliases, tags, merge keys, directives, keys that are not texts,
  // tabs that indent, values that go on without indentation, or infinity.
  bool strict = false;
  // Plain words are read by the core schema of YAML 1.2: yes and no are texts. With this, a number that JSON writes
  // in another way (007, 0x1F, +1) stays the text it is: it may be meant as one.
  bool only_json_numbers = true;
  std::size_t depth = import_depth_limit;
};

struct YamlFault {
  std::size_t offset = 0;  // byte in the text
  std::string reason;
  enum class Kind : std::uint8_t { other, empty, too_deep } kind = Kind::other;
};

// The text must be UTF-8.
std::expected<ConfigDocument, YamlFault> read_yaml_text(std::string_view text, const YamlRules& rules);

}  // namespace patchbay
