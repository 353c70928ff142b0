// Conversations and processes that end: kill -9 at every event, two processes at once, a disk that is full. C10.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/conversation/conversation.h"
#include "agent/conversation/repair.h"
#include "support/loop.h"
#include "support/places.h"
#include "support/running_program.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using test::built;
using test::run_task;
using test::RunningProgram;
using test::TempTree;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct Place {
  TempTree tree;
  Place() { tree.directory("work"); }
  std::string state() const { return (tree.path() / "state").string(); }
  std::string work() const { return (tree.path() / "work").string(); }
  std::vector<std::string> writer(const std::string& id) const {
    return {built("conversation-writer"), state(), work(), id};
  }
  ConversationOptions options() const { return {.state_directory = state(), .directory = work()}; }
};

std::string id_of(RunningProgram& program) { return program.wait_for("id ").substr(3); }

// What it has said the disk has.
std::uint64_t acknowledged(const std::string& output) {
  const auto at = output.rfind("\nhas ");
  return at == std::string::npos ? 0 : std::stoul(output.substr(at + 5));
}

// The conversation opens, is valid, has what was acknowledged, and goes on.
void goes_on(const Place& place, const std::string& id, std::uint64_t at_least, const std::string& when) {
  run_task([&]() -> Task<void> {
    auto one = co_await Conversation::open(place.options(), id);
    EXPECT_EQ(broken_rule(one->messages()), "") << when;
    EXPECT_THAT(open_uses(one->messages()), IsEmpty()) << when;
    EXPECT_GE(one->usage().output, at_least) << when;
    ModelMessage more{.parts = {ModelText{"go on"}}};
    co_await one->append(std::make_shared<ModelMessage>(std::move(more)));
    EXPECT_TRUE(one->is_kept()) << when;
    EXPECT_EQ(broken_rule(one->messages()), "") << when;
  });
}

TEST(ConversationProcess, GoesOnAfterKillAtEveryEvent) {
  // Each is what the process says at that moment; it goes on meanwhile, so it dies there or a little later.
  for (const auto* moment : {"begins question", "has 1", "begins calls", "has 2", "begins outcomes", "has 3",
                             "begins answer", "has 4", "has 5", "has 9"}) {
    const Place place;
    RunningProgram program(place.writer("new"));
    const auto id = id_of(program);
    (void)program.wait_for(moment);
    EXPECT_EQ(program.end(SIGKILL), 128 + SIGKILL);
    const auto has = acknowledged(program.output());
    if (has == 0) {
      // The first message may have been on its way: then there is nothing, and nothing in pieces.
      bool there = false;
      run_task([&]() -> Task<void> { there = !(co_await Conversation::list(place.options())).empty(); });
      if (!there) continue;
    }
    goes_on(place, id, has, moment);
  }
}

TEST(ConversationProcess, GoesOnAfterManyKills) {
  const Place place;
  std::string id = "new";
  for (int life = 0; life < 8; ++life) {
    RunningProgram program(place.writer(id));
    id = id_of(program);
    (void)program.wait_for("has ");
    for (int i = 0; i < life; ++i) (void)program.wait_for(i % 2 == 0 ? "begins outcomes" : "begins answer");
    EXPECT_EQ(program.end(SIGKILL), 128 + SIGKILL);
    goes_on(place, id, acknowledged(program.output()), "life " + std::to_string(life));
  }
}

TEST(ConversationProcess, TwoDoNotWriteTheSame) {
  const Place place;
  RunningProgram program(place.writer("new"));
  const auto id = id_of(program);
  (void)program.wait_for("has 1");
  run_task([&]() -> Task<void> {
    std::string says;
    try {
      (void)co_await Conversation::open(place.options(), id);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::config);
      says = error.message();
    }
    EXPECT_THAT(says, HasSubstr("process " + std::to_string(program.pid()) + " has this conversation"));
  });
  EXPECT_THAT(program.output(), Not(HasSubstr("trouble")));
}

TEST(ConversationProcess, GoesOnInMemoryWhenTheDiskIsFull) {
  for (const std::size_t room : {300u, 5000u, 6000u, 7001u, 20'000u}) {
    const Place place;
    auto words = place.writer("new");
    words.push_back(std::to_string(room));
    RunningProgram program(words);
    const auto id = id_of(program);
    (void)program.wait_for("ends");
    const auto output = program.output();
    EXPECT_THAT(output, HasSubstr("trouble this conversation is not kept any more: cannot write"));
    EXPECT_EQ(output.find("trouble"), output.rfind("trouble")) << "said once";
    EXPECT_THAT(output, HasSubstr("has 40"));
    EXPECT_EQ(program.end(0), 0);  // it ends by itself
    bool there = false;
    run_task([&]() -> Task<void> { there = !(co_await Conversation::list(place.options())).empty(); });
    if (there) goes_on(place, id, 1, std::to_string(room));
  }
}

}  // namespace
}  // namespace patchbay
