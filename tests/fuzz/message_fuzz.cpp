// The JSON-RPC envelope: what decodes is written as something that decodes to the same, on
// one line; the id found in a broken reply is the reply's or none.
#include "fuzz/fuzz.h"
#include "rpc/message.h"

namespace {

using namespace patchbay;
using fuzz::require;

// Line breaks between tokens become blanks on the way out.
std::string on_one_line(const Payload& payload) {
  if (!payload) return "absent";
  std::string text(payload.text());
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

std::string id_text(const std::optional<RequestId>& id) { return id ? to_text(*id) : "none"; }

struct Outline {
  std::string operator()(const Request& m) const {
    return "request " + to_text(m.id) + "\n" + m.method + "\n" + on_one_line(m.params);
  }
  std::string operator()(const Notification& m) const {
    return "notification\n" + m.method + "\n" + on_one_line(m.params);
  }
  std::string operator()(const Response& m) const {
    return "response " + to_text(m.id) + "\n" + (m.result ? on_one_line(m.result) : "{}");
  }
  std::string operator()(const ErrorResponse& m) const {
    return "error " + id_text(m.id) + "\n" + std::to_string(m.error.code) + "\n" + m.error.message + "\n" +
           on_one_line(m.error.data);
  }
};

std::optional<RequestId> reply_id(const Message& message) {
  if (const auto* response = std::get_if<Response>(&message)) return response->id;
  if (const auto* error = std::get_if<ErrorResponse>(&message)) return error->id;
  return std::nullopt;
}

void read_payload(const Payload& payload) {
  try {
    (void)payload.value();
  } catch (const Error&) {  // a duplicate key: found when somebody looks inside
  }
}

}  // namespace

FUZZ_TARGET(message) {
  (void)peek_id(input);
  // Room behind the text, as a channel's blocks have it.
  auto block = std::make_shared<const std::string>(std::string(input) + std::string(64, '\0'));
  const auto decoded = decode_messages(block, std::string_view(*block).substr(0, input.size()));
  if (!decoded) {
    require(decoded.error().code() == Errc::protocol, "an error of another kind");
    return;
  }
  require(!decoded->messages.empty(), "nothing decoded, and no error");
  require(decoded->batch || decoded->messages.size() == 1, "several messages without a batch");
  for (const Message& message : decoded->messages) {
    std::string text;
    append_message(text, message);
    require(text.find_first_of("\r\n") == std::string::npos, "a message on several lines");
    auto again = std::make_shared<const std::string>(text);
    const auto second = decode_messages(again, *again);
    require(second.has_value(), second ? "" : "what was written does not decode: " + second.error().message());
    require(!second->batch && second->messages.size() == 1, "one message became several");
    require(std::visit(Outline{}, message) == std::visit(Outline{}, second->messages[0]),
            "a message changed on its way out");
    const auto id = reply_id(message);
    const bool reply = std::holds_alternative<Response>(message) || std::holds_alternative<ErrorResponse>(message);
    require(peek_id(text) == (reply ? id : std::nullopt), "peek_id differs from the decoder");
    for (std::size_t cut = 0; cut < text.size(); cut += 1 + cut / 64) {
      const auto found = peek_id(std::string_view(text).substr(0, cut));
      // Of a request cut before its method nobody can say that it is none.
      require(!found || !reply || found == id, "peek_id made up an id from a part of a reply");
    }
    std::visit(
        []<class M>(const M& m) {
          if constexpr (requires { m.params; }) read_payload(m.params);
          if constexpr (requires { m.result; }) read_payload(m.result);
          if constexpr (requires { m.error; }) read_payload(m.error.data);
        },
        message);
  }
}
