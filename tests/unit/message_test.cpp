#include "rpc/message.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

Result<Decoded> decode(std::string text, JsonOptions options = {}) {
  auto block = std::make_shared<const std::string>(std::move(text));
  return decode_messages(block, *block, options);
}

// One message as a line that shows everything that was read.
std::string show(const Message& message) {
  struct {
    std::string operator()(const Request& m) const {
      return "request " + to_text(m.id) + " " + m.method + (m.params ? " " + std::string(m.params.text()) : "");
    }
    std::string operator()(const Notification& m) const {
      return "notification " + m.method + (m.params ? " " + std::string(m.params.text()) : "");
    }
    std::string operator()(const Response& m) const {
      return "response " + to_text(m.id) + " " + std::string(m.result.text());
    }
    std::string operator()(const ErrorResponse& m) const {
      return "error " + (m.id ? to_text(*m.id) : "-") + " " + std::to_string(m.error.code) + " '" + m.error.message +
             "'" + (m.error.data ? " " + std::string(m.error.data.text()) : "");
    }
  } shower;
  return std::visit(shower, message);
}

std::string show(const std::string& text) {
  auto decoded = decode(text);
  if (!decoded) {
    EXPECT_EQ(decoded.error().code(), Errc::protocol);
    return decoded.error().message();
  }
  std::string out = decoded->batch ? "batch" : "";
  for (const auto& message : decoded->messages) out += (out.empty() ? "" : "; ") + show(message);
  return out;
}

TEST(Message, DecodesEveryKindInAnyOrderOfMembers) {
  const std::pair<std::string, std::string_view> cases[] = {
      {R"({"jsonrpc":"2.0","id":1,"method":"ping"})", "request 1 ping"},
      {R"({"method":"ping","id":1,"jsonrpc":"2.0"})", "request 1 ping"},
      {R"({"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name": "x"}})",
       R"(request "a" tools/call {"name": "x"})"},
      {R"( { "jsonrpc" : "2.0" , "id" : 1 , "method" : "m" , "params" : [ 1 ] } )", "request 1 m [ 1 ]"},
      {R"({"jsonrpc":"2.0","id":1,"method":"m","params":null})", "request 1 m"},
      {R"({"jsonrpc":"2.0","id":-9223372036854775808,"method":"m"})", "request -9223372036854775808 m"},
      {R"({"jsonrpc":"2.0","id":9223372036854775807,"method":"m"})", "request 9223372036854775807 m"},
      {R"({"jsonrpc":"2.0","id":0,"method":"m"})", "request 0 m"},
      {R"({"jsonrpc":"2.0","id":"","method":"m"})", R"(request "" m)"},
      {R"({"jsonrpc":"2.0","id":"1","method":"m"})", R"(request "1" m)"},
      {R"({"jsonrpc":"2.0","id":"\u0041\n","method":"a\/b"})", R"(request "A\n" a/b)"},
      {R"({"jsonrpc":"2.0","method":"notifications/initialized"})", "notification notifications/initialized"},
      {R"({"jsonrpc":"2.0","method":"n","params":{"a":[1,{"b":2}]}})", R"(notification n {"a":[1,{"b":2}]})"},
      {R"({"jsonrpc":"2.0","id":1,"result":{}})", "response 1 {}"},
      {R"({"result":{"a":1},"id":1,"jsonrpc":"2.0"})", R"(response 1 {"a":1})"},
      {R"({"jsonrpc":"2.0","id":1,"result":null})", "response 1 null"},
      {R"({"jsonrpc":"2.0","id":1,"result":"text"})", R"(response 1 "text")"},
      {R"({"jsonrpc":"2.0","id":1,"result":1e400})", "response 1 1e400"},
      {R"({"jsonrpc":"2.0","id":1,"result":{"s":"\ud83d"}})", R"(response 1 {"s":"\ud83d"})"},
      {R"({"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}})", "error 1 -32601 'no'"},
      {R"({"jsonrpc":"2.0","id":"x","error":{"data":{"a":1},"message":"\u0041","code":5,"extra":[]}})",
       R"(error "x" 5 'A' {"a":1})"},
      {R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}})", "error - -32700 'm'"},
      {R"({"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}})", "error - -32700 'm'"},
      {R"({"jsonrpc":"2.0","id":1,"error":{"code":1}})", "error 1 1 ''"},
      {R"({"jsonrpc":"2.0","id":1,"error":{"code":1,"message":null,"data":null}})", "error 1 1 '' null"},
      {R"({"jsonrpc":"2.0","id":1,"result":{},"error":null})", "response 1 {}"},
      {R"({"jsonrpc":"2.0","id":1,"error":{"code":1},"result":null})", "error 1 1 ''"},
      {R"({"jsonrpc":"2.0","id":1,"result":{},"extra":{"id":2,"method":"x"},"_x":[1]})", "response 1 {}"},
      {R"({"\u006asonrpc":"2\u002e0","i\u0064":1,"method":"m"})", "request 1 m"},
      {R"([{"jsonrpc":"2.0","id":1,"method":"a"}])", "batch; request 1 a"},
      {R"( [ {"jsonrpc":"2.0","id":1,"result":{}} , {"jsonrpc":"2.0","method":"n"} ] )",
       "batch; response 1 {}; notification n"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(show(text), expected) << text;
}

TEST(Message, RejectsWithReasonAndOffset) {
  const std::pair<std::string, std::string_view> cases[] = {
      {"", "expected a JSON-RPC message (an object) at byte 0"},
      {"Starting server...", "expected a JSON-RPC message (an object) at byte 0"},
      {"1", "expected a JSON-RPC message (an object) at byte 0"},
      {"\"x\"", "expected a JSON-RPC message (an object) at byte 0"},
      {"null", "expected a JSON-RPC message (an object) at byte 0"},
      {"[]", "a batch must not be empty at byte 1"},
      {"[1]", "expected a JSON-RPC message (an object) at byte 1"},
      {"[[]]", "expected a JSON-RPC message (an object) at byte 1"},
      {R"([{"jsonrpc":"2.0","method":"n"})", "expected ',' or ']' at byte 31"},
      {R"([{"jsonrpc":"2.0","method":"n"},])", "expected a JSON-RPC message (an object) at byte 32"},
      {R"([{"jsonrpc":"2.0","method":"n"},{}])", "a message without \"jsonrpc\" at byte 32"},
      {"{}", "a message without \"jsonrpc\" at byte 0"},
      {"  {}", "a message without \"jsonrpc\" at byte 2"},
      {R"({"level":"info","msg":"ready"})", "a message without \"jsonrpc\" at byte 0"},
      {R"({"id":1,"method":"m"})", "a message without \"jsonrpc\" at byte 0"},
      {R"({"jsonrpc":"1.0","id":1,"method":"m"})", "\"jsonrpc\" must be \"2.0\" at byte 11"},
      {R"({"jsonrpc":2.0,"id":1,"method":"m"})", "\"jsonrpc\" must be \"2.0\" at byte 11"},
      {R"({"jsonrpc":null,"id":1,"method":"m"})", "\"jsonrpc\" must be \"2.0\" at byte 11"},
      {R"({"jsonrpc":"2.0"})", "a message without \"method\", \"result\" or \"error\" at byte 0"},
      {R"({"jsonrpc":"2.0","id":1})", "a message without \"method\", \"result\" or \"error\" at byte 0"},
      {R"({"jsonrpc":"2.0","id":1,"error":null})", "a message without \"method\", \"result\" or \"error\" at byte 0"},
      {R"({"jsonrpc":"2.0","id":null,"method":"m"})", "the \"id\" of a request must not be null at byte 22"},
      {R"({"jsonrpc":"2.0","id":1.5,"method":"m"})", "\"id\" must be a string or an integer of 64 bits at byte 22"},
      {R"({"jsonrpc":"2.0","id":1.0,"method":"m"})", "\"id\" must be a string or an integer of 64 bits at byte 22"},
      {R"({"jsonrpc":"2.0","id":1e3,"method":"m"})", "\"id\" must be a string or an integer of 64 bits at byte 22"},
      {R"({"jsonrpc":"2.0","id":9223372036854775808,"method":"m"})",
       "\"id\" must be a string or an integer of 64 bits at byte 22"},
      {R"({"jsonrpc":"2.0","id":true,"method":"m"})", "\"id\" must be a string or an integer at byte 22"},
      {R"({"jsonrpc":"2.0","id":{},"result":{}})", "\"id\" must be a string or an integer at byte 22"},
      {R"({"jsonrpc":"2.0","id":[1],"result":{}})", "\"id\" must be a string or an integer at byte 22"},
      {R"({"jsonrpc":"2.0","id":01,"result":{}})", "a number must not begin with 0 at byte 22"},
      {R"({"jsonrpc":"2.0","id":,"result":{}})", "expected a JSON value at byte 22"},
      {R"({"jsonrpc":"2.0","id":1,"method":null})", "\"method\" must be a string at byte 33"},
      {R"({"jsonrpc":"2.0","id":1,"method":5})", "\"method\" must be a string at byte 33"},
      {R"({"jsonrpc":"2.0","method":"m","params":1})", "\"params\" must be an object or an array at byte 39"},
      {R"({"jsonrpc":"2.0","method":"m","params":"x"})", "\"params\" must be an object or an array at byte 39"},
      {R"({"jsonrpc":"2.0","method":"m","params":false})", "\"params\" must be an object or an array at byte 39"},
      {R"({"jsonrpc":"2.0","result":{}})", "a result without an \"id\" at byte 0"},
      {R"({"jsonrpc":"2.0","id":null,"result":{}})", "the \"id\" of a result must not be null at byte 22"},
      {R"({"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1}})",
       "a message with both \"result\" and \"error\" at byte 0"},
      {R"({"jsonrpc":"2.0","id":1,"result":{},"method":"m"})",
       "a message with both a \"method\" and a reply at byte 0"},
      {R"({"jsonrpc":"2.0","id":1,"error":{"code":1},"method":"m"})",
       "a message with both a \"method\" and a reply at byte 0"},
      {R"({"jsonrpc":"2.0","id":1,"error":"no"})", "\"error\" must be an object at byte 32"},
      {R"({"jsonrpc":"2.0","id":1,"error":[]})", "\"error\" must be an object at byte 32"},
      {R"({"jsonrpc":"2.0","id":1,"error":{}})", "an error without a \"code\" at byte 32"},
      {R"({"jsonrpc":"2.0","id":1,"error":{"message":"m"}})", "an error without a \"code\" at byte 32"},
      {R"({"jsonrpc":"2.0","id":1,"error":{"code":"E"}})", "the error's \"code\" must be an integer at byte 40"},
      {R"({"jsonrpc":"2.0","id":1,"error":{"code":1.5}})", "the error's \"code\" must be an integer at byte 40"},
      {R"({"jsonrpc":"2.0","id":1,"error":{"code":null}})", "the error's \"code\" must be an integer at byte 40"},
      {R"({"jsonrpc":"2.0","id":1,"error":{"code":1,"message":2}})",
       "the error's \"message\" must be a string at byte 52"},
      {R"({"jsonrpc":"2.0","id":1,"error":{"code":1,"code":2}})", "duplicate key \"code\" at byte 42"},
      {R"({"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"result":{}})", "duplicate key \"jsonrpc\" at byte 17"},
      {R"({"jsonrpc":"2.0","id":1,"id":2,"result":{}})", "duplicate key \"id\" at byte 24"},
      {R"({"jsonrpc":"2.0","id":1,"\u0069d":2,"result":{}})", "duplicate key \"id\" at byte 24"},
      {R"({"jsonrpc":"2.0","id":1,"result":{},"result":{}})", "duplicate key \"result\" at byte 36"},
      {R"({"jsonrpc":"2.0","method":"m","params":{},"params":{}})", "duplicate key \"params\" at byte 42"},
      {R"({"jsonrpc":"2.0","method":"m","method":"m"})", "duplicate key \"method\" at byte 30"},
      {R"({"jsonrpc":"2.0","id":1,"result":{"a":tru}})", "expected a JSON value at byte 38"},
      {R"({"jsonrpc":"2.0","id":1,"result":{}} x)", "expected the end of the text after the value at byte 37"},
      {R"({"jsonrpc":"2.0","id":1,"result":{}}{})", "expected the end of the text after the value at byte 36"},
      {R"({"jsonrpc":"2.0","id":1,"result":{})", "expected ',' or '}' at byte 35"},
      {R"({"jsonrpc":"2.0","id":1,)", "expected a string at byte 24"},
      {R"({"jsonrpc":"2.0","id":1,"result":{},"x":[1,}})", "expected a JSON value at byte 43"},
      {R"({"jsonrpc" "2.0"})", "expected ':' at byte 11"},
      {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"\xFF\"}", "invalid UTF-8 at byte 34"},
      {"\xEF\xBB\xBF{\"jsonrpc\":\"2.0\",\"method\":\"m\"}", "expected a JSON-RPC message (an object) at byte 0"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(show(text), expected) << text;
}

TEST(Message, DepthIsCountedOverTheWholeText) {
  const auto reply = [](std::size_t depth) {
    return R"({"jsonrpc":"2.0","id":1,"result":)" + std::string(depth, '[') + std::string(depth, ']') + "}";
  };
  EXPECT_TRUE(decode(reply(127)));
  EXPECT_FALSE(decode(reply(128)));
  EXPECT_FALSE(decode("[" + reply(127) + "]"));
  EXPECT_TRUE(decode("[" + reply(126) + "]"));
  EXPECT_TRUE(decode(reply(3), {.max_depth = 4}));
  EXPECT_FALSE(decode(reply(4), {.max_depth = 4}));
  auto deep = decode(reply(127)).value();
  EXPECT_EQ(std::get<Response>(deep.messages[0]).result.value().size(), 1u);
}

TEST(Message, PayloadsOutliveTheirTextAndShareItsBlock) {
  auto block = std::make_shared<const std::string>("junk {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"text\":\"" +
                                                   std::string(500, 'x') + "\"}} junk");
  const std::weak_ptr<const std::string> watch = block;
  auto decoded = decode_messages(block, std::string_view(*block).substr(5, block->size() - 10));
  ASSERT_TRUE(decoded) << decoded.error().message();
  auto response = std::get<Response>(std::move(decoded->messages[0]));
  EXPECT_EQ(response.result.text().data(), block->data() + block->find("{\"text\""));
  decoded = {};
  block.reset();
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ(response.result.value()["text"].as_text(), std::string(500, 'x'));
  response = {};
  EXPECT_TRUE(watch.expired());
}

TEST(Message, AppendsCompactJson) {
  const std::pair<Message, std::string_view> cases[] = {
      {Request{1, "ping", {}}, R"({"jsonrpc":"2.0","id":1,"method":"ping"})"},
      {Request{"a\"b", "tools/call", Json{{"name", "x"}}},
       R"({"jsonrpc":"2.0","id":"a\"b","method":"tools/call","params":{"name":"x"}})"},
      {Notification{"n", {}}, R"({"jsonrpc":"2.0","method":"n"})"},
      {Notification{"n", Json::array({1})}, R"({"jsonrpc":"2.0","method":"n","params":[1]})"},
      {Response{-5, Json::object()}, R"({"jsonrpc":"2.0","id":-5,"result":{}})"},
      {Response{1, {}}, R"({"jsonrpc":"2.0","id":1,"result":{}})"},
      {Response{1, Json()}, R"({"jsonrpc":"2.0","id":1,"result":null})"},
      {ErrorResponse{2, {-32601, "no\nsuch", {}}},
       R"({"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no\nsuch"}})"},
      {ErrorResponse{std::nullopt, {-32700, "", Json{{"k", 1}}}},
       R"({"jsonrpc":"2.0","error":{"code":-32700,"message":"","data":{"k":1}}})"},
  };
  for (const auto& [message, expected] : cases) {
    std::string out = ">";
    append_message(out, message);
    EXPECT_EQ(out, ">" + std::string(expected));
    EXPECT_EQ(show(std::string(expected)).starts_with(show(message).substr(0, 8)), true) << expected;
  }
}

TEST(Message, PayloadTextIsForwardedByteForByte) {
  const std::string text =
      R"({"jsonrpc":"2.0","id":1,"result":{ "n" : 1.500, "s":"\u0041\/", "big":123456789012345678901234567890}})";
  auto decoded = decode(text).value();
  std::string out;
  append_message(out, decoded.messages[0]);
  EXPECT_EQ(out, text);
}

TEST(Message, LineBreaksBetweenTokensDoNotBreakLines) {
  auto decoded =
      decode(
          "{\n \"jsonrpc\": \"2.0\",\r\n \"id\": 1,\n \"result\": {\r\n  \"a\": \"x\\ny\",\n  \"b\": [\n1\n]\n }\n}\n")
          .value();
  std::string out = "first line\n";
  append_message(out, decoded.messages[0]);
  EXPECT_EQ(out, "first line\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{    \"a\": \"x\\ny\",   \"b\": [ 1 ]  }}");
  out.clear();
  append_message(out, ErrorResponse{1, {1, "m", Payload::parse("{\n\"a\":1}").value()}});
  EXPECT_EQ(out, R"({"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":{ "a":1}}})");
  out.clear();
  append_message(out, Request{1, "m", Payload::parse("[1,\r2]").value()});
  EXPECT_EQ(out, R"({"jsonrpc":"2.0","id":1,"method":"m","params":[1, 2]})");
}

TEST(Message, IdsKeepTheirType) {
  EXPECT_EQ(to_text(RequestId(1)), "1");
  EXPECT_EQ(to_text(RequestId("1")), "\"1\"");
  EXPECT_EQ(to_json(RequestId(1)), Json(1));
  EXPECT_EQ(to_json(RequestId("1")), Json("1"));
  EXPECT_NE(RequestId(1), RequestId("1"));
}

TEST(Message, PeekFindsTheIdOfABrokenReply) {
  const std::pair<std::string, std::optional<RequestId>> cases[] = {
      {R"({"jsonrpc":"2.0","id":7,"result":{"a":tru}})", 7},
      {R"({"jsonrpc":"2.0","id":"x","result":{"a":tru}})", "x"},
      {R"({"id":7,"result":{"text":"cut here)", 7},
      {R"({"result":{"id":1,"b":[2,{"id":3}]},"id":7,"jsonrpc":"2.0"} trailing)", 7},
      {R"({"result":{"a":01},"id":7})", 7},
      {R"({"result":"\q \" , \"id\":1","id":7})", 7},
      {R"({ "jsonrpc" : "1.0" , "id" : 7 , "result" : {} })", 7},
      {R"({"jsonrpc":"2.0","id":7,"result":{},"error":{"code":1}})", 7},
      {R"({"jsonrpc":"2.0","id":7,"id":7,"result":{}})", 7},
      {"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":\"\xFF\"}", 7},
      {R"({"jsonrpc":"2.0","id":7})", 7},
      {R"({"jsonrpc":"2.0","id":7,"method":"m","params":1})", std::nullopt},
      {R"({"jsonrpc":"2.0","method":"m","id":7,"params":1})", std::nullopt},
      {R"({"jsonrpc":"2.0","result":{"id":1}})", std::nullopt},
      {R"({"level":30,"id":7,"msg":"ready"})", std::nullopt},
      {R"({"jsonrpc":"2.0","id":1.5,"result":{}})", std::nullopt},
      {R"({"jsonrpc":"2.0","id":null,"result":{}})", std::nullopt},
      {R"({"jsonrpc":"2.0","id":)", std::nullopt},
      {R"({"jsonrpc":"2.0","id":12)", std::nullopt},  // perhaps of 123
      {R"({"jsonrpc":"2.0","id)", std::nullopt},
      {R"({"jsonrpc":"2.0\)", std::nullopt},
      {"[1]", std::nullopt},
      {"{", std::nullopt},
      {"", std::nullopt},
      {"id: 7", std::nullopt},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(peek_id(text), expected) << text;
}

TEST(Message, ABatchHasABound) {
  const std::string one = R"({"jsonrpc":"2.0","method":"n"})";
  auto block = std::make_shared<const std::string>("[" + one + "," + one + "," + one + "]");
  EXPECT_EQ(decode_messages(block, *block, {}, 3)->messages.size(), 3u);
  const auto over = decode_messages(block, *block, {}, 2);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code(), Errc::limit);
  EXPECT_EQ(over.error().message(), "the batch has more than 2 messages, which is the limit; send it in parts");
  // A single message is not a batch.
  block = std::make_shared<const std::string>(one);
  EXPECT_TRUE(decode_messages(block, *block, {}, 0));
}

TEST(Message, ItsSizeIsKnownWithoutWritingIt) {
  const Message messages[] = {
      Request{1, "tools/call", Json{{"name", "a\n"}}},
      Request{"a\"b", "m", {}},
      Notification{"n", Json::array({1, 2})},
      Notification{"\n", {}},
      Response{-5, Json{{"text", "x"}}},
      Response{"id", {}},
      ErrorResponse{7, {-32603, "no\t", Json{{"at", 1}}}},
      ErrorResponse{std::nullopt, {-1, "", {}}},
  };
  for (const auto& message : messages) {
    std::string text;
    append_message(text, message);
    EXPECT_EQ(size_of(message), text.size()) << text;
  }
}

TEST(Message, AnAnswerOverTheLimitIsReplacedByAnErrorWithItsId) {
  const Response answer{"a", Json(std::string(100, 'x'))};
  const auto size = size_of(answer);
  struct Case {
    std::size_t limit;
    std::size_t used;
    std::string shown;
  };
  const Case cases[] = {
      {size, 0, "response \"a\""},
      {size - 1, 0, "error \"a\" -32603 'the answer has 138 bytes; the limit of one answer is 137'"},
      {size + 5, 5, "response \"a\""},
      {size + 5, 6,
       "error \"a\" -32603 'the answer has 138 bytes, and 6 are used by the other answers of its batch; the limit of "
       "one "
       "answer is 143'"},
      {0, 500, "error \"a\" -32603 'the answer has 138 bytes; the limit of one answer is 0'"},
  };
  for (const auto& one : cases) {
    EXPECT_TRUE(show(within_limit(answer, one.limit, one.used)).starts_with(one.shown)) << one.limit << " " << one.used;
  }
}

}  // namespace
}  // namespace patchbay
