// Real servers from npm over stdio, as people use them. tests/interop/README.md says what
// each is here for; ./test installs them and names the place in the environment.
//
// T1, N1 (legacy and modern servers that are not ours), X1 (content of every kind), X3.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/client.h>
#include <patchbay/session.h>
#include <patchbay/transport.h>

#include "base/as_result.h"
#include "base/waiting.h"
#include "support/loop.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;
using test::run_task;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::SizeIs;
using testing::StartsWith;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) throw Error(Errc::config, std::string(name) + " is not set; run these tests with ./test");
  return value;
}

// A package's program, run by the node that the tests bring.
std::shared_ptr<Transport> npm_server(const std::string& program, std::vector<std::string> args = {},
                                      std::map<std::string, std::string> env = {}) {
  args.insert(args.begin(), environment("PATCHBAY_NPM_DIR") + "/node_modules/.bin/" + program);
  return stdio_transport(
      {.command = environment("PATCHBAY_NODE"), .args = std::move(args), .env = std::move(env), .cwd = {}});
}

// A directory of the test's own, removed at its end.
class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "interop-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw Error(Errc::internal, "mkdtemp failed");
    path_ = fs::canonical(pattern);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string path(const std::string& name = {}) const {
    return name.empty() ? path_.string() : (path_ / name).string();
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
  std::string read(const std::string& name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  fs::path path_;
};

template <class T>
bool contains(const std::vector<T>& items, const T& item) {
  return std::ranges::find(items, item) != items.end();
}

std::vector<std::string> names(const Listing<Tool>& tools) {
  std::vector<std::string> out;
  for (const auto& tool : tools.items) out.push_back(tool.name);
  return out;
}

Task<std::string> call_text(Session session, std::string tool, Json arguments) {
  auto result = co_await session.call_tool(std::move(tool), std::move(arguments));
  EXPECT_FALSE(result.is_error) << text_of(result);
  co_return text_of(result);
}

const Content& only(const CallToolResult& result) {
  if (result.content.size() != 1) throw Error(Errc::protocol, "expected one block: " + text_of(result));
  return result.content.front();
}

// What server-everything may ask of us, answered and noted.
struct Asked {
  std::vector<ElicitRequest> questions;
  std::vector<CreateMessageRequest> samplings;
  std::vector<LogMessage> logs;
  std::vector<Change> changes;
  Event changed;
};

std::vector<std::string> pages(const Asked& asked) {
  std::vector<std::string> out;
  for (const auto& question : asked.questions) out.push_back(question.url.value_or(""));
  return out;
}

ClientOptions answering(Asked& asked) {
  ClientOptions options;
  options.elicit = [&asked](ElicitRequest request) -> Task<ElicitResult> {
    const bool form = request.mode == ElicitRequest::Mode::form;
    asked.questions.push_back(std::move(request));
    ElicitResult answer{.action = ElicitResult::Action::accept};
    if (form) answer.content = Json{{"name", "Ann"}, {"check", true}};
    co_return answer;
  };
  options.elicit_by_url = true;
  options.sample = [&asked](CreateMessageRequest request) -> Task<CreateMessageResult> {
    asked.samplings.push_back(std::move(request));
    co_return CreateMessageResult{.content = {TextContent{.text = "a sampled answer"}}, .model = "test-model"};
  };
  options.roots = []() -> Task<std::vector<Root>> {
    std::vector<Root> roots{Root{.uri = "file:///somewhere/else", .name = "else"}};
    co_return roots;
  };
  options.on_log = [&asked](const LogMessage& message) { asked.logs.push_back(message); };
  options.on_change = [&asked](const Change& change) {
    asked.changes.push_back(change);
    asked.changed.notify_all();
  };
  return options;
}

// The server adds tools once it knows what the client can do, and says so.
Task<Listing<Tool>> list_with(Session session, Asked& asked, std::string tool) {
  for (;;) {
    const auto before = asked.changes.size();
    auto tools = co_await session.list_tools();
    if (contains(names(tools), tool)) co_return tools;
    if (asked.changes.size() == before) co_await asked.changed.wait();
  }
}

void with_everything(std::function<Task<void>(Session, Asked&)> body) {
  run_task([&body]() -> Task<void> {
    Asked asked;
    Client client(answering(asked));
    auto session = co_await client.connect(npm_server("mcp-server-everything"));
    auto outcome = co_await as_result(body(session, asked));
    co_await session.close();
    if (!outcome) throw outcome.error();
  });
}

TEST(EverythingServer, ListsItsTools) {
  with_everything([](Session session, Asked& asked) -> Task<void> {
    EXPECT_TRUE(session.is_legacy());
    EXPECT_THAT(session.server().info.name, HasSubstr("everything"));
    EXPECT_TRUE(session.server().instructions.has_value());
    auto tools = co_await list_with(session, asked, "trigger-sampling-request");
    EXPECT_THAT(tools.problems, IsEmpty());
    EXPECT_FALSE(tools.cut);
    const std::vector<std::string> expected{"echo",
                                            "get-annotated-message",
                                            "get-env",
                                            "get-resource-links",
                                            "get-resource-reference",
                                            "get-roots-list",
                                            "get-structured-content",
                                            "get-sum",
                                            "get-tiny-image",
                                            "gzip-file-as-resource",
                                            "toggle-simulated-logging",
                                            "toggle-subscriber-updates",
                                            "trigger-elicitation-request",
                                            "trigger-long-running-operation",
                                            "trigger-sampling-request",
                                            "trigger-url-elicitation"};
    EXPECT_THAT(names(tools), IsSupersetOf(expected));
  });
}

TEST(EverythingServer, AnswersWithTextAndNumbers) {
  with_everything([](Session session, Asked&) -> Task<void> {
    EXPECT_EQ(co_await call_text(session, "echo", {{"message", "häl\"lo\n☕"}}), "Echo: häl\"lo\n☕");
    EXPECT_EQ(co_await call_text(session, "get-sum", {{"a", 2}, {"b", 40.5}}), "The sum of 2 and 40.5 is 42.5.");
  });
}

TEST(EverythingServer, GetsTheEnvironmentWeGiveIt) {
  run_task([]() -> Task<void> {
    auto transport = npm_server("mcp-server-everything", {}, {{"PATCHBAY_MARK", "a value with 'quotes' and $HOME"}});
    Client client(ClientOptions{});
    auto session = co_await client.connect(std::move(transport));
    auto text = co_await call_text(session, "get-env", Json::object());
    auto environment = parse_json(text);
    EXPECT_TRUE(environment.has_value()) << text;
    if (environment) {
      EXPECT_EQ((*environment)["PATCHBAY_MARK"], Json("a value with 'quotes' and $HOME"));
      EXPECT_EQ((*environment)["HOME"], Json(std::getenv("HOME")));
    }
    co_await session.close();
  });
}

TEST(EverythingServer, SendsAnnotationsImagesLinksAndResources) {
  with_everything([](Session session, Asked&) -> Task<void> {
    auto annotated =
        co_await session.call_tool("get-annotated-message", Json{{"messageType", "error"}, {"includeImage", true}});
    EXPECT_THAT(annotated.content, SizeIs(2));
    const auto& text = std::get<TextContent>(annotated.content.at(0));
    EXPECT_EQ(text.text, "Error: Operation failed");
    EXPECT_EQ(text.annotations.value().priority, 1.0);
    EXPECT_THAT(text.annotations.value().audience, ElementsAre(Role::user, Role::assistant));
    EXPECT_EQ(kind_of(annotated.content.at(1)), ContentKind::image);

    auto image = co_await session.call_tool("get-tiny-image", Json::object());
    auto found =
        std::ranges::find(image.content, ContentKind::image, [](const Content& block) { return kind_of(block); });
    EXPECT_NE(found, image.content.end());
    if (found != image.content.end()) {
      EXPECT_EQ(std::get<ImageContent>(*found).mime_type, "image/png");
      EXPECT_THAT(std::get<ImageContent>(*found).data, StartsWith("iVBORw0KGgo"));
    }

    auto links = co_await session.call_tool("get-resource-links", Json{{"count", 3}});
    EXPECT_THAT(links.content, SizeIs(4));
    EXPECT_EQ(std::get<ResourceLink>(links.content.at(2)).uri, "demo://resource/dynamic/text/2");

    auto reference =
        co_await session.call_tool("get-resource-reference", Json{{"resourceType", "Text"}, {"resourceId", 7}});
    EXPECT_THAT(reference.content, SizeIs(3));
    const auto& embedded = std::get<EmbeddedResource>(reference.content.at(1)).resource;
    EXPECT_EQ(embedded.uri, "demo://resource/dynamic/text/7");
    EXPECT_THAT(embedded.text.value_or(""), HasSubstr("Resource 7"));

    auto zipped = co_await session.call_tool(
        "gzip-file-as-resource", Json{{"name", "a.gz"}, {"data", "data:text/plain,hello"}, {"outputType", "resource"}});
    const auto& file = std::get<EmbeddedResource>(only(zipped)).resource;
    EXPECT_EQ(file.mime_type, "application/gzip");
    EXPECT_THAT(file.blob.value_or(""), StartsWith("H4sI"));
  });
}

TEST(EverythingServer, SendsStructuredContent) {
  with_everything([](Session session, Asked&) -> Task<void> {
    auto result = co_await session.call_tool("get-structured-content", Json{{"location", "Chicago"}});
    EXPECT_TRUE(result.structured_content.has_value());
    EXPECT_EQ(result.structured_content.value_or(Json()),
              (Json{{"temperature", 36}, {"conditions", "Light rain / drizzle"}, {"humidity", 82}}));
    auto text = parse_json(text_of(result));
    EXPECT_TRUE(text.has_value());
    if (text) EXPECT_EQ(*text, result.structured_content.value_or(Json()));
  });
}

TEST(EverythingServer, ReportsProgressDuringALongCall) {
  with_everything([](Session session, Asked&) -> Task<void> {
    auto progress = std::make_shared<std::vector<Progress>>();
    CallOptions options;
    options.on_progress = [progress](const Progress& step) { progress->push_back(step); };
    auto result = co_await session.call_tool("trigger-long-running-operation", Json{{"duration", 1}, {"steps", 4}},
                                             std::move(options));
    EXPECT_THAT(text_of(result), HasSubstr("completed"));
    EXPECT_FALSE(progress->empty());
    for (const auto& step : *progress) EXPECT_EQ(step.total, 4.0);
    EXPECT_TRUE(std::ranges::is_sorted(*progress, {}, &Progress::progress));
  });
}

TEST(EverythingServer, AsksForSamplingAndGetsOurAnswer) {
  with_everything([](Session session, Asked& asked) -> Task<void> {
    auto text =
        co_await call_text(session, "trigger-sampling-request", {{"prompt", "say something"}, {"maxTokens", 17}});
    EXPECT_THAT(text, HasSubstr("a sampled answer"));
    EXPECT_THAT(text, HasSubstr("test-model"));
    EXPECT_THAT(asked.samplings, SizeIs(1));
    if (asked.samplings.size() == 1) EXPECT_EQ(asked.samplings[0].max_tokens, 17);
  });
}

TEST(EverythingServer, AsksThePersonByFormAndByPage) {
  with_everything([](Session session, Asked& asked) -> Task<void> {
    auto text = co_await call_text(session, "trigger-elicitation-request", Json::object());
    EXPECT_THAT(text, HasSubstr("Name: Ann"));
    EXPECT_THAT(asked.questions, SizeIs(1));
    if (!asked.questions.empty()) EXPECT_TRUE(asked.questions[0].requested_schema["properties"].find("email"));

    asked.questions.clear();
    const std::string page = "https://example.com/consent";
    co_await call_text(session, "trigger-url-elicitation", {{"url", page}});
    EXPECT_THAT(pages(asked), ElementsAre(page));

    // By an error instead: it names another page first, and the repeated call asks for this one.
    asked.questions.clear();
    co_await call_text(session, "trigger-url-elicitation", {{"url", page}, {"errorPath", true}});
    EXPECT_THAT(pages(asked), ElementsAre("https://modelcontextprotocol.io", page));
  });
}

TEST(EverythingServer, SeesOurRoots) {
  with_everything([](Session session, Asked& asked) -> Task<void> {
    co_await list_with(session, asked, "get-roots-list");
    EXPECT_THAT(co_await call_text(session, "get-roots-list", Json::object()), HasSubstr("file:///somewhere/else"));
  });
}

TEST(EverythingServer, TogglesItsLoggingAndUpdates) {
  with_everything([](Session session, Asked&) -> Task<void> {
    co_await session.set_log_level(LoggingLevel::debug);
    for (const char* tool : {"toggle-simulated-logging", "toggle-subscriber-updates"}) {
      EXPECT_THAT(co_await call_text(session, tool, Json::object()), StartsWith("Started"));
      EXPECT_THAT(co_await call_text(session, tool, Json::object()), StartsWith("Stopped"));
    }
  });
}

TEST(EverythingServer, TellsOfAnUpdatedResource) {
  with_everything([](Session session, Asked& asked) -> Task<void> {
    const std::string uri = "demo://resource/dynamic/text/3";
    SubscriptionFilter filter;
    filter.resource_subscriptions = {uri};
    auto watch = co_await session.watch(std::move(filter));
    co_await call_text(session, "toggle-subscriber-updates", Json::object());
    const Change updated{.kind = Change::Kind::resource_updated, .uri = uri};
    while (!contains(asked.changes, updated)) co_await asked.changed.wait();
    co_await watch.stop();
  });
}

TEST(EverythingServer, OffersResourcesTemplatesPromptsAndCompletion) {
  with_everything([](Session session, Asked&) -> Task<void> {
    auto resources = co_await session.list_resources();
    EXPECT_FALSE(resources.items.empty());
    for (const auto& resource : resources.items) {
      auto read = co_await session.read_resource(resource.uri);
      EXPECT_FALSE(read.contents.empty()) << resource.uri;
    }
    auto templates = co_await session.list_resource_templates();
    EXPECT_THAT(templates.items, SizeIs(2));
    auto blob = co_await session.read_resource("demo://resource/dynamic/blob/5");
    EXPECT_TRUE(blob.contents.at(0).blob.has_value());

    auto prompts = co_await session.list_prompts();
    std::set<std::string> prompt_names;
    for (const auto& prompt : prompts.items) prompt_names.insert(prompt.name);
    EXPECT_THAT(prompt_names, ElementsAre("args-prompt", "completable-prompt", "resource-prompt", "simple-prompt"));
    std::map<std::string, std::string> place{{"city", "Oslo"}};
    auto prompt = co_await session.get_prompt("args-prompt", std::move(place));
    EXPECT_THAT(prompt.messages, SizeIs(1));
    EXPECT_THAT(text_of(prompt.messages.at(0).content), HasSubstr("Oslo"));

    CompleteRequest request;
    request.ref.name = "completable-prompt";
    request.argument.name = "department";
    request.argument.value = "E";
    auto completed = co_await session.complete(std::move(request));
    EXPECT_THAT(completed.values, Contains("Engineering"));
  });
}

TEST(EverythingServer, RefusesWrongArgumentsAndUnknownTools) {
  with_everything([](Session session, Asked&) -> Task<void> {
    // Its SDK answers both as results; another may answer with an error. Never with success.
    auto wrong = co_await as_result(session.call_tool("get-sum", Json{{"a", "two"}}));
    EXPECT_TRUE(!wrong || wrong->is_error);
    auto unknown = co_await as_result(session.call_tool("no-such-tool", Json::object()));
    EXPECT_TRUE(!unknown || unknown->is_error);
    EXPECT_EQ(co_await call_text(session, "echo", {{"message", "still here"}}), "Echo: still here");
  });
}

TEST(FilesystemServer, ReadsAndWritesInTheRootWeOffer) {
  run_task([]() -> Task<void> {
    Folder folder;
    folder.write("a.txt", "first\n");
    ClientOptions options;
    const std::string uri = "file://" + folder.path();
    options.roots = [uri]() -> Task<std::vector<Root>> {
      std::vector<Root> roots{Root{.uri = uri, .name = "work"}};
      co_return roots;
    };
    Client client(std::move(options));
    auto session = co_await client.connect(npm_server("mcp-server-filesystem", {folder.path()}));
    EXPECT_EQ(co_await call_text(session, "read_text_file", {{"path", folder.path("a.txt")}}), "first\n");
    co_await call_text(session, "write_file", {{"path", folder.path("b.txt")}, {"content", "second ☕\n"}});
    EXPECT_EQ(folder.read("b.txt"), "second ☕\n");
    auto outside = co_await session.call_tool("read_text_file", Json{{"path", "/etc/hostname"}});
    EXPECT_TRUE(outside.is_error);
    co_await session.close();
  });
}

TEST(MemoryServer, KeepsWhatItWasToldInItsFile) {
  run_task([]() -> Task<void> {
    Folder folder;
    const std::map<std::string, std::string> env{{"MEMORY_FILE_PATH", folder.path("memory.json")}};
    Client client(ClientOptions{});
    {
      auto session = co_await client.connect(npm_server("mcp-server-memory", {}, env));
      Json ann{{"name", "Ann"}, {"entityType", "person"}, {"observations", Json::array({"likes tea"})}};
      co_await call_text(session, "create_entities", {{"entities", Json::array({std::move(ann)})}});
      co_await session.close();
    }
    auto session = co_await client.connect(npm_server("mcp-server-memory", {}, env));
    auto graph = co_await session.call_tool("read_graph", Json::object());
    EXPECT_TRUE(graph.structured_content.has_value());
    if (graph.structured_content) {
      const auto& entities = (*graph.structured_content)["entities"].as_array();
      EXPECT_THAT(entities, SizeIs(1));
      EXPECT_EQ(entities.at(0)["name"], Json("Ann"));
    }
    co_await session.close();
  });
}

TEST(SequentialThinkingServer, AnswersStructured) {
  run_task([]() -> Task<void> {
    Client client(ClientOptions{});
    auto session = co_await client.connect(npm_server("mcp-server-sequential-thinking"));
    Json thought{{"thought", "one"}, {"nextThoughtNeeded", false}, {"thoughtNumber", 1}, {"totalThoughts", 1}};
    auto result = co_await session.call_tool("sequentialthinking", std::move(thought));
    EXPECT_FALSE(result.is_error) << text_of(result);
    EXPECT_TRUE(result.structured_content.has_value());
    EXPECT_EQ(result.structured_content.value_or(Json())["thoughtHistoryLength"], Json(1));
    co_await session.close();
  });
}

TEST(Context7Server, SpeaksBothEras) {
  for (const char* protocol : {"auto", "legacy"}) {
    run_task([protocol]() -> Task<void> {
      ClientOptions options;
      options.protocol = protocol;
      Client client(std::move(options));
      auto session = co_await client.connect(npm_server("context7-mcp"));
      EXPECT_EQ(session.is_legacy(), std::string(protocol) == "legacy");
      EXPECT_EQ(session.server().protocol_version, session.is_legacy() ? "2025-11-25" : "2026-07-28");
      EXPECT_EQ(session.server().info.name, "Context7");
      EXPECT_THAT(names(co_await session.list_tools()), IsSupersetOf({"resolve-library-id", "query-docs"}));
      EXPECT_THAT((co_await session.list_resources()).items, IsEmpty());
      EXPECT_THAT((co_await session.list_prompts()).items, IsEmpty());
      co_await session.close();
    });
  }
}

TEST(CodeRunnerServer, WorksDespiteJunkOnStdout) {
  run_task([]() -> Task<void> {
    Client client(ClientOptions{});
    const auto path = fs::path(environment("PATCHBAY_NODE")).parent_path().string();
    // It runs the code with the node on its PATH.
    auto session =
        co_await client.connect(npm_server("mcp-server-code-runner", {}, {{"PATH", path + ":/usr/bin:/bin"}}));
    EXPECT_THAT(names(co_await session.list_tools()), ElementsAre("run-code"));
    EXPECT_EQ(co_await call_text(session, "run-code", {{"code", "console.log(6*7)"}, {"languageId", "javascript"}}),
              "42\n");
    co_await session.close();
  });
}

}  // namespace
}  // namespace patchbay
