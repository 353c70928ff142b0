#include "agent/models/failure_text.h"

#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

constexpr std::size_t longest_text = 400;    // of a message of the API
constexpr std::size_t longest_reason = 120;  // the same in one line among others
constexpr std::size_t shortest_key = 6;      // a shorter one is none, and may be part of ordinary words

std::string without(std::string text, std::string_view key) {
  if (key.size() < shortest_key) return text;
  constexpr std::string_view instead = "(the key)";
  for (auto at = text.find(key); at != std::string::npos; at = text.find(key, at + instead.size())) {
    text.replace(at, key.size(), instead);
  }
  return text;
}

// What the API said, fit for a line of ours. The key goes first, because a cut might leave a part of it.
std::string said(const Asked& asked, std::string_view text, std::size_t most) {
  return without(clean_excerpt(without(std::string(text), asked.key.reveal()), most), asked.key.reveal());
}

std::string behind(const std::string& text) { return text.empty() ? std::string() : ": " + text; }

std::string key_of(const Asked& asked) {
  return asked.key_name.empty() ? std::string("the key") : fmt::format("the key from {}", asked.key_name);
}

std::string tried(int attempts) { return attempts > 1 ? fmt::format("; tried {} times", attempts) : std::string(); }

std::string status_of(const Asked& asked, const ProviderFailure& failure) {
  const auto type = said(asked, failure.type, longest_reason);
  return type.empty() ? fmt::format("{}", failure.status) : fmt::format("{} {}", failure.status, type);
}

std::string access_text(const Asked& asked, const ProviderFailure& failure) {
  if (asked.key.empty()) {
    const auto where = asked.key_name.empty() ? std::string() : fmt::format(" in {}", asked.key_name);
    return fmt::format("{} needs a key, and there is none{} ({})", asked.provider, where, failure.status);
  }
  return failure.status == 401
             ? fmt::format("{} refuses {} (401)", asked.provider, key_of(asked))
             : fmt::format("{} does not allow {} to do this ({})", asked.provider, key_of(asked), failure.status);
}

}  // namespace

Error failure_error(const Asked& asked, const ProviderFailure& failure, int attempts,
                    std::optional<std::chrono::milliseconds> asked_for) {
  const auto text = behind(said(asked, failure.message, longest_text));
  const auto error = [&](Errc code, std::string message) {
    Error made(code, std::move(message));
    return failure.status != 0 ? std::move(made).with_http_status(failure.status) : made;
  };
  if (failure.too_long) {
    return error(Errc::limit, fmt::format("the conversation is too long for {}{}", asked.model, text));
  }
  if (failure.status == 0) {
    return error(Errc::closed,
                 fmt::format("the answer of {} is not complete{}{}", asked.provider, text, tried(attempts)));
  }
  if (failure.status == 401 || failure.status == 403) {
    return error(Errc::unauthorized, access_text(asked, failure) + text);
  }
  if (failure.status >= 300 && failure.status < 400) {
    return error(Errc::http, fmt::format("{} redirects to another address ({}), and nothing is sent there; use the "
                                         "address of the API itself",
                                         asked.address, failure.status));
  }
  if (failure.status == 404) {
    return error(Errc::http, fmt::format("{} does not know the model {}, or is not the address of this API (404){}",
                                         asked.address, asked.model, text));
  }
  auto message = fmt::format("{} answered {}{}{}", asked.provider, status_of(asked, failure), text, tried(attempts));
  if (asked_for) {
    message += fmt::format("; it asks to wait {} s", std::chrono::ceil<std::chrono::seconds>(*asked_for).count());
  }
  return error(Errc::http, std::move(message));
}

Error connection_error(const Asked& asked, const Error& error, int attempts) {
  auto message = without(error.message(), asked.key.reveal());
  return error.with_message(fmt::format("{}: {}{}", asked.provider, message, tried(attempts))).without_carried_out();
}

Error not_a_model(const Asked& asked) {
  return Error(Errc::protocol, fmt::format("{} answered with a page instead of an answer; is it the address of {}?",
                                           asked.address, asked.provider));
}

std::string failure_reason(const Asked& asked, const ProviderFailure& failure) {
  const auto text = said(asked, failure.message, longest_reason);
  if (failure.suspected) return text;
  if (failure.status == 0) return "the answer was cut off" + behind(text);
  return status_of(asked, failure) + behind(text);
}

std::string connection_reason(const Asked& asked, const Error& error) {
  // With its advice, which is at the end.
  return said(asked, error.message(), longest_text);
}

std::string refusal_text(const Asked& asked, const ProviderFailure& failure) {
  return fmt::format("{} refuses it{}", asked.provider, behind(said(asked, failure.message, longest_text)));
}

}  // namespace patchbay
