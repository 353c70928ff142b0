// The manual page, made from the tables of commands and flags. Pure; how a page looks is man's business.
#pragma once

#include <string>
#include <string_view>

namespace patchbay::cli {

std::string manual_page(std::string_view version);

}  // namespace patchbay::cli
