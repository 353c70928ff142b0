#include "rpc/message.h"

#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "json/scanner.h"
#include "json/writer.h"
#include "rpc/read_messages.h"

namespace patchbay {
namespace {

bool parse_int(std::string_view text, std::int64_t& value) noexcept {
  return std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc();
}

std::string unescaped(StringToken token) {
  std::string text;
  append_unescaped(text, token);
  return text;
}

// Known members of an object by position in a table, -1 for others.
template <std::size_t N>
int find_name(StringToken token, const std::string_view (&names)[N]) {
  std::string buffer;
  std::string_view key = token.raw;
  if (token.escaped) key = buffer = unescaped(token);
  for (std::size_t i = 0; i < N; ++i) {
    if (key == names[i]) return static_cast<int>(i);
  }
  return -1;
}

// Decodes one text. The scanner holds the first fault; every function returns false on one.
class Decoder {
 public:
  Decoder(std::shared_ptr<const std::string> block, std::string_view text, JsonOptions options, std::size_t batch,
          std::size_t max_nodes = most_nodes)
      : block_(std::move(block)), scanner_(text, options.max_depth, max_nodes), batch_(batch) {}

  Result<Decoded> decode() {
    Decoded decoded;
    if (scanner_.check_utf8() && document(decoded) && scanner_.finish()) return decoded;
    if (too_many_)
      return fail(Errc::limit,
                  fmt::format("the batch has more than {} messages, which is the limit; send it in parts", batch_));
    return std::unexpected(scanner_.error());
  }
  MessageCensus census() const noexcept { return {scanner_.nodes(), scanner_.keys()}; }

 private:
  // An empty one takes about as much as so many values.
  static constexpr std::size_t nodes_of_a_message = 8;

  enum Member { jsonrpc, id, method, params, result, error };
  static constexpr std::string_view member_names[] = {"jsonrpc", "id", "method", "params", "result", "error"};
  enum ErrorMember { code, message, data };
  static constexpr std::string_view error_names[] = {"code", "message", "data"};

  struct Envelope {
    unsigned seen = 0;  // bits of Member
    std::size_t begins = 0;
    std::optional<RequestId> id;
    std::size_t id_at = 0;
    std::string method;
    std::string_view params;  // empty when absent or null
    std::string_view result;
    RpcError error;
    bool null_error = false;

    bool has(Member member) const noexcept { return (seen & 1u << member) != 0; }
  };

  bool document(Decoded& decoded) {
    if (scanner_.peek() != '[') return one(decoded);
    decoded.batch = true;
    scanner_.accept('[');
    if (!scanner_.enter()) return false;
    if (scanner_.peek() == ']') return scanner_.fail("a batch must not be empty");
    do {
      too_many_ = decoded.messages.size() >= batch_;
      if (too_many_ || !one(decoded)) return false;
    } while (scanner_.accept(','));
    if (!scanner_.accept(']')) return scanner_.fail("expected ',' or ']'");
    scanner_.leave();
    return true;
  }

  bool one(Decoded& decoded) {
    Envelope envelope;
    return scanner_.count(nodes_of_a_message) && read(envelope) && classify(envelope, decoded.messages);
  }

  // Crosses an object, calling member(name index) with the scanner in front of each value.
  template <std::size_t N, class Read>
  bool object(const std::string_view (&names)[N], unsigned& seen, Read&& member) {
    if (!scanner_.enter()) return false;
    scanner_.accept('{');
    if (!scanner_.accept('}')) {
      do {
        scanner_.peek();
        const std::size_t key_at = scanner_.offset();
        StringToken key;
        if (!scanner_.string(key)) return false;
        const int name = find_name(key, names);
        if (name >= 0) {
          const unsigned bit = 1u << name;
          if ((seen & bit) != 0) return scanner_.fail_at(fmt::format("duplicate key \"{}\"", names[name]), key_at);
          seen |= bit;
        }
        if (!scanner_.accept(':')) return scanner_.fail("expected ':'");
        scanner_.peek();
        if (!member(name)) return false;
      } while (scanner_.accept(','));
      if (!scanner_.accept('}')) return scanner_.fail("expected ',' or '}'");
    }
    scanner_.leave();
    return true;
  }

  bool read(Envelope& envelope) {
    if (scanner_.peek() != '{') return scanner_.fail("expected a JSON-RPC message (an object)");
    envelope.begins = scanner_.offset();
    return object(member_names, envelope.seen, [&](int name) {
      switch (name) {
        case jsonrpc:
          return read_version();
        case id:
          return read_id(envelope);
        case method:
          if (scanner_.peek() != '"') return scanner_.fail("\"method\" must be a string");
          return read_string(envelope.method);
        case params:
          return read_params(envelope.params);
        case result:
          return scanner_.skip_value(envelope.result);
        case error:
          return read_error(envelope);
        default: {
          std::string_view ignored;
          return scanner_.skip_value(ignored);
        }
      }
    });
  }

  bool read_string(std::string& text) {
    StringToken token;
    if (!scanner_.string(token)) return false;
    append_unescaped(text, token);
    return true;
  }

  bool read_version() {
    const std::size_t at = scanner_.offset();
    StringToken token;
    if (scanner_.peek() == '"') {
      if (!scanner_.string(token)) return false;
      if (token.escaped ? unescaped(token) == "2.0" : token.raw == "2.0") return true;
    }
    return scanner_.fail_at("\"jsonrpc\" must be \"2.0\"", at);
  }

  bool read_id(Envelope& envelope) {
    envelope.id_at = scanner_.offset();
    const char first = scanner_.peek();
    if (first == '"') {
      std::string text;
      if (!read_string(text)) return false;
      envelope.id = std::move(text);
      return true;
    }
    if (first == '-' || (first >= '0' && first <= '9')) {
      NumberToken token;
      if (!scanner_.number(token)) return false;
      std::int64_t value = 0;
      if (token.integral && parse_int(token.text, value)) {
        envelope.id = value;
        return true;
      }
      return scanner_.fail_at("\"id\" must be a string or an integer of 64 bits", envelope.id_at);
    }
    std::string_view text;
    if (!scanner_.skip_value(text)) return false;
    // Null is allowed beside an error only; classify() knows.
    return text == "null" || scanner_.fail_at("\"id\" must be a string or an integer", envelope.id_at);
  }

  bool read_params(std::string_view& slice) {
    const std::size_t at = scanner_.offset();
    if (!scanner_.skip_value(slice)) return false;
    if (slice == "null") slice = {};
    return slice.empty() || slice.front() == '{' || slice.front() == '[' ||
           scanner_.fail_at("\"params\" must be an object or an array", at);
  }

  bool read_error(Envelope& envelope) {
    const std::size_t at = scanner_.offset();
    if (scanner_.peek() != '{') {
      std::string_view text;
      if (!scanner_.skip_value(text)) return false;
      envelope.null_error = text == "null";
      return envelope.null_error || scanner_.fail_at("\"error\" must be an object", at);
    }
    unsigned seen = 0;
    const auto member = [&](int name) {
      const std::size_t value_at = scanner_.offset();
      const bool text = scanner_.peek() == '"';
      if (name == message && text) return read_string(envelope.error.message);
      std::string_view slice;
      if (!scanner_.skip_value(slice)) return false;
      switch (name) {
        case code: {
          const bool integral = slice.find_first_not_of("-0123456789") == slice.npos;
          return (integral && parse_int(slice, envelope.error.code)) ||
                 scanner_.fail_at("the error's \"code\" must be an integer", value_at);
        }
        case message:
          return slice == "null" || scanner_.fail_at("the error's \"message\" must be a string", value_at);
        case data:
          envelope.error.data = Payload::from_validated(block_, slice);
          return true;
        default:
          return true;
      }
    };
    if (!object(error_names, seen, member)) return false;
    return (seen & 1u << code) != 0 || scanner_.fail_at("an error without a \"code\"", at);
  }

  Payload payload(std::string_view slice) const {
    return slice.empty() ? Payload() : Payload::from_validated(block_, slice);
  }

  bool classify(Envelope& envelope, std::vector<Message>& messages) {
    const auto reject = [&](std::string reason) { return scanner_.fail_at(std::move(reason), envelope.begins); };
    if (!envelope.has(jsonrpc)) return reject("a message without \"jsonrpc\"");
    const bool null_id = envelope.has(id) && !envelope.id;
    const bool has_error = envelope.has(error) && !envelope.null_error;
    const bool has_result = envelope.has(result) && !(has_error && envelope.result == "null");
    if (envelope.has(method)) {
      if (has_result || has_error) return reject("a message with both a \"method\" and a reply");
      if (null_id) return scanner_.fail_at("the \"id\" of a request must not be null", envelope.id_at);
      if (envelope.id) {
        messages.emplace_back(Request{std::move(*envelope.id), std::move(envelope.method), payload(envelope.params)});
      } else {
        messages.emplace_back(Notification{std::move(envelope.method), payload(envelope.params)});
      }
      return true;
    }
    if (has_result && has_error) return reject("a message with both \"result\" and \"error\"");
    if (has_error) {
      messages.emplace_back(ErrorResponse{std::move(envelope.id), std::move(envelope.error)});
      return true;
    }
    if (has_result) {
      if (null_id) return scanner_.fail_at("the \"id\" of a result must not be null", envelope.id_at);
      if (!envelope.id) return reject("a result without an \"id\"");
      messages.emplace_back(Response{std::move(*envelope.id), payload(envelope.result)});
      return true;
    }
    return reject("a message without \"method\", \"result\" or \"error\"");
  }

  std::shared_ptr<const std::string> block_;
  JsonScanner scanner_;
  std::size_t batch_;
  bool too_many_ = false;
};

// JSON has no raw line breaks inside strings, so every one found is between tokens.
void append_on_one_line(std::string& out, std::string_view text) {
  const auto begins = out.size();
  out += text;
  for (const char line_break : {'\n', '\r'}) {
    if (std::memchr(text.data(), line_break, text.size()) == nullptr) continue;
    for (auto at = out.find(line_break, begins); at != std::string::npos; at = out.find(line_break, at)) out[at] = ' ';
  }
}

void append_id(std::string& out, const RequestId& id) {
  out += ",\"id\":";
  if (const auto* number = std::get_if<std::int64_t>(&id)) {
    char digits[24];
    out.append(digits, std::to_chars(digits, std::end(digits), *number).ptr);
  } else {
    append_json_string(out, std::get<std::string>(id));
  }
}

void append_call(std::string& out, std::string_view method, const Payload& params) {
  out += ",\"method\":";
  append_json_string(out, method);
  if (!params) return;
  out += ",\"params\":";
  append_on_one_line(out, params.text());
}

struct Appender {
  std::string& out;

  void operator()(const Request& request) const {
    append_id(out, request.id);
    append_call(out, request.method, request.params);
  }
  void operator()(const Notification& notification) const {
    append_call(out, notification.method, notification.params);
  }
  void operator()(const Response& response) const {
    append_id(out, response.id);
    out += ",\"result\":";
    append_on_one_line(out, response.result ? response.result.text() : "{}");
  }
  void operator()(const ErrorResponse& response) const {
    // Without an id rather than with a null one: the MCP schemas know no null id.
    if (response.id) append_id(out, *response.id);
    fmt::format_to(std::back_inserter(out), ",\"error\":{{\"code\":{},\"message\":", response.error.code);
    append_json_string(out, response.error.message);
    if (response.error.data) {
      out += ",\"data\":";
      append_on_one_line(out, response.error.data.text());
    }
    out += '}';
  }
};

// A reader for texts that are broken somewhere: it knows strings, brackets and nothing else.
class Peeker {
 public:
  explicit Peeker(std::string_view text) : text_(text) {}

  std::optional<RequestId> reply_id() {
    skip_space();
    if (!at('{')) return std::nullopt;
    ++at_;
    std::optional<RequestId> id;
    bool reply = false;
    while (auto key = next_key()) {
      if (*key == "method") return std::nullopt;
      if (*key == "id" && !id) id = value_as_id();
      if (*key == "jsonrpc" || *key == "result" || *key == "error") reply = true;
      if (!skip_to_next_member()) break;
    }
    return reply ? id : std::nullopt;
  }

 private:
  bool at(char c) const noexcept { return at_ < text_.size() && text_[at_] == c; }
  void skip_space() noexcept {
    while (at_ < text_.size() && std::strchr(" \t\r\n", text_[at_]) != nullptr && text_[at_] != '\0') ++at_;
  }

  std::optional<std::string_view> raw_string() {
    if (!at('"')) return std::nullopt;
    const std::size_t first = ++at_;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\\') {
        ++at_;
      } else if (text_[at_] == '"') {
        return text_.substr(first, at_++ - first);
      }
    }
    return std::nullopt;
  }

  std::optional<std::string_view> next_key() {
    skip_space();
    auto key = raw_string();
    skip_space();
    if (!key || !at(':')) return std::nullopt;
    ++at_;
    return key;
  }

  std::optional<RequestId> value_as_id() {
    JsonScanner scanner(text_.substr(at_));
    if (scanner.peek() == '"') {
      StringToken token;
      if (scanner.string(token)) return RequestId(unescaped(token));
    } else {
      NumberToken token;
      std::int64_t value = 0;
      // A number that the text ends in may be the beginning of a longer one.
      if (scanner.number(token) && token.integral && at_ + scanner.offset() < text_.size() &&
          parse_int(token.text, value)) {
        return RequestId(value);
      }
    }
    return std::nullopt;
  }

  bool skip_to_next_member() {
    std::size_t depth = 0;
    while (at_ < text_.size()) {
      switch (text_[at_]) {
        case '"':
          if (!raw_string()) return false;
          continue;
        case '{':
        case '[':
          ++depth;
          break;
        case '}':
        case ']':
          if (depth == 0) return false;
          --depth;
          break;
        case ',':
          if (depth == 0) {
            ++at_;
            return true;
          }
          break;
        default:
          break;
      }
      ++at_;
    }
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string to_text(const RequestId& id) {
  if (const auto* number = std::get_if<std::int64_t>(&id)) return std::to_string(*number);
  std::string out;
  append_json_string(out, std::get<std::string>(id));
  return out;
}

std::optional<RequestId> request_id_of(const Json& id) {
  if (const auto text = id.text()) return RequestId(std::string(*text));
  if (auto number = id.to_int()) return RequestId(*number);
  return std::nullopt;
}

Json to_json(const RequestId& id) {
  return std::visit([](const auto& value) { return Json(value); }, id);
}

Result<Decoded> decode_messages(std::shared_ptr<const std::string> block, std::string_view text, JsonOptions options,
                                std::size_t batch) {
  return Decoder(std::move(block), text, options, batch).decode();
}

Result<Decoded> decode_messages(std::shared_ptr<const std::string> block, std::string_view text, JsonOptions options,
                                std::size_t batch, std::size_t max_nodes, MessageCensus& census) {
  Decoder decoder(std::move(block), text, options, batch, max_nodes);
  auto decoded = decoder.decode();
  census = decoder.census();
  return decoded;
}

std::optional<RequestId> peek_id(std::string_view text) { return Peeker(text).reply_id(); }

void append_message(std::string& out, const Message& message) {
  out += "{\"jsonrpc\":\"2.0\"";
  std::visit(Appender{out}, message);
  out += '}';
}

void append_batch(std::string& out, const std::vector<Message>& messages) {
  out += '[';
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (i > 0) out += ',';
    append_message(out, messages[i]);
  }
  out += ']';
}

std::size_t size_of(const Message& message) {
  // What may be large is counted where it is; around it there is little.
  auto without = [](std::string_view text, Message around) {
    std::string rest;
    append_message(rest, around);
    return rest.size() + text.size();
  };
  if (const auto* response = std::get_if<Response>(&message)) {
    if (!response->result) return without({}, Response{response->id, {}});
    return without(response->result.text(), Response{response->id, {}}) - std::string_view("{}").size();
  }
  constexpr auto params = std::string_view(R"(,"params":)").size();
  if (const auto* request = std::get_if<Request>(&message)) {
    const auto text = request->params ? request->params.text() : std::string_view();
    return without(text, Request{request->id, request->method, {}}) + (request->params ? params : 0);
  }
  if (const auto* notification = std::get_if<Notification>(&message)) {
    const auto text = notification->params ? notification->params.text() : std::string_view();
    return without(text, Notification{notification->method, {}}) + (notification->params ? params : 0);
  }
  return without({}, std::get<ErrorResponse>(message));
}

bool fits(const Message& message, std::size_t limit) {
  // Nearly always by far, so that nothing has to be written to know it. A character takes six at the most.
  constexpr std::size_t around = 64, most = 6;
  auto of_id = [](const RequestId& id) {
    const auto* text = std::get_if<std::string>(&id);
    return text ? most * text->size() : 20;
  };
  std::optional<std::size_t> bound;
  if (const auto* request = std::get_if<Request>(&message)) {
    const auto params = request->params ? request->params.text().size() : 0;
    bound = params + most * request->method.size() + of_id(request->id) + around;
  } else if (const auto* response = std::get_if<Response>(&message)) {
    bound = (response->result ? response->result.text().size() : 0) + of_id(response->id) + around;
  }
  return (bound && *bound <= limit) || size_of(message) <= limit;
}

std::optional<RequestId> answered_id(const Message& message) {
  if (const auto* response = std::get_if<Response>(&message)) return response->id;
  if (const auto* failed = std::get_if<ErrorResponse>(&message)) return failed->id;
  return std::nullopt;
}

Message within_limit(Message answer, std::size_t limit, std::size_t used) {
  if (used <= limit && fits(answer, limit - used)) return answer;
  const auto size = size_of(answer);
  auto why = size > limit ? fmt::format("the answer has {} bytes; the limit of one answer is {}", size, limit)
                          : fmt::format(
                                "the answer has {} bytes, and {} are used by the other answers of its batch; the limit "
                                "of one answer is {}",
                                size, used, limit);
  return ErrorResponse{answered_id(answer), {rpc_code::internal_error, std::move(why), {}}};
}

}  // namespace patchbay
