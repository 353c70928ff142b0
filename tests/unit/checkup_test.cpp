// What doctor finds, from values. N6.
#include "inspect/checkup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Level = FindingLevel;

auto found(Level level, const std::string& subject, const std::string& part) {
  return AllOf(Field(&Finding::level, level), Field(&Finding::subject, subject),
               Field(&Finding::message, HasSubstr(part)));
}

// A machine where /bin/good and /there are, and these variables are set.
MachineFacts machine(std::map<std::string, std::string, std::less<>> variables = {}) {
  MachineFacts facts;
  facts.variables = [variables](std::string_view name) -> std::optional<std::string> {
    const auto at = variables.find(name);
    return at == variables.end() ? std::nullopt : std::optional(at->second);
  };
  facts.readable = [](const std::string& path) { return path.starts_with("/there"); };
  facts.find_command = [](std::string_view command, std::string_view path,
                          std::string_view directory) -> Result<std::string> {
    if (command == "good") return std::string("/bin/good");
    return fail(Errc::connect, "command not found: " + std::string(command) + " in " + std::string(path) + " from " +
                                   std::string(directory));
  };
  facts.secret_fault = [](const std::string& name) { return name == "known" ? std::string() : "no " + name; };
  return facts;
}

ServerConfig local_server(std::string command) {
  ServerConfig server;
  server.name = "s";
  server.command = std::move(command);
  server.origin = {"/home/me/.config/patchbay/config.json", 4, ConfigScope::user, ConfigTrust::trusted, 3};
  return server;
}

ServerConfig remote_server(std::string url) {
  auto server = local_server({});
  server.kind = ServerKind::http;
  server.url = std::move(url);
  return server;
}

std::vector<Finding> servers_of(const ServerConfig& server, const MachineFacts& facts = machine()) {
  LoadedConfig config;
  config.cwd = "/there/w";
  config.home = "/there/home";
  config.servers.push_back(server);
  return check_servers(config, facts);
}

TEST(Checkup, AServerThatCanBeStartedIsInOrder) {
  auto with_secrets = local_server("good");
  with_secrets.env = {{"A", "${secret:known}"}, {"B", "${file:x.txt}"}, {"C", "${env:SET}"}, {"D", "${cmd:date}"}};
  auto remote = remote_server("https://example.com/mcp");
  remote.tls.ca = "/there/ca.pem";
  auto open = local_server("${LATER}");
  for (const auto& server : {local_server("good"), with_secrets, remote, open}) {
    EXPECT_THAT(servers_of(server, machine({{"SET", "1"}})), ElementsAre(found(Level::ok, "s", "user entry")));
  }
}

TEST(Checkup, WhatAStartWouldFailOfIsFoundBefore) {
  auto changed = [](ServerConfig server, const std::function<void(ServerConfig&)>& change) {
    change(server);
    return server;
  };
  struct Case {
    ServerConfig server;
    std::string part;
  };
  const std::vector<Case> cases{
      {local_server("missing"), "command not found: missing in /usr/local/bin:/usr/bin:/bin from /there/w"},
      {changed(local_server("missing"), [](auto& s) { s.env = {{"PATH", "/mine"}}; }), "in /mine from"},
      {changed(local_server("missing"), [](auto& s) { s.cwd = "sub"; }), "from /there/w/sub"},
      {changed(local_server("good"), [](auto& s) { s.cwd = "/gone"; }), "working directory /gone does not exist"},
      {changed(local_server("good"), [](auto& s) { s.env_file = "/gone/.env"; }), "its envFile /gone/.env"},
      {changed(local_server("good"), [](auto& s) { s.env = {{"A", "${secret:unknown}"}}; }), "no unknown"},
      {changed(local_server("good"), [](auto& s) { s.env = {{"A", "${env:UNSET}"}}; }), "${env:UNSET} in \"env.A\""},
      {changed(local_server("good"), [](auto& s) { s.env = {{"A", "${file:/gone/x}"}}; }), "cannot be read"},
      {changed(local_server("good"),
               [](auto& s) {
                 s.env = {{"A", "${cmd:id}"}};
                 s.origin.scope = ConfigScope::project;
                 s.origin.trust = ConfigTrust::needs_approval;
               }),
       "cmd"},
      {remote_server("https://exa mple.com"), "is not a URL"},
      {changed(remote_server("https://example.com"), [](auto& s) { s.tls.cert = "/gone/c.pem"; }), "tls.cert"},
  };
  for (const auto& one : cases) {
    const auto findings = servers_of(one.server);
    EXPECT_THAT(findings, ElementsAre(found(Level::problem, "s", one.part))) << one.part;
  }
}

TEST(Checkup, APrefixLooksUpItsOwnCommands) {
  EXPECT_THAT(servers_of(local_server("missing"), machine({{"CLAUDE_CODE_SHELL_PREFIX", "wrap"}})),
              ElementsAre(found(Level::ok, "s", "")));
}

TEST(Checkup, WhatIsNotUsedIsANoteUnlessItIsRequired) {
  for (auto standing : {ServerStanding::awaiting_approval, ServerStanding::rejected, ServerStanding::disabled,
                        ServerStanding::policy, ServerStanding::duplicate, ServerStanding::not_configured}) {
    auto server = local_server("missing");
    server.standing = standing;
    server.reason = "because";
    EXPECT_THAT(servers_of(server), ElementsAre(Field(&Finding::level, Level::note))) << to_string(standing);
    server.required = true;
    EXPECT_THAT(servers_of(server), ElementsAre(Field(&Finding::level, Level::problem))) << to_string(standing);
  }
  auto pending = local_server("missing");
  pending.standing = ServerStanding::awaiting_approval;
  EXPECT_EQ(servers_of(pending).front().fix, (Fix{Fix::Kind::look_and_approve, "s"}));
  pending.standing = ServerStanding::broken;
  EXPECT_THAT(servers_of(pending), IsEmpty());
}

TEST(Checkup, WhatAwaitsApprovalBehindAnEntryOfTheUserIsANote) {
  auto config = LoadedConfig{};
  config.servers.push_back(local_server("there"));
  auto rival = config.servers.front();
  rival.standing = ServerStanding::awaiting_approval;
  rival.origin.file = "/p/.mcp.json";
  config.shadowed.push_back(rival);
  auto notes = [&] {
    std::vector<Finding> out;
    for (const auto& one : check_servers(config, machine())) {
      if (one.message.contains("needs your approval")) out.push_back(one);
    }
    return out;
  };
  EXPECT_THAT(notes(), ElementsAre(AllOf(found(Level::note, "s", "/p/.mcp.json"),
                                         Field(&Finding::fix, Fix{Fix::Kind::approve_instead, "s"}))));
  config.shadowed.front().standing = ServerStanding::disabled;
  EXPECT_THAT(notes(), IsEmpty());
  // Of two that both wait none goes before the other.
  config.shadowed.front().standing = config.servers.front().standing = ServerStanding::awaiting_approval;
  EXPECT_EQ(notes().size(), 1u);
}

TEST(Checkup, AHelperThatNeedsTrustIsANote) {
  auto server = remote_server("https://example.com");
  server.headers_helper = "print";
  server.origin.scope = ConfigScope::local;
  LoadedConfig config;
  config.cwd = "/there/w";
  config.servers.push_back(server);
  const auto findings = check_servers(config, machine());
  ASSERT_THAT(findings, ElementsAre(found(Level::note, "s", "headersHelper not run")));
  EXPECT_EQ(findings.front().fix, Fix{Fix::Kind::trust});
  EXPECT_THAT(check_trust(config), ElementsAre(found(Level::ok, "/there/w", "is not trusted")));
  EXPECT_EQ(check_trust(config).front().fix, Fix());
  config.project_trusted = true;
  EXPECT_THAT(check_servers(config, machine()), ElementsAre(found(Level::ok, "s", "")));
  EXPECT_THAT(check_trust(config), ElementsAre(found(Level::ok, "/there/w", "is trusted")));
  EXPECT_EQ(check_trust(config).front().fix, Fix{Fix::Kind::withdraw_trust});
}

TEST(Checkup, ErrorsOfFilesAreProblemsAndTheRestIsNotes) {
  LoadedConfig config;
  const std::vector<ConfigProblem> problems{{"a.json", 1, 2, "wrong", {}, Severity::error},
                                            {"a.json", 3, 4, "odd", {}, Severity::warning},
                                            {"a.json", 5, 6, "fyi", {}, Severity::note}};
  const auto findings = check_configuration(config, problems);
  EXPECT_THAT(findings, ElementsAre(found(Level::note, "", "no servers are declared in the files that could be read"),
                                    found(Level::problem, "a.json", "wrong"), found(Level::note, "a.json", "odd"),
                                    found(Level::note, "a.json", "fyi")));
  EXPECT_EQ(findings[1].line, 1u);
  EXPECT_EQ(findings[1].column, 2u);
  config.servers = {local_server("a"), local_server("b")};
  config.servers[1].standing = ServerStanding::disabled;
  config.exclusive = "/etc/m.json";
  EXPECT_THAT(check_configuration(config, {}),
              ElementsAre(found(Level::ok, "", "2 declared servers, of which 1 may be started"),
                          found(Level::note, "/etc/m.json", "organisation")));
}

TEST(Checkup, FilesOthersCanReadAreAProblemWhenThereAreSecretsInThem) {
  UpkeepState state;
  state.files = {{"/c/config.json", 0644, true, false},
                 {"/c/secrets.json", 0640, true, true},
                 {"/c/other.json", 0600, false, true},
                 {"/c/good.json", 0600, true, true}};
  state.leftovers = {"/c/config.json.patchbay-new"};
  state.gone_projects = {"/gone"};
  state.closed_folders = {{"/c", ClosedFolder::Use::config, "Read-only file system"},
                          {"/s", ClosedFolder::Use::state, "Permission denied"}};
  state.being_changed = true;
  EXPECT_THAT(check_files(state),
              ElementsAre(found(Level::note, "/c/config.json", "mode 0644"),
                          found(Level::problem, "/c/secrets.json", "contains secrets"),
                          found(Level::problem, "/c/other.json", "another user"),
                          found(Level::ok, "/c/good.json", "only you can read it"),
                          found(Level::problem, "/c", "(Read-only file system): servers cannot be added"),
                          found(Level::problem, "/s", "(Permission denied): sign-ins, secrets"),
                          found(Level::note, "/c/config.json.patchbay-new", "leftover"),
                          found(Level::note, "/gone", "no longer exists"), found(Level::note, "", "another program")));
}

TEST(Checkup, TheEnvironmentIsLookedAt) {
  EXPECT_THAT(check_environment(machine()), ElementsAre(found(Level::ok, "", "")));
  for (const auto* name :
       {"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "CLAUDE_CODE_CLIENT_CERT", "CLAUDE_CODE_CLIENT_KEY"}) {
    EXPECT_THAT(check_environment(machine({{name, "/gone.pem"}})),
                ElementsAre(found(Level::problem, name, "/gone.pem")));
    EXPECT_THAT(check_environment(machine({{name, "/there.pem"}})), ElementsAre(found(Level::ok, "", "")));
    EXPECT_THAT(check_environment(machine({{name, ""}})), ElementsAre(found(Level::ok, "", "")));
  }
  const auto proxy = check_environment(machine({{"https_proxy", "http://me:hidden@proxy:3128"}}));
  EXPECT_THAT(proxy, ElementsAre(found(Level::note, "https_proxy", "proxy:3128")));
  EXPECT_THAT(proxy.front().message, Not(HasSubstr("hidden")));
  auto few = machine();
  few.open_files = 64;
  EXPECT_THAT(check_environment(few), ElementsAre(found(Level::note, "open files", "64")));
  const std::vector<SettingsVariable> set{{"HOST", "h.example", "/home/me/.claude/settings.json", 3, 5}};
  EXPECT_THAT(check_environment(machine(), set),
              ElementsAre(found(Level::note, "HOST", "\"env\" in /home/me/.claude/settings.json:3")));
}

TEST(Checkup, ConnectionsAreReportedWithWhatTheServerIs) {
  ServerStatus good;
  good.name = "a";
  good.state = ServerState::connected;
  good.tool_count = 1;
  good.server.emplace();
  good.server->protocol_version = "2025-11-25";
  good.server->info = {.name = "fake", .version = "1.2"};
  ServerStatus failed;
  failed.name = "b";
  failed.state = ServerState::failed;
  failed.error = Error(Errc::connect, "it ended with exit code 7");
  ServerStatus unlisted = good;
  unlisted.name = "c";
  unlisted.reason = ServerReason::tools_fetch_failed;
  ServerStatus sign_in = failed;
  sign_in.name = "d";
  sign_in.state = ServerState::needs_auth;
  EXPECT_THAT(check_connections(std::vector{good, failed, unlisted, sign_in}),
              ElementsAre(found(Level::ok, "a", "connected, 1 tool, protocol 2025-11-25, fake 1.2"),
                          found(Level::problem, "b", "exit code 7"), found(Level::problem, "c", "cannot be listed"),
                          found(Level::problem, "d", "sign-in")));
}

TEST(Checkup, WhatAServerSaidBeforeItEndedIsTheCause) {
  ServerStatus silent;
  silent.name = "a";
  silent.state = ServerState::failed;
  silent.error = Error(Errc::connect, "it exited with status 3");
  ServerStatus talking = silent;
  talking.error = Error(Errc::connect, "it exited with status 3").with_detail("starting\nError: missing FOO_KEY\n");
  ServerStatus remote = silent;
  remote.error = Error(Errc::http, "POST http://h/mcp: 404; check the path");
  const auto findings = check_connections(std::vector{silent, talking, remote});
  ASSERT_EQ(findings.size(), 3u);
  EXPECT_EQ(findings[0].fix, (Fix{Fix::Kind::read_log, "a"}));
  EXPECT_EQ(findings[1].detail, "starting\nError: missing FOO_KEY\n");
  EXPECT_EQ(findings[1].fix, Fix());
  EXPECT_EQ(findings[2].fix, Fix());
}

TEST(Checkup, ServersOfWhichNoneMayBeStartedAreANote) {
  LoadedConfig config;
  EXPECT_THAT(check_configuration(config, {}), ElementsAre(found(Level::ok, "", "no servers are declared")));
  config.servers.push_back(local_server("good"));
  EXPECT_THAT(check_configuration(config, {}), ElementsAre(found(Level::ok, "", "of which 1 may be started")));
  config.servers.front().standing = ServerStanding::awaiting_approval;
  EXPECT_THAT(check_configuration(config, {}), ElementsAre(found(Level::note, "", "of which 0 may be started")));
}

}  // namespace
}  // namespace patchbay
