// `patchbay login` against a real authorization server and a real browser (auth_world.mjs, browser_opener.sh): the
// person types a password and gives consent, and from then on nobody is asked. A1 A2 A3.
// ./test installs the packages and sets PATCHBAY_NPM_DIR and PATCHBAY_NODE.
#include <cstdlib>
#include <map>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/session_house.h"
#include "support/running_program.h"

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
class RealLogin : public testing::Test {
 protected:
  RealLogin() {
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
    return {"/bin/sh",
            "-c",
            "exec \"$1\" \"$2\" 0<>\"$3\"",
            "world",
            environment("PATCHBAY_NODE"),
            in_sources("tests/interop/auth_world.mjs"),
            (house.tree.path() / "world.stdin").string()};
  }
  RunningProgram world_{world_words()};
  Json about_;
};

TEST_F(RealLogin, OnePasswordAndOneConsent_ThenNobodyIsAsked) {
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

TEST_F(RealLogin, ASecondServerOfTheIssuer_NeedsNeitherPasswordNorRegistration) {
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

TEST_F(RealLogin, APersonWhoDenies_IsNotSignedIn) {
  add("plain0");
  house.more["BROWSER_DENY"] = "1";
  const auto denied = house.run({"login", "plain0"});
  EXPECT_EQ(denied.code, 3) << denied.err;
  EXPECT_THAT(denied.err, HasSubstr("signing in with the browser"));
  EXPECT_EQ(house.run({"call", "plain0/whoami"}).code, 3);
}

TEST_F(RealLogin, ASessionHearsOfLoginAndLogout) {
  add("plain0");
  house.start();
  EXPECT_EQ(house.run({"call", "plain0/whoami"}).code, 3);
  ASSERT_EQ(house.run({"login", "plain0"}).code, 0);
  EXPECT_THAT(house.run({"call", "plain0/whoami"}).out, HasSubstr("\"sub\":\"ada\""));
  ASSERT_EQ(house.run({"logout", "plain0"}).code, 0);
  EXPECT_EQ(house.run({"call", "plain0/whoami"}).code, 3);
}

}  // namespace
}  // namespace patchbay::test
