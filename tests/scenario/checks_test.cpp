// A client and what servers declare about their tools, where the two do not agree: what is sent,
// what is refused here, and what passes unchecked. W3
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/client.h>

#include "base/as_result.h"
#include "base/runtime.h"
#include "client/connect.h"
#include "protocol/methods.h"
#include "protocol/wire.h"
#include "support/loop.h"
#include "support/script_server.h"

namespace patchbay {
namespace {

using test::run_task;
using test::ScriptServer;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string m(std::string_view method) { return std::string(method); }

class Checks : public ::testing::TestWithParam<Era> {
 protected:
  Checks()
      : server_(GetParam() == Era::modern ? ScriptServer::modern(capabilities) : ScriptServer::legacy(capabilities)) {
    runtime_.log = Log(LogLevel::info, [this](const LogEvent& event) {
      if (event.event != "not_checked") return;
      unchecked_.push_back(
          fmt::format("{} of {}: {}", event.field("what"), event.field("tool"), event.field("reason")));
    });
    options_.protocol = GetParam() == Era::modern ? m(modern_versions().front()) : "legacy";
  }

  // One tool `t`; members of its declaration and of its answer as JSON text.
  void offers(std::string declared, std::string result = R"("content":[])") {
    server_->on(m(method::list_tools), fmt::format(R"({{{}"tools":[{{"name":"t",{}}}]}})", complete(), declared));
    server_->on(m(method::call_tool), fmt::format("{{{}{}}}", complete(), result));
  }

  std::string complete() const { return GetParam() == Era::modern ? R"("resultType":"complete",)" : ""; }
  std::size_t calls() const { return server_->count(method::call_tool); }

  void run(std::function<Task<void>(Session)> body) {
    run_task([&]() -> Task<void> {
      auto session = co_await connect(Client(options_), server_->transport(), runtime_);
      auto outcome = co_await as_result(body(session));
      co_await session.close();
      value_or_throw(std::move(outcome));
    });
  }

  static Task<Error> failure(Task<CallToolResult> call) {
    auto outcome = co_await as_result(std::move(call));
    co_return outcome ? Error(Errc::internal, "it worked") : outcome.error();
  }

  static constexpr const char* capabilities = R"({"tools":{"listChanged":true}})";
  std::unique_ptr<ScriptServer> server_;
  ClientOptions options_;
  Runtime runtime_;
  std::vector<std::string> unchecked_;
};

INSTANTIATE_TEST_SUITE_P(Eras, Checks, ::testing::Values(Era::legacy, Era::modern),
                         [](const auto& era) { return std::string(to_string(era.param)); });

constexpr const char* takes_size =
    R"("inputSchema":{"type":"object","properties":{"size":{"type":"integer"}},"required":["size"]})";

TEST_P(Checks, ArgumentsThatDoNotFit_AreNotSent) {
  offers(takes_size);
  run([this](Session session) -> Task<void> {
    (void)co_await session.list_tools();
    auto wrong = co_await failure(session.call_tool("t", Json{{"size", "big"}}));
    EXPECT_EQ(wrong, Error(Errc::invalid_argument,
                           "the arguments do not match the tool \"t\": /size: expected integer, found string (type)"));
    auto none = co_await failure(session.call_tool("t", {}));
    EXPECT_THAT(none.message(), HasSubstr(R"(arguments: missing property "size" (required))"));
    auto null = co_await failure(session.call_tool("t", Json()));
    EXPECT_EQ(null, none);
    auto twice = co_await failure(session.call_tool("t", *Payload::parse(R"({"size":1,"size":2})")));
    EXPECT_EQ(twice.code(), Errc::invalid_argument);
    EXPECT_EQ(calls(), 0u);
    (void)co_await session.call_tool("t", Json{{"size", 1}});
    (void)co_await session.call_tool("t", Json{{"size", "big"}}, {.check_arguments = false});
    EXPECT_EQ(calls(), 2u);
    EXPECT_THAT(unchecked_, IsEmpty());
  });
}

TEST_P(Checks, ArgumentsOfMegabytes_AreChecked) {
  offers(takes_size);
  run([this](Session session) -> Task<void> {
    (void)co_await session.list_tools();
    const std::string filler(2u << 20, 'x');
    auto wrong = co_await failure(session.call_tool("t", Json{{"size", filler}}));
    EXPECT_THAT(wrong.message(), HasSubstr("/size: expected integer, found string (type)"));
    EXPECT_EQ(calls(), 0u);
    (void)co_await session.call_tool("t", Json{{"size", 1}, {"more", filler}});
    EXPECT_EQ(calls(), 1u);
  });
}

TEST_P(Checks, ToolsThatWereNotListed_AreCalledUnchecked) {
  offers(takes_size);
  run([this](Session session) -> Task<void> {
    (void)co_await session.call_tool("t", Json{{"size", "big"}});
    (void)co_await session.list_tools_page({});
    (void)co_await failure(session.call_tool("t", Json{{"size", "big"}}));
    EXPECT_EQ(calls(), 1u);
    EXPECT_THAT(unchecked_, IsEmpty());
  });
}

// A list that is out of date must not keep a good call from a server.
TEST_P(Checks, AfterTheListChanged_TheNewDeclarationCounts) {
  offers(takes_size);
  Event changed;
  options_.on_change = [&](const Change&, const CallContext&) { changed.notify_all(); };
  run([&, this](Session session) -> Task<void> {
    (void)co_await session.list_tools();
    EXPECT_EQ((co_await failure(session.call_tool("t", Json{{"size", "big"}}))).code(), Errc::invalid_argument);
    offers(R"("inputSchema":{"type":"object","properties":{"size":{"type":"string"}}})");
    server_->notify(method::tools_changed, {});
    co_await changed.wait();
    (void)co_await session.call_tool("t", Json{{"size", "big"}});
    EXPECT_EQ(calls(), 1u);
    (void)co_await session.list_tools();
    (void)co_await session.call_tool("t", Json{{"size", "big"}});
    EXPECT_EQ((co_await failure(session.call_tool("t", Json{{"size", 1}}))).code(), Errc::invalid_argument);
    EXPECT_EQ(calls(), 2u);
  });
}

TEST_P(Checks, SchemasThatCannotBeUnderstood_CheckNothingAndAreLoggedOncePerTool) {
  for (const auto& [schema, reason] : std::vector<std::pair<std::string, std::string>>{
           {R"({"$schema":"http://json-schema.org/draft-04/schema#","type":"object"})", "draft-04"},
           {R"({"type":"object","properties":{"a":{"$ref":"https://127.0.0.1:1/x.json"}}})", "127.0.0.1"},
           {R"({"type":"object","properties":{"a":{"pattern":"(?<=a+)b"}}})", "pattern"},
       }) {
    unchecked_.clear();
    offers(fmt::format(R"("inputSchema":{0},"outputSchema":{0})", schema));
    run([&, this](Session session) -> Task<void> {
      (void)co_await session.list_tools();
      EXPECT_THAT(unchecked_, IsEmpty());  // only what is called is looked at
      const auto before = calls();
      for (int i = 0; i < 3; ++i) (void)co_await session.call_tool("t", Json{{"a", 1}});
      EXPECT_EQ(calls() - before, 3u);
      EXPECT_THAT(unchecked_, ElementsAre(AllOf(HasSubstr("arguments of t: "), HasSubstr(reason))));
    });
  }
}

TEST_P(Checks, SchemasOfManyKilobytes_AreCompiledAsWell) {
  Json properties = Json::object();
  for (int i = 0; i < 5'000; ++i) properties[fmt::format("property_{}", i)] = Json{{"type", "integer"}};
  offers(fmt::format(R"("inputSchema":{})", to_text(Json{{"type", "object"}, {"properties", properties}})));
  run([this](Session session) -> Task<void> {
    (void)co_await session.list_tools();
    auto wrong = co_await failure(session.call_tool("t", Json{{"property_4999", "x"}}));
    EXPECT_THAT(wrong.message(), HasSubstr("/property_4999: expected integer"));
    (void)co_await session.call_tool("t", Json{{"property_4999", 1}});
    EXPECT_EQ(calls(), 1u);
  });
}

// Steps are what is counted: a schema made to take forever ends at the bound, and the call goes on.
TEST_P(Checks, HostileSchemas_DoNotHoldTheCallUp) {
  std::string definitions = R"("d0":{"minimum":0})";
  for (int i = 1; i < 60; ++i) {
    definitions +=
        fmt::format(R"(,"d{0}":{{"allOf":[{{"$ref":"#/$defs/d{1}"}},{{"$ref":"#/$defs/d{1}"}}]}})", i, i - 1);
  }
  const auto schema = fmt::format(
      R"({{"$defs":{{{}}},"type":"object","properties":{{"n":{{"$ref":"#/$defs/d59"}},"s":{{"pattern":"^(a+)+$"}}}}}})",
      definitions);
  runtime_.limits.schema_steps = 20'000;
  for (const auto& arguments : {Json{{"n", 1}}, Json{{"s", std::string(64, 'a') + "!"}}}) {
    unchecked_.clear();
    offers(fmt::format(R"("inputSchema":{0},"outputSchema":{0})", schema),
           fmt::format(R"("content":[],"structuredContent":{})", to_text(arguments)));
    run([&, this](Session session) -> Task<void> {
      (void)co_await session.list_tools();
      auto result = co_await session.call_tool("t", arguments);
      EXPECT_EQ(result.structured_content, arguments);
      EXPECT_THAT(unchecked_, ElementsAre(HasSubstr("steps")));
    });
  }
}

TEST_P(Checks, ResultsThatAreNotWhatWasDeclared_AreErrorsUnlessTheCallerTakesThem) {
  struct Row {
    std::string result;
    std::string problem;  // part of the message; empty: it is delivered
  };
  for (const auto& [result, problem] : std::vector<Row>{
           {R"("content":[],"structuredContent":{"n":1})", ""},
           {R"("content":[],"structuredContent":{"n":"one"})", "/n: expected integer, found string (type)"},
           {R"("content":[],"structuredContent":{})", R"(structuredContent: missing property "n" (required))"},
           {R"("content":[])", "returned no structured content"},
           {R"("content":[],"isError":true)", ""},
           {R"("content":[],"isError":true,"structuredContent":{"n":"one"})", ""},
       }) {
    offers(R"("outputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]})", result);
    run([&](Session session) -> Task<void> {
      (void)co_await session.list_tools();
      auto outcome = co_await as_result(session.call_tool("t", {}));
      EXPECT_EQ(outcome.has_value(), problem.empty()) << result;
      if (!outcome) {
        EXPECT_EQ(outcome.error().code(), Errc::protocol);
        EXPECT_THAT(outcome.error().message(), HasSubstr(problem));
      }
      auto taken = co_await as_result(session.call_tool("t", {}, {.check_result = false}));
      EXPECT_TRUE(taken.has_value()) << result;
    });
  }
}

// A null schema is what some servers send for a tool without arguments.
TEST_P(Checks, AToolWithoutASchema_TakesAnyObject) {
  for (const auto* declared : {R"("inputSchema":null)", R"("description":"nothing")", R"("inputSchema":{})"}) {
    offers(declared);
    run([this](Session session) -> Task<void> {
      (void)co_await session.list_tools();
      const auto before = calls();
      (void)co_await session.call_tool("t", {});
      (void)co_await session.call_tool("t", Json{{"any", "thing"}});
      EXPECT_EQ(calls() - before, 2u);
    });
  }
  EXPECT_THAT(unchecked_, IsEmpty());
}

}  // namespace
}  // namespace patchbay
