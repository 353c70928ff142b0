// The manual page, made from the table of commands and flags. Pure: text in, text out; how
// a page looks is man's business.
#pragma once

#include <string>
#include <string_view>

#include "cli/words/settings.h"

namespace patchbay::cli {

std::string manual_page(const CommandLineText& line, std::string_view version);

}  // namespace patchbay::cli
