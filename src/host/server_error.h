// How an error of one server is reported where there are several: it says whose it is, and of which
// call. Pure; used by the host for what it throws, and by the commands for what they print.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include <patchbay/error.h>

namespace patchbay {

// Why a server is not connected, with its name unless the message has it.
Error error_of_server(std::string_view server, const Error& error);

// With what helps where somebody has to sign in.
Error with_sign_in_remedy(std::string_view server, Error error);

// Why a call failed: "docs/search: no answer …". `what` is the tool, the prompt, the resource.
// What is wrong with the caller's own input, or was forbidden, is nobody else's error and stays as
// it is.
Error error_of_call(std::string_view server, std::string_view what, const Error& error);

// How the tools of a server changed, for whoever wanted one that is gone: what it lists now and did not before, and the
// other way round. A few names of each.
std::string changed_tools(std::string_view server, const std::set<std::string>& before,
                          const std::set<std::string>& now);

// The message for somebody who has just read the server's name: "it exited with status 3".
std::string without_name(std::string_view server, const std::string& message);

}  // namespace patchbay
