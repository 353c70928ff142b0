#include <gtest/gtest.h>

#include "builtin/arguments.h"

namespace patchbay::builtin {
namespace {

// A tool with one argument of each kind.
std::optional<std::string> fault_of(const Json& json) {
  Arguments in("tool", json, {"path", "text", "count", "ratio", "flag", "list"});
  in.word("path");
  in.optional_string("text");
  in.integer("count", 1, 1, 9);
  in.number("ratio", 0.5, 0, 1);
  in.boolean("flag", false);
  in.strings("list");
  return in.fault();
}

TEST(BuiltinArguments, FaultsNameArgumentAndRemedy) {
  struct Case {
    const char* json;
    const char* problem;  // empty: none
  };
  const Case cases[] = {
      {R"({"path":"a"})", ""},
      {R"({"path":"a","text":"","count":9,"ratio":1,"flag":true,"list":["x",""]})", ""},
      {R"({"path":"a","text":null,"count":null,"ratio":null,"flag":null,"list":null})", ""},
      {R"({"path":"a","count":2.0})", ""},
      {R"({})", "\"path\" is missing"},
      {R"(null)", "\"path\" is missing"},
      {R"({"path":null})", "\"path\" is missing"},
      {R"([])", "the arguments must be an object, not an array"},
      {R"({"path":""})", "\"path\" must not be empty"},
      {R"({"path":"a\u0000b"})", "\"path\" must not contain NUL"},
      {R"({"path":1})", "\"path\" must be a string, not a number"},
      {R"({"path":"a","text":[]})", "\"text\" must be a string, not an array"},
      {R"({"path":"a","count":"2"})", "\"count\" must be an integer, not a string"},
      {R"({"path":"a","count":1.5})", "\"count\" must be an integer from 1 to 9"},
      {R"({"path":"a","count":0})", "\"count\" must be from 1 to 9, not 0"},
      {R"({"path":"a","count":99999999999999999999999})", "\"count\" must be an integer from 1 to 9"},
      {R"({"path":"a","ratio":2})", "\"ratio\" must be from 0 to 1, not 2"},
      {R"({"path":"a","ratio":"x"})", "\"ratio\" must be a number, not a string"},
      {R"({"path":"a","flag":"yes"})", "\"flag\" must be true or false, not a string"},
      {R"({"path":"a","list":"x"})", "\"list\" must be an array of strings, not a string"},
      {R"({"path":"a","list":["x",1]})", "\"list[1]\" must be a string, not a number"},
      {R"({"path":"a","list":["\u0000"]})", "\"list[0]\" must not contain NUL"},
      {R"({"path":"a","cuont":1})", "unknown argument \"cuont\" (did you mean \"count\"?)"},
      {R"({"path":"a","elsewhere":1})", "unknown argument \"elsewhere\""},
      {R"({"count":true,"xyzzy":1})",
       "unknown argument \"xyzzy\"; \"path\" is missing; \"count\" must be an integer, not a boolean"},
  };
  for (const auto& [json, problem] : cases) {
    const auto fault = fault_of(*parse_json(json));
    if (*problem == '\0') {
      EXPECT_EQ(fault, std::nullopt) << json;
    } else {
      EXPECT_EQ(fault, std::string("tool: ") + problem + ". Its arguments are: path, text, count, ratio, flag, list.")
          << json;
    }
  }
}

TEST(BuiltinArguments, ReadersReturnValuesOrDefaults) {
  const auto json = *parse_json(R"({"path":"p","count":3,"list":["a","b"],"flag":true})");
  Arguments in("tool", json, {"path", "text", "count", "ratio", "flag", "list"});
  EXPECT_EQ(in.string("path"), "p");
  EXPECT_EQ(in.optional_string("text"), std::nullopt);
  EXPECT_EQ(in.optional_word("path"), "p");
  EXPECT_EQ(in.integer("count", 1, 1, 9), 3);
  EXPECT_EQ(in.number("ratio", 0.5, 0, 1), 0.5);
  EXPECT_EQ(in.boolean("flag", false), true);
  EXPECT_EQ(in.strings("list"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(in.fault(), std::nullopt);
}

}  // namespace
}  // namespace patchbay::builtin
