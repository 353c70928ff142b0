// Reading "hooks" of a settings file: what each entry says with its line, and what becomes of one that cannot be read.
// P3.
#include "settings/hook_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "settings/settings_file.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr auto file = "/home/me/.claude/settings.json";

SettingsLayer read(std::string_view text, SettingsSource source = SettingsSource::user) {
  return parse_settings(text, source, file);
}

// The one hook inside of one group of PreToolUse.
SettingsLayer read_one(const std::string& hook) {
  return read(R"({"hooks":{"PreToolUse":[{"matcher":"mcp__a__.*","hooks":[)" + hook + "]}]}}");
}

TEST(HookSettings, EveryKindIsReadWithItsPlace) {
  const auto layer = read(R"({"hooks":{
    "PreToolUse":[{"matcher":"mcp__db__.*","hooks":[
      {"type":"command","command":"./guard.sh","timeout":5,"onError":"allow"},
      {"type":"command","command":"guard","args":["--strict"]}]}],
    "PostToolUse":[{"hooks":[
      {"type":"http","url":"https://audit.example/x","headers":{"Authorization":"Bearer $TOKEN"},"allowedEnvVars":["TOKEN"]}]}],
    "Elicitation":[{"matcher":"db","hooks":[
      {"type":"mcp_tool","server":"audit","tool":"ask","input":{"q":"${message}"}}]}],
    "SessionStart":[{"hooks":[{"type":"command","command":"x"}]}],
    "Notification":[{"hooks":[{"type":"command","command":"x"}]}],
    "WorktreeCreate":[{"hooks":[{"type":"command","command":"x"}]}]}})");
  EXPECT_THAT(layer.problems, IsEmpty());
  const HookSetting command{.event = HookEvent::pre_tool_use,
                            .matcher = "mcp__db__.*",
                            .command = "./guard.sh",
                            .timeout = 5s,
                            .refuses_on_error = false,
                            .place = {3, 7}};
  const HookSetting program{.event = HookEvent::pre_tool_use,
                            .matcher = "mcp__db__.*",
                            .command = "guard",
                            .args = std::vector<std::string>{"--strict"},
                            .place = {4, 7}};
  const HookSetting http{.event = HookEvent::post_tool_use,
                         .kind = HookSetting::Kind::http,
                         .url = "https://audit.example/x",
                         .headers = {{"Authorization", "Bearer $TOKEN"}},
                         .allowed_variables = {"TOKEN"},
                         .place = {6, 7}};
  const HookSetting tool{.event = HookEvent::elicitation,
                         .matcher = "db",
                         .kind = HookSetting::Kind::mcp_tool,
                         .server = "audit",
                         .tool = "ask",
                         .input = Json{{"q", "${message}"}},
                         .place = {8, 7}};
  const HookSetting start{.event = HookEvent::session_start, .command = "x", .place = {9, 31}};
  const HookSetting waits{.event = HookEvent::notification, .command = "x", .place = {10, 31}};
  EXPECT_THAT(layer.hooks, ElementsAre(command, program, http, tool, start, waits));
}

TEST(HookSettings, OneThatCannotBeReadStaysAndSaysWhy) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {R"({"type":"command"})", "needs a string \"command\""},
      {R"({"type":"command","command":"  "})", "needs a string \"command\""},
      {R"({"type":"command","command":"a\u0000b"})", "NUL"},
      {R"({"type":"command","command":"a","args":"b"})", "\"args\" must be an array"},
      {R"({"type":"http","url":"ftp://x/"})", "http or https"},
      {R"({"type":"http","url":"http://x/","headers":{"A b":"c"}})", "A b"},
      {R"({"type":"mcp_tool","server":"s"})", "needs a string \"tool\""},
      {R"({"type":"mcp_tool","server":"s","tool":"t","input":[]})", "\"input\" must be an object"},
      {R"({"type":"prompt","prompt":"is it safe?"})", "must be \"command\", \"http\" or \"mcp_tool\""},
      {R"({"type":"command","command":"a","timeout":0})", "\"timeout\""},
      {R"({"type":"command","command":"a","timeout":"5"})", "\"timeout\""},
      {R"({"type":"command","command":"a","onError":"ignore"})", "\"onError\""},
      {R"("a")", "must be an object"},
  };
  for (const auto& [text, why] : cases) {
    const auto layer = read_one(text);
    ASSERT_THAT(layer.hooks, SizeIs(1)) << text;
    EXPECT_THAT(layer.hooks[0].fault, HasSubstr(why)) << text;
    EXPECT_EQ(layer.hooks[0].matcher, "mcp__a__.*") << text;
    ASSERT_THAT(layer.problems, SizeIs(1)) << text;
    EXPECT_EQ(layer.problems[0].severity, Severity::error) << text;
    EXPECT_THAT(layer.problems[0].message, AllOf(HasSubstr(why), HasSubstr("is refused"))) << text;
  }
}

// What cannot be read at all may have guarded anything.
TEST(HookSettings, AStructureThatCannotBeReadGuardsEverything) {
  for (const auto* text :
       {R"({"hooks":[]})", R"({"hooks":{"PreToolUse":{}}})", R"({"hooks":{"PreToolUse":["x"]}})",
        R"({"hooks":{"PreToolUse":[{"matcher":5,"hooks":[]}]}})", R"({"hooks":{"PreToolUse":[{"hooks":5}]}})"}) {
    const auto layer = read(text);
    ASSERT_FALSE(layer.hooks.empty()) << text;
    EXPECT_EQ(layer.hooks[0].event, HookEvent::pre_tool_use) << text;
    EXPECT_NE(layer.hooks[0].fault, "") << text;
    EXPECT_EQ(layer.hooks[0].matcher, "") << text;
    EXPECT_THAT(layer.problems, SizeIs(1)) << text;
  }
}

TEST(HookSettings, EventsThatOnlyReportAreNoErrorAndMisspeltOnesAreNamed) {
  const auto broken = read(R"({"hooks":{"PostToolUse":[{"hooks":[{"type":"command"}]}]}})");
  ASSERT_THAT(broken.problems, SizeIs(1));
  EXPECT_EQ(broken.problems[0].severity, Severity::warning);
  const auto misspelt = read(R"({"hooks":{"PreToolUes":[{"hooks":[{"type":"command","command":"a"}]}]}})");
  EXPECT_THAT(misspelt.hooks, IsEmpty());
  ASSERT_THAT(misspelt.problems, SizeIs(1));
  EXPECT_THAT(misspelt.problems[0].message, HasSubstr("did you mean \"PreToolUse\"?"));
}

TEST(HookSettings, ATimeoutIsBounded) {
  EXPECT_EQ(read_one(R"({"type":"command","command":"a"})").hooks.at(0).timeout, 600s);
  EXPECT_EQ(read_one(R"({"type":"command","command":"a","timeout":1e300})").hooks.at(0).timeout, 3600s);
  EXPECT_EQ(read_one(R"({"type":"command","command":"a","timeout":0.0000001})").hooks.at(0).timeout, 1ms);
}

TEST(HookSettings, TooManyHooksGuardEverything) {
  std::string hooks;
  for (int i = 0; i < 700; ++i) hooks += std::string(i ? "," : "") + R"({"type":"command","command":"a"})";
  const auto layer = read(R"({"hooks":{"PostToolUse":[{"matcher":"x","hooks":[)" + hooks + "]}]}}");
  EXPECT_THAT(layer.hooks, SizeIs(501));
  EXPECT_EQ(layer.hooks.back().event, HookEvent::pre_tool_use);
  EXPECT_THAT(layer.hooks.back().fault, HasSubstr("more than 500 hooks"));
}

TEST(HookSettings, OnlyAnOrganisationMayWantItsOwnHooksAlone) {
  constexpr auto text = R"({"disableAllHooks":true,"allowManagedHooksOnly":true})";
  EXPECT_TRUE(read(text, SettingsSource::enterprise).only_managed_hooks.has_value());
  const auto user = read(text);
  EXPECT_FALSE(user.only_managed_hooks.has_value());
  EXPECT_TRUE(user.hooks_off && user.hooks_off->value);
  ASSERT_THAT(user.problems, SizeIs(1));
  EXPECT_THAT(user.problems[0].message, HasSubstr("only in the settings of an organisation"));
}

}  // namespace
}  // namespace patchbay
