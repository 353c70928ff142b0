// The steps of a sign-in, so that whoever looks later sees which one failed. A value: no message is read back. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace patchbay {

enum class SignInStep : std::uint8_t {
  preparation,        // before anything was asked of anybody
  discovery,          // who signs people in
  registration,       // who we are there
  browser,            // the user's part
  identity_provider,  // of an organisation, instead of the user
  token,
  storage,  // keeping the token
  renewal,  // of a token that was kept
};

// One word for programs and files: "discovery".
std::string_view to_string(SignInStep step) noexcept;
std::optional<SignInStep> sign_in_step_called(std::string_view name) noexcept;
// For people: "finding out who signs you in".
std::string_view step_words(SignInStep step) noexcept;

}  // namespace patchbay
