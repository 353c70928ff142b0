// Rows of docs/requirements.md: T1, C2, C4, C6.
// What happens between an entry as it was written and a transport: with real shells, files and directories.
#include "host/start/server_start.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/host.h>

#include "base/as_result.h"
#include "host/start/helper_command.h"
#include "host/start/helper_headers.h"
#include "settings/secret_file.h"
#include "support/loop.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::run_task;
using testing::HasSubstr;
using testing::Not;

class ServerStart : public testing::Test {
 protected:
  ServerStart() {
    context->run.cwd = path("");
    context->run.config_dir = path("");
    context->variables = [this](std::string_view name) -> std::optional<std::string> {
      if (name == "HOME") return path("home");
      if (name == "SET") return "set";
      return std::nullopt;
    };
    context->environment = environment_of_process();
    context->secrets = [file = path("secrets.json")](const std::string& name) {
      return stored_secret(file, name, ::getuid());
    };
  }
  std::string path(std::string_view name) const { return (tree.path() / name).string(); }

  // A program that writes down its arguments and environment and ends.
  ServerConfig recorder(ConfigScope scope = ConfigScope::user) const {
    ServerConfig server;
    server.name = "s";
    server.command = "/bin/sh";
    server.args = {"-c", "{ printf '%s\\n' \"$@\"; env; } > '" + path("record") + "'", "x"};
    server.origin = {"/f", 1, scope, trust_of(scope), 1};
    return server;
  }
  // Starts it, which fails because it is not a server, and returns what it wrote down.
  std::string run(const ServerConfig& server) {
    std::filesystem::remove(path("record"));
    run_task([&]() -> Task<void> {
      auto transport = co_await make_transport(server, context, Runtime{});
      auto session = co_await as_result(Client(ClientOptions{}).connect(transport));
      EXPECT_FALSE(session);
    });
    return tree.read("record");
  }
  std::string failure(const ServerConfig& server) {
    std::string message;
    run_task([&]() -> Task<void> {
      auto made = co_await as_result(make_transport(server, context, Runtime{}));
      if (made) {
        ADD_FAILURE() << "it was made";
      } else {
        EXPECT_EQ(made.error().code(), Errc::config);
        message = made.error().message();
      }
    });
    return message;
  }

  test::TempTree tree;
  std::shared_ptr<StartContext> context = std::make_shared<StartContext>();
};

// compat: B3.22
TEST_F(ServerStart, SecretsAreFetchedWhenAServerIsStarted) {
  tree.file("home/token", "from file\n");
  tree.file("relative", "beside us");
  tree.file("secrets.json", R"({"version":1,"secrets":{"n":"stored"}})");
  ::chmod(path("secrets.json").c_str(), 0600);
  auto server = recorder();
  server.env = {{"A", "<${file:~/token}>"}, {"B", "<${file:relative}>"},
                {"C", "<${secret:n}>"},     {"D", "<${cmd:echo \"{$0}\"; echo}>"},
                {"E", "<${env:SET}>"},      {"F", "<${SET}${UNSET}>"}};
  server.args.push_back("<${secret:n}>");
  auto record = run(server);
  EXPECT_THAT(record, HasSubstr("A=<from file>\n"));
  EXPECT_THAT(record, HasSubstr("B=<beside us>\n"));
  EXPECT_THAT(record, HasSubstr("C=<stored>\n"));
  EXPECT_THAT(record, HasSubstr("D=<{/bin/sh}>\n"));
  EXPECT_THAT(record, HasSubstr("E=<set>\n"));
  EXPECT_THAT(record, HasSubstr("F=<set${UNSET}>\n"));
  EXPECT_TRUE(record.starts_with("<stored>\n")) << record;
  // What is shown comes from what was written.
  EXPECT_THAT(shown_target(server), HasSubstr("${secret:"));
  EXPECT_THAT(shown_target(server), Not(HasSubstr("stored")));
}

// compat: B3.22
TEST_F(ServerStart, ASecretThatIsNotThereIsSaidAndNothingStarts) {
  struct Case {
    std::string_view value, message;
  };
  for (auto [value, message] : std::initializer_list<Case>{
           {"${env:GONE}",
            "server \"s\": ${env:GONE} in \"env.A\" (from /f) is not available: the variable is not set; set it, or "
            "write ${GONE:-DEFAULT} to give it a default"},
           {"${file:gone}",
            "server \"s\": ${file:gone} in \"env.A\" (from /f) is not available: there is no such file"},
           {"${file:/dev/zero}",
            "server \"s\": ${file:/dev/zero} in \"env.A\" (from /f) is not available: it is a device, not a "
            "file; replace it with a file"},
           {"${cmd:echo oops >&2; exit 3}", "the command in \"env.A\" of server \"s\" exited with status 3: oops"},
       }) {
    auto server = recorder();
    server.env = {{"A", std::string(value)}};
    EXPECT_EQ(failure(server), message);
  }
  auto server = recorder();
  server.env = {{"A", "${secret:n}"}};
  EXPECT_THAT(failure(server), HasSubstr("secrets.json does not exist; create it with"));
  tree.file("secrets.json", R"({"secrets":{"m":"stored"}})");
  ::chmod(path("secrets.json").c_str(), 0644);
  EXPECT_THAT(failure(server), HasSubstr("is not used: users other than its owner can read it; run: chmod 600"));
  ::chmod(path("secrets.json").c_str(), 0600);
  EXPECT_THAT(failure(server), HasSubstr("has no secret called \"n\"; add it to \"secrets\""));
  for (auto* text : {"[]", "1", R"({"secrets":[]})", R"({"secrets":{"n":1}})"}) {
    tree.file("secrets.json", text);
    EXPECT_THAT(failure(server), HasSubstr("has no secret called \"n\"")) << text;
  }
  tree.file("secrets.json", R"({"secrets": super-secret})");
  EXPECT_THAT(failure(server), Not(HasSubstr("super")));
}

// compat: B3.22
TEST_F(ServerStart, NothingIsReadOrRunForWhatARepositoryBrings) {
  for (auto scope : {ConfigScope::project, ConfigScope::plugin, ConfigScope::connector}) {
    auto server = recorder(scope);
    server.approved = true;
    server.env = {{"A", "${cmd:touch '" + path("ran") + "'}"}};
    EXPECT_THAT(failure(server), HasSubstr("${cmd:…} in \"env.A\" is not used in an entry of"));
    server.env = {{"A", "${file:/etc/passwd}"}};
    EXPECT_THAT(failure(server), HasSubstr("${file:…}"));
    server.env = {{"A", "${secret:n}"}};
    EXPECT_THAT(failure(server), HasSubstr("${secret:…}"));
  }
  auto local = recorder(ConfigScope::local);
  local.env = {{"A", "${cmd:touch '" + path("ran") + "'}"}};
  EXPECT_THAT(failure(local), HasSubstr("declare the server in user scope"));
  EXPECT_FALSE(tree.has("ran"));
}

// compat: B3.13, B3.2
TEST_F(ServerStart, AChildGetsOurEnvironmentTheRunAndItsEntry) {
  ::setenv("OTEL_PATCHBAY_TEST", "x", 1);
  ::setenv("PATCHBAY_TEST_INHERITED", "y", 1);
  context->environment = environment_of_process();
  context->run.session_id = "the-session";
  tree.file("vars.env", "FROM_FILE=1\nBOTH=file\n");
  auto server = recorder();
  server.env_file = "vars.env";
  server.env = {{"BOTH", "entry"}, {"CLAUDECODE", "mine"}};
  auto record = run(server);
  ::unsetenv("OTEL_PATCHBAY_TEST");
  ::unsetenv("PATCHBAY_TEST_INHERITED");
  for (auto* line : {"PATCHBAY_TEST_INHERITED=y\n", "CLAUDE_CODE_SESSION_ID=the-session\n", "FROM_FILE=1\n",
                     "BOTH=entry\n", "CLAUDECODE=mine\n"}) {
    EXPECT_THAT(record, HasSubstr(line));
  }
  EXPECT_THAT(record, HasSubstr("CLAUDE_PROJECT_DIR=" + path("") + "\n"));
  EXPECT_THAT(record, Not(HasSubstr("OTEL_PATCHBAY_TEST")));
  server.env_file = "gone.env";
  EXPECT_EQ(failure(server), "server \"s\": the \"envFile\" " + path("gone.env") +
                                 " (from /f) cannot be read: there is no such file; create it, or correct the path");
}

// compat: B3.16
TEST_F(ServerStart, APrefixWrapsTheCommand) {
  tree.file("prefix.sh", "#!/bin/sh\nexport WRAPPED=yes\nexec sh -c \"$1\"\n");
  std::filesystem::permissions(path("prefix.sh"), std::filesystem::perms::owner_all);
  context->environment["CLAUDE_CODE_SHELL_PREFIX"] = path("prefix.sh");
  auto server = recorder();
  server.args.push_back("two words");
  auto record = run(server);
  EXPECT_THAT(record, HasSubstr("WRAPPED=yes\n"));
  EXPECT_TRUE(record.starts_with("two words\n")) << record;
}

TEST_F(ServerStart, PolicyIsAskedAboutWhatVariablesCameTo) {
  tree.file("url", "https://evil.example/");
  ServerConfig server;
  server.name = "s";
  server.kind = ServerKind::http;
  server.url = "${file:url}";
  server.origin.scope = ConfigScope::user;
  std::string asked;
  context->check = [&](const ServerConfig& written, const ServerConfig& expanded) {
    EXPECT_EQ(written.url, "${file:url}");
    asked = expanded.url;
    throw Error(Errc::denied, "no");
  };
  run_task([&]() -> Task<void> {
    auto made = co_await as_result(make_transport(server, context, Runtime{}));
    EXPECT_FALSE(made);
    EXPECT_EQ(made.error(), Error(Errc::denied, "no"));
  });
  EXPECT_EQ(asked, "https://evil.example/");
}

TEST_F(ServerStart, HelpersAreBoundedInTimeAndOutput) {
  struct Case {
    std::string line;
    std::chrono::milliseconds time;
    std::string message;
  };
  for (const auto& [line, time, message] : std::initializer_list<Case>{
           {"sleep 60", 300ms, "it took longer than 0.3 s, the limit, and was ended"},
           {"trap '' TERM INT; while :; do :; done", 300ms, "it took longer than 0.3 s, the limit, and was ended"},
           {"while :; do echo xxxxxxxxxxxxxxxx; done", 30s, "it printed more than 1 KiB, the limit"},
           {"kill -9 $$", 30s, "it was killed by signal 9 (SIGKILL)"},
           {"exit 7", 30s, "it exited with status 7"},
       }) {
    run_task([&]() -> Task<void> {
      HelperCommand command;
      command.line = line;
      command.label = "it";
      command.output = 1024;
      command.time = time;
      auto result = co_await as_result(run_helper(command, Runtime{}));
      EXPECT_FALSE(result) << line;
      if (!result) EXPECT_EQ(result.error(), Error(Errc::config, message)) << line;
    });
  }
}

// compat: B3.5
TEST_F(ServerStart, AHelperRunsAtTheFirstRequestAndOnceForARefusal) {
  HelperCommand command;
  command.label = "headersHelper of \"s\"";
  command.cwd = path("");
  command.line =
      "echo x >> runs; printf '{\"Authorization\": \"Bearer %s\", \"Accept\": \"no\", \"Mcp-Name\": \"no\"}' "
      "$(wc -l < runs)";
  run_task([&]() -> Task<void> {
    HelperHeaders helper(command, Runtime{});
    HttpRequest request;
    request.headers = {{"authorization", "static"}, {"Accept", "application/json"}, {"X", "1"}};
    auto sent = co_await helper.authorize(request);
    EXPECT_EQ(request.headers.get("Authorization"), "Bearer 1");
    EXPECT_EQ(request.headers.get("Accept"), "application/json");
    EXPECT_FALSE(request.headers.contains("Mcp-Name"));
    EXPECT_EQ(request.headers.get("X"), "1");
    auto second = request;
    (void)co_await helper.authorize(second);
    EXPECT_EQ(second.headers.get("Authorization"), "Bearer 1");
    // Two requests were refused with the same headers: one run answers both.
    EXPECT_TRUE(co_await helper.on_challenge(sent, request, HttpHead{}));
    EXPECT_TRUE(co_await helper.on_challenge(sent, request, HttpHead{}));
    auto again = co_await helper.authorize(request);
    EXPECT_EQ(request.headers.get("Authorization"), "Bearer 2");
    EXPECT_TRUE(co_await helper.on_challenge(again, request, HttpHead{}));
    (void)co_await helper.authorize(request);
    EXPECT_EQ(request.headers.get("Authorization"), "Bearer 3");
    // Somebody whom a redirect led to was not sent them: no newer ones are fetched for that.
    request.url = "https://h/mcp";
    auto third = co_await helper.authorize(request);
    EXPECT_FALSE(co_await helper.on_challenge(third, request,
                                              HttpHead{.status = 401, .headers = {}, .url = "https://other/mcp"}));
    EXPECT_TRUE(co_await helper.on_challenge(third, request,
                                             HttpHead{.status = 401, .headers = {}, .url = "https://h/elsewhere"}));
    (void)co_await helper.authorize(request);
    EXPECT_EQ(request.headers.get("Authorization"), "Bearer 4");
  });
  run_task([&]() -> Task<void> {
    command.line = "echo '{\"A\": 1}'";
    HelperHeaders helper(command, Runtime{});
    HttpRequest request;
    auto sent = co_await as_result(helper.authorize(request));
    EXPECT_FALSE(sent);
    if (!sent) {
      EXPECT_EQ(sent.error(), Error(Errc::config,
                                    "the output of headersHelper of \"s\" cannot be used: the header \"A\" must be a "
                                    "string, but it is a number"));
    }
  });
}

}  // namespace
}  // namespace patchbay
