// application/x-www-form-urlencoded: the bodies of sign-in, the queries that come back from it, and the answers of
// servers that do not speak JSON. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <patchbay/error.h>

namespace patchbay {

// One name or value. Also for what is inside of Basic (RFC 6749, 2.3.1).
std::string form_encoded(std::string_view text);
// "name=value", behind an "&" unless it is the first.
void append_form(std::string& form, std::string_view name, std::string_view value);

using FormMembers = std::vector<std::pair<std::string, std::string>>;
// In order, repetitions included. Errc::protocol when a percent sign is not followed by two hexadecimal digits, or
// there are more than 256 members.
Result<FormMembers> read_form(std::string_view form);

}  // namespace patchbay
