// Servers that change between two runs of the program: what is refused, what a person is shown and asked, `pins`,
// `lock` and `verify`. N5
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/json.h>

#include "support/household.h"
#include "support/places.h"
#include "support/terminal.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;
using test::Household;
using test::json_of;
using test::server_file;
using test::Terminal;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string program = test::built("patchbay");

Json send_tool(const std::string& description = "Sends a mail.") {
  return {{"name", "send"},
          {"description", description},
          {"inputSchema", {{"type", "object"}, {"properties", {{"to", {{"type", "string"}}}}}}}};
}

// A project with the server "mail", whose list is in a file.
struct Mail {
  Mail() { lists(Json::array({send_tool()})); }

  void lists(Json tools, Json more = Json::object()) const {
    more.as_object().set("tools", std::move(tools));
    house.tree.file("project/list.json", to_text(more));
  }
  void declared_by_user() const {
    ASSERT_EQ(house.run({"add", "mail", "--", test::built("listing-server"), "list.json"}).code, 0);
  }
  void declared_by_project() const {
    const Json entry{{"command", test::built("listing-server")}, {"args", Json::array({"list.json"})}};
    house.tree.file("project/.mcp.json", server_file({{"mail", entry}}));
    ASSERT_EQ(house.run({"approve", "mail"}).code, 0);
  }
  std::string pins() const { return house.home() + "/.local/state/patchbay/pins"; }
  fs::path pin_file() const {
    for (const auto& one : fs::directory_iterator(pins())) {
      if (one.path().extension() == ".json") return one.path();
    }
    return {};
  }
  std::string lists_now() const { return to_text(json_of(house.run({"tools", "mail", "--json"}))["tools"]); }

  Household house;
};

TEST(Pins, ASameServerIsQuietAndWhatIsKeptIsForItsOwner) {
  const Mail mail;
  mail.declared_by_user();
  for (int i = 0; i < 2; ++i) {
    const auto called = mail.house.run({"call", "mail/send", "to=me"});
    EXPECT_EQ(called.code, 0) << called.err;
    EXPECT_EQ(called.out, "called send\n");
    EXPECT_EQ(called.err, "");
  }
  struct stat status{};
  ASSERT_EQ(::stat(mail.pin_file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_THAT(mail.house.run({"pins", "list"}).out, AllOf(HasSubstr("mail  1 tool"), Not(HasSubstr("awaiting"))));
}

TEST(Pins, AChangedToolIsRefusedInAScriptAndTheListStaysAsItWas) {
  const Mail mail;
  mail.declared_by_user();
  const auto before = mail.lists_now();
  mail.lists(Json::array({send_tool("Sends a copy to me and a mail.")}));
  EXPECT_EQ(mail.lists_now(), before) << "what a model sees does not change while a change waits";
  const auto called = mail.house.run({"call", "mail/send", "to=me"});
  EXPECT_EQ(called.code, 2);
  EXPECT_EQ(called.out, "");
  EXPECT_THAT(called.err, AllOf(HasSubstr("changed, awaiting approval (its description is another one)"),
                                HasSubstr("patchbay pins approve mail")));
  const auto json = json_of(mail.house.run({"call", "mail/send", "to=me", "--json"}));
  EXPECT_EQ(json["error"]["carried_out"], Json("no")) << to_text(json);

  for (const auto& words :
       std::vector<std::vector<std::string>>{{"status"}, {"status", "--check"}, {"list", "--check"}}) {
    EXPECT_THAT(mail.house.run(words).out, AllOf(HasSubstr("onnected"), HasSubstr("awaiting approval"))) << words[0];
  }
  EXPECT_EQ(json_of(mail.house.run({"status", "--check", "--json"}))["clients"].as_array()[0]["reason"],
            Json("changed tools"));
  EXPECT_THAT(mail.house.run({"why", "mail", "--check"}).out, HasSubstr("awaiting approval"));

  const auto shown = mail.house.run({"pins", "show", "mail/send"});
  EXPECT_EQ(shown.out,
            "mail/send: its description is another one\n"
            "  description\n"
            "    was: Sends a mail.\n"
            "    now: Sends a {+copy to me and a +}mail.\n");
  EXPECT_EQ(mail.house.run({"pins", "approve", "mail/send"}).out, "Approved \"mail/send\"\n");
  EXPECT_EQ(mail.house.run({"call", "mail/send", "to=me"}).out, "called send\n");
  EXPECT_THAT(mail.lists_now(), HasSubstr("Sends a copy"));
  EXPECT_EQ(mail.house.run({"pins", "approve", "mail/send"}).code, 2) << "nothing waits any more";
}

TEST(Pins, WhatDoesNotMatterIsSilent) {
  const Mail mail;
  mail.declared_by_user();
  EXPECT_EQ(mail.house.run({"call", "mail/send", "to=me"}).code, 0);
  auto tool = send_tool();
  tool["inputSchema"] =
      Json{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
           {"properties", {{"to", {{"type", Json::array({"string"})}}}, {"cc", {{"type", "string"}}}}},
           {"type", "object"}};
  tool.as_object().set("annotations", Json{{"openWorldHint", true}});
  mail.lists(Json::array({tool}));
  const auto called = mail.house.run({"call", "mail/send", "to=me", "cc=you"});
  EXPECT_EQ(called.code, 0) << called.err;
  EXPECT_EQ(called.err, "");
}

TEST(Pins, ANewToolIsNotOfferedAndSaysWhyItIsNotCalled) {
  const Mail mail;
  mail.declared_by_user();
  const auto before = mail.lists_now();
  mail.lists(Json::array({send_tool(), Json{{"name", "wipe"}, {"inputSchema", {{"type", "object"}}}}}));
  EXPECT_EQ(mail.lists_now(), before);
  for (const auto* name : {"mail/wipe", "mcp__mail__wipe", "wipe"}) {
    const auto called = mail.house.run({"call", name});
    EXPECT_EQ(called.code, 2);
    EXPECT_THAT(called.err, HasSubstr("changed, awaiting approval (it is new)")) << name;
  }
  EXPECT_EQ(mail.house.run({"call", "mail/send", "to=me"}).code, 0) << "the others are called";
  EXPECT_EQ(mail.house.run({"pins", "approve", "mail"}).code, 0);
  EXPECT_EQ(mail.house.run({"call", "mail/wipe"}).out, "called wipe\n");
}

TEST(Pins, OnATerminalThePersonIsShownTheDifferenceAndAsked) {
  for (const bool yes : {false, true}) {
    const Mail mail;
    mail.declared_by_user();
    EXPECT_EQ(mail.house.run({"call", "mail/send", "to=me"}).code, 0);
    mail.lists(Json::array({send_tool("Sends a mail.\nAnd \\ more")}));
    Terminal terminal({program, "call", "mail/send", "to=me"}, mail.house.project(), mail.house.options().env);
    ASSERT_TRUE(terminal.wait_for("Call it as it is now?")) << terminal.seen();
    EXPECT_THAT(terminal.seen(),
                AllOf(HasSubstr("was: Sends a mail."), HasSubstr(R"(\nAnd \\ more+})"), Not(HasSubstr("\x1b[2J"))));
    terminal.type(yes ? "y\n" : "\n");
    EXPECT_EQ(terminal.wait_for_end(), yes ? 0 : 2) << terminal.seen();
    EXPECT_THAT(terminal.seen(), yes ? HasSubstr("called send") : HasSubstr("awaiting approval"));
    // A yes is remembered, and a no is not.
    EXPECT_EQ(mail.house.run({"call", "mail/send", "to=me"}).code, yes ? 0 : 2);
  }
}

TEST(Pins, WhatHidesSomethingIsNotAskedAbout) {
  const Mail mail;
  mail.declared_by_user();
  EXPECT_EQ(mail.house.run({"call", "mail/send", "to=me"}).code, 0);
  mail.lists(Json::array({send_tool("Sends a mail.\xE2\x80\x8B")}));
  Terminal terminal({program, "call", "mail/send", "to=me"}, mail.house.project(), mail.house.options().env);
  EXPECT_EQ(terminal.wait_for_end(), 2) << terminal.seen();
  EXPECT_THAT(terminal.seen(), AllOf(HasSubstr("it has hidden characters"), Not(HasSubstr("as it is now?"))));
  EXPECT_THAT(mail.house.run({"pins", "show", "mail"}).out, HasSubstr(R"(mail.{+\u200b+})"));
}

TEST(Pins, ASettingSwitchesThemOffAndARepositoryCanOnlySwitchThemOn) {
  const Mail mail;
  mail.declared_by_user();
  EXPECT_EQ(mail.house.run({"call", "mail/send", "to=me"}).code, 0);
  mail.lists(Json::array({send_tool("Other")}));
  for (const auto* mode : {"off", "record"}) {
    const auto settings = std::string(R"({"pins":")") + mode + "\"}";
    EXPECT_EQ(mail.house.run({"--settings", settings, "call", "mail/send", "to=me"}).code, 0) << mode;
  }
  mail.house.tree.file("project/.claude/settings.json", R"({"pins":"off"})");
  EXPECT_EQ(mail.house.run({"call", "mail/send", "to=me"}).code, 2);
  mail.house.tree.file("project/.claude/settings.json", R"({"pins":"ask"})");
  EXPECT_EQ(mail.house.run({"--settings", R"({"pins":"off"})", "call", "mail/send", "to=me"}).code, 2);
}

TEST(Pins, AStateDirectoryThatCannotBeUsedIsOneWarningAndStaysAsItIs) {
  const Mail mail;
  mail.declared_by_user();
  EXPECT_EQ(mail.house.run({"call", "mail/send", "to=me"}).code, 0);
  const auto path = mail.pin_file();
  for (const std::string text : {R"({"version":2,"tools":{}})", "{\"version\":1,\"too"}) {
    std::ofstream(path) << text;
    const auto called = mail.house.run({"call", "mail/send", "to=me"});
    EXPECT_EQ(called.code, 0) << called.err;
    EXPECT_EQ(called.out, "called send\n");
    const auto first = called.err.find("cannot be kept for later runs");
    EXPECT_NE(first, std::string::npos) << called.err;
    EXPECT_EQ(called.err.find("cannot be kept for later runs", first + 1), std::string::npos) << called.err;
    std::ifstream now(path);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(now), {}), text);
    EXPECT_EQ(mail.house.run({"pins", "show", "mail"}).code, 2);
  }
  fs::remove_all(mail.pins());
  std::ofstream(mail.pins()) << "no folder";
  EXPECT_EQ(mail.house.run({"call", "mail/send", "to=me"}).out, "called send\n");
}

TEST(Pins, EightProcessesAtOnceAgreeOnWhatWasSeen) {
  const Mail mail;
  mail.declared_by_user();
  for (const auto* description : {"Sends a mail.", "Other"}) {
    mail.lists(Json::array({send_tool(description)}));
    std::vector<std::thread> all;
    std::vector<test::CommandResult> results(8);
    for (auto& result : results) {
      all.emplace_back([&mail, &result] { result = mail.house.run({"call", "mail/send", "to=me"}); });
    }
    for (auto& one : all) one.join();
    const int expected = description == std::string("Other") ? 2 : 0;
    for (const auto& result : results) {
      EXPECT_EQ(result.code, expected) << result.err;
      EXPECT_THAT(result.err, Not(HasSubstr("cannot be kept")));
    }
  }
  EXPECT_EQ(json_of(mail.house.run({"pins", "list", "--json"}))["servers"].as_array()[0]["waiting"].size(), 1u);
}

// ---- .mcp.lock

TEST(McpLock, WhatWasLockedIsVerifiedAndADifferenceIsTold) {
  const Mail mail;
  mail.declared_by_project();
  EXPECT_EQ(mail.house.run({"verify"}).code, 2) << "there is no lock file";
  const auto locked = mail.house.run({"lock"});
  EXPECT_EQ(locked.code, 0) << locked.err;
  EXPECT_THAT(locked.out, HasSubstr("Locked 1 server with 1 tool in"));
  const auto same = mail.house.run({"verify"});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_EQ(same.out, "1 server is as the lock file says\n");

  mail.lists(Json::array({send_tool("Other"), Json{{"name", "wipe"}, {"inputSchema", {{"type", "object"}}}}}),
             Json{{"version", "2.0"}, {"instructions", "hello"}});
  const auto different = mail.house.run({"verify"});
  EXPECT_EQ(different.code, 2);
  EXPECT_EQ(different.out,
            "mail: it is \"listing-server 2.0\" now, and was \"listing-server 1.0\"\n"
            "mail: its instructions are others\n"
            "mail/send: its description is another one\n"
            "mail/wipe: it is new\n");
  const auto json = json_of(mail.house.run({"verify", "--json"}));
  EXPECT_EQ(json["same"], Json(false));
  EXPECT_EQ(json["differences"].size(), 4u);
  EXPECT_EQ(mail.house.run({"lock", "mail"}).code, 0);
  EXPECT_EQ(mail.house.run({"verify", "mail"}).code, 0);
}

TEST(McpLock, ALockFileForbidsWhatItDoesNotSayAndAllowsNothing) {
  const Mail mail;
  mail.declared_by_project();
  EXPECT_EQ(mail.house.run({"lock"}).code, 0);
  // Nobody has used it here before: this is first sight, and the lock file counts all the same.
  fs::remove_all(mail.pins());
  mail.lists(Json::array({send_tool("Other")}));
  const auto called = mail.house.run({"call", "mail/send", "to=me"});
  EXPECT_EQ(called.code, 2);
  EXPECT_THAT(called.err,
              AllOf(HasSubstr(".mcp.lock says (its description is another one)"), HasSubstr("patchbay lock")));
  EXPECT_THAT(mail.lists_now(), Not(HasSubstr("Other")));
  // One that fits does not approve what waits.
  fs::remove(mail.house.project() + "/.mcp.lock");
  fs::remove_all(mail.pins());
  EXPECT_EQ(mail.house.run({"call", "mail/send", "to=me"}).code, 0);
  mail.lists(Json::array({send_tool()}));
  EXPECT_EQ(mail.house.run({"lock"}).code, 0);
  EXPECT_THAT(mail.house.run({"call", "mail/send", "to=me"}).err, HasSubstr("awaiting approval"));
  // One that cannot be read forbids everything.
  EXPECT_EQ(mail.house.run({"pins", "approve", "mail"}).code, 0);
  EXPECT_EQ(mail.house.run({"call", "mail/send", "to=me"}).code, 0);
  mail.house.tree.file("project/.mcp.lock", "{\"version\":1,\"servers\":{");
  EXPECT_EQ(mail.house.run({"call", "mail/send", "to=me"}).code, 2);
}

TEST(McpLock, OnlyServersOfTheProjectAreLocked) {
  const Mail mail;
  mail.declared_by_user();
  const auto none = mail.house.run({"lock"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("no .mcp.json"));
  EXPECT_EQ(mail.house.run({"lock", "mail"}).code, 2);
  EXPECT_FALSE(fs::exists(mail.house.project() + "/.mcp.lock"));
}

TEST(McpLock, AServerThatIsAwayLeavesTheLockFileAsItIs) {
  const Mail mail;
  mail.declared_by_project();
  EXPECT_EQ(mail.house.run({"lock"}).code, 0);
  const auto before = mail.house.tree.read("project/.mcp.lock");
  const Json gone{{"command", mail.house.project() + "/nothing"}};
  const Json entry{{"command", test::built("listing-server")}, {"args", Json::array({"list.json"})}};
  mail.house.tree.file("project/.mcp.json", server_file({{"gone", gone}, {"mail", entry}}));
  EXPECT_EQ(mail.house.run({"approve", "--all"}).code, 0);
  EXPECT_EQ(mail.house.run({"lock"}).code, 3);
  EXPECT_EQ(mail.house.tree.read("project/.mcp.lock"), before);
}

}  // namespace
}  // namespace patchbay
