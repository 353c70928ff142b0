// What a conversation begins with stays the same bytes; what comes, goes and changes is told. W5, W6.
#include "agent/tool_offer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using How = ServerNote::How;

ModelTool tool(const std::string& name, std::string description = "does it") {
  static const auto schema = std::make_shared<const Json>(Json{{"type", "object"}});
  return {.name = name,
          .catalog_name = name.starts_with("mcp__") ? name : "",
          .description = std::move(description),
          .input_schema = schema,
          .changes = {}};
}

// Tools of servers are named mcp__server__tool.
ToolsNow now(std::vector<std::string> own, std::vector<std::string> of_servers,
             std::map<std::string, ServerNote, std::less<>> servers = {}) {
  ToolsNow out;
  for (const auto& name : own) out.pool.tools.push_back(tool(name));
  out.pool.own = own.size();
  for (const auto& name : of_servers) {
    out.pool.tools.push_back(tool(name));
    out.servers_of[name] = name.substr(5, name.rfind("__") - 5);
  }
  out.servers = std::move(servers);
  return out;
}

std::vector<std::string> names(const std::shared_ptr<const ToolPool>& pool) {
  std::vector<std::string> out;
  if (!pool) return out;
  for (const auto& one : pool->tools) out.push_back(one.name);
  return out;
}
std::vector<std::string> names(const std::vector<ModelTool>& tools) {
  std::vector<std::string> out;
  for (const auto& one : tools) out.push_back(one.name);
  return out;
}

TEST(ToolOffer, TheBeginningNamesServersThatAreNotReady) {
  ToolOffer offer(ToolGrowth::by_news);
  const auto news = offer.freeze(now({"read"}, {"mcp__a__x"},
                                     {{"a", {}},
                                      {"late", {How::starting, ""}},
                                      {"locked", {How::wants_sign_in, ""}},
                                      {"new", {How::wants_approval, ""}},
                                      {"broken", {How::failed, "no such command"}}}));
  EXPECT_THAT(news.text, AllOf(HasSubstr("\"late\" is still starting"),
                               HasSubstr("\"locked\" wants the person to sign in"), HasSubstr("\"new\" is not started"),
                               HasSubstr("\"broken\" could not be used: no such"), Not(HasSubstr("\"a\""))));
  EXPECT_EQ(offer
                .update(now({"read"}, {"mcp__a__x"},
                            {{"a", {}},
                             {"late", {How::starting, ""}},
                             {"locked", {How::wants_sign_in, ""}},
                             {"new", {How::wants_approval, ""}},
                             {"broken", {How::failed, "no such command"}}}),
                        {})
                .text,
            "");
}

struct Case {
  const char* what;
  ToolGrowth growth;
  ToolsNow before, after;
  std::set<std::string, std::less<>> found;
  std::vector<std::string> pool, deferred, added, removed;
  std::string says;  // empty: nothing
};

TEST(ToolOffer, WhatChangedIsToldAndTheBeginningStays) {
  using enum ToolGrowth;
  const std::vector<Case> cases{
      {"nothing",
       by_news,
       now({"o"}, {"mcp__a__x"}),
       now({"o"}, {"mcp__a__x"}),
       {},
       {"o", "mcp__a__x"},
       {},
       {},
       {},
       ""},
      {"a tool came, and the API can hold it",
       by_news,
       now({"o"}, {"mcp__a__x"}),
       now({"o"}, {"mcp__a__b", "mcp__a__x"}),
       {},
       {"o", "mcp__a__x"},
       {"mcp__a__b"},
       {"mcp__a__b"},
       {},
       "\"a\" that can be called now: mcp__a__b"},
      {"a tool came, and the API cannot",
       at_end,
       now({"o"}, {"mcp__a__x"}),
       now({"o"}, {"mcp__a__b", "mcp__a__x"}),
       {},
       {"o", "mcp__a__x", "mcp__a__b"},
       {},
       {"mcp__a__b"},
       {},
       "mcp__a__b"},
      {"a tool of the program came",
       at_end,
       now({"o"}, {}),
       now({"a", "o"}, {}),
       {},
       {"o", "a"},
       {},
       {"a"},
       {},
       "There are new tools: a"},
      {"one was found",
       at_end,
       now({"o"}, {}),
       now({"o"}, {"mcp__a__x"}),
       {"mcp__a__x"},
       {"o", "mcp__a__x"},
       {},
       {},
       {},
       ""},
      {"one was found, and the API holds it",
       by_news,
       now({"o"}, {}),
       now({"o"}, {"mcp__a__x"}),
       {"mcp__a__x"},
       {"o"},
       {"mcp__a__x"},
       {},
       {},
       ""},
      {"a tool went",
       by_news,
       now({"o"}, {"mcp__a__x", "mcp__a__y"}),
       now({"o"}, {"mcp__a__x"}),
       {},
       {"o", "mcp__a__x", "mcp__a__y"},
       {},
       {},
       {"mcp__a__y"},
       "gone: mcp__a__y"},
      {"a server came",
       by_news,
       now({"o"}, {}, {{"a", {How::starting, ""}}}),
       now({"o"}, {"mcp__a__x"}, {{"a", {}}}),
       {},
       {"o"},
       {"mcp__a__x"},
       {"mcp__a__x"},
       {},
       "Server \"a\" is connected."},
      {"a server went away and kept its tools",
       by_news,
       now({"o"}, {"mcp__a__x"}, {{"a", {}}}),
       now({"o"}, {"mcp__a__x"}, {{"a", {How::away, "reconnecting"}}}),
       {},
       {"o", "mcp__a__x"},
       {},
       {},
       {},
       "\"a\" is away at the moment: reconnecting"},
      {"a server is not declared any more",
       by_news,
       now({"o"}, {}, {{"a", {}}}),
       now({"o"}, {}),
       {},
       {"o"},
       {},
       {},
       {},
       "\"a\" is not used any more"},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.what);
    ToolOffer offer(one.growth);
    (void)offer.freeze(one.before);
    const auto frozen = offer.pool();
    const auto news = offer.update(one.after, one.found);
    EXPECT_EQ(names(offer.pool()), one.pool);
    EXPECT_EQ(names(offer.deferred()), one.deferred);
    EXPECT_EQ(names(news.added), one.added);
    EXPECT_EQ(news.removed, one.removed);
    if (one.says.empty()) EXPECT_EQ(news.text, "");
    EXPECT_THAT(news.text, HasSubstr(one.says));
    for (std::size_t i = 0; i < frozen->tools.size(); ++i) EXPECT_EQ(offer.pool()->tools.at(i), frozen->tools.at(i));
    if (one.growth != ToolGrowth::at_end) EXPECT_EQ(offer.pool(), frozen) << "the very same";
    const auto pool = offer.pool(), deferred = offer.deferred();
    EXPECT_EQ(offer.update(one.after, {}).text, "") << "told once";
    EXPECT_EQ(offer.pool(), pool);
    EXPECT_EQ(offer.deferred(), deferred);
  }
}

TEST(ToolOffer, AToolThatComesBackIsToldAgainAndIsInTheListOnce) {
  ToolOffer offer(ToolGrowth::at_end);
  (void)offer.freeze(now({"o"}, {"mcp__a__x"}));
  const auto frozen = offer.pool();
  (void)offer.update(now({"o"}, {}), {});
  const auto news = offer.update(now({"o"}, {"mcp__a__x"}), {});
  EXPECT_THAT(names(news.added), ElementsAre("mcp__a__x"));
  EXPECT_EQ(offer.pool(), frozen);
}

// The conversation so far calls it gone: nothing but news makes that undone.
TEST(ToolOffer, AToolThatCameBackBeforeTheBeginningIsToldWithIt) {
  const auto message = [](ModelNews news) {
    auto out = std::make_shared<ModelMessage>();
    out->parts.emplace_back(std::move(news));
    return std::shared_ptr<const ModelMessage>(std::move(out));
  };
  const auto told = told_tools({message({.text = "-", .removed = {"mcp__a__x", "mcp__a__y", "mcp__a__z"}}),
                                message({.text = "+", .added = {tool("mcp__a__y")}})});
  EXPECT_THAT(told.gone, ElementsAre("mcp__a__x", "mcp__a__z"));
  EXPECT_THAT(told.named, ElementsAre("mcp__a__y"));
  ToolOffer offer(ToolGrowth::by_search);
  const auto news = offer.freeze(now({"o"}, {"mcp__a__x", "mcp__a__y"}), told);
  EXPECT_THAT(names(news.added), ElementsAre("mcp__a__x"));
  EXPECT_EQ(news.text, "Tools that can be called again: mcp__a__x.");
}

// A conversation that is taken up again: what it has of them is sent again with every request.
TEST(ToolOffer, AToolThatWasNamedBeforeTheBeginningStaysAsItIsThen) {
  const auto searchable = [](std::vector<ModelTool> tools) {
    auto all = now({"tool_search"}, {});
    for (const auto& one : tools) all.servers_of[one.catalog_name] = "a";
    all.searchable.tools = std::move(tools);
    return all;
  };
  for (const auto growth : {ToolGrowth::by_search, ToolGrowth::by_news}) {
    ToolOffer offer(growth);
    const ToldTools told{.gone = {"mcp__a__y"}, .named = {"mcp__a__x", "mcp__a__y", "mcp__a__late"}};
    const auto definition = [&](std::string_view name) {
      const auto* found = offer.deferred() ? offer.deferred()->find(name) : nullptr;
      return found ? found->description : "(none)";
    };
    const auto begun = offer.freeze(searchable({tool("mcp__a__other"), tool("mcp__a__x"), tool("mcp__a__y")}), told);
    EXPECT_EQ(begun.text, "Tools that can be called again: mcp__a__y.");
    // They change; the one that nobody has heard of follows in silence.
    auto changed = searchable({tool("mcp__a__other", "new"), tool("mcp__a__x", "new"), tool("mcp__a__y", "new")});
    const auto news = offer.update(changed, {});
    EXPECT_THAT(news.text, AllOf(HasSubstr("mcp__a__x is another one now: new"), HasSubstr("mcp__a__y is another one"),
                                 Not(HasSubstr("mcp__a__other"))));
    EXPECT_EQ(definition("mcp__a__x"), "does it");
    EXPECT_EQ(definition("mcp__a__y"), "does it");
    EXPECT_EQ(definition("mcp__a__other"), "new");
    // One whose server is late, from when it is there; it goes and comes back.
    changed.searchable.tools.push_back(tool("mcp__a__late", "first"));
    changed.servers_of["mcp__a__late"] = "a";
    EXPECT_EQ(offer.update(changed, {}).text, "");
    auto without = changed;
    without.searchable.tools.pop_back();
    without.servers_of.erase("mcp__a__late");
    EXPECT_THAT(offer.update(without, {}).removed, ElementsAre("mcp__a__late"));
    changed.searchable.tools.back() = tool("mcp__a__late", "second");
    EXPECT_THAT(names(offer.update(changed, {}).added), ElementsAre("mcp__a__late"));
    EXPECT_EQ(definition("mcp__a__late"), "first");
    EXPECT_EQ(offer.update(changed, {}).text, "");
  }
}

// A conversation that went on with another model.
TEST(ToolOffer, ABeginningThatIsTakenUpAgainTellsWhatTheConversationCallsGone) {
  for (const auto growth : {ToolGrowth::at_end, ToolGrowth::by_news, ToolGrowth::by_search}) {
    ToolOffer offer(growth);
    (void)offer.freeze(now({"o"}, {"mcp__a__x", "mcp__a__y"}));
    const auto pool = offer.pool();
    offer.take_up({.gone = {"mcp__a__x", "mcp__a__z"}, .named = {}}, ToolOffer(growth));
    const auto news = offer.update(now({"o"}, {"mcp__a__x", "mcp__a__y"}), {});
    EXPECT_THAT(names(news.added), ElementsAre("mcp__a__x"));
    EXPECT_THAT(news.removed, IsEmpty());
    EXPECT_EQ(offer.pool(), pool);
    EXPECT_EQ(offer.update(now({"o"}, {"mcp__a__x", "mcp__a__y"}), {}).text, "");
  }
}

// What another model was told stands in the messages that this one reads.
TEST(ToolOffer, ABeginningThatIsTakenUpAgainCorrectsWhatAnotherModelWasToldLast) {
  const auto as = [](ServerNote s, std::string description) {
    auto all = now({"o"}, {"mcp__s__x"}, {{"s", std::move(s)}});
    all.pool.tools.back().description = std::move(description);
    return all;
  };
  for (const auto growth : {ToolGrowth::at_end, ToolGrowth::by_news, ToolGrowth::by_search}) {
    ToolOffer first(growth);
    EXPECT_EQ(first.freeze(as({}, "v1")).text, "");
    auto second = first.anew(growth);
    EXPECT_THAT(second.freeze(as({How::failed, "no"}, "v1")).text, HasSubstr("\"s\" could not be used"));
    EXPECT_THAT(second.update(as({How::failed, "no"}, "v2"), {}).text, HasSubstr("mcp__s__x is another one now: v2"));
    // It is again as it was: the one that was told of nothing, and one that begins now.
    auto third = second.anew(growth);
    first.take_up({}, second);
    for (const auto& news : {first.update(as({}, "v1"), {}), third.freeze(as({}, "v1"))}) {
      EXPECT_THAT(news.text, AllOf(HasSubstr("\"s\" is connected"), HasSubstr("mcp__s__x is another one now: v1")));
    }
    EXPECT_EQ(first.update(as({}, "v1"), {}).text, "") << "said once";
    EXPECT_EQ(third.update(as({}, "v1"), {}).text, "") << "said once";
    EXPECT_EQ(third.anew(growth).freeze(as({}, "v1")).text, "");
    // One that is not used any more.
    auto fourth = third.anew(growth);
    EXPECT_THAT(fourth.freeze(now({"o"}, {})).text, HasSubstr("\"s\" is not used any more"));
    first.take_up({}, fourth);
    EXPECT_THAT(first.update(now({"o"}, {}), {}).text, Not(HasSubstr("\"s\""))) << "said already";
    EXPECT_THAT(first.update(as({}, "v1"), {}).text, HasSubstr("server \"s\" that can be called now"));
  }
}

TEST(ToolOffer, AnotherDescriptionIsToldInWords) {
  ToolOffer offer(ToolGrowth::by_news);
  (void)offer.freeze(now({}, {"mcp__a__x"}));
  auto changed = now({}, {"mcp__a__x"});
  changed.pool.tools.at(0) = tool("mcp__a__x", "does something else");
  EXPECT_THAT(offer.update(changed, {}).text, HasSubstr("mcp__a__x is another one now: does something else"));
  EXPECT_EQ(offer.pool()->tools.at(0).description, "does it");
  EXPECT_EQ(offer.update(changed, {}).text, "");
}

// Also where an API holds it: it is sent again where it was announced or found, and that has to stay the same.
TEST(ToolOffer, AToolThatWasNamedStaysAsItWasNamed) {
  for (const auto growth : {ToolGrowth::by_search, ToolGrowth::by_news, ToolGrowth::at_end}) {
    ToolOffer offer(growth);
    (void)offer.freeze(now({"tool_search"}, {}));
    const auto definition = [&] {
      const auto& pool = growth == ToolGrowth::at_end ? offer.pool() : offer.deferred();
      const auto* found = pool ? pool->find("mcp__a__x") : nullptr;
      return found ? found->description : "(none)";
    };
    const auto described = [](std::string description, bool loaded = true) {
      auto all = now({"tool_search"}, {"mcp__a__x"});
      all.pool.tools.at(1) = tool("mcp__a__x", std::move(description));
      if (!loaded) all.searchable.tools = {std::exchange(all.pool.tools.at(1), tool("mcp__a__y"))};
      return all;
    };
    (void)offer.update(described("first"), {});
    EXPECT_EQ(definition(), "first");
    EXPECT_THAT(offer.update(described("second"), {}).text, HasSubstr("another one now: second"));
    EXPECT_EQ(definition(), "first");
    // One that comes back as another one is told in words as well.
    (void)offer.update(now({"tool_search"}, {}), {});
    EXPECT_THAT(offer.update(described("third"), {}).text, HasSubstr("another one now: third"));
    EXPECT_EQ(offer.update(described("third"), {}).text, "");
    EXPECT_THAT(offer.update(described("fourth", false), {}).text, HasSubstr("another one now: fourth"));
    EXPECT_EQ(definition(), "first");
    EXPECT_EQ(offer.find("mcp__a__x")->description, "fourth");
  }
}

TEST(ToolOffer, WhatHasToBeFoundIsHeldWhereTheApiCan) {
  auto many = now({"tool_search"}, {});
  many.searchable.tools = {tool("mcp__a__x"), tool("mcp__a__y")};
  many.servers_of = {{"mcp__a__x", "a"}, {"mcp__a__y", "a"}};
  ToolOffer holds(ToolGrowth::by_search);
  (void)holds.freeze(many);
  EXPECT_THAT(names(holds.deferred()), ElementsAre("mcp__a__x", "mcp__a__y"));
  EXPECT_NE(holds.find("mcp__a__x"), nullptr);
  // One that was found stays, also when its server has gone: the conversation refers to it.
  auto found = many;
  found.searchable.tools = {tool("mcp__a__y")};
  found.pool.tools.push_back(tool("mcp__a__x"));
  EXPECT_EQ(holds.update(found, {"mcp__a__x"}).text, "");
  (void)holds.update(now({"tool_search"}, {}), {});
  EXPECT_THAT(names(holds.deferred()), ElementsAre("mcp__a__x"));
  ToolOffer holds_not(ToolGrowth::at_end);
  (void)holds_not.freeze(many);
  EXPECT_EQ(holds_not.deferred(), nullptr);
}

TEST(ToolOffer, HowAToolGrowsIsTheModels) {
  EXPECT_EQ(growth_of({.api = ModelApi::anthropic, .holds_deferred = true}), ToolGrowth::by_search);
  EXPECT_EQ(growth_of({.api = ModelApi::openai_responses, .holds_deferred = true}), ToolGrowth::by_news);
  EXPECT_EQ(growth_of({.api = ModelApi::anthropic, .holds_deferred = false}), ToolGrowth::at_end);
}

TEST(ToolOffer, WhatAProviderRefusesIsInNoLaterRequest) {
  ToolOffer offer(ToolGrowth::at_end);
  (void)offer.freeze(now({"o", "p"}, {"mcp__a__x"}));
  offer.leave_out({{.name = "o", .reason = "bad schema"}});
  EXPECT_THAT(names(offer.pool()), ElementsAre("p", "mcp__a__x"));
  EXPECT_EQ(offer.pool()->own, 1u);
  EXPECT_EQ(offer.update(now({"o", "p"}, {"mcp__a__x"}), {}).text, "");
  auto again = offer.anew(ToolGrowth::at_end);
  (void)again.freeze(now({"o", "p"}, {"mcp__a__x"}));
  EXPECT_THAT(names(again.pool()), ElementsAre("p", "mcp__a__x"));
  EXPECT_EQ(again.pool()->own, 1u);
}

TEST(ToolOffer, WhatAProviderRefusesIsMeantByItsNameInTheCatalog) {
  auto all = now({"o"}, {"mcp__a__x", "mcp__a__y"});
  for (auto& tool : all.pool.tools) {
    if (tool.catalog_name == "mcp__a__x") tool.name = "x_1f";  // as the API wants it
  }
  ToolOffer offer(ToolGrowth::at_end);
  (void)offer.freeze(all);
  offer.leave_out({{.name = "mcp__a__x", .reason = "bad schema"}});
  EXPECT_THAT(names(offer.pool()), ElementsAre("o", "mcp__a__y"));
  EXPECT_EQ(offer.update(all, {}).text, "");
}

TEST(ToolOffer, OfAServersStateTheModelHearsWhatMatters) {
  struct State {
    ServerState state;
    ServerReason reason;
    std::optional<How> how;
  };
  const std::vector<State> cases{
      {ServerState::connected, ServerReason::none, How::ready},
      {ServerState::connected, ServerReason::changed_tools, How::ready},
      {ServerState::connected, ServerReason::tools_fetch_failed, How::failed},
      {ServerState::pending, ServerReason::not_started, How::starting},
      {ServerState::pending, ServerReason::connecting, How::starting},
      {ServerState::pending, ServerReason::reconnecting, How::away},
      {ServerState::pending, ServerReason::awaiting_approval, How::wants_approval},
      {ServerState::failed, ServerReason::connect_failed, How::failed},
      {ServerState::needs_auth, ServerReason::wants_credentials, How::wants_sign_in},
      {ServerState::disabled, ServerReason::disabled, std::nullopt},
  };
  for (const auto& one : cases) {
    ServerStatus status;
    status.state = one.state;
    status.reason = one.reason;
    const auto note = note_of(status);
    EXPECT_EQ(note ? std::optional(note->how) : std::nullopt, one.how) << to_string(one.state) << to_string(one.reason);
  }
}

}  // namespace
}  // namespace patchbay
