// --answers: which question gets which answer, and what is left. E1.
#include "cli/given_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fails_with.h"
#include "support/temp_tree.h"

namespace patchbay::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ElicitRequest question(std::string message = "who?") {
  return {.message = std::move(message),
          .requested_schema = *parse_json(R"({"type":"object","properties":{"name":{"type":"string"},
              "size":{"type":"integer"}},"required":["name"]})")};
}

// E1
TEST(GivenAnswers, TheNarrowestOneCounts) {
  struct Case {
    const char* given;
    const char* content;  // null: nothing is about this question; empty: it does not fit
    std::vector<std::string> unused;
  };
  const Case cases[] = {
      {R"({"name":"Ada","size":3})", R"({"name":"Ada","size":3})", {}},
      {R"({"name":"Ada","other":1})", R"({"name":"Ada"})", {"other"}},
      {R"({"name":"Ada","fix":{"name":"Ben"}})", R"({"name":"Ben"})", {}},
      {R"({"fix/ask":{"name":"Cat"},"fix":{"name":"Ben","size":1}})", R"({"name":"Cat","size":1})", {}},
      {R"({"who?":{"name":"Dan"},"fix/ask":{"name":"Cat"}})", R"({"name":"Dan"})", {}},
      {R"({"fix":{"name":"Ben","x":1}})", R"({"name":"Ben"})", {"fix: x"}},
      {R"({"name":"Ada","elsewhere":{"name":"Ben"}})", R"({"name":"Ada"})", {"elsewhere: name"}},
      {R"({"elsewhere":{"name":"Ben"}})", nullptr, {"elsewhere: name"}},
      {R"({"nothing":1})", nullptr, {"nothing"}},
      {R"({"size":3})", "", {}},
      {R"({"name":"Ada","size":"many"})", "", {}},
      {R"({"fix":{}})", "", {}},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.given);
    auto answers = GivenAnswers::read(one.given);
    const auto answer = answers.answer(question(), {.server = "fix", .tool = "ask"});
    ASSERT_EQ(answer.has_value(), one.content != nullptr);
    if (answer && *one.content == 0) EXPECT_THAT(*answer, test::FailsWith(Errc::invalid_argument));
    if (answer && *one.content != 0) {
      ASSERT_TRUE(*answer) << answer->error().message();
      EXPECT_EQ(**answer, *parse_json(one.content));
    }
    EXPECT_EQ(answers.unused(), one.unused);
  }
}

// E1
TEST(GivenAnswers, WhatNoQuestionAskedForIsReported) {
  auto answers = GivenAnswers::read(R"({"name":"Ada","fix":{"size":1},"other":{}})");
  EXPECT_THAT(answers.unused(), ElementsAre("name", "fix: size", "other"));
  EXPECT_TRUE(answers.answer(question(), {.server = "fix"}));
  EXPECT_THAT(answers.unused(), ElementsAre("other"));
  // A page is not answered with values.
  auto page = question();
  page.mode = ElicitRequest::Mode::url;
  EXPECT_FALSE(answers.answer(page, {.server = "fix"}));
}

// E1
TEST(GivenAnswers, ComeFromAFileOrText_AndWhatIsNoObjectIsAnError) {
  const test::TempTree tree;
  tree.file("answers.json", R"({"name": "Ada"})");
  tree.file("list.json", "[1]");
  tree.file("large.json", "{\"a\":\"" + std::string(2u << 20, 'x') + "\"}");
  const auto at = [&](const char* name) { return (tree.path() / name).string(); };
  EXPECT_THAT(GivenAnswers::read(at("answers.json")).unused(), ElementsAre("name"));
  struct Case {
    std::string given;
    const char* reason;
  };
  for (const auto& one : std::vector<Case>{{at("missing.json"), "--answers: cannot open"},
                                           {at("list.json"), "must be a JSON object"},
                                           {at("large.json"), "larger than the limit"},
                                           {"{", "is not JSON"},
                                           {"{}", "must be a JSON object"}}) {
    try {
      (void)GivenAnswers::read(one.given);
      ADD_FAILURE() << one.given;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid_argument);
      EXPECT_THAT(error.message(), HasSubstr(one.reason));
    }
  }
}

}  // namespace
}  // namespace patchbay::cli
