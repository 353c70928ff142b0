// Whether something is a secret, by its name or by how it looks: the one table that everything asks which hides,
// withholds or keeps back. Pure.
//
// A name of a member or a header is judged by is_secret_name. Variables, flags and parameters of URLs have more words
// that say so: FOO_KEY and DATABASE_URL are secrets of an environment, ?sig= and ?code= of a link, while a member
// "key" or "code" of some JSON value is mostly neither.
#pragma once

#include <string_view>

namespace patchbay {

bool is_secret_name(std::string_view name);
bool is_secret_variable(std::string_view name);
// Of a command line: --masterKey, --basicauth.
bool is_secret_flag(std::string_view name);
bool is_secret_parameter(std::string_view name);

// Begins like a token of a well-known service.
bool looks_like_token(std::string_view text) noexcept;

// "Bearer abc": the scheme of a credential with the blank behind it, which is not secret; empty when there is none.
std::string_view credential_scheme(std::string_view value);

}  // namespace patchbay
