// Real servers from npm, as users have them. T1 X1 X3 N1.
// ./test installs them and sets PATCHBAY_NPM_DIR and PATCHBAY_NODE.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/patchbay.h>

#include "base/as_result.h"
#include "base/timeout.h"
#include "base/waiting.h"
#include "support/capability.h"
#include "support/command.h"
#include "support/fails_with.h"
#include "support/loop.h"
#include "support/places.h"
#include "support/running_program.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;
using namespace std::literals;
using test::FailsWithRpc;
using test::run_task;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  EXPECT_NE(value, nullptr) << name << " is not set; run this through ./test";
  return value ? value : "";
}

std::shared_ptr<Transport> npm_server(std::string script, std::vector<std::string> args = {},
                                      std::map<std::string, std::string> env = {}) {
  StdioOptions options;
  options.command = environment("PATCHBAY_NODE");
  options.args = {environment("PATCHBAY_NPM_DIR") + "/node_modules/" + script};
  options.args.insert(options.args.end(), args.begin(), args.end());
  options.env = std::move(env);
  return stdio_transport(std::move(options));
}

// T2 T3: one server in the three ways it can be reached. Over HTTP one process serves all tests.
class ServerEverything : public testing::TestWithParam<const char*> {
 protected:
  static constexpr auto script = "@modelcontextprotocol/server-everything/dist/index.js";
  static std::shared_ptr<Transport> everything() {
    if (GetParam() == "stdio"sv) return npm_server(script, {"stdio"});
    if (GetParam() == "sse"sv) return sse_transport({.url = url()});
    return http_transport({.url = url()});
  }
  // As a person writes it into a configuration.
  static Json entry() {
    if (GetParam() == "sse"sv) return Json{{"type", "sse"}, {"url", url()}};
    if (GetParam() == "streamableHttp"sv) return Json{{"type", "http"}, {"url", url()}};
    return Json{{"command", environment("PATCHBAY_NODE")},
                {"args", Json::array({environment("PATCHBAY_NPM_DIR") + "/node_modules/" + script, "stdio"})}};
  }
  static std::string url() {
    const std::string way = GetParam();
    auto& running = servers_[way];
    if (!running.program) {
      running.port = test::free_port();
      test::RunningProgram::Options options;
      options.env["PORT"] = std::to_string(running.port);
      running.program = std::make_unique<test::RunningProgram>(
          std::vector{environment("PATCHBAY_NODE"), environment("PATCHBAY_NPM_DIR") + "/node_modules/" + script, way},
          options);
      running.program->wait_for_port(running.port);
    }
    return fmt::format("http://127.0.0.1:{}/{}", running.port, way == "sse" ? "sse" : "mcp");
  }
  static void TearDownTestSuite() { servers_.clear(); }

 private:
  struct Running {
    std::unique_ptr<test::RunningProgram> program;
    std::uint16_t port = 0;
  };
  static inline std::map<std::string, Running> servers_;
};
INSTANTIATE_TEST_SUITE_P(Ways, ServerEverything, testing::Values("stdio", "streamableHttp", "sse"),
                         [](const auto& way) { return std::string(way.param); });

struct TemporaryDirectory {
  fs::path path =
      fs::temp_directory_path() / ("patchbay-interop-" + std::to_string(::getpid()) + "-" + std::to_string(next++));
  TemporaryDirectory() { fs::create_directories(path); }
  ~TemporaryDirectory() { fs::remove_all(path); }
  static inline int next = 0;
};

std::vector<std::string> names_of(const std::vector<Tool>& tools) {
  std::vector<std::string> names;
  for (const auto& tool : tools) names.push_back(tool.name);
  return names;
}

// Everything our client can do for a server, with what it was asked kept for the test.
struct FullClient {
  std::vector<ElicitRequest> elicited;
  std::vector<CreateMessageRequest> sampled;
  std::vector<LogMessage> logged;
  std::vector<Change> changes;
  Event heard;

  ClientOptions options() {
    ClientOptions options;
    options.info = {.name = "patchbay-interop", .version = "1"};
    options.elicit = [this](ElicitRequest request, CallContext) -> Task<ElicitResult> {
      elicited.push_back(request);
      ElicitResult result{.action = ElicitResult::Action::accept};
      if (request.mode == ElicitRequest::Mode::form) {
        const bool research = request.requested_schema["properties"].find("interpretation");
        result.content = research ? Json{{"interpretation", "snake"}} : Json{{"name", "Ada"}, {"check", true}};
      }
      co_return result;
    };
    options.elicit_by_url = true;
    options.sample = [this](CreateMessageRequest request, CallContext) -> Task<CreateMessageResult> {
      sampled.push_back(request);
      CreateMessageResult result;
      result.content = {TextContent{.text = "sampled answer"}};
      result.model = "test-model";
      result.stop_reason = "endTurn";
      co_return result;
    };
    options.roots = [](CallContext) -> Task<std::vector<Root>> {
      co_return std::vector{Root{.uri = "file:///tmp/interop-root", .name = "root of the test"}};
    };
    options.on_log = [this](const LogMessage& message, const CallContext&) {
      logged.push_back(message);
      heard.notify_all();
    };
    options.on_change = [this](const Change& change, const CallContext&) {
      changes.push_back(change);
      heard.notify_all();
    };
    return options;
  }
};

TEST_P(ServerEverything, EveryToolThatDoesNotNeedTheInternetAnswersAsItShould) {
  run_task([]() -> Task<void> {
    FullClient us;
    auto session = co_await Client(us.options()).connect(everything());
    EXPECT_EQ(session.server().info.name, "mcp-servers/everything");
    EXPECT_TRUE(session.is_legacy());
    auto listing = co_await session.list_tools();
    const auto tools = names_of(listing.items);
    EXPECT_THAT(
        tools,
        IsSupersetOf({"echo", "get-annotated-message", "get-env", "get-resource-links", "get-resource-reference",
                      "get-roots-list", "get-structured-content", "get-sum", "get-tiny-image", "gzip-file-as-resource",
                      "toggle-simulated-logging", "toggle-subscriber-updates", "trigger-elicitation-request",
                      "trigger-long-running-operation", "trigger-sampling-request", "trigger-url-elicitation"}));
    // A tool this test does not know must not go unnoticed.
    std::set<std::string> known;

    auto call = [&](std::string name, Json arguments, CallOptions options = {}) -> Task<CallToolResult> {
      known.insert(name);
      return session.call_tool(name, arguments, options);
    };

    auto echo = co_await call("echo", Json{{"message", "grüße \xF0\x9F\x91\x8B\n\"quoted\""}});
    EXPECT_EQ(text_of(echo), "Echo: grüße \xF0\x9F\x91\x8B\n\"quoted\"");

    auto annotated = co_await call("get-annotated-message", Json{{"messageType", "error"}, {"includeImage", true}});
    EXPECT_EQ(annotated.content.size(), 2u);
    const auto* error_text = std::get_if<TextContent>(&annotated.content.at(0));
    EXPECT_TRUE(error_text && error_text->annotations && error_text->annotations->priority == 1.0);
    EXPECT_TRUE(std::holds_alternative<ImageContent>(annotated.content.at(1)));

    auto env = co_await call("get-env", Json());
    auto variables = parse_json(text_of(env));
    EXPECT_TRUE(variables && variables->find("PATH"));

    auto links = co_await call("get-resource-links", Json{{"count", 4}});
    EXPECT_EQ(
        std::ranges::count_if(links.content, [](const Content& c) { return kind_of(c) == ContentKind::resource_link; }),
        4);

    auto reference = co_await call("get-resource-reference", Json{{"resourceType", "Blob"}, {"resourceId", 2}});
    auto embedded = std::ranges::find(reference.content, ContentKind::resource, kind_of);
    EXPECT_TRUE(embedded != reference.content.end() && std::get<EmbeddedResource>(*embedded).resource.blob);

    auto roots = co_await call("get-roots-list", Json());
    EXPECT_THAT(text_of(roots), HasSubstr("file:///tmp/interop-root"));

    auto weather = co_await call("get-structured-content", Json{{"location", "Chicago"}});
    EXPECT_EQ(weather.structured_content,
              Json({{"temperature", 36}, {"conditions", "Light rain / drizzle"}, {"humidity", 82}}));

    auto sum = co_await call("get-sum", Json{{"a", 2}, {"b", 40}});
    EXPECT_THAT(text_of(sum), HasSubstr("42"));
    CallOptions unchecked;
    unchecked.check_arguments = false;
    auto bad_sum = co_await call("get-sum", Json{{"a", "two"}, {"b", 40}}, unchecked);
    EXPECT_TRUE(bad_sum.is_error);

    auto image = co_await call("get-tiny-image", Json());
    auto picture = std::ranges::find(image.content, ContentKind::image, kind_of);
    EXPECT_TRUE(picture != image.content.end());
    if (picture != image.content.end()) EXPECT_EQ(std::get<ImageContent>(*picture).mime_type, "image/png");

    auto gzip = co_await call(
        "gzip-file-as-resource",
        Json{{"name", "a.gz"}, {"data", "data:text/plain;base64,aGVsbG8="}, {"outputType", "resourceLink"}});
    const auto* link = std::get_if<ResourceLink>(&gzip.content.at(0));
    EXPECT_TRUE(link);
    if (link) {
      auto zipped = co_await session.read_resource(link->uri);
      EXPECT_EQ(zipped.contents.at(0).mime_type, "application/gzip");
      EXPECT_THAT(*zipped.contents.at(0).blob, testing::StartsWith("H4sI"));
    }

    auto elicited = co_await call("trigger-elicitation-request", Json());
    EXPECT_EQ(us.elicited.size(), 1u);
    EXPECT_THAT(text_of(elicited), HasSubstr("Ada"));
    // Untouched fields carry their defaults.
    EXPECT_THAT(text_of(elicited), HasSubstr("It was a dark and stormy night."));

    auto url = co_await call("trigger-url-elicitation", Json{{"url", "https://example.com/go"}, {"errorPath", true}});
    EXPECT_FALSE(url.is_error);
    EXPECT_EQ(us.elicited.size(), 3u);  // the prerequisite named by error -32042, then the request itself
    EXPECT_EQ(us.elicited.at(1).url, "https://modelcontextprotocol.io");
    EXPECT_EQ(us.elicited.at(2).url, "https://example.com/go");

    auto sampled = co_await call("trigger-sampling-request", Json{{"prompt", "say something"}, {"maxTokens", 50}});
    EXPECT_EQ(us.sampled.size(), 1u);
    EXPECT_EQ(us.sampled.at(0).max_tokens, 50);
    EXPECT_THAT(text_of(sampled), HasSubstr("sampled answer"));

    std::vector<Progress> steps;
    CallOptions watched;
    watched.on_progress = [&](const Progress& progress) { steps.push_back(progress); };
    auto slow = co_await call("trigger-long-running-operation", Json{{"duration", 0.5}, {"steps", 3}}, watched);
    EXPECT_THAT(text_of(slow), HasSubstr("completed"));
    EXPECT_EQ(steps.size(), 3u);
    if (!steps.empty()) EXPECT_EQ(steps.back().progress, steps.back().total);

    co_await session.set_log_level(LoggingLevel::debug);
    co_await call("toggle-simulated-logging", Json());
    co_await with_timeout(
        [](FullClient& client) -> Task<void> {
          // It also logs about roots; the simulated ones speak of their level.
          auto simulated = [](const LogMessage& message) {
            const auto text = message.data.text();
            return text && text->find("level") != std::string::npos;
          };
          while (std::ranges::none_of(client.logged, simulated)) co_await client.heard.wait();
        }(us),
        std::chrono::seconds(30), "no log message came");
    co_await call("toggle-simulated-logging", Json());

    const std::string uri = "demo://resource/dynamic/text/1";
    auto watch = co_await session.watch({.resource_subscriptions = {uri}});
    EXPECT_THAT(watch.honoured().resource_subscriptions, ElementsAre(uri));
    us.changes.clear();
    co_await call("toggle-subscriber-updates", Json());
    co_await with_timeout(
        [](FullClient& client, std::string wanted) -> Task<void> {
          const Change updated{Change::Kind::resource_updated, wanted};
          while (std::ranges::find(client.changes, updated) == client.changes.end()) co_await client.heard.wait();
        }(us, uri),
        std::chrono::seconds(30), "no update came");
    co_await call("toggle-subscriber-updates", Json());
    co_await watch.stop();

    // A tool that runs as a task only, asks in the middle of it and says how it stands.
    std::vector<RemoteTask> states;
    CallOptions followed;
    followed.on_task = [&](const RemoteTask& task) { states.push_back(task); };
    us.elicited.clear();
    auto research = co_await call("simulate-research-query", Json{{"topic", "python"}, {"ambiguous", true}}, followed);
    EXPECT_THAT(text_of(research), HasSubstr("# Research Report: python (snake)"));
    EXPECT_EQ(us.elicited.size(), 1u);
    EXPECT_FALSE(states.empty());
    EXPECT_TRUE(std::ranges::any_of(states, [](const auto& task) { return task.status_message.has_value(); }));
    EXPECT_TRUE(
        std::ranges::any_of(states, [](const auto& task) { return task.status == TaskStatus::input_required; }));

    // Questions it gives us as tasks of ours, and comes back for the answers.
    auto sampled_later = co_await call("trigger-sampling-request-async", Json{{"prompt", "say something"}});
    EXPECT_THAT(text_of(sampled_later), HasSubstr("[COMPLETED]"));
    EXPECT_THAT(text_of(sampled_later), HasSubstr("sampled answer"));
    auto elicited_later = co_await call("trigger-elicitation-request-async", Json::object());
    EXPECT_THAT(text_of(elicited_later), HasSubstr("[COMPLETED]"));
    EXPECT_THAT(text_of(elicited_later), HasSubstr("- Name: Ada"));

    for (const auto& name : tools) EXPECT_TRUE(known.contains(name)) << name << " is new and is not called";
    co_await session.close();
  });
}

TEST_P(ServerEverything, ResourcesPromptsAndCompletionWork) {
  run_task([]() -> Task<void> {
    FullClient us;
    auto session = co_await Client(us.options()).connect(everything());
    auto resources = co_await session.list_resources();
    EXPECT_GE(resources.items.size(), 5u);
    auto text = co_await session.read_resource(resources.items.at(0).uri);
    EXPECT_TRUE(text.contents.at(0).text && !text.contents.at(0).text->empty());
    auto templates = co_await session.list_resource_templates();
    EXPECT_EQ(templates.items.size(), 2u);
    auto missing = co_await as_result(session.read_resource("demo://resource/none"));
    EXPECT_FALSE(missing);
    EXPECT_EQ(missing.error().code(), Errc::rpc);

    auto prompts = co_await session.list_prompts();
    EXPECT_GE(prompts.items.size(), 4u);
    auto prompt = co_await session.get_prompt("args-prompt", {{"city", "Ulm"}});
    EXPECT_THAT(text_of(prompt.messages.at(0).content), HasSubstr("Ulm"));
    auto unknown = co_await as_result(session.get_prompt("no-such-prompt", {}));
    EXPECT_THAT(unknown, FailsWithRpc(-32602));

    CompleteRequest request;
    request.ref = {.kind = CompletionReference::Kind::prompt, .name = "completable-prompt"};
    request.argument = {.name = "department", .value = "E"};
    auto completion = co_await session.complete(request);
    EXPECT_THAT(completion.values, ElementsAre("Engineering"));
    co_await session.ping();
    co_await session.close();
  });
}

TEST_P(ServerEverything, CancelledCallLeavesTheServerUsable) {
  run_task([]() -> Task<void> {
    FullClient us;
    auto session = co_await Client(us.options()).connect(everything());
    auto late =
        co_await as_result(session.call_tool("trigger-long-running-operation", Json{{"duration", 60}, {"steps", 60}},
                                             {.total = std::chrono::milliseconds(200)}));
    EXPECT_FALSE(late);
    EXPECT_EQ(late.error().code(), Errc::timeout);
    auto echo = co_await session.call_tool("echo", Json{{"message", "still here"}});
    EXPECT_EQ(text_of(echo), "Echo: still here");
    co_await session.close();
  });
}

TEST_P(ServerEverything, TasksAreStartedListedAndCancelledByTheirId) {
  run_task([]() -> Task<void> {
    FullClient us;
    auto session = co_await Client(us.options()).connect(everything());
    auto started = co_await session.start_tool("simulate-research-query", Json{{"topic", "boats"}});
    EXPECT_TRUE(std::holds_alternative<RemoteTask>(started));
    if (!std::holds_alternative<RemoteTask>(started)) co_return;
    const auto id = std::get<RemoteTask>(started).id;
    auto listed = co_await session.list_tasks();
    EXPECT_THAT(listed.items, Contains(testing::Field(&RemoteTask::id, id)));
    auto state = co_await session.get_task(id);
    EXPECT_EQ(state.status, TaskStatus::working);
    co_await session.cancel_task(id);
    auto after = co_await session.get_task(id);
    EXPECT_EQ(after.status, TaskStatus::cancelled);
    auto unknown = co_await as_result(session.get_task("no-such-task"));
    EXPECT_THAT(unknown, FailsWithRpc(-32602));
    co_await session.close();
  });
}

TEST_P(ServerEverything, TheProgramListsAndCallsIt) {
  auto patchbay = [](const Json& entry, std::vector<std::string> words) {
    words.insert(words.begin(),
                 {test::built("patchbay"), "--strict-mcp-config", "--mcp-config", to_text(Json{{"far", entry}})});
    return test::run_program(words);
  };
  auto listed = patchbay(entry(), {"tools", "--json"});
  EXPECT_EQ(listed.code, 0) << listed.err;
  auto servers = parse_json(listed.out).value_or(Json())["servers"];
  EXPECT_EQ(servers.as_array().at(0)["era"], Json("legacy")) << listed.out;
  EXPECT_THAT(listed.out, HasSubstr("mcp__far__get-structured-content"));
  auto called = patchbay(entry(), {"call", "far/echo", "message=as the program"});
  EXPECT_EQ(called.code, 0) << called.err;
  EXPECT_THAT(called.out, HasSubstr("Echo: as the program"));
  auto sum = patchbay(entry(), {"call", "mcp__far__get-sum", "a=2", "b=40"});
  EXPECT_THAT(sum.out, HasSubstr("42"));
  if (GetParam() != "sse"sv) return;
  // Who does not know that it is an older server says http, and gets there all the same.
  auto fallen_back = patchbay(Json{{"type", "http"}, {"url", url()}}, {"call", "far/echo", "message=by fallback"});
  EXPECT_EQ(fallen_back.code, 0) << fallen_back.err;
  EXPECT_THAT(fallen_back.out, HasSubstr("Echo: by fallback"));
}

TEST(ServerFilesystem, ReadsAndWritesWhatTheRootsAllow) {
  run_task([]() -> Task<void> {
    TemporaryDirectory directory;
    auto session = co_await Client({}).connect(
        npm_server("@modelcontextprotocol/server-filesystem/dist/index.js", {directory.path.string()}));
    auto tools = co_await session.list_tools();
    EXPECT_THAT(names_of(tools.items), IsSupersetOf({"read_text_file", "write_file", "list_directory"}));
    const auto path = (directory.path / "note.txt").string();
    auto written = co_await session.call_tool("write_file", Json{{"path", path}, {"content", "one\ntwo\n"}});
    EXPECT_FALSE(written.is_error);
    auto read = co_await session.call_tool("read_text_file", Json{{"path", path}});
    EXPECT_EQ(text_of(read), "one\ntwo\n");
    auto outside = co_await session.call_tool("read_text_file", Json{{"path", "/etc/passwd"}});
    EXPECT_TRUE(outside.is_error);
    co_await session.close();
  });
}

// N5: in a sandbox without network, and with what packages bring along out of its reach but for reading.
TEST(ServerFilesystem, WorksInASandboxOfFiles) {
  NEEDS(landlock);
  TemporaryDirectory directory;
  const auto home = directory.path / "home";
  const auto data = directory.path / "data";
  const auto work = data / "work";
  fs::create_directories(home / ".ssh");
  fs::create_directories(work);
  std::ofstream(home / ".ssh/id") << "the private key";
  std::ofstream(data / "outside.txt") << "outside";
  const Json entry{
      {"command", environment("PATCHBAY_NODE")},
      {"args", Json::array({environment("PATCHBAY_NPM_DIR") +
                                "/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js",
                            data.string(), (home / ".ssh").string()})},
      {"sandbox", Json{{"mode", "required"}, {"preset", "files"}, {"write", Json::array({work.string()})}}}};
  const auto config = (directory.path / "servers.json").string();
  std::ofstream(config) << test::server_file({{"fs", entry}});
  // The directory we call from becomes the server's root, in place of those in its arguments, as soon
  // as it has asked for it: one that holds what is named, so that it does not matter whether it has.
  const auto call = [&](const fs::path& from, const std::vector<std::string>& words) {
    std::vector<std::string> line{test::built("patchbay"), "--strict-mcp-config", "--mcp-config", config, "call"};
    line.insert(line.end(), words.begin(), words.end());
    return test::run_program(line, {.cwd = from.string(), .env = {{"HOME", home.string()}}});
  };
  const auto file = (work / "note.txt").string();
  EXPECT_EQ(call(data, {"fs/write_file", "path=" + file, "content=one"}).code, 0);
  EXPECT_THAT(call(data, {"fs/read_text_file", "path=" + file}).out, HasSubstr("one"));
  EXPECT_THAT(call(data, {"fs/read_text_file", "path=" + (data / "outside.txt").string()}).out, HasSubstr("outside"));
  // The server itself would allow these.
  const auto key = call(home, {"fs/read_text_file", "path=" + (home / ".ssh/id").string()});
  EXPECT_NE(key.code, 0);
  EXPECT_THAT(key.out + key.err, HasSubstr("EACCES"));
  EXPECT_NE(call(data, {"fs/write_file", "path=" + (data / "new.txt").string(), "content=x"}).code, 0);
  EXPECT_FALSE(fs::exists(data / "new.txt"));
}

// X1: what a model is given of the kinds of content that a real server has.
TEST(ServerEverythingForAModel, EveryKindOfContentIsInItsPlace) {
  run_task([]() -> Task<void> {
    HostOptions options;
    options.config = LoadedConfig{};
    Host host(options);
    ServerConfig config;
    config.name = "every";
    host.add_server(config, npm_server("@modelcontextprotocol/server-everything/dist/index.js", {"stdio"}));
    auto given = [&host](std::string tool, Json arguments) -> Task<std::string> {
      auto result = co_await host.call("every/" + tool, std::move(arguments));
      std::string out;
      for (const auto& block : (co_await host.for_model("every/" + tool, std::move(result))).blocks) {
        if (const auto* text = std::get_if<ModelText>(&block)) out += "<" + text->text + ">";
        if (const auto* image = std::get_if<ModelImage>(&block)) out += "<image " + image->mime_type + ">";
      }
      co_return out;
    };
    // Its text is the same JSON, so the model reads it once.
    const auto weather = co_await given("get-structured-content", Json{{"location", "Chicago"}});
    EXPECT_THAT(weather, HasSubstr("\"temperature\":36"));
    EXPECT_EQ(weather.find("temperature"), weather.rfind("temperature"));
    EXPECT_THAT(co_await given("get-tiny-image", Json::object()), HasSubstr("><image image/png><"));
    EXPECT_THAT(co_await given("get-annotated-message", Json{{"messageType", "error"}, {"includeImage", true}}),
                testing::EndsWith("><image image/png>"));
    EXPECT_THAT(co_await given("get-resource-links", Json{{"count", 2}}), HasSubstr("[resource link "));
    EXPECT_THAT(co_await given("get-resource-reference", Json{{"resourceType", "Text"}, {"resourceId", 1}}),
                HasSubstr("[resource "));
    EXPECT_THAT(co_await given("get-resource-reference", Json{{"resourceType", "Blob"}, {"resourceId", 2}}),
                HasSubstr("not shown]"));
    co_await host.stop();
  });
}

// X2 N4: a large file is read by one server and written by another, and a model would see its beginning alone.
TEST(ServerFilesystem, ALargeFileGoesFromServerToServerByItsHandle) {
  run_task([]() -> Task<void> {
    TemporaryDirectory directory;
    HostOptions options;
    options.config = LoadedConfig{};
    options.state_directory = (directory.path / "state").string();
    options.results.conversation = "interop";
    Host host(options);
    for (const auto* name : {"from", "to"}) {
      const auto folder = directory.path / name;
      fs::create_directories(folder);
      ServerConfig config;
      config.name = name;
      host.add_server(config, npm_server("@modelcontextprotocol/server-filesystem/dist/index.js", {folder.string()}));
    }
    std::string content;
    for (int i = 0; i < 100'000; ++i) content += fmt::format("line {} of a large file\n", i);
    std::ofstream(directory.path / "from/large.txt") << content;
    auto read = co_await host.call("from/read_text_file", Json{{"path", (directory.path / "from/large.txt").string()}});
    const auto given = co_await host.for_model("from/read_text_file", std::move(read));
    EXPECT_THAT(given.handle, testing::StartsWith("@result:"));
    EXPECT_LT(given.tokens, 5000u);
    // The server gives the text as structured content ("content") as well.
    const auto copy = (directory.path / "to/copy.txt").string();
    const auto written =
        co_await host.call("to/write_file", Json{{"path", copy}, {"content", given.handle + "/raw#/content/0/text"}});
    EXPECT_FALSE(written.is_error) << text_of(written);
    std::ifstream in(copy);
    EXPECT_TRUE(std::string(std::istreambuf_iterator<char>(in), {}) == content) << "every byte";
    co_await host.stop();
  });
}

TEST(ServerMemory, KeepsWhatItWasGiven) {
  run_task([]() -> Task<void> {
    TemporaryDirectory directory;
    auto session =
        co_await Client({}).connect(npm_server("@modelcontextprotocol/server-memory/dist/index.js", {},
                                               {{"MEMORY_FILE_PATH", (directory.path / "memory.jsonl").string()}}));
    Json entity{{"name", "Patchbay"}, {"entityType", "project"}, {"observations", Json::array({"written in C++"})}};
    co_await session.call_tool("create_entities", Json{{"entities", Json::array({entity})}});
    auto graph = co_await session.call_tool("read_graph", Json::object());
    EXPECT_THAT(text_of(graph), HasSubstr("written in C++"));
    co_await session.close();
    EXPECT_TRUE(fs::exists(directory.path / "memory.jsonl"));
  });
}

TEST(ServerSequentialThinking, AnswersWithStructuredContent) {
  run_task([]() -> Task<void> {
    auto session =
        co_await Client({}).connect(npm_server("@modelcontextprotocol/server-sequential-thinking/dist/index.js"));
    auto thought = co_await session.call_tool(
        "sequentialthinking",
        Json{{"thought", "first"}, {"nextThoughtNeeded", true}, {"thoughtNumber", 1}, {"totalThoughts", 2}});
    EXPECT_TRUE(thought.structured_content);
    EXPECT_EQ((*thought.structured_content)["thoughtNumber"], Json(1));
    co_await session.close();
  });
}

// Speaks both eras on one process; we take the newer one, and the older when told to.
TEST(Context7, ConnectsAndListsInBothEras) {
  run_task([]() -> Task<void> {
    for (const char* protocol : {"auto", "legacy"}) {
      ClientOptions options;
      options.protocol = protocol;
      auto session = co_await Client(options).connect(npm_server("@upstash/context7-mcp/dist/index.js"));
      EXPECT_EQ(session.is_legacy(), std::string_view(protocol) == "legacy");
      auto tools = co_await session.list_tools();
      EXPECT_THAT(names_of(tools.items), IsSupersetOf({"resolve-library-id", "query-docs"}));
      co_await session.close();
    }
  });
}

TEST(CodeRunner, JunkOnStdoutIsSkipped) {
  run_task([]() -> Task<void> {
    auto session = co_await Client({}).connect(npm_server("mcp-server-code-runner/dist/cli.js"));
    auto tools = co_await session.list_tools();
    EXPECT_THAT(names_of(tools.items), Contains("run-code"));
    auto run =
        co_await session.call_tool("run-code", Json{{"code", "console.log(6 * 7)"}, {"languageId", "javascript"}});
    EXPECT_THAT(text_of(run), HasSubstr("42"));
    co_await session.close();
  });
}

}  // namespace
}  // namespace patchbay
