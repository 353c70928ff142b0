// N1: what each revision writes and reads. The wires are values without state, so everything
// here is a table.
#include "protocol/wire.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/codec.h"
#include "protocol/methods.h"

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Wire& modern() { return *find_wire("2026-07-28"); }
const Wire& legacy() { return *find_wire("2025-11-25"); }

Json json(std::string_view text) {
  auto value = parse_json(text);
  EXPECT_TRUE(value) << text;
  return value ? *value : Json();
}

Payload payload(std::string text) { return *Payload::parse(std::move(text)); }

ClientIdentity identity() {
  ClientIdentity who;
  who.info = {.name = "c", .version = "1"};
  who.capabilities.elicitation = ElicitationCapability{};
  return who;
}

TEST(Wire, EveryRevisionIsFoundByItsDateAndNothingElseIs) {
  for (auto version : modern_versions()) {
    ASSERT_NE(find_wire(version), nullptr);
    EXPECT_EQ(find_wire(version)->version(), version);
    EXPECT_EQ(find_wire(version)->era(), Era::modern);
  }
  for (auto version : legacy_versions()) {
    ASSERT_NE(find_wire(version), nullptr);
    EXPECT_EQ(find_wire(version)->version(), version);
    EXPECT_EQ(find_wire(version)->era(), Era::legacy);
  }
  for (auto version : {"", "auto", "2026-07-27", "2026-07-28 ", "2025-11-25x", "DRAFT-2026-v1"}) {
    EXPECT_EQ(find_wire(version), nullptr) << version;
  }
  EXPECT_THAT(legacy_versions(), ElementsAre("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"));
  EXPECT_THAT(modern_versions(), ElementsAre("2026-07-28"));
}

TEST(Wire, AMethodAbsentFromAnEraIsAbsentFromItsTable) {
  struct Row {
    std::string_view method;
    bool in_legacy;
    bool in_modern;
  };
  for (const auto& row : std::initializer_list<Row>{
           {method::initialize, true, false},
           {method::discover, false, true},
           {method::ping, true, false},
           {method::list_tools, true, true},
           {method::call_tool, true, true},
           {method::list_resources, true, true},
           {method::list_resource_templates, true, true},
           {method::read_resource, true, true},
           {method::read_directory, true, true},
           {method::list_skills, true, true},
           {method::get_skill, true, true},
           {method::subscribe, true, false},
           {method::unsubscribe, true, false},
           {method::list_prompts, true, true},
           {method::get_prompt, true, true},
           {method::complete, true, true},
           {method::set_log_level, true, false},
           {method::listen, false, true},
           {method::update_task, false, true},
           {method::elicit, false, false},
           {method::create_message, false, false},
           {method::list_roots, false, false},
           {"tools/List", false, false},
           {"", false, false},
       }) {
    SCOPED_TRACE(row.method);
    EXPECT_EQ(modern().has_request(row.method), row.in_modern);
    for (auto version : legacy_versions()) EXPECT_EQ(find_wire(version)->has_request(row.method), row.in_legacy);
  }
}

TEST(Wire, OnlyLegacyServersSendRequestsAndEachRevisionItsOwn) {
  auto asks = [](std::string_view version) {
    std::vector<std::string_view> list;
    for (auto name : {method::ping, method::list_roots, method::create_message, method::elicit, method::list_tools}) {
      if (find_wire(version)->has_server_request(name)) list.push_back(name);
    }
    return list;
  };
  EXPECT_THAT(asks("2024-11-05"), ElementsAre(method::ping, method::list_roots, method::create_message));
  EXPECT_THAT(asks("2025-03-26"), ElementsAre(method::ping, method::list_roots, method::create_message));
  EXPECT_THAT(asks("2025-06-18"),
              ElementsAre(method::ping, method::list_roots, method::create_message, method::elicit));
  EXPECT_THAT(asks("2025-11-25"),
              ElementsAre(method::ping, method::list_roots, method::create_message, method::elicit));
  EXPECT_THAT(asks("2026-07-28"), ElementsAre());
}

TEST(Wire, BatchesBelongToOneRevision) {
  for (auto version : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}) {
    EXPECT_EQ(find_wire(version)->allows_batches(), std::string_view(version) == "2025-03-26") << version;
  }
}

TEST(Wire, ClosingAStreamCancelsOnlyModernRequests) {
  EXPECT_TRUE(modern().closing_cancels());
  for (auto version : legacy_versions()) EXPECT_FALSE(find_wire(version)->closing_cancels());
}

TEST(Wire, ParamsAreWrittenAsTheEraWantsThem) {
  const std::string meta = R"("io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                           R"("io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},)"
                           R"("io.modelcontextprotocol/clientCapabilities":{"elicitation":{}})";
  struct Row {
    std::string name;
    Members members;
    RequestMeta meta;
    std::string legacy;  // empty: absent
    std::string modern;
  };
  const std::vector<Row> rows{
      {"nothing", {}, {}, "", R"({"_meta":{)" + meta + "}}"},
      {"members in order",
       {{"b", Json(1)}, {"a", Json("x")}},
       {},
       R"({"b":1,"a":"x"})",
       R"({"b":1,"a":"x","_meta":{)" + meta + "}}"},
      {"a payload byte for byte",
       {{"arguments", payload(R"({ "n" : 1.50 ,"big":123456789012345678901234567890})")}},
       {},
       R"({"arguments":{ "n" : 1.50 ,"big":123456789012345678901234567890}})",
       R"({"arguments":{ "n" : 1.50 ,"big":123456789012345678901234567890},"_meta":{)" + meta + "}}"},
      {"a progress token",
       {},
       {.progress_token = std::int64_t{7}},
       R"({"_meta":{"progressToken":7}})",
       R"({"_meta":{"progressToken":7,)" + meta + "}}"},
      {"a progress token that is a text",
       {{"a", Json(1)}},
       {.progress_token = std::string("7")},
       R"({"a":1,"_meta":{"progressToken":"7"}})",
       R"({"a":1,"_meta":{"progressToken":"7",)" + meta + "}}"},
      {"a log level goes along on modern requests only",
       {},
       {.log_level = LoggingLevel::warning},
       "",
       R"({"_meta":{)" + meta + R"(,"io.modelcontextprotocol/logLevel":"warning"}})"},
      {"a key that needs escaping",
       {{"a\"b\n", Json(1)}},
       {},
       R"({"a\"b\n":1})",
       R"({"a\"b\n":1,"_meta":{)" + meta + "}}"},
      // Whatever the caller put into `_meta` goes along; a key twice would break the message.
      {"the caller's own meta",
       {{"_meta", Json{{"traceparent", "00-1"}}}, {"a", Json(1)}},
       {.progress_token = std::int64_t{7}},
       R"({"a":1,"_meta":{"traceparent":"00-1","progressToken":7}})",
       R"({"a":1,"_meta":{"traceparent":"00-1","progressToken":7,)" + meta + "}}"},
      {"the caller's own meta cannot name another revision",
       {{"_meta", Json{{"io.modelcontextprotocol/protocolVersion", "1999-01-01"}, {"progressToken", 1}}}},
       {.progress_token = std::int64_t{7}},
       R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"1999-01-01","progressToken":7}})",
       R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":7,)"
       R"("io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},)"
       R"("io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}})"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    auto old = legacy().params(row.members, identity(), row.meta);
    EXPECT_EQ(old.absent() ? "" : std::string(old.text()), row.legacy);
    auto now = modern().params(row.members, identity(), row.meta);
    EXPECT_EQ(now.text(), row.modern);
    EXPECT_TRUE(parse_json(now.text()));
  }
}

std::string outcome_text(const Result<Outcome>& outcome) {
  if (!outcome) return fmt::format("{}: {}", to_string(outcome.error().code()), outcome.error().message());
  if (const auto* done = std::get_if<Json>(&*outcome)) return to_text(*done);
  if (const auto* task = std::get_if<RemoteTask>(&*outcome)) return "task " + to_text(encode(*task));
  const auto& input = std::get<InputRequired>(*outcome);
  std::string text = "asks";
  for (const auto& [key, request] : input.requests) {
    static constexpr std::array kinds{"elicit", "sample", "roots"};
    text += fmt::format(" {}={}", key, kinds.at(request.index()));
  }
  if (input.state) text += fmt::format(" state={}", *input.state);
  return text;
}

TEST(Wire, ResultsAreReadByTheRulesOfTheEra) {
  struct Row {
    std::string_view method;
    std::string result;
    std::string legacy;
    std::string modern;
  };
  const std::string form = R"({"method":"elicitation/create","params":{"message":"?","requestedSchema":{}}})";
  const std::vector<Row> rows{
      {method::list_tools, R"({"tools":[]})", R"({"tools":[]})", R"({"tools":[]})"},
      {method::list_tools, R"({"resultType":"complete","tools":[]})", R"({"tools":[]})", R"({"tools":[]})"},
      {method::list_tools, R"({"resultType":null,"tools":[]})", R"({"tools":[]})", R"({"tools":[]})"},
      // Tasks: flat in one era, wrapped in the other, and an answer to calls alone.
      {method::call_tool, R"({"resultType":"task","taskId":"1"})", R"({"taskId":"1"})",
       "protocol: the state of a task: status: expected a string, found nothing"},
      {method::call_tool,
       R"({"resultType":"task","taskId":"1","status":"working","ttlMs":null,"pollIntervalMs":5,"x":1})",
       R"({"taskId":"1","status":"working","ttlMs":null,"pollIntervalMs":5,"x":1})",
       R"(task {"taskId":"1","status":"working","createdAt":"","lastUpdatedAt":"","pollIntervalMs":5,"x":1})"},
      {method::call_tool, R"({"task":{"taskId":"1","status":"working","ttl":9,"pollInterval":5}})",
       R"(task {"taskId":"1","status":"working","createdAt":"","lastUpdatedAt":"","ttlMs":9,"pollIntervalMs":5})",
       R"({"task":{"taskId":"1","status":"working","ttl":9,"pollInterval":5}})"},
      {method::call_tool, R"({"content":[],"task":{"taskId":"1","status":"working"}})",
       R"({"content":[],"task":{"taskId":"1","status":"working"}})",
       R"({"content":[],"task":{"taskId":"1","status":"working"}})"},
      {method::call_tool, R"({"task":{"taskId":"1","status":"asleep"}})",
       R"(protocol: task.status: expected one of working, input_required, completed, failed, cancelled, found "asleep")",
       R"({"task":{"taskId":"1","status":"asleep"}})"},
      {method::get_task, R"({"resultType":"task","taskId":"1"})", R"({"taskId":"1"})", R"({"taskId":"1"})"},
      {method::get_prompt, R"({"resultType":"task","taskId":"1"})", R"({"taskId":"1"})",
       R"(protocol: the server answered prompts/get with the unknown result type "task")"},
      {method::call_tool, R"({"resultType":5})", "{}",
       "protocol: the server answered tools/call with the unknown result type 5"},
      {method::call_tool, R"("text")", "protocol: the result of tools/call is a string, not an object",
       "protocol: the result of tools/call is a string, not an object"},
      {method::call_tool, "[]", "protocol: the result of tools/call is an array, not an object",
       "protocol: the result of tools/call is an array, not an object"},
      {method::call_tool, "null", "protocol: the result of tools/call is null, not an object",
       "protocol: the result of tools/call is null, not an object"},
      // The server's name is in the description already; what else is in `_meta` stays.
      {method::call_tool, R"({"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}})",
       R"({"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}})", "{}"},
      {method::call_tool, R"({"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"},"k":1}})",
       R"({"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"},"k":1}})", R"({"_meta":{"k":1}})"},
      // Asking back.
      {method::call_tool, R"({"resultType":"input_required","inputRequests":{"a":)" + form + R"(},"requestState":"s"})",
       R"({"inputRequests":{"a":)" + form + R"(},"requestState":"s"})", "asks a=elicit state=s"},
      {method::read_resource,
       R"({"resultType":"input_required","inputRequests":{"b":{"method":"roots/list"},"a":)" + form + "}}",
       R"({"inputRequests":{"b":{"method":"roots/list"},"a":)" + form + "}}", "asks b=roots a=elicit"},
      {method::get_prompt,
       R"({"resultType":"input_required","inputRequests":{"x":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}}})",
       R"({"inputRequests":{"x":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}}})",
       "asks x=sample"},
      {method::call_tool, R"({"resultType":"input_required","requestState":""})", R"({"requestState":""})",
       "asks state="},
      {method::call_tool, R"({"resultType":"input_required","inputRequests":null,"requestState":"s"})",
       R"({"inputRequests":null,"requestState":"s"})", "asks state=s"},
      {method::call_tool, R"({"resultType":"input_required"})", "{}",
       "protocol: the server needs input but did not say which"},
      {method::call_tool, R"({"resultType":"input_required","inputRequests":{}})", R"({"inputRequests":{}})",
       "protocol: the server needs input but did not say which"},
      {method::call_tool, R"({"resultType":"input_required","inputRequests":[]})", R"({"inputRequests":[]})",
       "protocol: inputRequests is not an object"},
      {method::call_tool, R"({"resultType":"input_required","requestState":{}})", R"({"requestState":{}})",
       "protocol: requestState is not a string"},
      {method::call_tool, R"({"resultType":"input_required","inputRequests":{"a":{"method":"tools/call"}}})",
       R"({"inputRequests":{"a":{"method":"tools/call"}}})",
       "protocol: inputRequests.a of the server asks for an unknown method"},
      {method::call_tool, R"({"resultType":"input_required","inputRequests":{"a":7}})", R"({"inputRequests":{"a":7}})",
       "protocol: inputRequests.a of the server asks for an unknown method"},
      {method::list_tools, R"({"resultType":"input_required","requestState":"s"})", R"({"requestState":"s"})",
       "protocol: the server answered tools/list with input_required, which is allowed only for tools/call, "
       "resources/read and prompts/get; report it to the server's author"},
      {method::complete, R"({"resultType":"input_required","requestState":"s"})", R"({"requestState":"s"})",
       "protocol: the server answered completion/complete with input_required, which is allowed only for tools/call, "
       "resources/read and prompts/get; report it to the server's author"},
      {method::discover, R"({"resultType":"input_required","requestState":"s"})", R"({"requestState":"s"})",
       "protocol: the server answered server/discover with input_required, which is allowed only for tools/call, "
       "resources/read and prompts/get; report it to the server's author"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(fmt::format("{} {}", row.method, row.result));
    EXPECT_EQ(outcome_text(legacy().outcome(row.method, json(row.result))), row.legacy);
    EXPECT_EQ(outcome_text(modern().outcome(row.method, json(row.result))), row.modern);
  }
}

TEST(Wire, ABrokenQuestionIsNamedByItsKey) {
  auto outcome = modern().outcome(
      method::call_tool,
      json(
          R"({"resultType":"input_required","inputRequests":{"who":{"method":"elicitation/create","params":{"message":5}}}})"));
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message(), HasSubstr("inputRequests.who.params"));
}

TEST(Wire, AnErrorThatAsksForAUrlIsLegacyOnly) {
  struct Row {
    std::int64_t code;
    std::string data;
    std::vector<std::string> urls;
  };
  const std::vector<Row> rows{
      {-32042,
       R"({"elicitations":[{"mode":"url","elicitationId":"e1","message":"m","url":"https://a"},{"mode":"url","elicitationId":"e2","message":"m","url":"https://b"}]})",
       {"https://a", "https://b"}},
      {-32042,
       R"({"elicitations":[{"mode":"form","message":"m","requestedSchema":{}},{"mode":"url","elicitationId":"e","message":"m","url":"https://a"}]})",
       {"https://a"}},
      {-32042, R"({"elicitations":[]})", {}},
      {-32042, R"({"elicitations":{}})", {}},
      {-32042, "", {}},
      {-32042, "not json", {}},
      {-32602, R"({"elicitations":[{"mode":"url","elicitationId":"e","message":"m","url":"https://a"}]})", {}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.data);
    auto error = Error::rpc(row.code, "x", row.data);
    EXPECT_FALSE(modern().input_needed(error));
    auto needed = legacy().input_needed(error);
    ASSERT_EQ(needed.has_value(), !row.urls.empty());
    if (!needed) continue;
    std::vector<std::string> urls;
    for (const auto& [key, request] : needed->requests) urls.push_back(*std::get<ElicitRequest>(request).url);
    EXPECT_EQ(urls, row.urls);
  }
  EXPECT_FALSE(legacy().input_needed(Error(Errc::closed, "x")));
}

TEST(Wire, AnswersAndStateAreCarriedBackByteForByte) {
  InputAnswers answers;
  answers.emplace_back("who", ElicitResult{.action = ElicitResult::Action::accept, .content = Json{{"name", "x"}}});
  answers.emplace_back("no", ElicitResult{.action = ElicitResult::Action::decline});
  answers.emplace_back("where", ListRootsResult{.roots = {Root{.uri = "file:///a"}}});
  const std::string state = "a\"b\\\n\x01 \xc3\xa9";

  Members members{{"name", Json("t")}};
  modern().add_input(members, answers, state);
  auto params = modern().params(members, identity(), {});
  auto carried = read_carried_input(json(params.text()));
  ASSERT_TRUE(carried);
  EXPECT_EQ(carried->state, state);
  ASSERT_EQ(carried->answers.size(), 3u);
  EXPECT_EQ(to_text(carried->answers[0].second), R"({"action":"accept","content":{"name":"x"}})");
  EXPECT_EQ(to_text(carried->answers[1].second), R"({"action":"decline"})");
  EXPECT_EQ(to_text(carried->answers[2].second), R"({"roots":[{"uri":"file:///a"}]})");

  // A legacy request is repeated as it was.
  Members same{{"name", Json("t")}};
  legacy().add_input(same, answers, state);
  EXPECT_EQ(legacy().params(same, identity(), {}).text(), R"({"name":"t"})");
}

TEST(Wire, WithoutAnswersOrStateNothingIsCarried) {
  Members members{{"name", Json("t")}};
  modern().add_input(members, {}, std::nullopt);
  EXPECT_EQ(members.size(), 1u);
  modern().add_input(members, {}, std::string());
  EXPECT_EQ(members.back().first, "requestState");
  EXPECT_EQ(members.back().second.text(), R"("")");
}

TEST(Wire, CarriedInputIsReadOrRefused) {
  struct Row {
    std::string params;
    std::optional<std::size_t> answers;  // absent: refused
    std::optional<std::string> state;
  };
  for (const auto& row : std::vector<Row>{
           {"{}", 0, {}},
           {"null", 0, {}},
           {R"({"inputResponses":null,"requestState":null})", 0, {}},
           {R"({"inputResponses":{"a":{},"b":5}})", 2, {}},
           {R"({"requestState":""})", 0, ""},
           {R"({"inputResponses":[]})", {}, {}},
           {R"({"inputResponses":"x"})", {}, {}},
           {R"({"requestState":1})", {}, {}},
       }) {
    SCOPED_TRACE(row.params);
    auto carried = read_carried_input(json(row.params));
    ASSERT_EQ(carried.has_value(), row.answers.has_value());
    if (!carried) {
      EXPECT_EQ(carried.error().code(), Errc::invalid_argument);
      continue;
    }
    EXPECT_EQ(carried->answers.size(), *row.answers);
    EXPECT_EQ(carried->state, row.state);
  }
}

TEST(Wire, OnlySomeKindsOfResultCarryCacheHints) {
  const Implementation server{.name = "s", .version = "1"};
  const CacheHints hints{.ttl_ms = 500, .scope = CacheScope::shared};
  for (auto name : {method::discover, method::list_tools, method::list_prompts, method::list_resources,
                    method::list_resource_templates, method::read_resource, method::list_skills, method::get_skill,
                    method::read_directory, method::call_tool, method::get_prompt, method::complete, method::listen}) {
    SCOPED_TRACE(name);
    const bool cacheable = name != method::call_tool && name != method::get_prompt && name != method::complete &&
                           name != method::listen && name != method::read_directory;
    auto result = modern().complete(name, Json{{"k", 1}}, server, hints);
    EXPECT_EQ(result["resultType"], Json("complete"));
    EXPECT_EQ(result["k"], Json(1));
    EXPECT_EQ(result["ttlMs"], cacheable ? Json(500) : Json());
    EXPECT_EQ(result["cacheScope"], cacheable ? Json("public") : Json());
    EXPECT_EQ(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], Json("s"));
    // A legacy result stays as the handler made it.
    EXPECT_EQ(legacy().complete(name, Json{{"k", 1}}, server, hints), (Json{{"k", 1}}));
  }
}

TEST(Wire, CacheHintsLeftOutMeanStaleAndPrivate) {
  auto result = modern().complete(method::list_tools, Json::object(), {.name = "s"}, {});
  EXPECT_EQ(result["ttlMs"], Json(0));
  EXPECT_EQ(result["cacheScope"], Json("private"));
}

TEST(Wire, WhatAServerNeedsReadsBackAsWhatItAsked) {
  InputRequired input;
  input.requests.emplace_back("f", ElicitRequest{.message = "name?", .requested_schema = Json{{"type", "object"}}});
  input.requests.emplace_back("r", ListRootsRequest{});
  CreateMessageRequest sample;
  sample.max_tokens = 5;
  input.requests.emplace_back("s", sample);
  input.state = "opaque";
  auto written = modern().needs_input(input, {.name = "s", .version = "1"});
  EXPECT_EQ(written["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], Json("s"));
  auto read = modern().outcome(method::call_tool, written);
  ASSERT_TRUE(read);
  auto& got = std::get<InputRequired>(*read);
  EXPECT_EQ(got.requests, input.requests);
  EXPECT_EQ(got.state, input.state);
  EXPECT_THROW((void)legacy().needs_input(input, {}), Error);
}

TEST(Wire, AMissingResourceHasACodePerEra) {
  EXPECT_EQ(modern().resource_not_found_code(), -32602);
  for (auto version : legacy_versions()) EXPECT_EQ(find_wire(version)->resource_not_found_code(), -32002);
}

TEST(Wire, MetaIsReadOrRefused) {
  struct Row {
    std::string params;
    std::string refused;  // empty: read
  };
  for (const auto& row : std::vector<Row>{
           {"{}", ""},
           {"null", ""},
           {R"({"_meta":null})", ""},
           {R"({"_meta":{}})", ""},
           {R"({"_meta":5})", "_meta is not an object"},
           {R"({"_meta":{"progressToken":1}})", ""},
           {R"({"_meta":{"progressToken":"1"}})", ""},
           {R"({"_meta":{"progressToken":null}})", ""},
           {R"({"_meta":{"progressToken":1.5}})", "_meta.progressToken is neither a string nor an integer"},
           {R"({"_meta":{"progressToken":true}})", "_meta.progressToken is neither a string nor an integer"},
           {R"({"_meta":{"io.modelcontextprotocol/protocolVersion":1}})",
            "_meta.io.modelcontextprotocol/protocolVersion is not a string"},
           {R"({"_meta":{"io.modelcontextprotocol/logLevel":"loud"}})",
            "_meta.io.modelcontextprotocol/logLevel is not a logging level"},
           {R"({"_meta":{"io.modelcontextprotocol/logLevel":1}})",
            "_meta.io.modelcontextprotocol/logLevel is not a logging level"},
           {R"({"_meta":{"io.modelcontextprotocol/clientInfo":"who"}})", ""},  // for display only
       }) {
    SCOPED_TRACE(row.params);
    auto meta = read_meta(json(row.params));
    EXPECT_EQ(meta ? "" : meta.error().message(), row.refused);
    if (!meta) EXPECT_EQ(meta.error().code(), Errc::invalid_argument);
  }
  auto bad = read_meta(json(R"({"_meta":{"io.modelcontextprotocol/clientCapabilities":[]}})"));
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message(), HasSubstr("clientCapabilities"));
}

TEST(Wire, WhatAClientWritesIntoMetaAServerReads) {
  RequestMeta meta{.progress_token = std::int64_t{9}, .log_level = LoggingLevel::error};
  auto params = json(modern().params({}, identity(), meta).text());
  EXPECT_TRUE(is_modern_request(params));
  auto read = read_meta(params);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->protocol_version, "2026-07-28");
  EXPECT_EQ(read->client_info, identity().info);
  EXPECT_EQ(read->client_capabilities, identity().capabilities);
  EXPECT_EQ(read->progress_token, ProgressToken(std::int64_t{9}));
  EXPECT_EQ(read->log_level, LoggingLevel::error);

  auto old = json(legacy().params({{"a", Json(1)}}, identity(), meta).text());
  EXPECT_FALSE(is_modern_request(old));
  EXPECT_FALSE(is_modern_request(Json()));
  EXPECT_FALSE(is_modern_request(Json("x")));
}

TEST(Wire, ADiscoverResultIsKnownByItsShape) {
  struct Row {
    std::string result;
    bool is_one;
  };
  for (const auto& row : std::vector<Row>{
           {R"({"supportedVersions":["2026-07-28"],"capabilities":{}})", true},
           {R"({"supportedVersions":["x"],"capabilities":{"tools":{}},"unknown":1})", true},
           {R"({"supportedVersions":[],"capabilities":{}})", false},
           {R"({"supportedVersions":"2026-07-28","capabilities":{}})", false},
           {R"({"supportedVersions":[1],"capabilities":{}})", false},
           {R"({"supportedVersions":["2026-07-28"]})", false},
           {R"({"supportedVersions":["2026-07-28"],"capabilities":[]})", false},
           {R"({"capabilities":{}})", false},
           {"{}", false},
           {"[]", false},
           {"null", false},
           {R"("ok")", false},
       }) {
    EXPECT_EQ(read_discover_result(json(row.result)).has_value(), row.is_one) << row.result;
  }
}

TEST(Wire, TheServersNameIsFoundWhereServersPutIt) {
  auto name = [](std::string_view extra) {
    auto server = read_discover_result(
        json(fmt::format(R"({{"supportedVersions":["2026-07-28"],"capabilities":{{}}{}}})", extra)));
    return server ? server->info.name : "(no discover result)";
  };
  EXPECT_EQ(name(R"(,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"a","version":"1"}})"), "a");
  EXPECT_EQ(name(R"(,"serverInfo":{"name":"b","version":"1"})"), "b");
  EXPECT_EQ(name(R"(,"serverInfo":5)"), "");
  EXPECT_EQ(name(""), "");
}

TEST(Wire, ADiscoverResultReadsBack) {
  ServerDescription server;
  server.capabilities.tools = ListChangedCapability{.list_changed = true};
  server.instructions = "read me";
  auto written = modern().complete(method::discover, discover_result(server, modern_versions()),
                                   {.name = "s", .version = "1"}, {.ttl_ms = 10, .scope = CacheScope::shared});
  auto outcome = modern().outcome(method::discover, written);
  ASSERT_TRUE(outcome);
  auto read = read_discover_result(written);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->capabilities, server.capabilities);
  EXPECT_EQ(read->instructions, server.instructions);
  EXPECT_EQ(read->info.name, "s");
  EXPECT_EQ(read->cache.ttl_ms, 10);
  EXPECT_THAT(read->supported_versions, ElementsAre("2026-07-28"));
}

TEST(Wire, SubscriptionTagsKeepTheTypeOfTheId) {
  for (const Json& id : {Json(5), Json("5")}) {
    const Json params{{"_meta", subscription_meta(id)}};
    ASSERT_NE(subscription_id_of(params), nullptr);
    EXPECT_EQ(*subscription_id_of(params), id);
  }
  EXPECT_EQ(subscription_id_of(Json::object()), nullptr);
  EXPECT_EQ(subscription_id_of(Json(1)), nullptr);
}

TEST(Wire, TheThreeModernErrorsAndNoOthers) {
  for (std::int64_t code = -32100; code <= -31999; ++code) {
    EXPECT_EQ(is_modern_error(code), code == -32020 || code == -32021 || code == -32022) << code;
  }
  auto error = unsupported_version_error("1999-01-01", modern_versions());
  EXPECT_EQ(error.rpc_code(), -32022);
  EXPECT_EQ(json(error.rpc_data()), json(R"({"supported":["2026-07-28"],"requested":"1999-01-01"})"));
  EXPECT_THAT(supported_versions_of(error), ElementsAre("2026-07-28"));
  auto missing = missing_capability_error(json(R"({"sampling":{}})"));
  EXPECT_EQ(missing.rpc_code(), -32021);
  EXPECT_EQ(json(missing.rpc_data()), json(R"({"requiredCapabilities":{"sampling":{}}})"));
}

TEST(Wire, SupportedVersionsAreReadFromWhateverDataThereIs) {
  for (auto data : {"", "not json", "[]", "{}", R"({"supported":"x"})", R"({"supported":[1,null]})"}) {
    EXPECT_THAT(supported_versions_of(Error::rpc(-32022, "x", data)), ElementsAre()) << data;
  }
  EXPECT_THAT(supported_versions_of(Error::rpc(-32602, "x", R"({"supported":["a",1,"b"]})")), ElementsAre("a", "b"));
}

// C11-22, S26-20
TEST(Wire, TasksAreOfTheLastLegacyRevisionAndAnExtensionOfTheModernOne) {
  for (auto name : {method::get_task, method::cancel_task, method::task_result, method::list_tasks}) {
    SCOPED_TRACE(name);
    const bool shared = name == method::get_task || name == method::cancel_task;
    EXPECT_EQ(modern().has_request(name), shared);
    EXPECT_FALSE(modern().has_server_request(name));
    EXPECT_TRUE(find_wire("2025-11-25")->has_request(name) && find_wire("2025-11-25")->has_server_request(name));
    EXPECT_FALSE(find_wire("2025-06-18")->has_request(name) || find_wire("2025-06-18")->has_server_request(name));
  }
  ClientCapabilities client;
  client.tasks = Json::object();
  client.extensions[std::string(tasks_extension)] = Json::object();
  ServerCapabilities server;
  server.tasks = json(R"({"requests":{"tools":{"call":{}}}})");
  server.extensions[std::string(tasks_extension)] = Json::object();
  const auto extension = R"({"extensions":{"io.modelcontextprotocol/tasks":{}}})";
  EXPECT_EQ(to_text(encode(modern().offered(client))), extension);
  EXPECT_EQ(to_text(encode(modern().offered(server))), extension);
  EXPECT_EQ(to_text(encode(legacy().offered(client))), R"({"tasks":{}})");
  EXPECT_EQ(to_text(encode(find_wire("2025-06-18")->offered(client))), "{}");
  EXPECT_EQ(to_text(encode(find_wire("2025-06-18")->offered(server))), "{}");
  EXPECT_TRUE(declares_tasks(client));
  EXPECT_FALSE(declares_tasks({}));
  EXPECT_EQ(to_text(tasks_capability()), extension);

  EXPECT_TRUE(legacy().asks_for_tasks(server));
  EXPECT_FALSE(find_wire("2025-06-18")->asks_for_tasks(server));
  EXPECT_FALSE(modern().asks_for_tasks(server));
  server.tasks = json(R"({"requests":{"tools":{}}})");
  EXPECT_FALSE(legacy().asks_for_tasks(server));

  ClientIdentity who{.info = {.name = "c", .version = "1"}, .capabilities = client};
  EXPECT_THAT(std::string(modern().params({}, who, {}).text()), HasSubstr("io.modelcontextprotocol/tasks"));
  EXPECT_THAT(std::string(modern().params({}, who, {.tasks = false}).text()),
              Not(HasSubstr("io.modelcontextprotocol/tasks")));
}

TEST(Wire, AWishForATaskIsWrittenAndReadInTheLegacyEraAlone) {
  Members members;
  legacy().add_task_wish(members, {});
  legacy().add_task_wish(members, {.ttl_ms = 5});
  modern().add_task_wish(members, {.ttl_ms = 5});
  ASSERT_EQ(members.size(), 2u);
  EXPECT_EQ(members[0].second.text(), "{}");
  EXPECT_EQ(members[1].second.text(), R"({"ttl":5})");
  struct Row {
    std::string params;
    std::string read;
  };
  for (const auto& row : std::vector<Row>{
           {"{}", "none"},
           {R"({"task":null})", "none"},
           {R"({"task":{}})", "no ttl"},
           {R"({"task":{"ttl":60000}})", "60000"},
           {R"({"task":7})", "task is not an object"},
           {R"({"task":{"ttl":"long"}})", "task.ttl is not a number of milliseconds"},
           {R"({"task":{"ttl":-1}})", "task.ttl is not a number of milliseconds"},
       }) {
    SCOPED_TRACE(row.params);
    auto wish = legacy().task_wish(json(row.params));
    EXPECT_EQ(!wish              ? wish.error().message()
              : !*wish           ? "none"
              : !(*wish)->ttl_ms ? "no ttl"
                                 : std::to_string(*(*wish)->ttl_ms),
              row.read);
    for (const Wire* wire : {&modern(), find_wire("2025-06-18")}) {
      auto unread = wire->task_wish(json(row.params));
      EXPECT_TRUE(unread && !*unread);
    }
  }
}

TEST(Wire, TheStateOfATaskSurvivesBothWires) {
  TaskState state;
  state.task = {.id = "t",
                .status = TaskStatus::input_required,
                .status_message = "one moment",
                .created_at = "2026-01-01T00:00:00Z",
                .last_updated_at = "2026-01-01T00:00:01Z",
                .ttl_ms = 1000,
                .poll_interval_ms = 50,
                .extra = Json{{"more", true}}};
  state.requests.emplace_back("elicitation-1", ElicitRequest{.message = "?", .requested_schema = Json::object()});
  const std::string head =
      R"({"taskId":"t","status":"input_required","statusMessage":"one moment","createdAt":"2026-01-01T00:00:00Z",)"
      R"("lastUpdatedAt":"2026-01-01T00:00:01Z")";
  EXPECT_EQ(to_text(modern().write_task(state)),
            head + R"(,"ttlMs":1000,"pollIntervalMs":50,"more":true,"inputRequests":{"elicitation-1":)"
                   R"({"method":"elicitation/create","params":{"message":"?","requestedSchema":{}}}}})");
  EXPECT_EQ(to_text(legacy().write_task(state)), head + R"(,"more":true,"ttl":1000,"pollInterval":50})");
  for (const Wire* wire : {&modern(), &legacy()}) {
    auto read = wire->read_task(wire->write_task(state));
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->task, state.task);
    EXPECT_EQ(read->requests.size(), wire == &modern() ? 1u : 0u);
  }
  state.task.ttl_ms.reset();
  EXPECT_TRUE(legacy().write_task(state)["ttl"].is_null() && legacy().write_task(state).find("ttl"));
  EXPECT_TRUE(modern().write_task(state)["ttlMs"].is_null() && modern().write_task(state).find("ttlMs"));

  state.requests.clear();
  state.error = Error::rpc(-32001, "no", R"({"a":1})");
  auto failed = modern().read_task(modern().write_task(state));
  ASSERT_TRUE(failed && failed->error);
  EXPECT_EQ(*failed->error, *state.error);
  state.error.reset();
  state.result = json(R"({"content":[]})");
  auto done = modern().read_task(modern().write_task(state));
  ASSERT_TRUE(done && done->result);
  EXPECT_EQ(*done->result, *state.result);
  EXPECT_FALSE(modern().read_task(Json(7)));
  EXPECT_FALSE(legacy().read_task(Json(7)));
}

TEST(Wire, ACreatedTaskIsFlatInOneEraAndWrappedInTheOther) {
  const RemoteTask task{.id = "t", .created_at = "c", .last_updated_at = "u"};
  const Implementation server{.name = "s", .version = "1"};
  EXPECT_EQ(to_text(legacy().task_created(task, server)),
            R"({"task":{"taskId":"t","status":"working","createdAt":"c","lastUpdatedAt":"u","ttl":null}})");
  EXPECT_EQ(to_text(modern().task_created(task, server)),
            R"({"taskId":"t","status":"working","createdAt":"c","lastUpdatedAt":"u","ttlMs":null,"resultType":"task",)"
            R"("_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}})");
  EXPECT_EQ(to_text(related_task_meta("t")), R"({"io.modelcontextprotocol/related-task":{"taskId":"t"}})");
}

}  // namespace
}  // namespace patchbay
