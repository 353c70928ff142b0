// Replaces an exact piece of a text by another, for the edit_file tool. Pure.
//
// Line ends are the one thing not taken literally: models write "\n" whatever a file uses.
// A piece without any '\r' matches "\r\n" where it says "\n", and what replaces it takes the
// line ends of the place it goes to. A piece that contains '\r' is matched byte for byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/error.h>

namespace patchbay::builtin {

struct EditRequest {
  std::string_view old_text;
  std::string_view new_text;
  bool replace_all = false;
  std::size_t most_bytes = SIZE_MAX;  // of the text that comes of it
};

struct Edit {
  std::string text;
  std::size_t replacements = 0;
  std::string excerpt;  // what changed, as hunks of a unified diff; cut when it is long
};

// Errc::invalid_argument says why nothing was changed and what to send instead. The work is linear in
// the texts, whatever is in them.
Result<Edit> edit_text(std::string_view text, const EditRequest& request);

}  // namespace patchbay::builtin
