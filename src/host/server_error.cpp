#include "host/server_error.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"

namespace patchbay {
namespace {

// What a person must know before they repeat it.
std::string_view warning_of(const Error& error) {
  return error.carried_out() == CarriedOut::unknown
             ? " (the request may have been carried out; check before repeating it)"
             : "";
}

constexpr std::size_t most_names = 5;
constexpr std::size_t longest_name = 64;

// " b, c and 3 more", of what only `some` has; empty when there is nothing.
std::string only_in(const std::set<std::string>& some, const std::set<std::string>& others) {
  std::vector<std::string> names;
  std::ranges::set_difference(some, others, std::back_inserter(names));
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < most_names; ++i) {
    out += fmt::format("{} {}", i == 0 ? "" : ",", cut_utf8(names[i], longest_name));
  }
  if (names.size() > most_names) out += fmt::format(" and {} more", names.size() - most_names);
  return out;
}

// The message with `instead` where it begins with the server's name.
std::string renamed(std::string_view server, const std::string& message, std::string_view instead) {
  const auto name = fmt::format("server \"{}\"", server);
  if (message.starts_with(name + ": ")) return message.substr(name.size() + 2);
  if (message.starts_with(name + " ")) return fmt::format("{}{}", instead, message.substr(name.size()));
  return message;
}

}  // namespace

Error error_of_server(std::string_view server, const Error& error) {
  const auto& message = error.message();
  const auto name = fmt::format("\"{}\"", server);
  return with_sign_in_remedy(server, message.contains(name) ? error : error.within("server " + name));
}

Error with_sign_in_remedy(std::string_view server, Error error) {
  if (!error.sign_in() || error.remedy()) return error;
  return std::move(error).with_remedy({Remedy::Kind::sign_in, std::string(server)});
}

Error error_of_call(std::string_view server, std::string_view what, const Error& error) {
  auto telling = [&](std::string_view before, std::string_view behind) {
    const auto message = renamed(server, error.message(), "the server");
    return with_sign_in_remedy(
        server,
        error.with_message(fmt::format("{}/{}: {}{}{}{}", server, what, before, message, behind, warning_of(error)))
            .with_original(error));
  };
  switch (error.code()) {
    case Errc::cancelled:
      return error.with_message(fmt::format("{}{}", error.message(), warning_of(error))).with_original(error);
    case Errc::invalid_argument:
    case Errc::config:
    case Errc::denied:
    case Errc::internal:
      return error;
    case Errc::rpc:
      return telling(fmt::format("the server answered with error {}: ", error.rpc_code().value_or(0)), "");
    case Errc::protocol:
      return telling("the server broke the protocol: ", "; report it to the server's author");
    case Errc::timeout:
      return telling("", "").with_remedy({Remedy::Kind::give_more_time, std::string(server)});
    default:
      return telling("", "");
  }
}

std::string without_name(std::string_view server, const std::string& message) { return renamed(server, message, "it"); }

std::string changed_tools(std::string_view server, const std::set<std::string>& before,
                          const std::set<std::string>& now) {
  const auto fresh = only_in(now, before);
  const auto gone = only_in(before, now);
  auto out = fmt::format("the tools of \"{}\" have changed", server);
  if (!fresh.empty()) out += "; new:" + fresh;
  if (!gone.empty()) out += "; gone:" + gone;
  return out;
}

}  // namespace patchbay
