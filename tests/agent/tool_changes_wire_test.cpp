// Tools that come and go in the middle of a conversation, told to each API as it wants to hear it, and to one that
// refuses that as it can bear it. Over real HTTP, with servers that are processes; the requests are compared. N3, W5,
// G1.
#include <atomic>

#include <patchbay/server.h>
#include <patchbay/tools.h>

#include "base/scope.h"
#include "support/beside.h"
#include "wire_scene.h"

namespace patchbay::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ContainsRegex;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr std::string_view changes_beta = "mid-conversation-tool-changes-2026-07-01";

// How an API takes them.
struct Case {
  const char* name;
  Spoken spoken;
  const char* model;
  // A request with one of these in it is refused, in these words.
  std::vector<std::string_view> refused_texts;
  const char* refusal;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

class ToolChanges : public WireScene, public testing::WithParamInterface<Case> {
 protected:
  ToolChanges() {
    model_words = GetParam().model;
    refuse = [this](const ModelApiRequest& request) -> std::optional<ModelApiReply> {
      const auto& one = GetParam();
      const auto has = [&](std::string_view text) {
        return request.body.contains(text) || request.header("anthropic-beta").contains(text);
      };
      if (std::ranges::none_of(one.refused_texts, has)) return std::nullopt;
      ++refusals;
      if (one.spoken == Spoken::anthropic) return anthropic_error(400, "invalid_request_error", one.refusal);
      return openai_error(400, "invalid_value", one.refusal);
    };
  }
  Spoken spoken() const override { return GetParam().spoken; }
  bool is_refused(const ModelApiRequest& request) const {
    return std::ranges::any_of(GetParam().refused_texts, [&](auto text) {
      return request.body.contains(text) || request.header("anthropic-beta").contains(text);
    });
  }
  // What was said stays as it was said, once the API is known: from that one of these requests on.
  void expect_said_stays(const std::vector<ModelApiRequest>& requests, std::size_t from) const {
    const auto shape = [&](const ModelApiRequest& request) {
      auto text = said_in(spoken(), request);
      constexpr std::string_view mark = R"(,"cache_control":{"type":"ephemeral"})";
      for (auto found = text.find(mark); found != std::string::npos; found = text.find(mark)) {
        text.erase(found, mark.size());
      }
      return text;
    };
    for (std::size_t at = from + 1; at < requests.size(); ++at) {
      const auto before = shape(requests[at - 1]);
      EXPECT_TRUE(shape(requests[at]).starts_with(before.substr(0, before.size() - 1))) << "request " << at + 1;
    }
  }
  bool refuses(std::string_view text) const { return std::ranges::count(GetParam().refused_texts, text) > 0; }

  std::atomic<int> refusals = 0;
};

INSTANTIATE_TEST_SUITE_P(
    , ToolChanges,
    testing::Values(
        Case{"Blocks", Spoken::anthropic, "anthropic:claude-opus-5", {}, ""},
        Case{"BlocksRefused",
             Spoken::anthropic,
             "anthropic:claude-opus-5",
             {changes_beta},
             "Unexpected value(s) `mid-conversation-tool-changes-2026-07-01` for the `anthropic-beta` header"},
        Case{
            "BlocksRefusedWithoutAReason", Spoken::anthropic, "anthropic:claude-opus-5", {changes_beta}, "Bad request"},
        Case{"Search", Spoken::anthropic, "anthropic:claude-sonnet-5", {}, ""},
        Case{"NothingHeldBack",
             Spoken::anthropic,
             "anthropic:claude-sonnet-5",
             {"defer_loading"},
             "tools.0.custom.defer_loading: Extra inputs are not permitted"},
        Case{"Items", Spoken::responses, "openai:gpt-5.6", {}, ""},
        Case{"ItemsRefused",
             Spoken::responses,
             "openai:gpt-5.6",
             {"\"additional_tools\""},
             "Invalid value: 'additional_tools'. Supported values are: 'message' and 'function_call'."},
        Case{"ItemsRefusedWithoutAReason", Spoken::responses, "openai:gpt-5.6", {"\"additional_tools\""}, "No."},
        Case{"AtTheEnd", Spoken::chat, "openai-chat:gpt-5.5", {}, ""}),
    testing::PrintToStringParamName());

// One tool comes while the model works, is called, goes between two turns and comes back.
TEST_P(ToolChanges, AreToldAsTheApiTakesThemAndWhatItKeepsStays) {
  add("one", {"mode-server", "good"});
  add("two", {"scenario-server"});
  then({.uses = {use("a1", "mcp__two__add_tool", Json{{"name", "fresh"}})}});
  then(when_released({.text = "There it is."}));
  then({.uses = {use("a2", "mcp__two__fresh")}});
  then({.text = "It works."});
  then({.uses = {use("a3", "mcp__two__remove_tool", Json{{"name", "fresh"}})}});
  then(when_released({.text = "Gone."}));
  then({.uses = {use("a4", "mcp__two__add_tool", Json{{"name", "fresh"}})}});
  then(when_released({.text = "Back."}));
  then({.text = "I know."});
  run([&](Agent& agent) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    const auto say = [&](std::string text, bool there) -> Task<void> {
      const auto sent = beside(scope, agent.send({.text = std::move(text)}));
      co_await until([&] { return offers("mcp__two__fresh") == there; });
      release();
      co_await scope.join();
      EXPECT_TRUE(*sent->result);
    };
    co_await say("make one", true);
    EXPECT_EQ((co_await agent.send({.text = "call it"})).text, "It works.");
    co_await say("remove it", false);
    co_await say("make it again", true);
    EXPECT_EQ((co_await agent.send({.text = "and now?"})).text, "I know.");
  });

  // What was refused was asked again at once, and never again in that way.
  const bool refusing = !GetParam().refused_texts.empty();
  EXPECT_EQ(refusals, refusing ? 1 : 0);
  std::vector<ModelApiRequest> requests;
  std::size_t refused_at = 0;
  for (const auto& request : api.requests()) {
    if (is_refused(request)) refused_at = requests.size();
    if (!is_refused(request)) requests.push_back(request);
  }
  ASSERT_THAT(requests, SizeIs(9));

  // The tools of each request begin with those of the one before, byte by byte.
  std::vector<SentTools> sent;
  for (const auto& request : requests) sent.push_back(tools_of(spoken(), request));
  const bool grows = spoken() == Spoken::chat || refuses("defer_loading") || refuses("\"additional_tools\"");
  for (std::size_t at = 1; at < sent.size(); ++at) {
    const auto before = sent[at - 1].first_bytes(), now = sent[at].first_bytes();
    EXPECT_TRUE(now.starts_with(before)) << "request " << at + 1;
    if (!grows) EXPECT_EQ(now, before) << "request " << at + 1;
  }
  EXPECT_THAT(sent.front().first_bytes(), Not(HasSubstr("mcp__two__fresh")));
  EXPECT_EQ(sent.back().first_bytes().contains("mcp__two__fresh"), grows);
  // Once is enough, however often it comes and goes.
  if (grows) EXPECT_EQ(sent.back().loaded.size(), sent.front().loaded.size() + 1);

  const auto last = said_in(spoken(), requests.back());
  const bool in_blocks = spoken() == Spoken::anthropic && std::string_view(GetParam().name) == "Blocks";
  EXPECT_EQ(last.contains("tool_addition"), in_blocks);
  EXPECT_EQ(last.contains("\"tool_removal\""), in_blocks);
  EXPECT_EQ(last.contains("\"additional_tools\""), std::string_view(GetParam().name) == "Items");
  EXPECT_EQ(last.contains("select:NAME"), spoken() == Spoken::anthropic && !in_blocks && !refuses("defer_loading"));
  EXPECT_THAT(last, HasSubstr("These tools are gone: mcp__two__fresh"));
  if (spoken() == Spoken::anthropic && !grows) {
    EXPECT_THAT(sent.back().held_back, ElementsAre(HasSubstr("mcp__two__fresh")));
  }
  expect_said_stays(requests, refused_at);
}

// A definition that was sent stays as it was; that it is another one is told behind it.
TEST_P(ToolChanges, ADefinitionThatChangesIsToldInWordsAndWhatWasSentStays) {
  const auto own = std::make_shared<Server>("three", "1");
  const auto define = [&](std::string description) {
    own->add_tool({.name = "fresh", .description = std::move(description)},
                  [](RequestContext&, Json) -> Task<CallToolResult> { co_return text("done"); });
  };
  const auto described = [&](std::string_view description) {
    const auto* entry = host->catalog()->at("mcp__three__fresh");
    return entry != nullptr && entry->tool->description == description;
  };
  then({.text = "Hello."}).then({.text = "I see."}).then({.text = "Another one."}).then({.text = "Yes."});
  run([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "hi"});
    define("as it was");
    host->add_server("three", own);
    co_await host->begin(BeginWait::all);
    co_await until([&] { return described("as it was"); });
    (void)co_await agent.send({.text = "look"});
    define("as it is");
    co_await until([&] { return described("as it is"); });
    (void)co_await agent.send({.text = "and now?"});
    (void)co_await agent.send({.text = "sure?"});
  });
  std::vector<ModelApiRequest> requests;
  std::size_t refused_at = 0;
  for (const auto& request : api.requests()) {
    if (is_refused(request)) refused_at = requests.size();
    if (!is_refused(request)) requests.push_back(request);
  }
  ASSERT_THAT(requests, SizeIs(4));
  expect_said_stays(requests, std::max<std::size_t>(refused_at, 1));
  for (std::size_t at = 2; at < requests.size(); ++at) {
    const auto before = tools_of(spoken(), requests[1]), now = tools_of(spoken(), requests[at]);
    EXPECT_EQ(now.loaded, before.loaded);
    EXPECT_EQ(now.held_back, before.held_back);
    EXPECT_THAT(said_in(spoken(), requests[at]), HasSubstr("mcp__three__fresh is another one now: as it is"));
  }
}

// What the conversation calls gone is there again when it is taken up, or when it goes on with another model.
class ToolsThatAreBack : public WireScene, public testing::WithParamInterface<bool> {
 protected:
  ToolsThatAreBack() {
    model_words = "anthropic:claude-opus-5";
    agent_options.state_directory = (tree.path() / "state").string();
    agent_options.directory = tree.path().string();
  }
};

INSTANTIATE_TEST_SUITE_P(, ToolsThatAreBack, testing::Bool(),
                         [](const auto& info) { return info.param ? "TakenUpAgain" : "AnotherModel"; });

TEST_P(ToolsThatAreBack, CanBeCalledAgain) {
  const bool resumes = GetParam();
  add("one", {"mode-server", "good"});
  add("two", {"mode-server", "good"});
  then({.text = "Hello."}).then({.text = "I see."}).then({.text = "Good."}).then({.text = "Still good."});
  const auto again = [&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "it is back"});
    (void)co_await agent.send({.text = "on"});
  };
  run([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "hi"});
    EXPECT_TRUE(host->remove_server("two"));
    co_await until([&] { return !offers("mcp__two__echo"); });
    (void)co_await agent.send({.text = "it is gone"});
    agent_options.resume = agent.id();
    if (resumes) co_return;
    host->add_server(servers.at(1));
    co_await host->begin(BeginWait::all);
    co_await until([&] { return offers("mcp__two__echo"); });
    agent.set_model(model_of(spoken(), api.url(), "anthropic:claude-opus-4-8"));
    co_await again(agent);
  });
  if (resumes) {
    host_options = empty_options();
    run(again);
  }
  const auto requests = api.requests();
  ASSERT_THAT(requests, SizeIs(4));
  const auto count = [](std::string_view text, std::string_view word) {
    std::size_t found = 0;
    for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) ++found;
    return found;
  };
  const auto before = said_in(spoken(), requests[1]);
  const auto removals = count(before, "\"tool_removal\"");
  EXPECT_GT(removals, 0u);
  EXPECT_EQ(count(before, "\"tool_addition\""), 0u);
  for (std::size_t at = 2; at < requests.size(); ++at) {
    const auto now = said_in(spoken(), requests[at]);
    EXPECT_EQ(count(now, "\"tool_removal\""), removals);
    EXPECT_EQ(count(now, "\"tool_addition\""), removals);
    EXPECT_THAT(now, ContainsRegex("Tools that can be called again: [^.]*mcp__two__echo"));
  }
}

// ---- why the cache was of no use

class CacheDiagnosis : public WireScene {
 protected:
  CacheDiagnosis() { model_words = "anthropic:claude-opus-5"; }
};

TEST_F(CacheDiagnosis, NamesTheAnswerBeforeAndTellsTheReason) {
  refuse = [](const ModelApiRequest& request) -> std::optional<ModelApiReply> {
    const auto previous = request.json()["diagnostics"]["previous_message_id"];
    if (previous.is_null()) return anthropic_reply({.text = "one", .id = "msg_1"});
    return anthropic_reply({.text = "two", .usage = {.input = 90, .cache_miss = "tools_changed"}, .id = "msg_2"});
  };
  run([&](Agent& agent) -> Task<void> {
    EXPECT_EQ((co_await agent.send({.text = "go"})).text, "one");
    EXPECT_EQ(agent.usage().cache_miss, "");
    EXPECT_EQ((co_await agent.send({.text = "on"})).text, "two");
    EXPECT_EQ(agent.usage().cache_miss, "tools_changed");
  });
  const auto requests = api.requests();
  ASSERT_THAT(requests, SizeIs(2));
  for (const auto& request : requests) {
    EXPECT_THAT(request.header("anthropic-beta"), HasSubstr("cache-diagnosis-2026-04-07"));
  }
  EXPECT_EQ(requests[1].json()["diagnostics"]["previous_message_id"], Json("msg_1"));
}

// ---- where neither is known to be there

TEST(ApiExtras, AreUsedAtTheProvidersOwnAddressAlone) {
  for (const char* words : {"anthropic:claude-opus-5", "openai:gpt-5.6"}) {
    const auto variables = [&](bool own, bool says_so) {
      return [=](std::string_view name) -> std::optional<std::string> {
        if (own && name.ends_with("_BASE_URL")) return "https://gateway.example/v1";
        if (says_so && name == "ENABLE_TOOL_SEARCH") return "true";
        return name.ends_with("_API_KEY") ? std::optional<std::string>("sk") : std::nullopt;
      };
    };
    const auto holds = [&](bool own, bool says_so) {
      return choose_model({.words = words, .variables = variables(own, says_so)})->info.holds_deferred;
    };
    EXPECT_TRUE(holds(false, false));
    EXPECT_FALSE(holds(true, false));
    EXPECT_TRUE(holds(true, true));
  }
}

class PlainApi : public WireScene {};

TEST_F(PlainApi, AModelThatTakesNoChangesIsNotAskedTo) {
  model_words = "anthropic:claude-3-7-sonnet";
  then({.text = "Hello."});
  run([&](Agent& agent) -> Task<void> { (void)co_await agent.send({.text = "hi"}); });
  const auto requests = api.requests();
  ASSERT_THAT(requests, SizeIs(1));
  EXPECT_EQ(requests[0].header("anthropic-beta"), "");
  EXPECT_THAT(requests[0].body, AllOf(Not(HasSubstr("diagnostics")), Not(HasSubstr("defer_loading"))));
}

}  // namespace
}  // namespace patchbay::test
