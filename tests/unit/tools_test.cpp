// Tools with typed arguments: the schema that is made from them, what a call's JSON becomes, and a server that has
// them.
#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/client.h>
#include <patchbay/server.h>
#include <patchbay/tools.h>

#include "base/as_result.h"
#include "base/waiting.h"
#include "support/fails_with.h"
#include "support/loop.h"

namespace weather {
enum class Unit { celsius, fahrenheit };
constexpr auto tool_names(Unit) {
  return std::array{std::pair{Unit::celsius, "celsius"}, std::pair{Unit::fahrenheit, "fahrenheit"}};
}
}  // namespace weather

namespace patchbay {
namespace {

using test::FailsWith;
using test::run_task;
using testing::ElementsAre;
using testing::FieldsAre;
using testing::HasSubstr;
using weather::Unit;

template <class T>
std::string type_of() {
  return to_text(ToolType<T>::schema());
}

template <class Function>
auto tried(Function function) -> Result<decltype(function())> {
  try {
    return function();
  } catch (const Error& error) {
    return std::unexpected(error);
  }
}

Json parsed(std::string_view text) { return parse_json(text).value(); }

TEST(ToolArguments, EveryTypeHasASchema) {
  EXPECT_EQ(type_of<bool>(), R"({"type":"boolean"})");
  EXPECT_EQ(type_of<double>(), R"({"type":"number"})");
  EXPECT_EQ(type_of<float>(), R"({"type":"number"})");
  EXPECT_EQ(type_of<std::int64_t>(), R"({"type":"integer"})");
  EXPECT_EQ(type_of<int>(), R"({"type":"integer","minimum":-2147483648,"maximum":2147483647})");
  EXPECT_EQ(type_of<std::uint8_t>(), R"({"type":"integer","minimum":0,"maximum":255})");
  EXPECT_EQ(type_of<std::size_t>(), R"({"type":"integer","minimum":0})");
  EXPECT_EQ(type_of<std::string>(), R"({"type":"string"})");
  EXPECT_EQ(type_of<Json>(), R"({})");
  EXPECT_EQ(type_of<Unit>(), R"({"type":"string","enum":["celsius","fahrenheit"]})");
  EXPECT_EQ(type_of<std::optional<bool>>(), R"({"type":["boolean","null"]})");
  EXPECT_EQ(type_of<std::optional<Unit>>(), R"({"type":["string","null"],"enum":["celsius","fahrenheit",null]})");
  EXPECT_EQ(type_of<std::optional<Json>>(), "{}");
  EXPECT_EQ(type_of<std::vector<Unit>>(),
            R"({"type":"array","items":{"type":"string","enum":["celsius","fahrenheit"]}})");
  EXPECT_EQ((type_of<std::map<std::string, double>>()),
            R"({"type":"object","additionalProperties":{"type":"number"}})");
}

TEST(ToolArguments, TheSchemaOfAToolNamesWhatItNeeds) {
  EXPECT_EQ(to_text(args().schema()), R"({"type":"object","properties":{},"additionalProperties":false})");
  const auto all = args(arg<std::string>("city", "where"), arg<Unit>("unit", "of the answer", Unit::celsius),
                        arg<std::optional<double>>("hours"), arg<bool>("rain"));
  EXPECT_EQ(
      to_text(all.schema()),
      R"({"type":"object","properties":{"city":{"type":"string","description":"where"},)"
      R"("unit":{"type":"string","enum":["celsius","fahrenheit"],"description":"of the answer","default":"celsius"},)"
      R"("hours":{"type":["number","null"]},"rain":{"type":"boolean"}},"additionalProperties":false,)"
      R"("required":["city","rain"]})");
}

TEST(ToolArguments, ANameThatIsEmptyOrThereTwiceIsRefused) {
  EXPECT_THAT(tried([] { return args(arg<bool>("a"), arg<int>("a")).schema(); }),
              FailsWith(Errc::invalid_argument, HasSubstr("\"a\"")));
  EXPECT_THAT(tried([] { return args(arg<bool>("")).schema(); }), FailsWith(Errc::invalid_argument));
}

TEST(ToolArguments, ACallBecomesValuesInTheirOrder) {
  const auto all = args(arg<std::string>("city"), arg<Unit>("unit", "", Unit::celsius),
                        arg<std::optional<int>>("hours"), arg<std::vector<double>>("points", "", {1.5}));
  EXPECT_THAT(all.read(parsed(R"({"city":"Bern","unit":"fahrenheit","hours":3,"points":[1,2]})")),
              FieldsAre("Bern", Unit::fahrenheit, std::optional(3), ElementsAre(1.0, 2.0)));
  EXPECT_THAT(all.read(parsed(R"({"city":"Bern"})")), FieldsAre("Bern", Unit::celsius, std::nullopt, ElementsAre(1.5)));
  EXPECT_THAT(all.read(parsed(R"({"city":"Bern","unit":null,"hours":null})")),
              FieldsAre("Bern", Unit::celsius, std::nullopt, ElementsAre(1.5)));
}

TEST(ToolArguments, WhatDoesNotFitIsAnErrorWithTheNameOfTheArgument) {
  struct Case {
    std::string_view json;
    std::string_view says;
  };
  const auto all = args(arg<std::uint8_t>("n", "", 0), arg<Unit>("unit", "", Unit::celsius),
                        arg<std::vector<std::string>>("names", "", {}), arg<int>("i", "", 0));
  for (const auto& [json, says] : std::initializer_list<Case>{
           {R"({"n":256})", "n: 256 is not an integer between 0 and 255"},
           {R"({"n":-1})", "n: -1 is not an integer between 0 and 255"},
           {R"({"n":1.5})", "n: 1.5 is not an integer between 0 and 255"},
           {R"({"n":"1"})", "n: "},
           {R"({"i":3000000000})", "i: 3000000000 is not between -2147483648 and 2147483647"},
           {R"({"unit":"kelvin"})", "unit: \"kelvin\" is not one of celsius, fahrenheit"},
           {R"({"names":["a",1]})", "names: "},
           {R"({"names":"a"})", "names: "},
       }) {
    EXPECT_THAT(tried([&] { return all.read(parsed(json)); }), FailsWith(Errc::invalid_argument, HasSubstr(says)))
        << json;
  }
  EXPECT_THAT(tried([] { return args(arg<int>("i")).read(Json::object()); }),
              FailsWith(Errc::invalid_argument, "the argument \"i\" is missing"));
}

TEST(ToolAnswers, TextsErrorsAndJsonAreResults) {
  EXPECT_EQ(text_of(text("yes")), "yes");
  EXPECT_FALSE(text("yes").is_error);
  EXPECT_TRUE(error_text("no").is_error);
  EXPECT_EQ(text_of(to_tool_result("plain")), "plain");
  EXPECT_EQ(text_of(to_tool_result(std::string("plain"))), "plain");
  EXPECT_EQ(to_tool_result(Json{{"a", 1}}).structured_content, (Json{{"a", 1}}));
}

// Older revisions of the protocol allow only an object as structured content.
TEST(ToolAnswers, NumbersAndOtherJsonBecomeText) {
  const auto is_text = [](const CallToolResult& result, std::string_view expected) {
    EXPECT_EQ(text_of(result), expected);
    EXPECT_FALSE(result.structured_content) << expected;
  };
  is_text(to_tool_result(3), "3");
  is_text(to_tool_result(0.5), "0.5");
  is_text(to_tool_result(true), "true");
  is_text(to_tool_result(Json::array({1, "two"})), R"([1,"two"])");
  is_text(to_tool_result(Json("plain")), "plain");
  EXPECT_EQ(structured(Json::array({1})).structured_content, Json::array({1}));
}

// Calls one tool of a server in this process.
void with_tools(std::function<void(Server&)> add, std::function<Task<void>(Session)> body) {
  run_task([&]() -> Task<void> {
    auto server = std::make_shared<Server>("typed", "1");
    add(*server);
    auto session = co_await Client(ClientOptions{}).connect(memory_transport(server));
    co_await body(session);
    co_await session.close();
  });
}

TEST(TypedTools, HandlersAreFunctionsOrCoroutinesWithOrWithoutTheRequest) {
  with_tools(
      [](Server& server) {
        const auto two = args(arg<double>("a"), arg<double>("b", "", 1));
        server.add_tool("sum", "Adds", two, [](double a, double b) { return text(std::to_string(a + b)); });
        server.add_tool("slow", "Adds later", two, [](double a, double b) -> Task<std::string> {
          co_await asio::post(asio::use_awaitable);
          co_return std::to_string(a + b);
        });
        server.add_tool("who", "Says who asks", args(arg<std::string>("greeting")),
                        [](RequestContext& context, const std::string& greeting) -> Task<CallToolResult> {
                          co_await asio::post(asio::use_awaitable);
                          co_return text(greeting + " " + context.client()->name);
                        });
        server.add_tool("json", "", args(), [n = 0]() mutable { return Json{{"calls", ++n}}; });
        Tool titled;
        titled.name = "titled";
        titled.title = "With a title";
        server.add_tool(titled, args(arg<Unit>("unit")), [](Unit unit) { return ToolType<Unit>::write(unit); });
      },
      [](Session session) -> Task<void> {
        EXPECT_EQ(text_of(co_await session.call_tool("sum", Json{{"a", 1}, {"b", 2.5}})), "3.500000");
        EXPECT_EQ(text_of(co_await session.call_tool("sum", Json{{"a", 1}})), "2.000000");
        EXPECT_EQ(text_of(co_await session.call_tool("slow", Json{{"a", 1}, {"b", 2}})), "3.000000");
        EXPECT_EQ(text_of(co_await session.call_tool("who", Json{{"greeting", "hello"}})), "hello patchbay");
        EXPECT_EQ((co_await session.call_tool("json", {})).structured_content, (Json{{"calls", 1}}));
        EXPECT_EQ((co_await session.call_tool("json", {})).structured_content, (Json{{"calls", 2}}));
        auto listed = co_await session.list_tools();
        for (const auto& tool : listed.items) {
          if (tool.name != "titled") continue;
          EXPECT_EQ(tool.title, "With a title");
          EXPECT_EQ(to_text(tool.input_schema["required"]), R"(["unit"])");
        }
        EXPECT_EQ(listed.items.size(), 5u);
      });
}

TEST(TypedTools, NullForAnOptionalArgumentIsNoArgument) {
  with_tools(
      [](Server& server) {
        server.add_tool("count", "", args(arg<std::optional<int>>("n"), arg<std::optional<Unit>>("unit")),
                        [](std::optional<int> n, std::optional<Unit> unit) { return (n ? 1 : 0) + (unit ? 2 : 0); });
        server.add_tool("all", "", args(arg<std::vector<std::optional<int>>>("list")),
                        [](const std::vector<std::optional<int>>& list) { return list.at(0).has_value(); });
        server.add_tool("needed", "", args(arg<int>("n")), [](int n) { return n; });
      },
      [](Session session) -> Task<void> {
        EXPECT_EQ(text_of(co_await session.call_tool("count", Json{{"n", nullptr}, {"unit", nullptr}})), "0");
        EXPECT_EQ(text_of(co_await session.call_tool("count", Json{{"n", 7}, {"unit", "celsius"}})), "3");
        EXPECT_EQ(text_of(co_await session.call_tool("all", Json{{"list", Json::array({nullptr})}})), "false");
        EXPECT_TRUE((co_await session.call_tool("needed", Json{{"n", nullptr}})).is_error);
      });
}

TEST(TypedTools, ArgumentsThatDoNotFitAndErrorsOfTheHandlerReachTheModel) {
  with_tools(
      [](Server& server) {
        server.add_tool("half", "", args(arg<int>("n")), [](int n) {
          if (n % 2 != 0) throw Error(Errc::invalid_argument, "that is odd");
          return std::to_string(n / 2);
        });
      },
      [](Session session) -> Task<void> {
        CallOptions unchecked;
        unchecked.check_arguments = false;
        for (const auto& [arguments, says] :
             {std::pair(Json{{"n", 3}}, "that is odd"), std::pair(Json{{"n", "x"}}, "n"), std::pair(Json{}, "n"),
              std::pair(Json{{"n", 4}, {"m", 1}}, "m")}) {
          auto result = co_await session.call_tool("half", arguments, unchecked);
          EXPECT_TRUE(result.is_error) << to_text(arguments);
          EXPECT_THAT(text_of(result), HasSubstr(says));
        }
        EXPECT_EQ(text_of(co_await session.call_tool("half", Json{{"n", 4}})), "2");
      });
}

TEST(TypedTools, NamesAreCheckedWhenTheToolIsAdded) {
  Server server("typed", "1");
  auto add = [&](std::string name) {
    return tried([&] {
      server.add_tool(std::move(name), "", args(), [] { return "x"; });
      return true;
    });
  };
  for (const auto* good : {"a", "read_file", "Read-File.2", "0"}) EXPECT_TRUE(add(good)) << good;
  EXPECT_TRUE(add(std::string(128, 'x')));
  for (const auto* bad : {"", "two words", "a/b", "a,b", "grüezi", "a\n"}) {
    EXPECT_THAT(add(bad), FailsWith(Errc::invalid_argument)) << bad;
  }
  EXPECT_THAT(add(std::string(129, 'x')), FailsWith(Errc::invalid_argument, HasSubstr("129")));
}

TEST(Run, ATaskWithoutAResultIsExitCodeZero) {
  EXPECT_EQ(run([]() -> Task<void> { co_return; }()), 0);
}

}  // namespace
}  // namespace patchbay
