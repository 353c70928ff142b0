// Under which name the client secret of an entry is kept. One place, because it is written when the entry is added and
// read when somebody signs in. Pure.
#pragma once

#include <string>

namespace patchbay {

std::string client_secret_name(const std::string& server, const std::string& url);

}  // namespace patchbay
