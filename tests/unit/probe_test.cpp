// N1: which era and revision a server speaks. Every row of the table is one conversation:
// what happened, and what the probe wants done next.
#include "client/probe.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "protocol/wire.h"

namespace patchbay {
namespace {

const std::string modern(modern_versions().front());
const std::string newest_legacy(legacy_versions().front());

struct Happened {
  enum class Kind { discover, initialize, silence, closed };
  Kind kind;
  Result<Json> answer;
};

Happened discovered(Json result) { return {Happened::Kind::discover, std::move(result)}; }
Happened discover_failed(std::int64_t code, Json data = {}) {
  return {Happened::Kind::discover, std::unexpected(Error::rpc(code, "no", data.is_null() ? "" : to_text(data)))};
}
Happened initialized(Json result) { return {Happened::Kind::initialize, std::move(result)}; }
Happened initialize_failed(std::int64_t code, Json data = {}) {
  return {Happened::Kind::initialize, std::unexpected(Error::rpc(code, "no", data.is_null() ? "" : to_text(data)))};
}
// What HTTP says without a JSON-RPC answer; 200 is a success that is none.
Error http_error(int status) {
  return Error(status == 200 ? Errc::protocol : Errc::http, "no").with_http_status(status);
}
Happened discover_answered(int status) { return {Happened::Kind::discover, std::unexpected(http_error(status))}; }
Happened initialize_answered(int status) { return {Happened::Kind::initialize, std::unexpected(http_error(status))}; }
Happened discover_broke(Errc code) { return {Happened::Kind::discover, std::unexpected(Error(code, "no"))}; }
Happened initialize_refused(std::int64_t code, int status) {
  return {Happened::Kind::initialize, std::unexpected(Error::rpc(code, "no").with_http_status(status))};
}
Happened silence() { return {Happened::Kind::silence, Json()}; }
Happened closed() { return {Happened::Kind::closed, std::unexpected(Error(Errc::closed, "it ended"))}; }
Happened closed_unread() {
  return {Happened::Kind::closed, std::unexpected(Error(Errc::closed, "it ended").with_carried_out(CarriedOut::no))};
}

Json versions(std::initializer_list<std::string> list) {
  Json array = Json::array();
  for (const auto& version : list) array.push_back(version);
  return array;
}
Json discover_answer(std::initializer_list<std::string> list) {
  return Json{{"supportedVersions", versions(list)}, {"capabilities", Json::object()}};
}
Json initialize_answer(std::string version) {
  return Json{{"protocolVersion", std::move(version)},
              {"capabilities", Json::object()},
              {"serverInfo", Json{{"name", "s"}, {"version", "1"}}}};
}
Json supported(std::initializer_list<std::string> list) { return Json{{"supported", versions(list)}}; }

std::string text_of(const Probe::Step& step) {
  using Do = Probe::Step::Do;
  switch (step.what) {
    case Do::send_discover:
      return "discover " + step.version;
    case Do::send_initialize:
      return "initialize " + step.version;
    case Do::wait:
      return "wait";
    case Do::settled:
      return "settled " + step.version;
    case Do::reopen:
      return "reopen " + step.version;
    case Do::start_over:
      return "start over " + step.version;
    case Do::fall_back:
      return "older " + step.version;
    case Do::fail:
      return "fail " + std::string(to_string(step.error->code()));
  }
  return "?";
}

struct Turn {
  Happened happened;
  std::string then;
};

struct Conversation {
  std::string name;
  std::string wanted;
  std::string begins;
  std::vector<Turn> turns;
  FirstQuestion first = FirstQuestion::discover;
};

// Every step of a conversation; the last one says what was learned of the server.
std::vector<std::string> played(const Conversation& conversation, std::optional<bool>* legacy = nullptr) {
  Probe probe(conversation.wanted, true, conversation.first);
  std::vector<std::string> seen{text_of(probe.start())};
  for (const auto& [happened, then] : conversation.turns) {
    Probe::Step step;
    switch (happened.kind) {
      case Happened::Kind::discover:
        step = probe.on_discover(happened.answer);
        break;
      case Happened::Kind::initialize:
        step = probe.on_initialize(happened.answer);
        break;
      case Happened::Kind::silence:
        step = probe.on_silence();
        break;
      case Happened::Kind::closed:
        step = probe.on_closed(happened.answer.error());
        break;
    }
    seen.push_back(text_of(step));
    if (legacy) *legacy = step.legacy;
  }
  return seen;
}

std::vector<std::string> expected_of(const Conversation& conversation) {
  std::vector<std::string> expected{conversation.begins};
  for (const auto& [happened, then] : conversation.turns) expected.push_back(then);
  return expected;
}

std::vector<Conversation> conversations() {
  const std::string d = "discover " + modern;
  const std::string i = "initialize " + newest_legacy;
  const std::string m = "settled " + modern;
  const std::string l = "settled " + newest_legacy;
  const std::string reopen = "reopen " + newest_legacy;
  std::vector<Conversation> all{
      // The answers of protocol revisions that know discover.
      {"a DiscoverResult is modern", "auto", d, {{discovered(discover_answer({modern})), m}}},
      {"an empty wish is auto", "", d, {{discovered(discover_answer({modern})), m}}},
      {"the newest in common is taken",
       "auto",
       d,
       {{discovered(discover_answer({"2099-01-01", newest_legacy, modern})), m}}},
      {"a modern server of another revision only, that also speaks legacy",
       "auto",
       d,
       {{discovered(discover_answer({"2099-01-01", "2025-06-18"})), "initialize 2025-06-18"},
        {initialized(initialize_answer("2025-06-18")), "settled 2025-06-18"}}},
      {"nothing in common", "auto", d, {{discovered(discover_answer({"2099-01-01"})), "fail unsupported"}}},
      // Lenient old servers answer anything.
      {"an empty object is legacy",
       "auto",
       d,
       {{discovered(Json::object()), i}, {initialized(initialize_answer(newest_legacy)), l}}},
      {"no versions is legacy",
       "auto",
       d,
       {{discovered(Json{{"supportedVersions", Json::array()}, {"capabilities", Json::object()}}), i}}},
      {"versions that are no strings are legacy",
       "auto",
       d,
       {{discovered(Json{{"supportedVersions", Json::array({1})}, {"capabilities", Json::object()}}), i}}},
      {"no capabilities is legacy", "auto", d, {{discovered(Json{{"supportedVersions", versions({modern})}}), i}}},
      {"a result that is no object is legacy", "auto", d, {{discovered(Json("ok")), i}}},
      // Unsupported version.
      {"-32022 naming our revision: once more, then settled",
       "auto",
       d,
       {{discover_failed(-32022, supported({modern})), d}, {discovered(discover_answer({modern})), m}}},
      {"-32022 naming our revision twice: stop",
       "auto",
       d,
       {{discover_failed(-32022, supported({modern})), d},
        {discover_failed(-32022, supported({modern})), "fail protocol"}}},
      {"-32022 naming a legacy revision leads there",
       "auto",
       d,
       {{discover_failed(-32022, supported({"2025-03-26", "2024-11-05"})), "initialize 2025-03-26"},
        {initialized(initialize_answer("2025-03-26")), "settled 2025-03-26"}}},
      {"-32022 with modern and legacy stays modern",
       "auto",
       d,
       {{discover_failed(-32022, supported({newest_legacy, modern})), d}}},
      {"-32022 with nothing in common",
       "auto",
       d,
       {{discover_failed(-32022, supported({"2099-01-01"})), "fail unsupported"}}},
      {"-32022 that names nothing never leads to initialize", "auto", d, {{discover_failed(-32022), "fail rpc"}}},
      {"-32020 is modern", "auto", d, {{discover_failed(-32020), "fail rpc"}}},
      {"-32021 is modern", "auto", d, {{discover_failed(-32021), "fail rpc"}}},
      // Silence.
      {"silence sends initialize too; discover first",
       "auto",
       d,
       {{silence(), i}, {discovered(discover_answer({modern})), m}}},
      {"silence sends initialize too; initialize first",
       "auto",
       d,
       {{silence(), i}, {initialized(initialize_answer(newest_legacy)), l}}},
      {"silence, then discover is unknown, then initialize is answered",
       "auto",
       d,
       {{silence(), i}, {discover_failed(-32601), "wait"}, {initialized(initialize_answer(newest_legacy)), l}}},
      {"silence, initialize refused by a modern error, discover answers late",
       "auto",
       d,
       {{silence(), i},
        {initialize_failed(-32022, supported({modern})), "wait"},
        {discovered(discover_answer({modern})), m}}},
      {"silence, initialize unknown, discover answers late",
       "auto",
       d,
       {{silence(), i}, {initialize_failed(-32601), "wait"}, {discovered(discover_answer({modern})), m}}},
      {"silence, then both refused",
       "auto",
       d,
       {{silence(), i}, {initialize_failed(-32603), "wait"}, {discover_failed(-32601), "fail rpc"}}},
      {"silence, both refused in the other order",
       "auto",
       d,
       {{silence(), i}, {discover_failed(-32601), "wait"}, {initialize_failed(-32603), "fail rpc"}}},
      {"silence, initialize refused, then discover names another legacy revision",
       "auto",
       d,
       {{silence(), i},
        {initialize_failed(-32022), "wait"},
        {discover_failed(-32022, supported({"2024-11-05"})), "initialize 2024-11-05"},
        {initialized(initialize_answer("2024-11-05")), "settled 2024-11-05"}}},
      {"silence, initialize refused, then discover names the legacy revision that was refused",
       "auto",
       d,
       {{silence(), i},
        {initialize_failed(-32022), "wait"},
        {discover_failed(-32022, supported({newest_legacy})), "fail rpc"}}},
      {"silence after discover was answered changes nothing",
       "auto",
       d,
       {{discover_failed(-32601), i}, {silence(), "wait"}, {initialized(initialize_answer(newest_legacy)), l}}},
      {"silence twice sends initialize once", "auto", d, {{silence(), i}, {silence(), "wait"}}},
      // The end of the process.
      {"ended at discover: once more, straight to initialize",
       "auto",
       d,
       {{closed(), reopen}, {initialized(initialize_answer(newest_legacy)), l}}},
      {"ended again: fail", "auto", d, {{closed(), reopen}, {closed(), "fail closed"}}},
      {"ended before it read anything: no second start", "auto", d, {{closed_unread(), "fail closed"}}},
      {"slow to start and ended at discover: once more, straight to initialize",
       "auto",
       d,
       {{silence(), i}, {closed(), reopen}, {initialized(initialize_answer(newest_legacy)), l}}},
      {"ended after refusing initialize: fail",
       "auto",
       d,
       {{silence(), i}, {initialize_failed(-32022), "wait"}, {closed(), "fail closed"}}},
      {"ended at initialize: fail", "auto", d, {{discover_failed(-32601), i}, {closed(), "fail closed"}}},
      // HTTP.
      {"500 is transient", "auto", d, {{discover_answered(500), "fail http"}}},
      {"429 is transient", "auto", d, {{discover_answered(429), "fail http"}}},
      {"408 is transient", "auto", d, {{discover_answered(408), "fail http"}}},
      {"sign-in says nothing about the era", "auto", d, {{discover_broke(Errc::unauthorized), "fail unauthorized"}}},
      {"neither does a refusal", "auto", d, {{discover_broke(Errc::forbidden), "fail forbidden"}}},
      {"nor a server that cannot be reached", "auto", d, {{discover_broke(Errc::connect), "fail connect"}}},
      {"nor a broken protocol without a status", "auto", d, {{discover_broke(Errc::protocol), "fail protocol"}}},
      {"a success in which there is no answer looks legacy",
       "auto",
       d,
       {{{Happened::Kind::discover, std::unexpected(Error(Errc::closed, "no").with_http_status(200))}, i},
        {initialized(initialize_answer(newest_legacy)), l}}},
      {"a stream that broke says nothing", "auto", d, {{discover_broke(Errc::closed), "fail closed"}}},
      {"modern by date does not take 404 for legacy", modern, d, {{discover_answered(404), "fail unsupported"}}},
      {"initialize meets 500", "auto", d, {{discover_answered(404), i}, {initialize_answered(500), "fail http"}}},
      {"a modern error with 400 never leads to the older transport",
       "legacy",
       i,
       {{initialize_refused(-32022, 400), "fail rpc"}}},
      {"a JSON-RPC error with 400 leads to the older transport",
       "legacy",
       i,
       {{initialize_refused(-32000, 400), "older " + newest_legacy}}},
      {"silence, then both unknown",
       "auto",
       d,
       {{silence(), i}, {initialize_answered(404), "wait"}, {discover_answered(404), "older " + newest_legacy}}},
      // A wish.
      {"legacy skips discover", "legacy", i, {{initialized(initialize_answer(newest_legacy)), l}}},
      {"legacy: silence only waits", "legacy", i, {{silence(), "wait"}}},
      {"legacy: the end is the end", "legacy", i, {{closed(), "fail closed"}}},
      {"modern by date", modern, d, {{discovered(discover_answer({modern})), m}}},
      {"modern by date does not fall back on an error", modern, d, {{discover_failed(-32601), "fail unsupported"}}},
      {"modern by date does not fall back on silence", modern, d, {{silence(), "wait"}}},
      {"modern by date does not fall back on the end", modern, d, {{closed(), "fail closed"}}},
      {"modern by date does not follow a legacy offer",
       modern,
       d,
       {{discover_failed(-32022, supported({newest_legacy})), "fail unsupported"}}},
      {"an unknown wish", "2019-01-01", "fail config", {}},
      {"a word", "newest", "fail config", {}},
      // Answers to initialize.
      {"initialize answered with an unknown revision",
       "legacy",
       i,
       {{initialized(initialize_answer("2023-01-01")), "fail unsupported"}}},
      {"initialize answered with a modern revision",
       "legacy",
       i,
       {{initialized(initialize_answer(modern)), "fail unsupported"}}},
      {"initialize answered without a revision", "legacy", i, {{initialized(Json::object()), "fail protocol"}}},
      {"initialize answered with a number for a revision",
       "legacy",
       i,
       {{initialized(Json{{"protocolVersion", 20241105}}), "fail protocol"}}},
      {"-32602 naming what it supports",
       "auto",
       d,
       {{discover_failed(-32601), i},
        {initialize_failed(-32602, supported({"2024-11-05"})), "initialize 2024-11-05"},
        {initialized(initialize_answer("2024-11-05")), "settled 2024-11-05"}}},
      {"-32602 naming the revision it refused",
       "legacy",
       i,
       {{initialize_failed(-32602, supported({newest_legacy})), "fail rpc"}}},
      {"-32602 naming nothing we know",
       "legacy",
       i,
       {{initialize_failed(-32602, supported({"2023-01-01"})), "fail rpc"}}},
      {"initialize refused", "legacy", i, {{initialize_failed(-32603), "fail rpc"}}},
  };
  // Everything else that is an error is a legacy server speaking; -32001, -32003 and -32004 are
  // what early candidates of the modern revision sent.
  for (int code : {-32601, -32602, -32600, -32603, -32700, -32000, -32001, -32002, -32003, -32004, -32019, -1, 404}) {
    all.push_back({fmt::format("error {} looks legacy", code),
                   "auto",
                   d,
                   {{discover_failed(code), i}, {initialized(initialize_answer(newest_legacy)), l}}});
  }
  for (int status : {200, 400, 402, 404, 405, 406, 410, 415, 422}) {
    all.push_back({fmt::format("HTTP {} looks legacy", status),
                   "auto",
                   d,
                   {{discover_answered(status), i}, {initialized(initialize_answer(newest_legacy)), l}}});
  }
  for (int status : {400, 404, 405}) {
    all.push_back({fmt::format("HTTP {} to both looks like the older transport", status),
                   "auto",
                   d,
                   {{discover_answered(status), i},
                    {initialize_answered(status), "older " + newest_legacy},
                    {initialized(initialize_answer("2024-11-05")), "settled 2024-11-05"}}});
    all.push_back(
        {fmt::format("HTTP {} from the older transport too", status),
         "legacy",
         i,
         {{initialize_answered(status), "older " + newest_legacy}, {initialize_answered(status), "fail http"}}});
  }
  for (auto version : legacy_versions()) {
    const std::string v(version);
    all.push_back(
        {"asked for by date " + v, v, "initialize " + v, {{initialized(initialize_answer(v)), "settled " + v}}});
    all.push_back({"offered in the answer " + v, "legacy", i, {{initialized(initialize_answer(v)), "settled " + v}}});
  }
  return all;
}

TEST(Probe, SettlesEveryConversation) {
  for (const auto& conversation : conversations()) {
    SCOPED_TRACE(conversation.name);
    EXPECT_EQ(played(conversation), expected_of(conversation));
  }
}

// What is remembered of a server changes the first question, and no answer it can give.
TEST(Probe, ARememberedServerIsAskedInItsOwnWayFirst) {
  const std::string d = "discover " + modern;
  const std::string i = "initialize " + newest_legacy;
  const std::string m = "settled " + modern;
  const std::string l = "settled " + newest_legacy;
  const std::string start_over = "start over " + modern;
  const auto hello = initialized(initialize_answer(newest_legacy));
  const auto found = discovered(discover_answer({modern}));
  struct Row {
    std::string name;
    std::vector<Turn> turns;
    std::optional<bool> legacy;
  };
  const std::vector<Row> rows{
      {"still the same: nothing else is asked and nothing new is known", {{hello, l}}, {}},
      {"of an older revision", {{initialized(initialize_answer("2024-11-05")), "settled 2024-11-05"}}, {}},
      {"offers its own revision",
       {{initialize_failed(-32602, supported({"2025-06-18"})), "initialize 2025-06-18"},
        {initialized(initialize_answer("2025-06-18")), "settled 2025-06-18"}},
       {}},
      {"became modern: a modern refusal", {{initialize_failed(-32022, supported({modern})), d}, {found, m}}, false},
      {"became modern: an unknown method", {{initialize_failed(-32601), d}, {found, m}}, false},
      {"became modern: answers with its own revision",
       {{initialized(initialize_answer(modern)), d}, {found, m}},
       false},
      {"became modern: an answer without meaning", {{initialized(Json::object()), d}, {found, m}}, false},
      {"became modern: a status", {{initialize_answered(400), d}, {found, m}}, false},
      {"became modern: nothing JSON-RPC", {{initialize_answered(200), d}, {found, m}}, false},
      {"refuses both ways", {{initialize_failed(-32603), d}, {discover_failed(-32601), "fail rpc"}}, {}},
      {"refuses and ends at the other way: the refusal counts",
       {{initialize_failed(-32603), d}, {closed(), "fail rpc"}},
       {}},
      {"became modern and speaks older only",
       {{initialize_failed(-32603), d},
        {discovered(discover_answer({"2025-03-26"})), "initialize 2025-03-26"},
        {initialized(initialize_answer("2025-03-26")), "settled 2025-03-26"}},
       true},
      {"another transport by now",
       {{initialize_answered(405), d}, {discover_answered(405), "older " + newest_legacy}, {hello, l}},
       true},
      {"slow, and still the same", {{silence(), d}, {hello, l}}, {}},
      {"slow, and says so twice", {{silence(), d}, {discover_failed(-32601), "wait"}, {hello, l}}, true},
      {"slow, and modern by now", {{silence(), d}, {found, m}}, false},
      {"slow, refuses, and modern by now", {{silence(), d}, {initialize_failed(-32601), "wait"}, {found, m}}, false},
      {"slow, and nothing more is asked", {{silence(), d}, {silence(), "wait"}, {hello, l}}, {}},
      {"ends at what it answered before", {{closed(), start_over}, {found, m}}, false},
      {"ended once by chance", {{closed(), start_over}, {discover_failed(-32601), i}, {hello, l}}, true},
      {"ends whatever is asked", {{closed(), start_over}, {closed(), "fail closed"}}, {}},
      {"ends when asked otherwise", {{silence(), d}, {closed(), "reopen " + newest_legacy}, {hello, l}}, true},
      {"wants sign-in: no evidence",
       {{{Happened::Kind::initialize, std::unexpected(Error(Errc::unauthorized, "no").with_http_status(401))},
         "fail unauthorized"}},
       {}},
      {"is overloaded: no evidence", {{initialize_answered(503), "fail http"}}, {}},
      {"cannot be reached: no evidence",
       {{{Happened::Kind::initialize, std::unexpected(Error(Errc::connect, "no"))}, "fail connect"}},
       {}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    std::optional<bool> legacy;
    const Conversation conversation{row.name, "auto", i, row.turns, FirstQuestion::initialize};
    EXPECT_EQ(played(conversation, &legacy), expected_of(conversation));
    EXPECT_EQ(legacy, row.legacy);
  }
}

TEST(Probe, SaysWhatAServerProvedToBe) {
  const auto hello = initialized(initialize_answer(newest_legacy));
  struct Row {
    std::string name;
    std::string wanted;
    std::vector<Happened> happened;
    std::optional<bool> legacy;
  };
  const std::vector<Row> rows{
      {"modern", "auto", {discovered(discover_answer({modern}))}, false},
      {"legacy", "auto", {discover_failed(-32601), hello}, true},
      {"silent", "auto", {silence(), hello}, true},
      {"ended at the first request", "auto", {closed(), hello}, true},
      {"not asked", "legacy", {hello}, {}},
      {"not asked: one revision", newest_legacy, {hello}, {}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Conversation conversation{row.name, row.wanted, "", {}};
    for (const auto& one : row.happened) conversation.turns.push_back({one, ""});
    std::optional<bool> legacy;
    (void)played(conversation, &legacy);
    EXPECT_EQ(legacy, row.legacy);
  }
}

TEST(Probe, WhoeverDemandsARevisionIsNotToldOtherwiseByMemory) {
  EXPECT_EQ(text_of(Probe(modern, false, FirstQuestion::initialize).start()), "discover " + modern);
  EXPECT_EQ(text_of(Probe("2025-06-18", false, FirstQuestion::initialize).start()), "initialize 2025-06-18");
}

TEST(Probe, WithoutAnOlderTransportTheStatusIsTheError) {
  Probe probe("legacy");
  (void)probe.start();
  auto step = probe.on_initialize(initialize_answered(404).answer);
  EXPECT_EQ(text_of(step), "fail http");
  EXPECT_EQ(step.error->http_status(), 404);
}

TEST(Probe, DescribesAModernServer) {
  Probe probe("auto");
  (void)probe.start();
  auto answer = *parse_json(R"({"supportedVersions":["2026-07-28","2025-11-25"],
    "capabilities":{"tools":{"listChanged":true}},"instructions":"be kind","ttlMs":5000,"cacheScope":"public",
    "_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"3"}}})");
  auto step = probe.on_discover(answer);
  ServerDescription expected;
  expected.info = {.name = "s", .version = "3"};
  expected.capabilities.tools = ListChangedCapability{.list_changed = true};
  expected.instructions = "be kind";
  expected.protocol_version = modern;
  expected.supported_versions = {"2026-07-28", "2025-11-25"};
  expected.cache = {.ttl_ms = 5000, .scope = CacheScope::shared};
  EXPECT_EQ(step.server, expected);
}

TEST(Probe, DescribesALegacyServer) {
  Probe probe("legacy");
  (void)probe.start();
  auto answer = *parse_json(R"({"protocolVersion":"2025-06-18","capabilities":{"prompts":{},"logging":{}},
    "serverInfo":{"name":"s","version":"3","title":"S"},"instructions":"be kind"})");
  auto step = probe.on_initialize(answer);
  ServerDescription expected;
  expected.info = {.name = "s", .title = "S", .version = "3"};
  expected.capabilities.prompts = ListChangedCapability{};
  expected.capabilities.logging = Json::object();
  expected.instructions = "be kind";
  expected.protocol_version = "2025-06-18";
  expected.supported_versions = {"2025-06-18"};
  EXPECT_EQ(step.server, expected);
}

// Servers leave out what the specification requires; that alone is not a reason to refuse them.
TEST(Probe, AServerThatSaysNothingAboutItselfIsStillSettled) {
  Probe probe("legacy");
  (void)probe.start();
  auto step = probe.on_initialize(Json{{"protocolVersion", "2024-11-05"}});
  EXPECT_EQ(text_of(step), "settled 2024-11-05");
  EXPECT_EQ(step.server.info, Implementation{});
  EXPECT_EQ(step.server.capabilities, ServerCapabilities{});
}

TEST(Probe, NoCommonRevisionNamesBothLists) {
  Probe probe("auto");
  (void)probe.start();
  auto step = probe.on_discover(discover_answer({"2099-01-01", "2098-01-01"}));
  const auto& message = step.error->message();
  EXPECT_NE(message.find("2099-01-01, 2098-01-01"), message.npos) << message;
  EXPECT_NE(message.find(modern), message.npos) << message;
  EXPECT_NE(message.find(newest_legacy), message.npos) << message;
}

TEST(Probe, ARevisionThatCannotAnswerInitializeIsNotCalledUncommon) {
  Probe probe("legacy");
  (void)probe.start();
  auto step = probe.on_initialize(initialize_answer(modern));
  EXPECT_EQ(step.error->message(), fmt::format("the server answered initialize with protocol revision {}, which does "
                                               "not have this request; report it to the server's author",
                                               modern));
}

TEST(Probe, WhenBothWereRefusedTheRefusalIsTheError) {
  Probe probe("auto");
  (void)probe.start();
  (void)probe.on_silence();
  (void)probe.on_initialize(std::unexpected(Error::rpc(-32603, "licence expired")));
  auto step = probe.on_discover(std::unexpected(Error::rpc(-32601, "unknown")));
  EXPECT_EQ(step.error, Error::rpc(-32603, "licence expired"));
}

}  // namespace
}  // namespace patchbay
