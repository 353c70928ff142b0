// What is said around a sign-in: before the browser opens, where the token is, how a sign-in of an earlier run is.
// Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include <patchbay/json.h>
#include <patchbay/sign_in.h>

namespace patchbay::cli {

// Which page to open, before its address, which stands on a line of its own.
std::string page_words(const SignInPage& page);
// After it: that a browser was opened, or why not and how to go on.
std::string opened_words(const SignInPage& page, const std::string& why_not, std::string_view command,
                         std::chrono::milliseconds wait);
// With --no-browser: what to copy where.
std::string paste_words(const SignInPage& page);
// For a client that the user created at the authorization server: the address that has to be entered there.
// `page.server` is empty at an identity provider.
std::string redirect_words(const SignInPage& page);

// "signed in at …", and why nobody is.
struct SignInLine {
  std::string server;
  SignInStatus status;
  std::string not_possible;  // why nobody can sign in at this server; empty: they can
};
std::string sign_in_text(const SignInLine& line, std::chrono::sys_seconds now);
Json sign_in_json(const SignInLine& line, std::chrono::sys_seconds now);

}  // namespace patchbay::cli
