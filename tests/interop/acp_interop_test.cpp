// `patchbay acp` with the official library of the Agent Client Protocol as the editor. G1 N1.
// ./test installs it and sets PATCHBAY_NPM_DIR and PATCHBAY_NODE.
#include <atomic>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/anthropic_replies.h"
#include "support/household.h"
#include "support/model_api.h"
#include "support/places.h"

namespace patchbay::test {
namespace {

using testing::HasSubstr;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  EXPECT_NE(value, nullptr) << name << " is not set; run this through ./test";
  return value ? value : "";
}

// G1: what it is to check is in acp_client.mjs.
TEST(AgentInAnEditor, WorksWithTheOfficialLibrary) {
  const Household house;
  house.tree.file("project/a.txt", "water the plants");
  house.tree.file("s.json", R"({"turns":[
    {"when":"please do","thinking":"hm","text":"I look.","calls":[
      {"name":"read_file","input":{"path":"a.txt"}},
      {"name":"mcp__fake__echo","input":{"text":"hi"}},
      {"name":"edit_file","input":{"path":"a.txt","old_text":"plants","new_text":"flowers"}},
      {"name":"run_command","input":{"command":"touch","args":["made"]}}]},
    {"when":"once more","calls":[{"name":"mcp__fake__echo","input":{"text":"hi"}}]},
    {"when":"change it","calls":[{"name":"edit_file","input":{"path":"a.txt","old_text":"water","new_text":"cut"}}]},
    {"when":"run something","calls":[{"name":"run_command","input":{"command":"touch","args":["made"]}}]},
    {"when":"say something","text":"Something."},
    {"when":"sample it","calls":[{"name":"mcp__fix__ask_sample"}]},
    {"when":"who am I","calls":[{"name":"mcp__fake__said_name"}]},
    {"text":"Done."},{"text":"Done."},{"text":"Done."},{"text":"Done."}]})");
  auto options = house.options();
  options.env["PATCHBAY_NPM_DIR"] = environment("PATCHBAY_NPM_DIR");
  options.env["SAMPLING_SERVER"] = built("scenario-server");
  const auto script = (house.tree.path() / "s.json").string();
  const auto edited =
      run_program({environment("PATCHBAY_NODE"), in_sources("tests/interop/acp_client.mjs"), house.project(),
                   built("mode-server"), built("patchbay"), "acp", "--model", "script:" + script},
                  options);
  EXPECT_EQ(edited.code, 0) << edited.out << edited.err;
  for (const auto* check :
       {"Initialize", "WrongRequestsAreRefused", "CallsAreShown", "OutcomesAreShown", "TheUserIsAsked",
        "WhatIsAllowedForTheSessionIsNotAskedAgain", "ModesAreSet", "APromptIsCancelled", "ASessionIsClosed",
        "ASessionIsTakenUp", "AFormIsFilledIn", "TextOfTheModelIsForTheUserToGive"}) {
    EXPECT_THAT(edited.out, HasSubstr("ok " + std::string(check) + "\n"));
  }
}

// G1: an API that refuses what newer ones have is asked so once by the program, and not by each of its sessions.
TEST(AgentInAnEditor, WhatAnApiRefusedInOneSessionIsNotTriedInTheNext) {
  const Household house;
  std::atomic<int> refused = 0;
  ModelApi api([&](const ModelApiRequest& request) {
    if (request.header("anthropic-beta").empty()) return anthropic_reply({.text = "Hello."});
    ++refused;
    return anthropic_error(400, "invalid_request_error", "there are no betas here");
  });
  auto options = house.options();
  options.env["PATCHBAY_NPM_DIR"] = environment("PATCHBAY_NPM_DIR");
  options.env["ANTHROPIC_BASE_URL"] = api.url();
  options.env["ANTHROPIC_API_KEY"] = "sk-test";
  options.env["ENABLE_TOOL_SEARCH"] = "true";
  options.env["NO_PROXY"] = "*";
  const auto edited =
      run_program({environment("PATCHBAY_NODE"), in_sources("tests/interop/acp_sessions.mjs"), house.project(), "2",
                   built("patchbay"), "acp", "--model", "anthropic:claude-opus-5"},
                  options);
  EXPECT_EQ(edited.code, 0) << edited.err;
  EXPECT_EQ(edited.out, "Hello.\nHello.\n") << edited.err;
  EXPECT_EQ(refused, 1);
  EXPECT_THAT(api.requests(), testing::SizeIs(3));
}

}  // namespace
}  // namespace patchbay::test
