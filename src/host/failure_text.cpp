// What a model reads instead of an Error. X5.
#include <fmt/format.h>

#include <patchbay/failure.h>
#include <patchbay/tools.h>

#include "base/strings.h"
#include "host/server_error.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

constexpr std::size_t longest_message = 4000;

// Words of servers are in it.
std::string shown(std::string_view message) {
  const auto cut = cut_utf8(message, longest_message);
  return clean_for_display(cut) + (cut.size() < message.size() ? "…" : "");
}

// The caller's own server could not be reached, and nothing was sent.
bool is_not_connected(const Error& error) {
  switch (error.code()) {
    case Errc::connect:
    case Errc::tls:
    case Errc::unauthorized:
      return true;
    case Errc::closed:
      return error.carried_out().value_or(CarriedOut::no) == CarriedOut::no;
    default:
      return false;
  }
}

std::string what_happened(const Error& error, std::string_view server) {
  if (error.rpc_code()) return fmt::format("MCP error {}: {}", *error.rpc_code(), shown(error.original().message()));
  // Without the server, the tool and the warning, which are said in other words here.
  const std::string_view message = error.original().message();
  if (!server.empty() && is_not_connected(error)) {
    return fmt::format("MCP server '{}' is not connected: {}", server,
                       shown(without_name(server, std::string(message))));
  }
  return fmt::format("MCP error: {}", shown(message));
}

}  // namespace

std::string failure_text(const Error& error, std::string_view server) {
  auto text = what_happened(error, server);
  if (!error.carried_out()) return text;
  switch (*error.carried_out()) {
    case CarriedOut::no:
      return text + "\nThe call was not carried out.";
    case CarriedOut::refused:
      return text + "\nThe server refused the call and did not carry it out; the same call will be refused again.";
    case CarriedOut::unknown:
      return text + "\nThe call may have been carried out; check that before you repeat it.";
  }
  return text;
}

CallToolResult failure_result(const Error& error, std::string_view server) {
  return error_text(failure_text(error, server));
}

}  // namespace patchbay
