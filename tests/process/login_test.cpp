// Signing in from the command line against a server that wants it: with a browser, by copying addresses, what is shown
// before and after, and what goes wrong. A1 A2 A5 L3 G4 X4.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/form.h"
#include "support/household.h"
#include "support/places.h"
#include "support/planted.h"
#include "support/running_program.h"
#include "support/sign_in_server.h"
#include "support/terminal.h"

namespace patchbay::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Login : public testing::Test {
 protected:
  Login() {
    house.tree.file("browser.py", browser_script());
    ::chmod((house.tree.path() / "browser.py").c_str(), 0700);
  }

  CommandOptions options(const std::string& input = {}) const {
    auto all = house.options({}, input);
    all.env["BROWSER"] = (house.tree.path() / "browser.py").string();
    all.env["PATCHBAY_SECRET_STORE"] = "file";
    for (const auto& [name, value] : more) all.env[name] = value;
    return all;
  }
  CommandResult run(std::vector<std::string> words, const std::string& input = {}) const {
    words.insert(words.begin(), built("patchbay"));
    return run_program(words, options(input));
  }
  void add() const {
    const auto added = run({"add", "--scope", "user", "-t", "http", "guarded", server.url()});
    ASSERT_EQ(added.code, 0) << added.err;
  }

  // What `auth status --json` says of the one server.
  Json auth_status() const {
    const auto all = json_of(run({"auth", "status", "--json"}));
    const auto* servers = all["servers"].if_array();
    return servers != nullptr && servers->size() == 1 ? servers->front() : Json();
  }

  Household house;
  SignInServer server;
  std::map<std::string, std::string> more;
};

TEST_F(Login, OpensTheBrowser_KeepsTheToken_AndLaterCommandsUseIt) {
  add();
  const auto refused = run({"call", "guarded/hello"});
  EXPECT_EQ(refused.code, 3);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("needs you to sign in"), HasSubstr("patchbay login guarded")));

  const auto signed_in = run({"login", "guarded"});
  ASSERT_EQ(signed_in.code, 0) << signed_in.err;
  EXPECT_THAT(signed_in.out, AllOf(HasSubstr("Signed in to \"guarded\" at " + server.issuer()), HasSubstr("1 tool"),
                                   HasSubstr("scopes: read"), HasSubstr("encrypted file")));
  EXPECT_THAT(signed_in.err, AllOf(HasSubstr("/authorize?"), HasSubstr("Waiting for the browser, 10 minutes at most"),
                                   HasSubstr("The key of the encrypted file is in"), Not(HasSubstr("Failed to"))));
  const auto called = run({"call", "guarded/hello"});
  EXPECT_EQ(called.code, 0) << called.err;
  EXPECT_THAT(called.out, HasSubstr("hello, signed-in user"));
  EXPECT_EQ(server.registrations, 1);
  EXPECT_EQ(server.codes, 1);

  const auto status = auth_status();
  EXPECT_EQ(status["name"], Json("guarded"));
  EXPECT_EQ(status["signedIn"], Json(true));
  EXPECT_EQ(status["issuer"], Json(server.issuer()));
  EXPECT_EQ(status["keptIn"], Json("file"));
  EXPECT_EQ(status["lastFailure"], Json());
  EXPECT_THAT(run({"auth", "status"}).out,
              AllOf(HasSubstr("guarded: signed in at"), HasSubstr("renewed by itself"), Not(HasSubstr("planted"))));

  const auto out = run({"logout", "guarded"});
  EXPECT_EQ(out.code, 0) << out.err;
  EXPECT_THAT(out.out, HasSubstr("Signed out of \"guarded\""));
  EXPECT_EQ(server.revocations, 1);
  EXPECT_THAT(run({"auth", "status"}).out, HasSubstr("not signed in; to sign in: patchbay login guarded"));
  EXPECT_THAT(run({"mcp", "logout", "guarded"}).out, HasSubstr("You were not signed in"));
}

// compat: B5.11
TEST_F(Login, IsAlsoCalledMcpLogin_AndAnswersScriptsInJson) {
  add();
  const auto result = run({"mcp", "login", "guarded", "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  const auto answer = json_of(result);
  EXPECT_EQ(answer["issuer"], Json(server.issuer()));
  EXPECT_EQ(answer["toolCount"], Json(1));
  EXPECT_EQ(answer["keptIn"], Json("file"));
  EXPECT_EQ(answer["registered"], Json(true));
}

TEST_F(Login, NobodyComesBack_AndTheWaitEndsWhenTheUserSaid) {
  add();
  more["BROWSER"] = "true";  // a browser that shows nothing
  const auto result = run({"login", "guarded", "--timeout", "3"});
  EXPECT_EQ(result.code, 3) << result.err;
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("Waiting for the browser, 3 s at most"), HasSubstr("nobody signed in within 3 s")));
  EXPECT_EQ(server.codes, 0);
}

// compat: B5.25
TEST_F(Login, EverySurfaceSaysHowToSignIn) {
  add();
  struct Case {
    std::vector<std::string> words;
    std::string text;
  };
  for (const auto& [words, text] : std::vector<Case>{
           {{"list", "--check"}, "! Needs authentication"},
           {{"mcp", "list"}, "! Needs authentication"},
           {{"get", "guarded", "--check"}, "! Needs authentication"},
           {{"status", "--check"}, "needs-auth"},
           {{"status"}, "needs-auth"},
           {{"doctor"}, "needs sign-in"},
           {{"why", "guarded", "--check"}, "sign in"},
           {{"tools"}, ""},
           {{"reconnect", "guarded"}, ""},
       }) {
    const auto result = run(words);
    EXPECT_THAT(result.out + result.err, AllOf(HasSubstr(text), HasSubstr("patchbay login guarded")))
        << testing::PrintToString(words);
  }
}

TEST_F(Login, WithoutABrowser_TheAddressIsPrintedAndTheWayOnIsSaid) {
  add();
  more = {{"BROWSER", "/nonexistent/browser:false"}, {"SSH_CONNECTION", "1 2 3 4"}};
  auto words = std::vector<std::string>{built("patchbay"), "login", "guarded"};
  Terminal terminal(words, house.project(), options().env);
  ASSERT_TRUE(terminal.wait_for("Waiting for the browser")) << terminal.seen();
  EXPECT_THAT(terminal.seen(), AllOf(HasSubstr("No browser was opened here"), HasSubstr("--no-browser"),
                                     HasSubstr("ssh -L"), HasSubstr("/authorize?")));
  terminal.type("\x03");
  EXPECT_EQ(terminal.wait_for_end(), 130) << terminal.seen();
  EXPECT_EQ(auth_status()["lastFailure"], Json());
}

// The address of the page, out of what was printed.
std::map<std::string, std::string> page_in(const std::string& text) {
  const auto begin = text.find("/authorize?");
  if (begin == std::string::npos) return {};
  const auto query = text.substr(begin + 11, text.find_first_of("\r\n", begin) - begin - 11);
  std::map<std::string, std::string> out;
  const auto members = read_form(query);
  if (!members) return {};
  for (const auto& [name, value] : *members) out[name] = value;
  return out;
}

TEST_F(Login, TheAddressIsPasted_AndAWrongOneIsAskedForAgain) {
  add();
  auto words = std::vector<std::string>{built("patchbay"), "login", "guarded", "--no-browser"};
  Terminal terminal(words, house.project(), options().env);
  ASSERT_TRUE(terminal.wait_for("Address: ")) << terminal.seen();
  EXPECT_THAT(terminal.seen(), HasSubstr("copy the whole address"));
  auto page = page_in(terminal.seen());
  ASSERT_FALSE(page["redirect_uri"].empty()) << terminal.seen();
  terminal.forget();
  terminal.type("good-code\n");
  ASSERT_TRUE(terminal.wait_for("Address: ")) << terminal.seen();
  terminal.forget();
  terminal.type(page["redirect_uri"] + "?code=x&state=of-another-attempt\n");
  ASSERT_TRUE(terminal.wait_for("does not belong to this sign-in")) << terminal.seen();
  ASSERT_TRUE(terminal.wait_for("Address: ")) << terminal.seen();
  // Longer than a line that the terminal would edit.
  const auto address = fmt::format("{}?code={}&state={}&session_state={}", page["redirect_uri"], SignInServer::code,
                                   page["state"], std::string(5000, 'x'));
  terminal.type(address + "\n");
  EXPECT_EQ(terminal.wait_for_end(), 0) << terminal.seen();
  EXPECT_THAT(terminal.seen(), HasSubstr("Signed in to \"guarded\""));
}

// compat: B3.26, B6.12
TEST_F(Login, AConfiguredClientPortAndScopes_AreUsedAsTheyAre) {
  const auto port = free_port();
  const Json entry{{"type", "http"},
                   {"url", server.url()},
                   {"oauth", Json{{"clientId", "our-client"}, {"callbackPort", port}, {"scopes", "one two"}}}};
  ASSERT_EQ(run({"add-json", "--scope", "user", "guarded", to_text(entry)}).code, 0);
  const auto result = run({"login", "guarded"});
  ASSERT_EQ(result.code, 0) << result.err;
  auto page = page_in(result.err);
  EXPECT_EQ(page["client_id"], "our-client");
  EXPECT_EQ(page["redirect_uri"], fmt::format("http://localhost:{}/callback", port));
  EXPECT_EQ(page["scope"], "one two");
  EXPECT_THAT(result.err, AllOf(HasSubstr("If the page says that the redirect address does not match"),
                                HasSubstr("\"callbackHost\": \"127.0.0.1\"} into the entry of \"guarded\"")));
  EXPECT_EQ(server.registrations, 0);
}

TEST_F(Login, AtSeveralServers_WhatProtectsTheTokensIsSaidOnce) {
  add();
  ASSERT_EQ(run({"add", "--scope", "user", "-t", "http", "second", server.url()}).code, 0);
  const auto result = run({"login", "guarded", "second"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("Signed in to \"guarded\""), HasSubstr("Signed in to \"second\"")));
  const auto said = result.err.find("The key of the encrypted file is in");
  ASSERT_NE(said, std::string::npos);
  EXPECT_EQ(result.err.find("The key of the encrypted file is in", said + 1), std::string::npos);
}

TEST_F(Login, AUserWhoSaysNo_IsNotSignedIn_AndTheStepIsRemembered) {
  add();
  server.denies = true;
  const auto result = run({"login", "guarded"});
  EXPECT_EQ(result.code, 3) << result.err;
  EXPECT_THAT(result.err, HasSubstr("signing in with the browser"));
  const Json failure = auth_status()["lastFailure"];
  EXPECT_EQ(failure["step"], Json("browser"));
  EXPECT_THAT(run({"auth", "status"}).out, HasSubstr("last attempt failed just now (browser)"));
  server.denies = false;
  EXPECT_EQ(run({"login", "guarded"}).code, 0);
  EXPECT_EQ(auth_status()["lastFailure"], Json());
}

TEST_F(Login, ACodeThatIsRefused_AndAServerThatRefusesTheToken_AreNotSuccesses) {
  add();
  server.refuses_codes = true;
  const auto refused = run({"login", "guarded"});
  EXPECT_EQ(refused.code, 3);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("getting the token"), HasSubstr("this code is not known")));
  server.refuses_codes = false;
  server.refuses_tokens = true;
  const auto not_let_in = run({"login", "guarded"});
  EXPECT_EQ(not_let_in.code, 3);
  EXPECT_THAT(not_let_in.err, HasSubstr("you signed in at"));
  EXPECT_EQ(not_let_in.out, "");
}

TEST_F(Login, ServersWhereNobodySignsIn_AreAMatterOfUsage) {
  ASSERT_EQ(run({"add", "--scope", "user", "local", "--", "true"}).code, 0);
  ASSERT_EQ(run({"add", "--scope", "user", "-t", "http", "own", server.url(), "-H", "Authorization: Bearer x"}).code,
            0);
  for (const auto& name : {"local", "own", "unknown"}) {
    const auto result = run({"login", name});
    EXPECT_EQ(result.code, 2) << name << result.err;
    EXPECT_EQ(result.out, "");
  }
  const auto left = run({"logout", "local"});
  EXPECT_EQ(left.code, 2);
  EXPECT_EQ(left.out, "");
  EXPECT_THAT(left.err, AllOf(HasSubstr("there is no sign-in at server \"local\": it is not reached by a URL"),
                              HasSubstr("patchbay get local")));
  EXPECT_THAT(run({"auth", "status", "own"}).out, HasSubstr("credentials of its own"));
  EXPECT_EQ(server.authorizations, 0);
}

TEST_F(Login, AnIssuerThatCannotBeToldOfALogout_IsNamed) {
  add();
  ASSERT_EQ(run({"login", "guarded"}).code, 0);
  server.cannot_be_told = true;
  const auto out = run({"logout", "guarded"});
  EXPECT_EQ(out.code, 0);
  EXPECT_THAT(out.err, AllOf(HasSubstr("could not be told"), HasSubstr("503")));
  EXPECT_EQ(auth_status()["signedIn"], Json(false));
}

// A2: what is kept can be read by nobody who looks at the files, and by no other user.
TEST_F(Login, NoFileAndNoOutputHasAToken) {
  add();
  const auto result = run({"login", "guarded", "--log-level", "trace", "--trace"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out + result.err, AllOf(Not(HasSubstr("planted-")), Not(HasSubstr(SignInServer::code))));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(house.home())) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path());
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    EXPECT_THAT(text, Not(HasSubstr("planted-"))) << entry.path();
  }
}

TEST_F(Login, TheIdentityProvider_IsSetShownAndCleared) {
  EXPECT_THAT(run({"mcp", "xaa", "show"}).out, HasSubstr("No identity provider is set"));
  EXPECT_EQ(run({"mcp", "xaa", "login"}).code, 2);
  EXPECT_EQ(run({"mcp", "xaa", "setup", "--issuer", "http://login.example.com", "--client-id", "c"}).code, 2);
  EXPECT_EQ(run({"mcp", "xaa", "setup", "--issuer", "https://login.example.com"}).code, 2);
  more["MCP_XAA_IDP_CLIENT_SECRET"] = "planted-secret-77";
  note_planted("planted-secret-77");
  const auto set = run({"mcp", "xaa", "setup", "--issuer", "https://login.example.com", "--client-id", "c",
                        "--client-secret", "--callback-port", "8123"});
  ASSERT_EQ(set.code, 0) << set.err;
  more.erase("MCP_XAA_IDP_CLIENT_SECRET");
  EXPECT_EQ(house.own()["settings"]["xaaIdp"],
            (Json{{"issuer", "https://login.example.com"}, {"clientId", "c"}, {"callbackPort", 8123}}));
  const auto shown = json_of(run({"mcp", "xaa", "show", "--json"}));
  EXPECT_EQ(shown["issuer"], Json("https://login.example.com"));
  EXPECT_EQ(shown["clientSecret"], Json(true));
  EXPECT_EQ(shown["signedIn"], Json(false));
  EXPECT_EQ(run({"mcp", "xaa", "clear"}).code, 0);
  EXPECT_EQ(house.own()["settings"]["xaaIdp"], Json());
  EXPECT_EQ(json_of(run({"mcp", "xaa", "show", "--json"}))["issuer"], Json());
}

// T8: the directory of connectors and the proxy they are reached through are signed in to as servers are.
TEST_F(Login, ConnectorsWithoutABearer_AreSignedInTo) {
  const Json connectors{{"url", server.directory()}, {"proxy", server.proxy()}};
  house.tree.file("home/.config/patchbay/config.json", to_text(Json{{"connectors", connectors}}));
  EXPECT_THAT(run({"auth", "status"}).out,
              HasSubstr("connectors: not signed in; to sign in: patchbay login connectors"));
  const auto listed = run({"login", "connectors"});
  ASSERT_EQ(listed.code, 0) << listed.err;
  EXPECT_THAT(listed.out, AllOf(HasSubstr("Signed in to \"connectors\""), HasSubstr("2 servers")));
  EXPECT_THAT(listed.err, Not(HasSubstr("are not listed")));
  const auto refused = run({"call", "claude.ai One/hello"});
  EXPECT_EQ(refused.code, 3);
  EXPECT_THAT(refused.err, HasSubstr("patchbay login 'claude.ai One'"));
  const auto signed_in = run({"login", "claude.ai One"});
  ASSERT_EQ(signed_in.code, 0) << signed_in.err;
  // One token for all that is behind the proxy.
  for (const auto* name : {"claude.ai One/hello", "claude.ai Two/hello"}) {
    EXPECT_THAT(run({"call", name}).out, HasSubstr("hello, signed-in user")) << name;
  }
  EXPECT_EQ(server.authorizations, 2);
  server.expire();
  EXPECT_EQ(run({"call", "claude.ai Two/hello"}).code, 0);
  EXPECT_EQ(server.refreshes, 1);
  EXPECT_THAT(run({"auth", "status"}).out,
              AllOf(HasSubstr("claude.ai One: signed in at"), HasSubstr("claude.ai Two: signed in at"),
                    HasSubstr("connectors: signed in at")));
  EXPECT_EQ(run({"logout", "connectors"}).code, 0);
  EXPECT_THAT(run({"auth", "status", "connectors"}).out, HasSubstr("not signed in"));
}

// A5: no page is opened for the server itself.
TEST_F(Login, OneSignInAtTheIdentityProvider_UnlocksItsServers) {
  ASSERT_EQ(run({"mcp", "xaa", "setup", "--issuer", server.issuer(), "--client-id", "us"}).code, 0);
  const Json entry{{"type", "http"}, {"url", server.url()}, {"oauth", Json{{"xaa", true}}}};
  ASSERT_EQ(run({"add-json", "--scope", "user", "guarded", to_text(entry)}).code, 0);
  const auto refused = run({"call", "guarded/hello"});
  EXPECT_EQ(refused.code, 3);
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("nobody is signed in at the identity provider"), HasSubstr("patchbay login guarded")));
  EXPECT_EQ(auth_status()["lastFailure"]["step"], Json("identity-provider"));
  const auto signed_in = run({"mcp", "xaa", "login"});
  ASSERT_EQ(signed_in.code, 0) << signed_in.err;
  EXPECT_THAT(signed_in.err, HasSubstr("set MCP_OAUTH_CALLBACK_HOST=127.0.0.1"));
  EXPECT_EQ(server.authorizations, 1);
  const auto called = run({"call", "guarded/hello"});
  EXPECT_EQ(called.code, 0) << called.err;
  EXPECT_EQ(server.authorizations, 1);
  EXPECT_EQ(server.exchanges, 1);
  EXPECT_THAT(run({"mcp", "xaa", "show"}).out, HasSubstr("signed in, for"));
  // And from the server's side: the provider is visited first if that is needed.
  ASSERT_EQ(run({"logout", "guarded"}).code, 0);
  ASSERT_EQ(run({"mcp", "xaa", "clear"}).code, 0);
  ASSERT_EQ(run({"mcp", "xaa", "setup", "--issuer", server.issuer(), "--client-id", "us"}).code, 0);
  const auto through = run({"login", "guarded"});
  EXPECT_EQ(through.code, 0) << through.err;
  EXPECT_THAT(through.out, HasSubstr("Signed in to \"guarded\""));
  EXPECT_EQ(server.authorizations, 2);
}

// A5: a token of the provider that is no statement would be handed to whomever the server names.
TEST_F(Login, AProviderThatGivesAnotherKindOfToken_IsRefusedBeforeTheServerHasIt) {
  ASSERT_EQ(run({"mcp", "xaa", "setup", "--issuer", server.issuer(), "--client-id", "us"}).code, 0);
  const Json entry{{"type", "http"}, {"url", server.url()}, {"oauth", Json{{"xaa", true}}}};
  ASSERT_EQ(run({"add-json", "--scope", "user", "guarded", to_text(entry)}).code, 0);
  ASSERT_EQ(run({"mcp", "xaa", "login"}).code, 0);
  server.exchanges_for_access = true;
  const auto refused = run({"call", "guarded/hello"});
  EXPECT_EQ(refused.code, 3);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("gave another kind of token"), Not(HasSubstr("planted"))));
  EXPECT_EQ(server.exchanges, 1);
  EXPECT_EQ(auth_status()["signedIn"], Json(false));
}

}  // namespace
}  // namespace patchbay::test
