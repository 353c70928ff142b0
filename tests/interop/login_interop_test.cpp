// `patchbay login` against a real authorization server and a real browser (auth_world.mjs, browser_opener.sh): the
// person types a password and gives consent, and from then on nobody is asked. A1 A2 A3.
// ./test installs the packages and sets PATCHBAY_NPM_DIR and PATCHBAY_NODE.
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/session_house.h"
#include "support/running_program.h"
#include "support/secret_service.h"

namespace patchbay::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  EXPECT_NE(value, nullptr) << name << " is not set; run this through ./test";
  return value ? value : "";
}

// The world, and a household whose browser is that person's.
class RealWorld {
 protected:
  explicit RealWorld(std::vector<std::string> more_words = {}) : words_(std::move(more_words)) {
    const auto line = world_.wait_for("\"issuer\"");
    about_ = parse_json(line).value_or(Json::object());
    house.more = {{"BROWSER", in_sources("tests/interop/browser_opener.sh")},
                  {"BROWSER_USER", text("user")},
                  {"BROWSER_PASSWORD", text("password")},
                  {"BROWSER_PROFILE", house.home() + "/browser"},
                  {"BROWSER_LOG", house.home() + "/browser.log"},
                  {"PATCHBAY_NPM_DIR", environment("PATCHBAY_NPM_DIR")},
                  {"PATCHBAY_NODE", environment("PATCHBAY_NODE")},
                  {"PATCHBAY_SECRET_STORE", "file"}};
  }

  std::string text(std::string_view key) const { return std::string(std::as_const(about_)[key].text().value_or("")); }
  std::string url_of(std::string_view name) const {
    for (const auto& one : std::as_const(about_)["servers"].as_array()) {
      if (one["name"] == Json(name)) return std::string(one["url"].as_text());
    }
    ADD_FAILURE() << "no server " << name;
    return {};
  }
  // Another place for tokens than the file: the keyring of a desktop.
  void use_keyring() {
    keyring_ = std::make_unique<SecretService>();
    for (const auto& [name, value] : keyring_->env()) house.more[name] = value;
    house.more["PATCHBAY_SECRET_STORE"] = "keyring";
  }
  void add(const std::string& name) const {
    const auto added = house.run({"add", "--scope", "user", "-t", "http", name, url_of(name)});
    ASSERT_EQ(added.code, 0) << added.err;
  }
  // A command of the control interface; its answer.
  Json control(const std::string& command) const {
    const auto asked = run_program(
        {environment("PATCHBAY_NODE"), "-e",
         "fetch(process.argv[1], {method: 'POST'}).then((r) => r.text()).then((t) => process.stdout.write(t))",
         text("control") + "/" + command});
    return parse_json(asked.out).value_or(Json());
  }
  Json count(std::string_view name) const { return std::as_const(state_)["counts"][name]; }
  void look() { state_ = control("state"); }

  SessionHouse house;
  Json state_;

 private:
  // It lives as long as its stdin, which a pipe that it has open for writing as well never ends.
  std::vector<std::string> world_words() const {
    house.tree.fifo("world.stdin");
    std::vector<std::string> words{"/bin/sh",
                                   "-c",
                                   "in=$1; shift; exec \"$@\" 0<>\"$in\"",
                                   "world",
                                   (house.tree.path() / "world.stdin").string(),
                                   environment("PATCHBAY_NODE"),
                                   in_sources("tests/interop/auth_world.mjs")};
    words.insert(words.end(), words_.begin(), words_.end());
    return words;
  }
  std::vector<std::string> words_;
  RunningProgram world_{world_words()};
  std::unique_ptr<SecretService> keyring_;
  Json about_;
};

// What holds wherever tokens are kept.
class RealLogin : public RealWorld, public testing::TestWithParam<const char*> {
 protected:
  RealLogin() {
    if (std::string_view(GetParam()) == "keyring") use_keyring();
  }
};
INSTANTIATE_TEST_SUITE_P(In, RealLogin, testing::Values("file", "keyring"),
                         [](const auto& about) { return std::string(about.param); });

class RealIssuer : public RealWorld, public testing::Test {};

TEST_P(RealLogin, OnePasswordAndOneConsent_ThenNobodyIsAsked) {
  add("plain0");
  const auto refused = house.run({"call", "plain0/whoami"});
  EXPECT_EQ(refused.code, 3);
  EXPECT_THAT(refused.err, HasSubstr("patchbay login plain0"));
  const auto signed_in = house.run({"login", "plain0"});
  ASSERT_EQ(signed_in.code, 0) << signed_in.err;
  EXPECT_THAT(signed_in.out, AllOf(HasSubstr("Signed in to \"plain0\" at " + text("issuer")), HasSubstr("3 tools")));
  EXPECT_THAT(house.run({"call", "plain0/whoami"}).out, HasSubstr("\"sub\":\"ada\""));
  // The access token is refused; the refresh token is good.
  (void)control("expire");
  EXPECT_THAT(house.run({"call", "plain0/whoami"}).out, HasSubstr("\"sub\":\"ada\""));
  look();
  EXPECT_EQ(count("passwords"), Json(1));
  EXPECT_EQ(count("consents"), Json(1));
  EXPECT_EQ(count("registrations"), Json(1));
  EXPECT_EQ(count("token.refresh_token"), Json(1));
  EXPECT_THAT(house.run({"auth", "status"}).out,
              AllOf(HasSubstr("plain0: signed in at"), HasSubstr("last renewed just now")));
  const auto out = house.run({"logout", "plain0"});
  EXPECT_EQ(out.code, 0) << out.err;
  EXPECT_EQ(out.err, "");
  look();
  EXPECT_EQ(count("revocations"), Json(1));
  EXPECT_EQ(house.run({"call", "plain0/whoami"}).code, 3);
}

TEST_P(RealLogin, ASecondServerOfTheIssuer_NeedsNeitherPasswordNorRegistration) {
  add("plain0");
  add("plain1");
  ASSERT_EQ(house.run({"login", "plain0"}).code, 0);
  const auto second = house.run({"login", "plain1"});
  ASSERT_EQ(second.code, 0) << second.err;
  EXPECT_THAT(house.run({"call", "plain1/whoami"}).out, HasSubstr("\"sub\":\"ada\""));
  look();
  EXPECT_EQ(count("passwords"), Json(1));
  EXPECT_EQ(count("registrations"), Json(1));
}

TEST_P(RealLogin, APersonWhoDenies_IsNotSignedIn) {
  add("plain0");
  house.more["BROWSER_DENY"] = "1";
  const auto denied = house.run({"login", "plain0"});
  EXPECT_EQ(denied.code, 3) << denied.err;
  EXPECT_THAT(denied.err, HasSubstr("signing in with the browser"));
  EXPECT_EQ(house.run({"call", "plain0/whoami"}).code, 3);
}

TEST_P(RealLogin, ASessionHearsOfLoginAndLogout) {
  add("plain0");
  house.start();
  EXPECT_EQ(house.run({"call", "plain0/whoami"}).code, 3);
  ASSERT_EQ(house.run({"login", "plain0"}).code, 0);
  EXPECT_THAT(house.run({"call", "plain0/whoami"}).out, HasSubstr("\"sub\":\"ada\""));
  ASSERT_EQ(house.run({"logout", "plain0"}).code, 0);
  EXPECT_EQ(house.run({"call", "plain0/whoami"}).code, 3);
}

TEST_P(RealLogin, ARevokedToken_IsAskedAboutOnce) {
  add("plain0");
  ASSERT_EQ(house.run({"login", "plain0"}).code, 0);
  (void)control("revoke");
  const auto refused = house.run({"call", "plain0/whoami"});
  EXPECT_EQ(refused.code, 3);
  EXPECT_THAT(refused.err, HasSubstr("patchbay login plain0"));
  const auto again = house.run({"login", "plain0"});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(house.run({"call", "plain0/whoami"}).out, HasSubstr("\"sub\":\"ada\""));
  look();
  EXPECT_EQ(count("registrations"), Json(1));
  EXPECT_EQ(count("token.authorization_code"), Json(2));
}

TEST_P(RealLogin, ProcessesThatRenewAtOnce_RenewOnce) {
  add("plain0");
  ASSERT_EQ(house.run({"login", "plain0"}).code, 0);
  (void)control("expire");
  // Long enough for all of them to find it expired.
  (void)control("settings?token_delay_ms=1500");
  std::vector<std::future<CommandResult>> callers;
  for (int i = 0; i < 4; ++i) {
    callers.push_back(std::async(std::launch::async, [this] { return house.run({"call", "plain0/whoami"}); }));
  }
  for (auto& one : callers) {
    const auto called = one.get();
    EXPECT_EQ(called.code, 0) << called.err;
    EXPECT_THAT(called.out, HasSubstr("\"sub\":\"ada\""));
  }
  look();
  EXPECT_EQ(count("token.refresh_token"), Json(1));
  EXPECT_EQ(count("passwords"), Json(1));
}

TEST_P(RealLogin, ServersOfOneResource_ShareItsToken) {
  add("shared1");
  add("shared2");
  ASSERT_EQ(house.run({"login", "shared1"}).code, 0);
  const auto second = house.run({"login", "shared2"});
  ASSERT_EQ(second.code, 0) << second.err;
  EXPECT_THAT(house.run({"call", "shared2/whoami"}).out, HasSubstr("\"sub\":\"ada\""));
  look();
  EXPECT_EQ(count("token.authorization_code"), Json(1));
  EXPECT_EQ(count("authorizations"), Json(1));
  // Renewed through one of them, it is good for the other.
  (void)control("expire");
  EXPECT_EQ(house.run({"call", "shared1/whoami"}).code, 0);
  EXPECT_EQ(house.run({"call", "shared2/whoami"}).code, 0);
  look();
  EXPECT_EQ(count("token.refresh_token"), Json(1));
  // Who signs in again wants another one, and both have it.
  ASSERT_EQ(house.run({"login", "shared2"}).code, 0);
  EXPECT_EQ(house.run({"call", "shared1/whoami"}).code, 0);
  look();
  EXPECT_EQ(count("token.authorization_code"), Json(2));
}

TEST_F(RealIssuer, GoneAndBack_AsksNobody) {
  add("plain0");
  ASSERT_EQ(house.run({"login", "plain0"}).code, 0);
  (void)control("stop");
  (void)control("expire");
  const auto away = house.run({"call", "plain0/whoami"});
  EXPECT_EQ(away.code, 3);
  EXPECT_THAT(away.err, HasSubstr("the sign-in could not be renewed"));
  (void)control("start");
  const auto back = house.run({"call", "plain0/whoami"});
  EXPECT_EQ(back.code, 0) << back.err;
  (void)control("expire");
  (void)control("restart?keys=new");
  const auto rekeyed = house.run({"call", "plain0/whoami"});
  EXPECT_EQ(rekeyed.code, 0) << rekeyed.err;
  look();
  EXPECT_EQ(count("passwords"), Json(1));
  EXPECT_EQ(count("registrations"), Json(1));
}

TEST_F(RealIssuer, ThatForgotItsClients_GetsANewRegistrationAtTheNextLogin) {
  add("plain0");
  ASSERT_EQ(house.run({"login", "plain0"}).code, 0);
  (void)control("restart?forget=everything");
  (void)control("expire");
  const auto refused = house.run({"call", "plain0/whoami"});
  EXPECT_EQ(refused.code, 3);
  EXPECT_THAT(refused.err, HasSubstr("patchbay login plain0"));
  const auto again = house.run({"login", "plain0"});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(house.run({"call", "plain0/whoami"}).code, 0);
  look();
  EXPECT_EQ(count("registrations"), Json(2));
}

TEST_F(RealIssuer, AMachineThatSlept_RenewsBeforeItAsks) {
  add("plain0");
  (void)control("settings?access_token_seconds=3");
  const auto session = house.start();
  ASSERT_EQ(house.run({"login", "plain0"}).code, 0);
  ASSERT_EQ(house.run({"call", "plain0/whoami"}).code, 0);
  (void)control("settings?access_token_seconds=3600");
  look();
  const auto refused_before = count("servers.plain0.refused_401");
  // Asleep for longer than the token lives: that time has to pass.
  ASSERT_EQ(::kill(session, SIGSTOP), 0);
  std::this_thread::sleep_for(std::chrono::seconds(4));
  ASSERT_EQ(::kill(session, SIGCONT), 0);
  const auto woken = house.run({"call", "plain0/whoami"});
  EXPECT_EQ(woken.code, 0) << woken.err;
  look();
  EXPECT_EQ(count("servers.plain0.refused_401"), refused_before);
  EXPECT_EQ(count("passwords"), Json(1));
}

TEST_F(RealIssuer, MoreRightsAreAskedForWhenTheyAreNeeded) {
  add("stepup");
  ASSERT_EQ(house.run({"login", "stepup"}).code, 0);
  EXPECT_EQ(house.run({"call", "stepup/whoami"}).code, 0);
  const auto refused = house.run({"call", "stepup/write", "text=x"});
  EXPECT_EQ(refused.code, 3);
  EXPECT_THAT(refused.err, HasSubstr("patchbay login stepup"));
  const auto more = house.run({"login", "stepup"});
  ASSERT_EQ(more.code, 0) << more.err;
  EXPECT_THAT(more.out, AllOf(HasSubstr("mcp:read"), HasSubstr("mcp:write")));
  const auto written = house.run({"call", "stepup/write", "text=x"});
  EXPECT_EQ(written.code, 0) << written.err;
}

TEST_F(RealIssuer, TokensBoundToAKeyAreProved) {
  for (const auto* name : {"dpop", "dpopnonce"}) {
    add(name);
    const auto signed_in = house.run({"login", name});
    ASSERT_EQ(signed_in.code, 0) << signed_in.err;
    EXPECT_THAT(house.run({"call", std::string(name) + "/whoami"}).out, HasSubstr("\"sub\":\"ada\""));
  }
  (void)control("nonce");
  (void)control("expire");
  const auto renewed = house.run({"call", "dpopnonce/whoami"});
  EXPECT_EQ(renewed.code, 0) << renewed.err;
}

TEST_F(RealIssuer, ServersThatSayLittleAreSignedInToAsWell) {
  for (const auto* name : {"lazy", "quiet", "forbidding"}) {
    add(name);
    const auto refused = house.run({"call", std::string(name) + "/whoami"});
    EXPECT_EQ(refused.code, 3) << name;
    EXPECT_THAT(refused.err, HasSubstr(std::string("patchbay login ") + name));
    const auto signed_in = house.run({"login", name});
    ASSERT_EQ(signed_in.code, 0) << name << signed_in.err;
    EXPECT_THAT(house.run({"call", std::string(name) + "/whoami"}).out, HasSubstr("\"sub\":\"ada\"")) << name;
  }
}

class ThirtyServers : public RealWorld, public testing::Test {
 protected:
  ThirtyServers() : RealWorld({"--servers", "30"}) {}
};

TEST_F(ThirtyServers, OfOneIssuer_NeedOneRegistrationAndOnePassword) {
  auto browser_env = house.options().env;
  browser_env["HOME"] = house.home();
  RunningProgram browser({"/bin/sh", "-c", "mkfifo \"$1\"; exec \"$2\" \"$3\" --stay 0<>\"$1\"", "browser",
                          (house.tree.path() / "browser.stdin").string(), environment("PATCHBAY_NODE"),
                          in_sources("tests/interop/browser.mjs")},
                         {.cwd = {}, .env = browser_env});
  browser.wait_for("ready");
  std::vector<std::string> login{"login", "--json"};
  for (int i = 0; i < 30; ++i) {
    login.push_back("plain" + std::to_string(i));
    add(login.back());
  }
  const auto done = house.run(login);
  ASSERT_EQ(done.code, 0) << done.out << done.err;
  const auto listed = json_of(done);
  EXPECT_EQ(std::as_const(listed)["servers"].as_array().size(), 30u);
  for (const auto& one : std::as_const(listed)["servers"].as_array()) EXPECT_EQ(one["signedIn"], Json(true));
  look();
  EXPECT_EQ(count("registrations"), Json(1));
  EXPECT_EQ(count("passwords"), Json(1));
  EXPECT_EQ(count("windows_at_once"), Json(1));
  EXPECT_EQ(count("token.authorization_code"), Json(30));
  EXPECT_THAT(house.run({"call", "plain29/whoami"}).out, HasSubstr("\"sub\":\"ada\""));
}

}  // namespace
}  // namespace patchbay::test
