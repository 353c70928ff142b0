// What the HTTP door decides without a socket.
#include "server/http_checks.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/words/serve_address.h"
#include "http/server/http_server.h"
#include "server/replay.h"

namespace patchbay {
namespace {

// A page that a browser was tricked into calling from has another name or origin.
TEST(HttpChecks, OnlyKnownNamesAreLetIn) {
  const HttpGate here{.loopback = true, .hosts = {}, .origins = {}};
  const HttpGate network{.loopback = false, .hosts = {}, .origins = {}};
  const HttpGate named{.loopback = false, .hosts = {"mcp.example", "other:81"}, .origins = {"https://app.example"}};
  struct Case {
    const HttpGate& gate;
    HttpHeaders headers;
    bool in;
  };
  const std::vector<Case> cases{
      {here, {{"Host", "localhost"}}, true},
      {here, {{"Host", "localhost:8080"}}, true},
      {here, {{"host", "LOCALHOST:8080"}}, true},
      {here, {{"Host", "127.0.0.1:8080"}}, true},
      {here, {{"Host", "127.3.4.5"}}, true},
      {here, {{"Host", "[::1]:8080"}}, true},
      {here, {{"Host", "evil.example"}}, false},
      {here, {{"Host", "localhost.evil.example"}}, false},
      {here, {{"Host", "evil.example:127.0.0.1"}}, false},
      {here, {{"Host", "[::1"}}, false},
      {here, {{"Host", "localhost"}, {"Host", "evil.example"}}, false},
      {here, {}, false},
      {here, {{"Host", "localhost"}, {"Origin", "http://localhost:6274"}}, true},
      {here, {{"Host", "localhost"}, {"Origin", "http://[::1]:1"}}, true},
      {here, {{"Host", "localhost"}, {"Origin", "http://evil.example"}}, false},
      {here, {{"Host", "localhost"}, {"Origin", "http://localhost.evil.example"}}, false},
      {here, {{"Host", "localhost"}, {"Origin", "null"}}, false},
      {here, {{"Host", "localhost"}, {"Origin", ""}}, false},
      {here, {{"Host", "localhost"}, {"Origin", "http://localhost"}, {"Origin", "http://evil.example"}}, false},
      {here, {{"Host", "localhost"}, {"Origin", "http://localhost"}, {"Origin", "http://localhost"}}, false},
      {network, {{"Host", "anything.example"}}, true},
      {network, {{"Host", "anything.example"}, {"Origin", "http://anything.example"}}, false},
      {named, {{"Host", "mcp.example"}}, true},
      {named, {{"Host", "MCP.example:443"}}, true},
      {named, {{"Host", "other:81"}}, true},
      {named, {{"Host", "other:82"}}, false},
      {named, {{"Host", "localhost"}}, false},
      {named, {{"Host", "mcp.example"}, {"Origin", "https://app.example"}}, true},
      {named, {{"Host", "mcp.example"}, {"Origin", "https://app.example:444"}}, false},
      {named, {{"Host", "mcp.example"}, {"Origin", "http://localhost"}}, false},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(!refuse_by_name(c.gate, c.headers), c.in) << c.headers.get("host") << " from " << c.headers.get("origin");
  }
}

TEST(HttpChecks, OnlyPagesOfNamedOriginsMayReadAnswers) {
  const HttpGate here{.loopback = true, .hosts = {}, .origins = {}};
  const HttpGate named{.loopback = true, .hosts = {}, .origins = {"https://app.example"}};
  const HttpHeaders page{{"Origin", "https://app.example"}};
  EXPECT_EQ(page_headers(here, "POST", page), HttpHeaders());
  EXPECT_EQ(page_headers(here, "POST", {{"Origin", "http://localhost"}}), HttpHeaders());
  EXPECT_EQ(page_headers(named, "POST", {{"Origin", "https://other.example"}}), HttpHeaders());
  EXPECT_EQ(page_headers(named, "POST", {}), HttpHeaders());
  const auto answer = page_headers(named, "POST", page);
  EXPECT_EQ(answer.get("access-control-allow-origin"), "https://app.example");
  EXPECT_EQ(answer.get("vary"), "Origin");
  EXPECT_EQ(answer.get("access-control-expose-headers"),
            "MCP-Protocol-Version, Mcp-Session-Id, Retry-After, WWW-Authenticate");
  EXPECT_FALSE(answer.contains("access-control-allow-headers"));

  EXPECT_FALSE(asks_first("OPTIONS", page));
  const HttpHeaders first{{"Origin", "https://app.example"},
                          {"Access-Control-Request-Method", "POST"},
                          {"Access-Control-Request-Headers", "content-type,mcp-param-city, bad name,x\ty"}};
  EXPECT_FALSE(asks_first("POST", first));
  ASSERT_TRUE(asks_first("OPTIONS", first));
  const auto may = page_headers(named, "OPTIONS", first);
  EXPECT_EQ(may.get("access-control-allow-methods"), "GET, POST, DELETE");
  EXPECT_EQ(may.get("access-control-allow-headers"),
            "Accept, Authorization, Content-Type, Last-Event-ID, MCP-Protocol-Version, Mcp-Method, Mcp-Name, "
            "Mcp-Session-Id, content-type, mcp-param-city");
  EXPECT_FALSE(may.contains("access-control-allow-private-network"));
}

TEST(HttpChecks, AcceptNamesWhatMayBeAnswered) {
  struct Case {
    HttpHeaders headers;
    AcceptedTypes accepted;
  };
  const std::vector<Case> cases{
      {{}, {true, true}},
      {{{"Accept", "application/json, text/event-stream"}}, {true, true}},
      {{{"Accept", "text/event-stream;q=0.5,APPLICATION/JSON ; charset=utf-8"}}, {true, true}},
      {{{"Accept", "application/json"}, {"Accept", "text/event-stream"}}, {true, true}},
      {{{"Accept", "*/*"}}, {true, true}},
      {{{"Accept", "application/json"}}, {true, false}},
      {{{"Accept", "text/*"}}, {false, true}},
      {{{"Accept", "application/json;q=0, text/event-stream"}}, {false, true}},
      {{{"Accept", "text/html"}}, {false, false}},
      {{{"Accept", ""}}, {false, false}},
  };
  for (const auto& c : cases) EXPECT_EQ(accepted_types(c.headers), c.accepted) << c.headers.get("accept");
}

constexpr std::string_view key_version = "io.modelcontextprotocol/protocolVersion";
constexpr std::string_view key_capabilities = "io.modelcontextprotocol/clientCapabilities";

Json with_meta(Json members, Json meta) {
  members["_meta"] = std::move(meta);
  return members;
}
Json meta(std::string_view version = "2026-07-28") {
  return Json{{std::string(key_version), version}, {std::string(key_capabilities), Json::object()}};
}

TEST(HttpChecks, TheEraIsWhatTheBodySaysThenTheHeader) {
  const Json modern = with_meta(Json::object(), meta());
  const Json plain = Json::object();
  struct Case {
    HttpHeaders headers;
    const Json* params;
    Era era;
  };
  const std::vector<Case> cases{
      {{}, &modern, Era::modern},
      {{{"MCP-Protocol-Version", "2025-11-25"}}, &modern, Era::modern},
      {{{"mcp-protocol-version", "2026-07-28"}}, &plain, Era::modern},
      {{{"MCP-Protocol-Version", "2099-01-01"}}, nullptr, Era::modern},
      {{{"MCP-Protocol-Version", " 2025-06-18 "}}, &plain, Era::legacy},
      {{{"MCP-Protocol-Version", "2024-11-05"}}, nullptr, Era::legacy},
      {{}, &plain, Era::legacy},
      {{}, nullptr, Era::legacy},
  };
  for (const auto& c : cases) EXPECT_EQ(era_of(c.headers, c.params), c.era) << c.headers.get("mcp-protocol-version");
}

// The order matters: a request that is wrong in several ways is told the first.
TEST(HttpChecks, ModernRequestsAreCheckedInOrder) {
  const auto schema = parse_json(
      R"({"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"count":{"type":"integer","x-mcp-header":"Count"}}})");
  auto schema_of = [&](std::string_view tool) -> const Json* { return tool == "mirror" ? &*schema : nullptr; };
  const HttpHeaders right{{"MCP-Protocol-Version", "2026-07-28"}, {"Mcp-Method", "tools/call"}, {"Mcp-Name", "mirror"}};
  auto with = [&](std::vector<std::pair<std::string, std::string>> changes) {
    auto headers = right;
    for (auto& [name, value] : changes) {
      if (value == "-") {
        headers.remove(name);
      } else {
        headers.set(name, value);
      }
    }
    return headers;
  };
  auto call = [&](Json arguments = Json::object(), Json m = meta()) {
    return with_meta(Json{{"name", "mirror"}, {"arguments", std::move(arguments)}}, std::move(m));
  };
  const Json lacking{{std::string(key_version), "2026-07-28"}};
  struct Case {
    const char* what;
    HttpHeaders headers;
    std::string method;
    Json params;
    std::int64_t code;  // 0: none
  };
  const std::vector<Case> cases{
      {"all is well", right, "tools/call", call(), 0},
      {"no version header, and everything else wrong", {}, "tools/call", Json::object(), -32020},
      {"no _meta", with({{"Mcp-Method", "x"}}), "tools/call", Json{{"name", "mirror"}}, -32602},
      {"no capabilities", with({{"Mcp-Method", "x"}}), "tools/call", call(Json::object(), lacking), -32602},
      {"header and _meta differ", with({{"MCP-Protocol-Version", "2025-11-25"}, {"Mcp-Method", "x"}}), "tools/call",
       call(), -32020},
      {"a version nobody speaks", with({{"MCP-Protocol-Version", "2099-01-01"}, {"Mcp-Method", "x"}}), "tools/call",
       call(Json::object(), meta("2099-01-01")), -32022},
      {"a legacy version", with({{"MCP-Protocol-Version", "2025-11-25"}}), "tools/call",
       call(Json::object(), meta("2025-11-25")), -32022},
      {"no method header", with({{"Mcp-Method", "-"}}), "tools/call", call(), -32020},
      {"another method", with({{"Mcp-Method", "tools/list"}}), "tools/call", call(), -32020},
      {"another case", with({{"Mcp-Method", "TOOLS/CALL"}}), "tools/call", call(), -32020},
      {"blanks around", with({{"Mcp-Method", "  tools/call "}}), "tools/call", call(), 0},
      {"no name header", with({{"Mcp-Name", "-"}}), "tools/call", call(), -32020},
      {"another name", with({{"Mcp-Name", "Mirror"}}), "tools/call", call(), -32020},
      {"an encoded name", with({{"Mcp-Name", "=?base64?bWlycm9y?="}}), "tools/call", call(), 0},
      {"a badly encoded name", with({{"Mcp-Name", "=?base64?bWlycm9?="}}), "tools/call", call(), -32020},
      {"a name nothing repeats", right, "tools/call", with_meta(Json::object(), meta()), -32020},
      {"a resource's name is its uri", with({{"Mcp-Method", "resources/read"}, {"Mcp-Name", "mem://a"}}),
       "resources/read", with_meta(Json{{"uri", "mem://a"}}, meta()), 0},
      {"a list has no name", with({{"Mcp-Method", "tools/list"}, {"Mcp-Name", "-"}}), "tools/list",
       with_meta(Json::object(), meta()), 0},
      {"an unknown method is somebody else's matter", with({{"Mcp-Method", "no/such"}, {"Mcp-Name", "-"}}), "no/such",
       with_meta(Json::object(), meta()), 0},
      {"a mirrored argument without its header", right, "tools/call", call(Json{{"region", "eu"}}), -32020},
      {"with its header", with({{"mcp-param-region", "eu"}}), "tools/call", call(Json{{"region", "eu"}}), 0},
      {"with another", with({{"Mcp-Param-Region", "us"}}), "tools/call", call(Json{{"region", "eu"}}), -32020},
      {"a header without its argument", with({{"Mcp-Param-Region", "eu"}}), "tools/call", call(), -32020},
      {"an argument that is null", right, "tools/call", call(Json{{"region", Json()}}), 0},
      {"numbers compare as numbers", with({{"Mcp-Param-Count", "007"}}), "tools/call", call(Json{{"count", 7}}), 0},
      {"the wrong type is the tool's to refuse", right, "tools/call", call(Json{{"count", "many"}}), 0},
      {"a tool nobody knows", with({{"Mcp-Name", "other"}, {"Mcp-Param-Region", "eu"}}), "tools/call",
       with_meta(Json{{"name", "other"}}, meta()), 0},
  };
  for (const auto& c : cases) {
    const auto wrong = check_modern_request(c.headers, c.method, c.params, schema_of);
    EXPECT_EQ(wrong ? *wrong->rpc_code() : 0, c.code) << c.what << (wrong ? ": " + wrong->message() : "");
  }
}

TEST(HttpChecks, EachErrorHasItsStatus) {
  const std::vector<std::pair<std::int64_t, int>> cases{{-32601, 404}, {-32020, 400}, {-32021, 400},
                                                        {-32022, 400}, {-32700, 400}, {-32600, 400},
                                                        {-32602, 200}, {-32603, 200}, {-31000, 200}};
  for (const auto& [code, status] : cases) EXPECT_EQ(http_status_of(code), status) << code;
}

// Visible ASCII, long enough that nobody guesses one.
TEST(HttpChecks, SessionIdsAreVisibleAndNeverTheSame) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const auto id = new_session_id(system_random());
    EXPECT_EQ(id.size(), 32u);
    for (char c : id) EXPECT_TRUE(c >= 0x21 && c <= 0x7E) << id;
    EXPECT_TRUE(seen.insert(id).second);
  }
}

TEST(HttpChecks, EventIdsComeBackAsTheyWere) {
  EXPECT_EQ(to_text(EventId{3, 17}), "3-17");
  EXPECT_EQ(parse_event_id("3-17"), (EventId{3, 17}));
  EXPECT_EQ(parse_event_id("0-0"), (EventId{0, 0}));
  for (const char* wrong : {"", "-", "3", "3-", "-3", "3-17x", "x3-17", "3--1", "99999999999999999999-1", " 3-17"}) {
    EXPECT_EQ(parse_event_id(wrong), std::nullopt) << wrong;
  }
}

TEST(Replay, GivesWhatFollowedAnEventOfOneStream) {
  auto total = std::make_shared<ReplayTotal>();
  ReplayBuffer buffer(1000, total);
  buffer.add({1, 1}, "a");
  buffer.add({2, 1}, "x");
  buffer.add({1, 2}, "b");
  EXPECT_EQ(buffer.after({1, 0}, 3).events, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(buffer.after({1, 1}, 3).events, (std::vector<std::string>{"b"}));
  EXPECT_TRUE(buffer.after({1, 2}, 3).events.empty());
  EXPECT_TRUE(buffer.after({1, 2}, 3).complete);
  EXPECT_FALSE(buffer.after({1, 2}, 4).complete) << "event 3 was said and is gone";
  EXPECT_TRUE(buffer.holds(2));
  EXPECT_FALSE(buffer.holds(3));
}

TEST(Replay, TheOldestGoFirstAndTheGapIsNoticed) {
  auto total = std::make_shared<ReplayTotal>();
  {
    ReplayBuffer buffer(400, total);
    for (std::uint64_t i = 1; i <= 10; ++i) buffer.add({1, i}, std::string(36, 'x'));
    EXPECT_EQ(buffer.bytes(), 400u);
    EXPECT_EQ(total->bytes, 400u);
    EXPECT_EQ(buffer.after({1, 6}, 11).events.size(), 4u);
    EXPECT_TRUE(buffer.after({1, 6}, 11).complete);
    EXPECT_FALSE(buffer.after({1, 5}, 11).complete);
    buffer.add({1, 11}, std::string(1000, 'y'));
    EXPECT_EQ(buffer.bytes(), 0u) << "what is larger than the buffer is not kept";
  }
  EXPECT_EQ(total->bytes, 0u);
}

TEST(Replay, AllBuffersTogetherAreBounded) {
  auto total = std::make_shared<ReplayTotal>();
  total->limit = 300;
  ReplayBuffer first(1000, total);
  ReplayBuffer second(1000, total);
  first.add({1, 1}, std::string(136, 'x'));
  second.add({1, 1}, std::string(36, 'x'));
  second.add({1, 2}, std::string(36, 'x'));
  EXPECT_LE(total->bytes, 300u);
  EXPECT_EQ(second.after({1, 1}, 3).events.size(), 1u);
}

TEST(Replay, WhoHoldsTheOldestMakesRoomForOthers) {
  auto total = std::make_shared<ReplayTotal>();
  total->limit = 500;
  ReplayBuffer second(1000, total);
  {
    ReplayBuffer first(1000, total);
    for (std::uint64_t i = 1; i <= 5; ++i) first.add({1, i}, std::string(36, 'x'));
    second.add({1, 1}, std::string(36, 'y'));
    second.add({1, 2}, std::string(36, 'y'));
    EXPECT_EQ(second.after({1, 0}, 3).events.size(), 2u);
    EXPECT_TRUE(second.after({1, 0}, 3).complete);
    EXPECT_TRUE(first.after({1, 2}, 6).complete) << "only as much went as was needed";
    EXPECT_FALSE(first.after({1, 1}, 6).complete);
    // What nobody can keep costs nobody else anything.
    first.add({1, 6}, std::string(600, 'x'));
    EXPECT_EQ(first.bytes(), 0u);
    EXPECT_EQ(second.bytes(), 200u);
    first.add({1, 7}, std::string(36, 'x'));
  }
  EXPECT_EQ(total->bytes, 200u);
  EXPECT_EQ(total->order.size(), 2u);
}

TEST(ServeAddress, IsWhatWasTyped) {
  struct Case {
    const char* text;
    const char* address;  // null: refused
    std::uint16_t port;
  };
  const Case cases[] = {
      {"127.0.0.1:8080", "127.0.0.1", 8080},
      {"8080", "127.0.0.1", 8080},
      {":8080", "127.0.0.1", 8080},
      {"[::1]:0", "::1", 0},
      {"localhost:1", "localhost", 1},
      {"0.0.0.0:65535", "0.0.0.0", 65535},
      {"", nullptr, 0},
      {"host:", nullptr, 0},
      {"host:x", nullptr, 0},
      {"host:65536", nullptr, 0},
      {"::1:80", nullptr, 0},
      {"[::1:80", nullptr, 0},
      {"[]:80", nullptr, 0},
      {"host:80 ", nullptr, 0},
      {"host:-1", nullptr, 0},
  };
  for (const auto& c : cases) {
    const auto place = cli::parse_serve_address(c.text);
    ASSERT_EQ(place.has_value(), c.address != nullptr) << c.text;
    if (place) EXPECT_EQ(*place, (cli::ServeAddress{c.address, c.port})) << c.text;
  }
}

TEST(ServeAddress, ATokenIsNeededForCommandsAndForOtherMachines) {
  EXPECT_FALSE(cli::needs_token(true, false));
  EXPECT_TRUE(cli::needs_token(true, true));
  EXPECT_TRUE(cli::needs_token(false, false));
  EXPECT_TRUE(cli::needs_token(false, true));
}

}  // namespace
}  // namespace patchbay
