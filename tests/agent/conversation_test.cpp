// Conversations in files: what was said is there again, whatever happened to the process and the disk. C10.
#include "agent/conversation/conversation.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/conversation/record.h"
#include "agent/conversation/repair.h"
#include "base/scope.h"
#include "support/loop.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;
using test::run_task;
using test::TempTree;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using Shared = std::shared_ptr<const ModelMessage>;

Shared said(std::string words) {
  return std::make_shared<ModelMessage>(ModelMessage{.parts = {ModelText{std::move(words)}}});
}
Shared answered(std::string words) {
  return std::make_shared<ModelMessage>(ModelMessage{.role = Role::assistant, .parts = {ModelText{std::move(words)}}});
}
Shared wants(std::vector<std::string> ids) {
  ModelMessage message{.role = Role::assistant};
  for (auto& id : ids) message.parts.emplace_back(ModelToolUse{.id = std::move(id), .name = "t"});
  return std::make_shared<ModelMessage>(std::move(message));
}
Shared came(std::string id) {
  return std::make_shared<ModelMessage>(
      ModelMessage{.parts = {ModelToolOutcome{.id = std::move(id), .name = "t", .blocks = {ModelText{"ok"}}}}});
}
bool same(const ModelMessages& a, const ModelMessages& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) { return *x == *y; });
}

struct Place {
  TempTree tree;
  std::vector<std::string> troubles;
  ConversationOptions options() {
    tree.directory("work");
    return {.state_directory = (tree.path() / "state").string(),
            .directory = (tree.path() / "work").string(),
            .model = "script:x",
            .on_trouble = [this](std::string text) { troubles.push_back(std::move(text)); }};
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> all;
    for (const auto& at : fs::recursive_directory_iterator(tree.path() / "state")) {
      if (at.is_regular_file()) all.push_back(at.path());
    }
    return all;
  }
};

Error error_of(Task<std::unique_ptr<Conversation>> opening) {
  Error error(Errc::internal, "nothing was thrown");
  run_task([&]() -> Task<void> {
    try {
      (void)co_await std::move(opening);
    } catch (const Error& thrown) {
      error = thrown;
    }
  });
  return error;
}

TEST(Conversation, IsThereAgain) {
  Place place;
  run_task([&]() -> Task<void> {
    auto one = Conversation::make(place.options());
    EXPECT_FALSE(fs::exists(place.tree.path() / "state"));  // nothing was said yet
    co_await one->append(said("first words"));
    co_await one->append(wants({"1"}), {.input = 10, .output = 2});
    co_await one->append(came("1"));
    co_await one->append(answered("done"), {.input = 20, .cache_read = 5, .output = 3});
    co_await one->add_usage({.input = 1});
    const auto id = one->id();
    const auto before = one->messages();
    one.reset();
    auto again = co_await Conversation::open(place.options(), id);
    EXPECT_EQ(again->id(), id);
    EXPECT_TRUE(same(again->messages(), before));
    EXPECT_EQ(again->usage(), (ModelUsage{.input = 31, .cache_read = 5, .output = 5}));
    co_await again->append(said("more"));
    again.reset();
    again = co_await Conversation::open(place.options(), id);
    EXPECT_EQ(text_of(*again->messages().back()), "more");
  });
  ASSERT_THAT(place.files(), SizeIs(1));
  struct stat status{};
  ASSERT_EQ(::stat(place.files()[0].c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  ASSERT_EQ(::stat(place.files()[0].parent_path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  EXPECT_THAT(place.files()[0].parent_path().filename().string(), testing::StartsWith("work-"));
  EXPECT_THAT(place.troubles, IsEmpty());
}

TEST(Conversation, IsListedWithTheNewestFirst) {
  Place place;
  run_task([&]() -> Task<void> {
    auto elsewhere = place.options();
    elsewhere.directory = place.tree.path().string();
    auto other = Conversation::make(elsewhere);
    co_await other->append(said("somewhere else"));
    auto first = Conversation::make(place.options());
    co_await first->append(said("one\nline \x1b[31mred"));
    co_await first->append(answered("yes"));
    co_await first->append(said("two"));
    auto second = Conversation::make(place.options());
    co_await second->append(said("newer"));
    // The clock of a file system may not tell them apart.
    for (const auto& path : place.files()) {
      if (path.stem() == first->id())
        fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
    }
    auto all = co_await Conversation::list(place.options());
    EXPECT_THAT(all, SizeIs(2));
    if (all.size() != 2) co_return;
    EXPECT_EQ(all[0].id, second->id());
    EXPECT_EQ(all[1].id, first->id());
    EXPECT_EQ(all[1].words, "one line red");
    EXPECT_EQ(all[1].turns, 2u);
    EXPECT_EQ(all[1].model, "script:x");
    EXPECT_EQ(all[1].directory, (place.tree.path() / "work").string());
    EXPECT_THAT(co_await Conversation::list(place.options(), 1), SizeIs(1));
    // By its id it is found from anywhere.
    const auto id = other->id();
    other.reset();
    other = co_await Conversation::open(place.options(), id);
    EXPECT_THAT(other->messages(), SizeIs(1));
  });
}

TEST(Conversation, IsKnownByTheRealPathOfItsDirectory) {
  Place place;
  run_task([&]() -> Task<void> {
    auto one = Conversation::make(place.options());
    co_await one->append(said("hello"));
    place.tree.link("alias", place.tree.path() / "work");
    auto options = place.options();
    options.directory = (place.tree.path() / "alias").string();
    EXPECT_THAT(co_await Conversation::list(options), SizeIs(1));
  });
}

TEST(Conversation, BelongsToOneAtATime) {
  Place place;
  std::string id;
  run_task([&]() -> Task<void> {
    auto one = Conversation::make(place.options());
    co_await one->append(said("hello"));
    id = one->id();
    std::string says;
    try {
      (void)co_await Conversation::open(place.options(), id);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::config);
      says = error.message();
    }
    EXPECT_THAT(says, HasSubstr("process " + std::to_string(::getpid()) + " has this conversation"));
  });
}

TEST(Conversation, SaysThatThereIsNone) {
  Place place;
  for (const auto* id : {"", "abcdefghij", "../../secret"}) {
    EXPECT_EQ(error_of(Conversation::open(place.options(), id)).code(), Errc::invalid_argument) << id;
  }
  auto nowhere = place.options();
  nowhere.state_directory.clear();
  EXPECT_EQ(error_of(Conversation::open(nowhere, "abcdefghij")).code(), Errc::invalid_argument);
}

TEST(Conversation, KeepsTheOrderOfWhatIsAddedAtOnce) {
  Place place;
  run_task([&]() -> Task<void> {
    auto one = Conversation::make(place.options());
    co_await one->append(said("go"));
    co_await one->append(wants({"1", "2", "3"}));
    Scope scope(co_await asio::this_coro::executor);
    for (const auto* id : {"3", "1", "2"}) scope.start(one->append(came(id)));
    EXPECT_EQ(broken_rule(one->messages()), "");
    EXPECT_EQ(one->messages().back()->parts.size(), 3u);  // at once, before the disk has them
    co_await scope.join();
    const auto before = one->messages();
    const auto id = one->id();
    one.reset();
    one = co_await Conversation::open(place.options(), id);
    EXPECT_TRUE(same(one->messages(), before));
  });
}

TEST(Conversation, KeepsWhatIsAddedWhenItsCallerIsCancelled) {
  Place place;
  run_task([&]() -> Task<void> {
    auto one = Conversation::make(place.options());
    Scope scope(co_await asio::this_coro::executor);
    scope.start(one->append(said("hello")));
    scope.cancel();
    co_await scope.join();
    const auto id = one->id();
    one.reset();
    one = co_await Conversation::open(place.options(), id);
    EXPECT_THAT(one->messages(), SizeIs(1));
  });
}

TEST(Conversation, IsInterruptedAndGoesOn) {
  Place place;
  run_task([&]() -> Task<void> {
    auto one = Conversation::make(place.options());
    co_await one->append(said("go"));
    co_await one->append(wants({"1", "2"}));
    const auto id = one->id();
    one.reset();
    one = co_await Conversation::open(place.options(), id);
    EXPECT_THAT(one->messages(), SizeIs(3));
    EXPECT_EQ(std::get<ModelToolOutcome>(one->messages().back()->parts[1]),
              interrupted_outcome({.id = "2", .name = "t"}));
    EXPECT_THAT(one->deferred(), IsEmpty());
    co_await one->append(said("and now?"));
    const auto before = one->messages();
    EXPECT_EQ(broken_rule(before), "");
    one.reset();
    one = co_await Conversation::open(place.options(), id);
    EXPECT_TRUE(same(one->messages(), before));
  });
}

TEST(Conversation, RemembersCallsThatAreMadeLater) {
  Place place;
  run_task([&]() -> Task<void> {
    auto one = Conversation::make(place.options());
    co_await one->append(said("go"));
    co_await one->append(wants({"1", "2"}));
    co_await one->append(came("1"));
    co_await one->defer({"2"});
    const auto id = one->id();
    one.reset();
    one = co_await Conversation::open(place.options(), id);
    EXPECT_EQ(broken_rule(one->messages()), "");
    EXPECT_THAT(one->deferred(), ElementsAre(ModelToolUse{.id = "2", .name = "t"}));
    co_await one->append(came("2"));
    EXPECT_THAT(one->deferred(), IsEmpty());
    EXPECT_EQ(one->messages().back()->parts[1], came("2")->parts[0]);
    // Or the person has changed their mind.
    co_await one->append(wants({"3"}));
    co_await one->defer({"3"});
    EXPECT_THAT(one->deferred(), SizeIs(1));
    co_await one->append(said("never mind"));
    EXPECT_THAT(one->deferred(), IsEmpty());
    EXPECT_EQ(broken_rule(one->messages()), "");
  });
}

TEST(Conversation, IsShortened) {
  Place place;
  run_task([&]() -> Task<void> {
    auto one = Conversation::make(place.options());
    co_await one->append(said("long"));
    co_await one->append(answered("story"));
    std::vector<Shared> summary;
    summary.push_back(said("a summary"));
    co_await one->replace(std::move(summary));
    co_await one->append(answered("go on"));
    const auto id = one->id();
    one.reset();
    one = co_await Conversation::open(place.options(), id);
    EXPECT_THAT(one->messages(), SizeIs(2));
    EXPECT_EQ(text_of(*one->messages()[0]), "a summary");
    const auto listed = co_await Conversation::list(place.options());
    EXPECT_EQ(listed.at(0).words, "long");
  });
}

TEST(Conversation, GoesOnInMemoryWhenItsFolderCannotBeMade) {
  Place place;
  place.tree.file("state/conversations", "in the way");
  run_task([&]() -> Task<void> {
    auto one = Conversation::make(place.options());
    EXPECT_TRUE(one->is_kept());
    co_await one->append(said("hello"));
    co_await one->append(answered("yes"));
    EXPECT_FALSE(one->is_kept());
    EXPECT_THAT(one->messages(), SizeIs(2));
  });
  ASSERT_THAT(place.troubles, SizeIs(1));
  EXPECT_THAT(place.troubles[0], HasSubstr("this conversation is not kept any more: cannot write"));
}

TEST(Conversation, GoesOnInMemoryBeyondItsBounds) {
  struct Case {
    ConversationLimits limits;
    const char* says;
  };
  for (const auto& c : {Case{{.file = 600}, "more than 600 bytes"}, Case{{.records = 2}, "or 2 events"},
                        Case{{.record = 80}, "a message has more than 80 bytes"}}) {
    Place place;
    run_task([&]() -> Task<void> {
      auto options = place.options();
      options.limits = c.limits;
      auto one = Conversation::make(options);
      for (int i = 0; i < 10; ++i) {
        co_await one->append(said("hello"));
        co_await one->append(answered("a long answer to everything"));
      }
      EXPECT_THAT(one->messages(), SizeIs(20));
      EXPECT_FALSE(one->is_kept());
    });
    ASSERT_THAT(place.troubles, SizeIs(1)) << c.says;
    EXPECT_THAT(place.troubles[0], HasSubstr(c.says));
  }
}

TEST(Conversation, IsKeptNowhereWithoutAStateDirectory) {
  Place place;
  run_task([&]() -> Task<void> {
    auto options = place.options();
    options.state_directory.clear();
    auto one = Conversation::make(options);
    co_await one->append(said("hello"));
    EXPECT_FALSE(one->is_kept());
    EXPECT_THAT(one->messages(), SizeIs(1));
    EXPECT_THAT(co_await Conversation::list(options), IsEmpty());
  });
  EXPECT_THAT(place.troubles, IsEmpty());
}

TEST(Conversation, SaysWhereItsFileIsDamaged) {
  Place place;
  std::string id;
  run_task([&]() -> Task<void> {
    auto one = Conversation::make(place.options());
    co_await one->append(said("hello"));
    id = one->id();
  });
  std::ofstream(place.files()[0], std::ios::app) << "nonsense\n{\"usage\":{}}\n";
  const auto error = error_of(Conversation::open(place.options(), id));
  EXPECT_EQ(error.code(), Errc::config);
  EXPECT_THAT(error.message(), HasSubstr("line 3: it is not JSON"));
}

// The file of a conversation with everything in it, cut at every byte: it opens, is valid, has what was whole, and goes
// on.
TEST(Conversation, GoesOnWhereverItsFileIsCut) {
  Place place;
  std::string id;
  run_task([&]() -> Task<void> {
    auto one = Conversation::make(place.options());
    id = one->id();
    co_await one->append(said("go"));
    co_await one->append(wants({"1", "2"}), {.input = 1});
    co_await one->append(came("2"));
    co_await one->append(came("1"));
    co_await one->append(answered("so"));
    std::vector<Shared> summary;
    summary.push_back(said("s"));
    co_await one->replace(std::move(summary));
    co_await one->append(wants({"3"}));
    co_await one->defer({"3"});
  });
  const auto path = place.files()[0];
  std::ifstream file(path, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), {});
  std::vector<std::size_t> sizes{whole.size()};
  for (auto end = whole.find('\n'); end != std::string::npos; end = whole.find('\n', end + 1)) {
    const auto read = read_conversation(std::string_view(whole).substr(0, end + 1), 100);
    EXPECT_TRUE(read && read->whole == end + 1);
    for (auto size = end + 1; size < whole.size() && (whole[size] != '\n' || size == end + 1); ++size) {
      const auto part = read_conversation(std::string_view(whole).substr(0, size), 100);
      EXPECT_TRUE(part && part->whole == end + 1 && broken_rule(part->state.messages).empty()) << size;
    }
    sizes.insert(sizes.end(), {end + 1, std::min(end + 40, whole.size()), end});
  }
  sizes.erase(std::ranges::find(sizes, whole.find('\n')));  // without its first line it is none
  run_task([&]() -> Task<void> {
    for (const auto size : sizes) {
      std::ofstream(path, std::ios::binary | std::ios::trunc) << whole.substr(0, size);
      auto one = co_await Conversation::open(place.options(), id);
      EXPECT_EQ(broken_rule(one->messages()), "") << size;
      EXPECT_THAT(open_uses(one->messages()), IsEmpty()) << size;
      co_await one->append(said("on"));
      const auto before = one->messages();
      EXPECT_EQ(broken_rule(before), "") << size;
      one.reset();
      one = co_await Conversation::open(place.options(), id);
      EXPECT_TRUE(same(one->messages(), before)) << size;
    }
  });
}

}  // namespace
}  // namespace patchbay
