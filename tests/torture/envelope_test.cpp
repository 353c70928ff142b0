// The JSON-RPC envelope against everything that can stand in each of its places: every kind of
// id in every kind of message, every kind of value for every member, every way to spoil a
// batch. Single reasons and offsets are rows of tests/unit/message_test.cpp; here whole
// tables are crossed, so that no combination is forgotten.
#include <map>
#include <optional>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rpc/message.h"

namespace patchbay {
namespace {

std::string shown(const Message& message) {
  std::string out;
  append_message(out, message);
  return out;
}

// The messages as we would write them, or the reason with its offset.
std::string outcome(const std::string& text) {
  auto block = std::make_shared<const std::string>(text);
  const auto decoded = decode_messages(block, *block);
  if (!decoded) {
    EXPECT_EQ(decoded.error().code(), Errc::protocol);
    return decoded.error().message();
  }
  std::string out;
  for (const auto& message : decoded->messages) out += (out.empty() ? "" : " ") + shown(message);
  return decoded->batch ? "batch " + out : out;
}

// An id is a string or an integer of 64 bits, kept with its type, and nothing else.
TEST(Envelope, EveryKindOfIdInEveryKindOfMessage) {
  struct Id {
    std::string text;
    std::string written;  // how it is written back; empty when refused
    std::string why;
  };
  const std::string wide = "\"id\" must be a string or an integer of 64 bits";
  const std::string other = "\"id\" must be a string or an integer";
  const Id ids[] = {
      {"0", "0", ""},
      {"1", "1", ""},
      {"-1", "-1", ""},
      {"-0", "0", ""},
      {"9007199254740993", "9007199254740993", ""},
      {"9223372036854775807", "9223372036854775807", ""},
      {"-9223372036854775808", "-9223372036854775808", ""},
      {"\"\"", "\"\"", ""},
      {"\"1\"", "\"1\"", ""},
      {"\"null\"", "\"null\"", ""},
      {R"("a\u0000b")", R"("a\u0000b")", ""},
      {R"("\u0041\/\"")", R"("A/\"")", ""},
      {"\"\xF0\x9F\x98\x80\"", "\"\xF0\x9F\x98\x80\"", ""},
      {R"("\ud83d\ude00")", "\"\xF0\x9F\x98\x80\"", ""},
      {"\"" + std::string(10'000, 'i') + "\"", "\"" + std::string(10'000, 'i') + "\"", ""},
      {"9223372036854775808", "", wide},
      {"-9223372036854775809", "", wide},
      {"18446744073709551615", "", wide},
      {"123456789012345678901234567890", "", wide},
      {"1.5", "", wide},
      {"1.0", "", wide},
      {"1e0", "", wide},
      {"1e400", "", wide},
      {"-0.0", "", wide},
      {"true", "", other},
      {"false", "", other},
      {"{}", "", other},
      {R"({"id":1})", "", other},
      {"[]", "", other},
      {"[1]", "", other},
  };
  const std::pair<const char*, const char*> kinds[] = {
      {R"({{"jsonrpc":"2.0","id":{},"method":"m"}})", R"({{"jsonrpc":"2.0","id":{},"method":"m"}})"},
      {R"({{"jsonrpc":"2.0","id":{},"result":{{}}}})", R"({{"jsonrpc":"2.0","id":{},"result":{{}}}})"},
      {R"({{"jsonrpc":"2.0","id":{},"error":{{"code":1,"message":""}}}})",
       R"({{"jsonrpc":"2.0","id":{},"error":{{"code":1,"message":""}}}})"},
  };
  for (const auto& id : ids) {
    for (const auto& [given, written] : kinds) {
      const auto text = fmt::format(fmt::runtime(given), id.text);
      const auto expected = id.why.empty() ? fmt::format(fmt::runtime(written), id.written) : id.why + " at byte 22";
      EXPECT_EQ(outcome(text), expected) << text.substr(0, 200);
      EXPECT_EQ(outcome("[" + text + "]"), id.why.empty() ? "batch " + expected : id.why + " at byte 23");
    }
  }
}

// Null is the id of an error whose request could not be read, and of nothing else.
TEST(Envelope, ANullIdBelongsToErrorsOnly) {
  EXPECT_EQ(outcome(R"({"jsonrpc":"2.0","id":null,"method":"m"})"),
            "the \"id\" of a request must not be null at byte 22");
  EXPECT_EQ(outcome(R"({"jsonrpc":"2.0","id":null,"result":{}})"),
            "the \"id\" of a result must not be null at byte 22");
  EXPECT_EQ(outcome(R"({"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}})"),
            R"({"jsonrpc":"2.0","error":{"code":1,"message":"m"}})");
  EXPECT_EQ(outcome(R"({"jsonrpc":"2.0","error":{"code":1,"message":"m"}})"),
            R"({"jsonrpc":"2.0","error":{"code":1,"message":"m"}})");
}

// Each member of a well-formed message replaced by each kind of value.
TEST(Envelope, EveryKindOfValueForEveryMember) {
  const std::string values[] = {"null", "true", "0", "1.5", "\"x\"", "[]", "[{}]", "{}", "1e400"};
  const auto expected = [](const std::string& member, const std::string& value) -> std::string {
    const char first = value.front();
    const bool container = first == '[' || first == '{';
    if (member == "jsonrpc") return "\"jsonrpc\" must be \"2.0\"";
    if (member == "method") return first == '"' ? "" : "\"method\" must be a string";
    if (member == "params") return value == "null" || container ? "" : "\"params\" must be an object or an array";
    if (member == "result" || member == "data") return "";
    if (member == "error") return value == "{}" ? "an error without a \"code\"" : "\"error\" must be an object";
    if (member == "code") return value == "0" ? "" : "the error's \"code\" must be an integer";
    if (member == "message") return value == "null" || first == '"' ? "" : "the error's \"message\" must be a string";
    return "no such member";
  };
  const std::pair<std::string, const char*> members[] = {
      {"jsonrpc", R"({"jsonrpc":@,"id":1,"method":"m","params":{}})"},
      {"method", R"({"jsonrpc":"2.0","id":1,"method":@,"params":{}})"},
      {"method", R"({"method":@,"jsonrpc":"2.0"})"},
      {"params", R"({"jsonrpc":"2.0","id":1,"method":"m","params":@})"},
      {"params", R"({"params":@,"jsonrpc":"2.0","method":"m"})"},
      {"result", R"({"jsonrpc":"2.0","id":1,"result":@})"},
      {"error", R"({"jsonrpc":"2.0","id":1,"error":@})"},
      {"code", R"({"jsonrpc":"2.0","id":1,"error":{"code":@,"message":"m"}})"},
      {"message", R"({"jsonrpc":"2.0","id":1,"error":{"code":1,"message":@}})"},
      {"data", R"({"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":@}})"},
  };
  for (const auto& [member, form] : members) {
    for (const auto& value : values) {
      // A null error stands for an absent one, and then there is nothing left.
      const bool nothing = member == "error" && value == "null";
      std::string text = form;
      const auto place = text.find('@');
      text.replace(place, 1, value);
      const auto why = nothing ? "a message without \"method\", \"result\" or \"error\"" : expected(member, value);
      if (why.empty()) {
        EXPECT_TRUE(outcome(text).starts_with("{\"jsonrpc\"")) << text << ": " << outcome(text);
        if (member == "result") EXPECT_EQ(outcome(text), text);
      } else {
        EXPECT_EQ(outcome(text), fmt::format("{} at byte {}", why, nothing ? 0 : place)) << text;
      }
    }
  }
}

TEST(Envelope, ErrorCodesAreIntegersOf64Bits) {
  for (const char* code : {"0", "-32700", "-32000", "1", "9223372036854775807", "-9223372036854775808"}) {
    const auto text = fmt::format(R"({{"jsonrpc":"2.0","id":1,"error":{{"code":{},"message":"m"}}}})", code);
    EXPECT_EQ(outcome(text), text);
  }
  for (const char* code : {"-32700.0", "1e3", "9223372036854775808", "-9223372036854775809", "1e400", "\"-32700\"",
                           "123456789012345678901234567890", "{}", "[-32700]"}) {
    const auto text = fmt::format(R"({{"jsonrpc":"2.0","id":1,"error":{{"code":{},"message":"m"}}}})", code);
    EXPECT_EQ(outcome(text), "the error's \"code\" must be an integer at byte 40") << code;
  }
}

// Which members stand beside each other decides what a message is. All subsets are tried.
TEST(Envelope, EverySubsetOfMembers) {
  const std::string members[] = {R"("jsonrpc":"2.0")",
                                 R"("id":1)",
                                 R"("method":"m")",
                                 R"("params":{})",
                                 R"("result":{})",
                                 R"("error":{"code":1})",
                                 R"("extra":{"id":2,"method":"x"})"};
  enum { jsonrpc = 1, id = 2, method = 4, params = 8, result = 16, error = 32 };
  for (unsigned set = 0; set < 128; ++set) {
    std::string text;
    for (unsigned i = 0; i < 7; ++i) {
      if ((set >> i & 1) != 0) text += (text.empty() ? "" : ",") + members[i];
    }
    text = "{" + text + "}";
    std::string expected;
    if ((set & jsonrpc) == 0) {
      expected = "a message without \"jsonrpc\" at byte 0";
    } else if ((set & method) != 0 && (set & (result | error)) != 0) {
      expected = "a message with both a \"method\" and a reply at byte 0";
    } else if ((set & method) != 0) {
      expected = fmt::format(R"({{"jsonrpc":"2.0"{},"method":"m"{}}})", (set & id) != 0 ? ",\"id\":1" : "",
                             (set & params) != 0 ? ",\"params\":{}" : "");
    } else if ((set & result) != 0 && (set & error) != 0) {
      expected = "a message with both \"result\" and \"error\" at byte 0";
    } else if ((set & error) != 0) {
      expected =
          fmt::format(R"({{"jsonrpc":"2.0"{},"error":{{"code":1,"message":""}}}})", (set & id) != 0 ? ",\"id\":1" : "");
    } else if ((set & result) != 0) {
      expected = (set & id) != 0 ? R"({"jsonrpc":"2.0","id":1,"result":{}})" : "a result without an \"id\" at byte 0";
    } else {
      expected = "a message without \"method\", \"result\" or \"error\" at byte 0";
    }
    EXPECT_EQ(outcome(text), expected) << text;
  }
}

TEST(Envelope, EveryKnownKeyTwiceIsRefusedAndUnknownOnesAreNot) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("jsonrpc":"2.0")", R"("id":1,"method":"m")"}, {R"("id":1)", R"("jsonrpc":"2.0","method":"m")"},
      {R"("method":"m")", R"("jsonrpc":"2.0","id":1)"}, {R"("params":{})", R"("jsonrpc":"2.0","method":"m")"},
      {R"("result":{})", R"("jsonrpc":"2.0","id":1)"},  {R"("error":{"code":1})", R"("jsonrpc":"2.0","id":1)"},
  };
  for (const auto& [member, rest] : cases) {
    const std::string text = fmt::format("{{{},{},{}}}", member, rest, member);
    const std::string key = std::string(member).substr(1, std::string_view(member).find(':') - 2);
    const auto second = text.rfind(std::string(member));
    EXPECT_EQ(outcome(text), fmt::format("duplicate key \"{}\" at byte {}", key, second)) << text;
    // Spelled with an escape it is the same key.
    std::string escaped = text;
    escaped.replace(second + 1, 1, fmt::format("\\u{:04x}", key.front()));
    EXPECT_EQ(outcome(escaped), fmt::format("duplicate key \"{}\" at byte {}", key, second)) << escaped;
  }
  // What nobody reads is skipped.
  EXPECT_EQ(outcome(R"({"jsonrpc":"2.0","x":1,"x":2,"method":"m","Method":3,"ID":{},"method ":0})"),
            R"({"jsonrpc":"2.0","method":"m"})");
}

// Envelope members never leak out of params, results, data or unknown members.
TEST(Envelope, MembersInsidePayloadsAreNotMembersOfTheMessage) {
  const std::string inner = R"({"jsonrpc":"1.0","id":{},"method":1,"params":1,"result":1,"error":1})";
  for (const std::string& text : {R"({"jsonrpc":"2.0","id":1,"method":"m","params":)" + inner + "}",
                                  R"({"jsonrpc":"2.0","id":1,"result":)" + inner + "}",
                                  R"({"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"","data":)" + inner + "}}"}) {
    EXPECT_EQ(outcome(text), text);
  }
}

// A batch is refused as a whole, at the byte of its first bad member.
TEST(Envelope, OneBadMemberSpoilsABatch) {
  const std::string good = R"({"jsonrpc":"2.0","id":1,"method":"m"})";
  const std::string note = R"({"jsonrpc":"2.0","method":"n"})";
  const std::string reply = R"({"jsonrpc":"2.0","id":"a","result":[]})";
  EXPECT_EQ(outcome("[" + good + "," + note + "," + reply + "]"), "batch " + good + " " + note + " " + reply);
  EXPECT_EQ(outcome(" [\t" + good + "\r\n, " + note + " ] "), "batch " + good + " " + note);
  std::string many = "[" + good;
  std::string all = "batch " + good;
  for (int i = 0; i < 999; ++i) {
    many += "," + good;
    all += " " + good;
  }
  EXPECT_EQ(outcome(many + "]"), all);
  const std::pair<std::string, std::string> bad[] = {
      {"1", "expected a JSON-RPC message (an object)"},
      {"null", "expected a JSON-RPC message (an object)"},
      {"\"x\"", "expected a JSON-RPC message (an object)"},
      {"[]", "expected a JSON-RPC message (an object)"},
      {"[" + good + "]", "expected a JSON-RPC message (an object)"},
      {"{}", "a message without \"jsonrpc\""},
      {R"({"jsonrpc":"2.0","result":1})", "a result without an \"id\""},
      {"", "expected a JSON-RPC message (an object)"},
  };
  for (const auto& [member, why] : bad) {
    if (!member.empty()) EXPECT_EQ(outcome("[" + member + "]"), why + " at byte 1");
    EXPECT_EQ(outcome("[" + good + "," + member + "]"), fmt::format("{} at byte {}", why, good.size() + 2)) << member;
    EXPECT_EQ(outcome("[" + good + "," + member + "," + note + "]"),
              fmt::format("{} at byte {}", why, good.size() + 2));
  }
  EXPECT_EQ(outcome("[]"), "a batch must not be empty at byte 1");
  EXPECT_EQ(outcome("[ ]"), "a batch must not be empty at byte 2");
  EXPECT_EQ(outcome("["), "expected a JSON-RPC message (an object) at byte 1");
  EXPECT_EQ(outcome("[" + good), fmt::format("expected ',' or ']' at byte {}", good.size() + 1));
  EXPECT_EQ(outcome("[" + good + "}"), fmt::format("expected ',' or ']' at byte {}", good.size() + 1));
  EXPECT_EQ(outcome("[" + good + note + "]"), fmt::format("expected ',' or ']' at byte {}", good.size() + 1));
  EXPECT_EQ(outcome("[" + good + "]]"),
            fmt::format("expected the end of the text after the value at byte {}", good.size() + 2));
}

// A reply cut off anywhere is refused; from the moment its id is complete, the call it
// belongs to is known.
TEST(Envelope, CutRepliesAreRefusedAndTheirCallIsFound) {
  const std::string text =
      "{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{\"text\":\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\\u00e9\",\"n\":[1,-2."
      "5e3]}}";
  const auto known = text.find("77") + 2;
  for (std::size_t length = 0; length < text.size(); ++length) {
    const auto cut = text.substr(0, length);
    EXPECT_FALSE(outcome(cut).starts_with("{")) << cut;
    const auto id = peek_id(cut);
    // Digits at the very end may be the beginning of another number.
    EXPECT_EQ(id, length > known ? std::optional<RequestId>(77) : std::nullopt) << cut;
  }
  EXPECT_EQ(outcome(text), text);
}

// Whatever is accepted is written in a form that reads back as the same message.
TEST(Envelope, WrittenMessagesReadBackTheSame) {
  for (
      const char* text : {
          R"({"jsonrpc":"2.0","id":-5,"method":"tools/call","params":{"a":[1e400,123456789012345678901234567890,-0]}})",
          R"({"jsonrpc":"2.0","id":"\u0000\"","result":"\ud83d"})",
          R"({"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"\u0007\ud83d","data":[{},[]]}})",
          R"({ "params" : [ 1 , 2 ] , "method" : "n\n" , "jsonrpc" : "2.0" })",
      }) {
    const auto once = outcome(text);
    ASSERT_TRUE(once.starts_with("{\"jsonrpc\"")) << once;
    EXPECT_EQ(outcome(once), once);
  }
}

}  // namespace
}  // namespace patchbay
