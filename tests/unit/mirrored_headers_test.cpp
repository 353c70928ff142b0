// T2, N1: what a modern request over HTTP repeats in its headers.
#include "protocol/mirrored_headers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using Type = MirroredArgument::Type;

Json parsed(std::string_view text) { return *parse_json(text); }

TEST(MirroredArguments, AreFoundThroughPropertiesOnly) {
  auto found = mirrored_arguments(parsed(R"({"type":"object","properties":{
      "region":{"type":"string","x-mcp-header":"Region"},
      "plain":{"type":"string","default":{"x-mcp-header":"not a schema"}},
      "x-mcp-header":{"type":"number"},
      "paging":{"type":"object","properties":{"size":{"type":"integer","x-mcp-header":"Page-Size"},
                                              "all":{"type":"boolean","x-mcp-header":"All"}}}}})"));
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_THAT(*found, ElementsAre(MirroredArgument{"Mcp-Param-Region", {"region"}, Type::string},
                                  MirroredArgument{"Mcp-Param-Page-Size", {"paging", "size"}, Type::integer},
                                  MirroredArgument{"Mcp-Param-All", {"paging", "all"}, Type::boolean}));
}

TEST(MirroredArguments, ABrokenAnnotationIsNamed) {
  struct Case {
    std::string_view schema;
    std::string_view reason;
  };
  for (const auto& [schema, reason] : {
           Case{R"({"properties":{"a":{"type":"string","x-mcp-header":""}}})", "not a valid name of a header"},
           Case{R"({"properties":{"a":{"type":"string","x-mcp-header":"My Region"}}})", "not a valid name of a header"},
           Case{R"({"properties":{"a":{"type":"string","x-mcp-header":"Re:gion"}}})", "not a valid name of a header"},
           Case{R"({"properties":{"a":{"type":"string","x-mcp-header":"A\r\nB"}}})", "not a valid name of a header"},
           Case{R"({"properties":{"a":{"type":"string","x-mcp-header":"Région"}}})", "not a valid name of a header"},
           Case{R"({"properties":{"a":{"type":"string","x-mcp-header":7}}})", "not a string"},
           Case{R"({"properties":{"a":{"type":"number","x-mcp-header":"A"}}})", "not a string, integer or boolean"},
           Case{R"({"properties":{"a":{"type":["string","null"],"x-mcp-header":"A"}}})", "not a string, integer"},
           Case{R"({"properties":{"a":{"type":"object","x-mcp-header":"A"}}})", "not a string, integer or boolean"},
           Case{R"({"properties":{"a":{"x-mcp-header":"A"}}})", "not a string, integer or boolean"},
           Case{R"({"properties":{"a":{"type":"string","x-mcp-header":"Same"},
                                  "b":{"type":"string","x-mcp-header":"sAME"}}})",
                "used twice"},
           Case{R"({"type":"string","x-mcp-header":"Root"})", "exactly one argument"},
           Case{R"({"properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}})",
                "exactly one argument"},
           Case{R"({"anyOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]})", "exactly one argument"},
           Case{R"({"$defs":{"a":{"type":"string","x-mcp-header":"A"}}})", "exactly one argument"},
           Case{R"({"if":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}})", "exactly one argument"},
           Case{R"({"patternProperties":{"^a":{"type":"string","x-mcp-header":"A"}}})", "exactly one argument"},
       }) {
    auto found = mirrored_arguments(parsed(schema));
    ASSERT_FALSE(found) << schema;
    EXPECT_THAT(found.error().message(), HasSubstr(reason)) << schema;
  }
}

TEST(HeaderValue, IsPlainWhenItArrivesUnchanged) {
  struct Case {
    std::string_view value;
    std::string_view header;
  };
  for (const auto& [value, header] : {
           Case{"us-west1", "us-west1"},
           Case{"", ""},
           Case{"with inner blanks", "with inner blanks"},
           Case{"Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="},
           Case{" padded ", "=?base64?IHBhZGRlZCA=?="},
           Case{"a\tb", "=?base64?YQli?="},
           Case{"line\nbreak", "=?base64?bGluZQpicmVhaw==?="},
           Case{"=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="},
           Case{"=?base64?unfinished", "=?base64?unfinished"},
       }) {
    EXPECT_EQ(to_header_value(value), header);
    EXPECT_EQ(from_header_value(header).value(), value);
  }
  for (std::string_view broken : {"=?base64?***?=", "=?base64?YQ?=", "a\x01", "caf\xc3\xa9"}) {
    EXPECT_FALSE(from_header_value(broken)) << broken;
  }
  EXPECT_EQ(from_header_value("=?base64?="), "=?base64?=");  // too short to be marked
}

TEST(MirroredHeaders, NameTheMethodItsObjectAndTheArguments) {
  const MirroredArguments arguments{{"Mcp-Param-Region", {"region"}, Type::string},
                                    {"Mcp-Param-Size", {"paging", "size"}, Type::integer},
                                    {"Mcp-Param-All", {"all"}, Type::boolean}};
  auto headers = mirrored_headers(
      "tools/call",
      parsed(R"({"name":"größe","arguments":{"region":"","paging":{"size":20.0},"all":false,"other":"x"}})"),
      arguments);
  ASSERT_TRUE(headers);
  EXPECT_THAT(*headers,
              ElementsAre(Pair("Mcp-Method", "tools/call"), Pair("Mcp-Name", "=?base64?Z3LDtsOfZQ==?="),
                          Pair("Mcp-Param-Region", ""), Pair("Mcp-Param-Size", "20"), Pair("Mcp-Param-All", "false")));
  headers = mirrored_headers("tools/call", parsed(R"({"name":"t","arguments":{"region":null}})"), arguments);
  ASSERT_TRUE(headers);
  EXPECT_THAT(*headers, ElementsAre(Pair("Mcp-Method", "tools/call"), Pair("Mcp-Name", "t")));
  headers = mirrored_headers("resources/read", parsed(R"({"uri":"file:///a"})"), {});
  EXPECT_THAT(*headers, ElementsAre(Pair("Mcp-Method", "resources/read"), Pair("Mcp-Name", "file:///a")));
  headers = mirrored_headers("tasks/get", parsed(R"({"taskId":"t1"})"), {});
  EXPECT_THAT(*headers, ElementsAre(Pair("Mcp-Method", "tasks/get"), Pair("Mcp-Name", "t1")));
  headers = mirrored_headers("tools/list", parsed("{}"), {});
  EXPECT_THAT(*headers, ElementsAre(Pair("Mcp-Method", "tools/list")));
}

TEST(MirroredHeaders, AnArgumentThatDoesNotFitIsRefused) {
  const MirroredArguments size{{"Mcp-Param-Size", {"size"}, Type::integer}};
  for (std::string_view arguments : {R"({"size":9007199254740992})", R"({"size":1.5})", R"({"size":"7"})"}) {
    auto headers = mirrored_headers("tools/call", Json{{"name", "t"}, {"arguments", parsed(arguments)}}, size);
    ASSERT_FALSE(headers) << arguments;
    EXPECT_EQ(headers.error().code(), Errc::invalid_argument);
  }
}

TEST(CheckMirrored, ComparesWhatIsMeant) {
  struct Case {
    Type type;
    std::string_view arguments;
    std::optional<std::string_view> header;
    bool agrees;
  };
  for (const auto& [type, arguments, header, agrees] : {
           Case{Type::string, R"({"a":"x"})", "x", true},
           Case{Type::string, R"({"a":"x"})", " x\t", true},
           Case{Type::string, R"({"a":"x"})", "X", false},
           Case{Type::string, R"({"a":"x"})", "=?base64?eA==?=", true},
           Case{Type::string, R"({"a":"x"})", "=?base64?e?=", false},
           Case{Type::string, R"({"a":"x"})", {}, false},
           Case{Type::string, R"({})", {}, true},
           Case{Type::string, R"({"a":null})", {}, true},
           Case{Type::string, R"({})", "x", false},
           Case{Type::integer, R"({"a":7})", "7", true},
           Case{Type::integer, R"({"a":7})", "007", true},
           Case{Type::integer, R"({"a":7})", "7.0", false},
           Case{Type::integer, R"({"a":7})", "", false},
           Case{Type::boolean, R"({"a":true})", "true", true},
           Case{Type::boolean, R"({"a":true})", "True", false},
       }) {
    const MirroredArgument argument{"Mcp-Param-A", {"a"}, type};
    EXPECT_EQ(check_mirrored(argument, parsed(arguments), header).has_value(), agrees)
        << arguments << " beside " << header.value_or("nothing");
  }
}

}  // namespace
}  // namespace patchbay
