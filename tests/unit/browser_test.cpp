// Which program opens a page, decided by the environment, and how $BROWSER is read: no shell, the address is one
// argument. A1 X4.
#include "cli/browser.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/loop.h"

namespace patchbay::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string url = "https://issuer.example/authorize?a=1&b=$(touch x);c 'd'";

VariableLookup environment(std::map<std::string, std::string> variables) {
  return [variables](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(std::string(name));
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(Browser, TheVariableIsReadAsPrograms_AndTheAddressIsOneArgument) {
  struct Case {
    std::string browser;
    std::vector<std::vector<std::string>> commands;
  };
  for (const auto& [browser, commands] : std::vector<Case>{
           {"firefox", {{"firefox", url}}},
           {"firefox --new-window", {{"firefox", "--new-window", url}}},
           {"firefox %s", {{"firefox", url}}},
           {"open --url=%s --wait", {{"open", "--url=" + url, "--wait"}}},
           {"a:b %s:c", {{"a", url}, {"b", url}, {"c", url}}},
           {"'/opt/my browser/run' %s", {{"/opt/my browser/run", url}}},
           {"::a:", {{"a", url}}},
           // The program is never made of the address.
           {"%s", {{"%s", url}}},
           {"'not ended", {}},
           {"", {}},
           {"   ", {}},
       }) {
    EXPECT_EQ(browser_commands(browser, url), commands) << browser;
  }
}

TEST(Browser, IsOpenedOnlyWhereSomebodySeesIt) {
  struct Case {
    std::map<std::string, std::string> variables;
    std::string first;  // empty: none is opened
  };
  for (const auto& [variables, first] : std::vector<Case>{
           {{{"DISPLAY", ":0"}}, "xdg-open"},
           {{{"WAYLAND_DISPLAY", "wayland-0"}}, "xdg-open"},
           {{{"BROWSER", "lynx"}}, "lynx"},
           {{{"BROWSER", "helper"}, {"SSH_CONNECTION", "1 2 3 4"}}, "helper"},
           {{{"DISPLAY", ":0"}, {"SSH_CONNECTION", "1 2 3 4"}}, ""},
           {{{"DISPLAY", ""}}, ""},
           {{{"BROWSER", ":"}, {"DISPLAY", ":0"}}, ""},
           {{}, ""},
       }) {
    const auto plan = browser_plan(environment(variables), url);
    EXPECT_EQ(plan.commands.empty() ? "" : plan.commands.front().front(), first) << testing::PrintToString(variables);
    EXPECT_EQ(plan.why_not.empty(), !first.empty()) << testing::PrintToString(variables);
  }
}

TEST(Browser, TheFirstThatWorksCounts_AndOneThatFailsIsNamed) {
  test::run_task([]() -> Task<void> {
    EXPECT_EQ(co_await open_browser({{{"/nonexistent/program", url}, {"true", url}}, {}}), "");
    EXPECT_THAT(co_await open_browser({{{"false", url}}, {}}), HasSubstr("false exited with status 1"));
    EXPECT_THAT(co_await open_browser({{{"/nonexistent/program", url}}, {}}), HasSubstr("/nonexistent/program"));
    EXPECT_EQ(co_await open_browser({{}, "nobody looks"}), "nobody looks");
  });
}

}  // namespace
}  // namespace patchbay::cli
