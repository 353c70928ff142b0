// Results on their way from a server to a model and to another server, through a host, in both eras. X1, X2, W7, N4.
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/failure.h>
#include <patchbay/host.h>

#include "base/as_result.h"
#include "host/results/host_results.h"
#include "protocol/methods.h"
#include "protocol/wire.h"
#include "support/fails_with.h"
#include "support/host_parts.h"
#include "support/loop.h"
#include "support/script_server.h"
#include "support/temp_tree.h"

namespace patchbay::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

std::string m(std::string_view method) { return std::string(method); }

std::string text_of(const ModelResult& result, std::size_t at = 0) {
  const auto* text = at < result.blocks.size() ? std::get_if<ModelText>(&result.blocks[at]) : nullptr;
  return text ? text->text : "(no text)";
}

// A server "from", whose tool `get` answers as the test says, and one "to", whose tool `put` keeps what it was given.
class Results : public ::testing::TestWithParam<Era> {
 protected:
  Results() {
    from_ = make();
    to_ = make();
    list(*from_, R"({"name":"get","inputSchema":{"type":"object"}})");
    list(
        *to_,
        R"({"name":"put","inputSchema":{"type":"object","properties":{"rows":{"type":"array"},"text":{"type":"string"}}}})");
    to_->on(m(method::call_tool), [this](Request request) -> Task<Payload> {
      given_.push_back(to_text(std::as_const(request.params.value())["arguments"]));
      co_return Payload::parse(fmt::format(R"({{{}"content":[]}})", complete())).value();
    });
    options_ = empty_options();
    options_.state_directory = (tree_.path() / "state").string();
    options_.results.conversation = "talk";
    options_.client.protocol = GetParam() == Era::modern ? m(modern_versions().front()) : "legacy";
  }

  static std::unique_ptr<ScriptServer> make() {
    constexpr const char* tools = R"({"tools":{}})";
    return GetParam() == Era::modern ? ScriptServer::modern(tools) : ScriptServer::legacy(tools);
  }
  static std::string complete() { return GetParam() == Era::modern ? R"("resultType":"complete",)" : ""; }
  static void list(ScriptServer& server, std::string_view tool) {
    server.on(m(method::list_tools), fmt::format(R"({{{}"tools":[{}]}})", complete(), tool));
  }
  void answers(const std::string& members) const {
    from_->on(m(method::call_tool), fmt::format("{{{}{}}}", complete(), members));
  }

  void run(std::function<Task<void>(Host&)> body) {
    run_task([&]() -> Task<void> {
      Host host(options_);
      for (auto* server : {from_.get(), to_.get()}) {
        auto config = named(server == from_.get() ? "from" : "to");
        config.protocol = options_.client.protocol;
        host.add_server(config, server->transport());
      }
      auto outcome = co_await as_result(body(host));
      co_await host.stop();
      value_or_throw(std::move(outcome));
    });
  }
  static Task<ModelResult> get(Host& host, std::string principal = {}) {
    auto result = co_await host.call("from/get");
    co_return co_await host.for_model("from/get", std::move(result), std::move(principal));
  }

  // A value of about five megabytes that any change of a byte would show.
  static Json large() {
    Json rows = Json::array();
    for (int i = 0; i < 50'000; ++i) {
      rows.push_back(Json{{"id", i}, {"name", fmt::format("row {} äöü \u202e {}", i, std::string(60, 'x'))}});
    }
    Json value{{"rows", std::move(rows)}};
    value["exact"] = Json::number("123456789012345678901234567890");
    return value;
  }

  TempTree tree_;
  std::unique_ptr<ScriptServer> from_;
  std::unique_ptr<ScriptServer> to_;
  HostOptions options_;
  std::vector<std::string> given_;
};

INSTANTIATE_TEST_SUITE_P(Eras, Results, ::testing::Values(Era::legacy, Era::modern),
                         [](const auto& info) { return std::string(to_string(info.param)); });

// X1
TEST_P(Results, TwoDifferentMarkersInTextAndStructuredContent_BothArrive) {
  for (const bool failed : {false, true}) {
    answers(fmt::format(
        R"("content":[{{"type":"text","text":"marker-in-text"}}],"structuredContent":{{"marker":"in-value"}},"isError":{})",
        failed));
    run([&](Host& host) -> Task<void> {
      const auto given = co_await get(host);
      EXPECT_EQ(given.is_error, failed);
      EXPECT_THAT(given.blocks, ElementsAre(ModelBlock(ModelText{"marker-in-text"}),
                                            ModelBlock(ModelText{"Structured content:\n{\"marker\":\"in-value\"}"})));
      EXPECT_EQ(given.handle, "");
    });
  }
}

TEST_P(Results, AFailureIsAResultAsWell) {
  from_->on(m(method::call_tool), [](Request) -> Task<Payload> { throw Error::rpc(-32603, "no \u202edisk"); });
  run([&](Host& host) -> Task<void> {
    auto failed = co_await as_result(host.call("from/get"));
    EXPECT_FALSE(failed);
    if (failed) co_return;
    const auto given = co_await host.for_model("from/get", failure_result(failed.error(), "from"));
    EXPECT_TRUE(given.is_error);
    EXPECT_THAT(text_of(given), StartsWith("MCP error -32603: no disk"));
  });
}

// X2, N4: the model reads some hundred bytes of five megabytes, and the other server gets all of them.
TEST_P(Results, FiveMegabytesGoFromServerToServerByTheirHandle) {
  const auto value = large();
  answers(R"("content":[{"type":"text","text":"marker-t"}],"structuredContent":)" + to_text(value));
  run([&](Host& host) -> Task<void> {
    const auto given = co_await get(host);
    EXPECT_THAT(given.handle, StartsWith("@result:"));
    EXPECT_THAT(text_of(given),
                AllOf(HasSubstr("marker-t"), HasSubstr("Shape: {rows:[{id:number,name:string}],exact:number}"),
                      HasSubstr(given.handle), Not(HasSubstr("\u202e"))));
    EXPECT_LT(text_of(given).size(), 4000u);
    EXPECT_THAT(given.notes, SizeIs(1));

    co_await host.call("to/put", Json{{"rows", given.handle + "#/rows"}});
    co_await host.call("to/put", Json{{"text", "row 7 is " + given.handle + "#/rows/7/name."}});
    co_await host.call("to/put", Json{{"text", "\\" + given.handle}});
    co_await host.call("to/put", Json{{"exact", given.handle + "#/exact"}});
    EXPECT_THAT(given_, SizeIs(4));
    if (given_.size() != 4) co_return;
    EXPECT_TRUE(given_[0] == to_text(Json{{"rows", value["rows"]}})) << "every byte";
    EXPECT_EQ(given_[1], to_text(Json{{"text", fmt::format("row 7 is row 7 äöü \u202e {}.", std::string(60, 'x'))}}));
    EXPECT_EQ(given_[2], to_text(Json{{"text", given.handle}}));
    EXPECT_EQ(given_[3], R"({"exact":123456789012345678901234567890})");
  });
}

TEST_P(Results, AHandleOfAnotherConversationOrOfNobodyIsAnErrorOfTheCall) {
  answers(R"("content":[],"structuredContent":)" + to_text(large()));
  run([&](Host& host) -> Task<void> {
    const auto mine = co_await get(host, "ann");
    auto call = [&](std::string handle, std::string principal) {
      CallOptions options;
      options.principal = std::move(principal);
      return as_result(host.call("to/put", Json{{"text", std::move(handle)}}, options));
    };
    const auto asked = to_->count(method::call_tool);
    for (const auto& [handle, principal] :
         std::vector<std::pair<std::string, std::string>>{{mine.handle, "bob"},
                                                          {mine.handle, ""},
                                                          {"@result:aaaaaaaa", "ann"},
                                                          {mine.handle + "#/nothing", "ann"}}) {
      const auto made = co_await call(handle + "#/rows/0/id", principal);
      EXPECT_FALSE(made) << handle;
      if (made) continue;
      EXPECT_EQ(made.error().code(), Errc::invalid_argument);
      EXPECT_EQ(made.error().carried_out(), CarriedOut::no);
      EXPECT_THAT(made.error().message(), StartsWith("@result:"));
    }
    EXPECT_EQ(to_->count(method::call_tool), asked) << "nothing was sent";
    host.set_conversation("another");
    EXPECT_FALSE(co_await call(mine.handle, "ann"));
    host.set_conversation("talk");
    EXPECT_TRUE(co_await call(mine.handle + "#/rows/0/name", "ann"));
  });
}

// Rules, the user and the schema decide about what is sent.
TEST_P(Results, WhoeverDecidesSeesTheRealValue) {
  answers(R"("content":[],"structuredContent":)" + to_text(large()));
  std::vector<std::string> asked;
  options_.permission.ask = [&](PermissionQuestion question) -> Task<bool> {
    if (question.tool.server == "to") asked.push_back(to_text(question.arguments.value()));
    co_return true;
  };
  run([&](Host& host) -> Task<void> {
    const auto given = co_await get(host);
    co_await host.call("to/put", Json{{"text", given.handle + "#/rows/3/name"}});
    EXPECT_THAT(asked, ElementsAre(HasSubstr("row 3 ")));
    const auto wrong = co_await as_result(host.call("to/put", Json{{"rows", given.handle + "#/rows/3/id"}}));
    EXPECT_FALSE(wrong) << "a number is no array";
    if (!wrong) EXPECT_EQ(wrong.error().code(), Errc::invalid_argument);
  });
}

TEST_P(Results, WithoutAConversationHandlesAreTextAndLargeResultsAreCut) {
  options_.results.conversation.clear();
  answers(R"("content":[],"structuredContent":)" + to_text(large()));
  run([&](Host& host) -> Task<void> {
    const auto given = co_await get(host);
    EXPECT_EQ(given.handle, "");
    EXPECT_THAT(text_of(given, 1), HasSubstr("The result was cut"));
    co_await host.call("to/put", Json{{"text", "@result:abcdefgh"}});
    EXPECT_THAT(given_, ElementsAre(R"({"text":"@result:abcdefgh"})"));
  });
  EXPECT_FALSE(tree_.has("state/results"));
}

TEST_P(Results, WhereNothingCanBeWrittenTheModelGetsTheBeginning) {
  tree_.file("state/results", "a file where the folder would be");
  answers(R"("content":[{"type":"text","text":"marker-t"}],"structuredContent":)" + to_text(large()));
  run([&](Host& host) -> Task<void> {
    const auto given = co_await get(host);
    EXPECT_EQ(given.handle, "");
    EXPECT_EQ(text_of(given), "marker-t");
    EXPECT_THAT(text_of(given, 1), StartsWith("Structured content:\n{\"rows\":[{\"id\":0,"));
    EXPECT_THAT(text_of(given, 2), AllOf(HasSubstr("was cut"), HasSubstr("could not be kept (")));
    EXPECT_THAT(given.notes, ElementsAre(HasSubstr("it was cut")));
  });
}

TEST_P(Results, ReadingOnGivesPartsOfWhatIsKept) {
  answers(R"("content":[],"structuredContent":)" + to_text(large()));
  run([&](Host& host) -> Task<void> {
    const auto given = co_await get(host);
    EXPECT_EQ((co_await host.read_result({.handle = given.handle + "#/rows/7/id"})).text, "7");
    EXPECT_THAT((co_await host.read_result({.handle = given.handle, .pointer = "/rows", .count = true})).text,
                StartsWith("50000 items"));
    const auto found = co_await host.read_result({.handle = given.handle, .pattern = "\"row 4999[0-9] "});
    EXPECT_EQ(found.matches, 10u);
    EXPECT_THAT(found.text, Not(HasSubstr("\u202e")));
    EXPECT_FALSE(co_await as_result(host.read_result({.handle = given.handle, .pattern = "("})));
    EXPECT_FALSE(co_await as_result(host.read_result({.handle = given.handle}, "somebody")));
    EXPECT_FALSE(co_await as_result(host.read_result({.handle = "what?"})));
  });
}

// compat: B7.10
TEST_P(Results, AToolMayAskForRoom) {
  list(*from_, R"({"name":"get","inputSchema":{"type":"object"},"_meta":{"anthropic/maxResultSizeChars":200000}})");
  answers(fmt::format(R"("content":[{{"type":"text","text":"{}"}}])", std::string(200'000, 'x')));
  run([&](Host& host) -> Task<void> {
    const auto given = co_await get(host);
    EXPECT_EQ(text_of(given).size(), 200'000u);
    EXPECT_THAT(given.notes, ElementsAre(HasSubstr("about 50000 tokens")));
  });
}

// Whoever writes many handles of large results has them all in memory, whatever the pointers behind them lead to.
TEST(ResultsOfOneCall, AreBoundedTogetherHoweverLittleOfThemIsPutIn) {
  const TempTree tree;
  run_task([&]() -> Task<void> {
    HostResults results({.conversation = "talk"}, (tree.path() / "state").string());
    results.use([](std::string_view name) {
      return name == "MAX_MCP_OUTPUT_TOKENS" ? std::optional<std::string>("10") : std::nullopt;
    });
    std::vector<std::string> handles;
    for (int i = 0; i < 5; ++i) {
      CallToolResult result;
      result.structured_content = Json{{"n", i}, {"rest", std::string(900, 'x')}};
      handles.push_back((co_await results.for_model("t", {}, std::move(result), {})).handle);
    }
    auto inserted = [&](std::size_t count) -> Task<Result<Payload>> {
      Json arguments = Json::object();
      for (std::size_t i = 0; i < count; ++i)
        arguments[std::string(1, static_cast<char>('a' + i))] = handles[i] + "#/n";
      co_return co_await as_result(results.inserted(Payload(std::move(arguments)), {}, 1000));
    };
    const auto four = co_await inserted(4);
    EXPECT_TRUE(four);
    if (four) EXPECT_EQ(four->text(), R"({"a":0,"b":1,"c":2,"d":3})");
    const auto five = co_await inserted(5);
    EXPECT_THAT(five, FailsWith(Errc::limit, HasSubstr("have more than")));
  });
}

// compat: B6.5
TEST(ResultVariables, ChangeTheBudgetAndWhetherResultsAreKept) {
  const TempTree tree;
  run_task([&]() -> Task<void> {
    HostResults results({.conversation = "talk"}, (tree.path() / "state").string());
    CallToolResult result;
    result.content.emplace_back(TextContent{.text = std::string(4000, 'x')});
    auto given = [&](std::string tokens, std::string keep) -> Task<ModelResult> {
      results.use([&](std::string_view name) -> std::optional<std::string> {
        if (name == "MAX_MCP_OUTPUT_TOKENS" && !tokens.empty()) return tokens;
        if (name == "ENABLE_MCP_LARGE_OUTPUT_FILES" && !keep.empty()) return keep;
        return std::nullopt;
      });
      co_return co_await results.for_model("t", {}, result, {});
    };
    EXPECT_EQ(text_of(co_await given("", "")).size(), 4000u);
    EXPECT_EQ(text_of(co_await given("1000", "")).size(), 4000u);
    EXPECT_THAT((co_await given("999", "")).handle, StartsWith("@result:"));
    EXPECT_THAT((co_await given("999", "true")).handle, StartsWith("@result:"));
    const auto cut = co_await given("999", "false");
    EXPECT_EQ(cut.handle, "");
    EXPECT_EQ(text_of(cut).size(), 3996 + std::string_view("…").size());
    for (const auto* odd : {"0", "-1", "many", "1e3"}) EXPECT_EQ((co_await given(odd, "")).handle, "") << odd;
  });
}

}  // namespace
}  // namespace patchbay::test
