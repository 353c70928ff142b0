// A configuration text that was read: its value, and where each part of it is. What reads a
// configuration file begins here, so that all of them accept and refuse the same texts with the same
// words. Pure. It does not know what the keys mean.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include <patchbay/json.h>
#include <patchbay/problem.h>

#include "text/places.h"

namespace patchbay {

// "fix the file and run the command again": what a message about a text ends in.
extern const std::string_view fix_the_file;

// Deeper values are read, but not pointed at.
inline constexpr std::size_t document_depth = 10;

struct ConfigDocument {
  Json root;
  Place place;

  struct Member {
    const Json* value = nullptr;
    const Place* place = nullptr;
    explicit operator bool() const noexcept { return value != nullptr; }
  };
  Member top() const noexcept { return {&root, &place}; }
};

// The member of an object and its place; nothing when it is absent or `in` is not an object.
ConfigDocument::Member member_of(const ConfigDocument::Member& in, std::string_view key) noexcept;

// Comments, commas behind last elements and a byte order mark are accepted. `expected` says what
// should be in an empty text: "an object with \"mcpServers\"". Places below `depth` are left out. The
// fault is one problem of the file.
std::expected<ConfigDocument, ConfigProblem> read_document(std::string_view text, const std::string& file,
                                                           std::string_view expected,
                                                           std::size_t depth = document_depth);

}  // namespace patchbay
