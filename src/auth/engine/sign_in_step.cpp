#include "auth/engine/sign_in_step.h"

#include <array>

namespace patchbay {
namespace {

struct StepText {
  SignInStep step;
  std::string_view name;
  std::string_view words;
};
constexpr std::array steps{
    StepText{SignInStep::preparation, "preparation", "getting ready to sign in"},
    StepText{SignInStep::discovery, "discovery", "finding out who signs you in"},
    StepText{SignInStep::registration, "registration", "registering at the authorization server"},
    StepText{SignInStep::browser, "browser", "signing in with the browser"},
    StepText{SignInStep::identity_provider, "identity-provider", "the identity provider"},
    StepText{SignInStep::token, "token", "getting the token"},
    StepText{SignInStep::storage, "storage", "keeping the token"},
    StepText{SignInStep::renewal, "renewal", "renewing the token"},
};

}  // namespace

std::string_view to_string(SignInStep step) noexcept {
  for (const auto& one : steps) {
    if (one.step == step) return one.name;
  }
  return {};
}

std::optional<SignInStep> sign_in_step_called(std::string_view name) noexcept {
  for (const auto& one : steps) {
    if (one.name == name) return one.step;
  }
  return std::nullopt;
}

std::string_view step_words(SignInStep step) noexcept {
  for (const auto& one : steps) {
    if (one.step == step) return one.words;
  }
  return {};
}

}  // namespace patchbay
