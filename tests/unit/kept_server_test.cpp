// What is kept of a server from run to run: its text, when it may be used, the files, many writers, bad disks.
// W5 L3 C11.
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/kept/server_files.h"
#include "support/ordinary_user.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using std::chrono::sys_seconds;
using test::TempTree;
using testing::HasSubstr;
using testing::Not;

const sys_seconds noon{std::chrono::seconds(1'800'000'000)};

std::shared_ptr<const Tool> tool(std::string name) {
  Tool out;
  out.name = std::move(name);
  out.description = "what it does";
  out.input_schema = Json{{"type", "object"}, {"properties", Json{{"path", Json{{"type", "string"}}}}}};
  return std::make_shared<const Tool>(std::move(out));
}

KeptServer sample(std::string tool_name = "read") {
  KeptServer kept;
  kept.name = "files";
  kept.stamp = "stamp";
  kept.state = KeptState{ServerState::connected, "", "", noon};
  KeptDescription about;
  about.server.info.name = "files-server";
  about.server.info.version = "1.2";
  about.server.instructions = "read first";
  about.server.protocol_version = "x";
  about.server.capabilities.tools.emplace();
  about.era = "legacy";
  kept.description = about;
  kept.tools = KeptList<std::shared_ptr<const Tool>>{noon, {tool(std::move(tool_name))}};
  Prompt prompt;
  prompt.name = "review";
  kept.prompts = KeptList<Prompt>{noon, {prompt}};
  Resource resource;
  resource.uri = "file:///a";
  resource.name = "a";
  kept.resources = KeptList<Resource>{noon, {resource}};
  ResourceTemplate pattern;
  pattern.uri_template = "file:///{path}";
  pattern.name = "any";
  kept.templates = KeptList<ResourceTemplate>{noon, {pattern}};
  return kept;
}

VariableLookup lookup(std::map<std::string, std::string, std::less<>> values) {
  return [values = std::move(values)](std::string_view name) -> std::optional<std::string> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
}

ServerKey key_of(char digit) { return {std::string(64, digit), {}}; }

// ---- the text

TEST(KeptServer, EverythingComesBackFromItsText) {
  const auto kept = sample();
  const auto read = read_kept_server(write_kept_server(kept));
  ASSERT_EQ(read.use, KeptUse::usable);
  const auto& back = *read.server;
  EXPECT_EQ(back.name, kept.name);
  EXPECT_EQ(back.stamp, kept.stamp);
  EXPECT_EQ(back.state, kept.state);
  EXPECT_EQ(back.description, kept.description);
  ASSERT_TRUE(back.tools);
  ASSERT_EQ(back.tools->items.size(), 1u);
  EXPECT_EQ(*back.tools->items[0], *kept.tools->items[0]);
  EXPECT_EQ(back.tools->time, noon);
  EXPECT_EQ(back.prompts, kept.prompts);
  EXPECT_EQ(back.resources, kept.resources);
  EXPECT_EQ(back.templates, kept.templates);
  EXPECT_FALSE(back.cut);
}

TEST(KeptServer, WhatIsNotUnderstoodIsNotUsed) {
  struct Case {
    std::string text;
    KeptUse use;
  };
  for (const auto& one : std::vector<Case>{
           {"", KeptUse::unreadable},
           {"x", KeptUse::unreadable},
           {"[]", KeptUse::unreadable},
           {"{}", KeptUse::unreadable},
           {R"({"version":0,"name":"a"})", KeptUse::unreadable},
           {R"({"version":"1","name":"a"})", KeptUse::unreadable},
           {R"({"version":1})", KeptUse::unreadable},
           {R"({"version":2})", KeptUse::newer},
           {R"({"version":1,"name":"a"})", KeptUse::usable},
       }) {
    EXPECT_EQ(read_kept_server(one.text).use, one.use) << one.text;
  }
}

// Half a list would be taken for the whole.
TEST(KeptServer, AListWithOneBadItemIsNotThere) {
  const auto read = read_kept_server(
      R"({"version":1,"name":"a","tools":{"time":5,"items":[{"name":"x","inputSchema":{"type":"object"}},{"no":1}]},)"
      R"("prompts":{"time":-1,"items":[]},"resources":{"time":5,"items":7},"state":{"state":"asleep","time":5}})");
  ASSERT_TRUE(read.server);
  EXPECT_FALSE(read.server->tools);
  EXPECT_FALSE(read.server->prompts);
  EXPECT_FALSE(read.server->resources);
  EXPECT_FALSE(read.server->state);
}

TEST(KeptServer, WhatHasNoRoomIsLeftOutToolsLast) {
  auto kept = sample();
  kept.resources->items.resize(60'000, kept.resources->items[0]);
  for (auto& one : kept.resources->items) one.description = std::string(100, 'd');
  auto text = write_kept_server(kept);
  ASSERT_LE(text.size(), largest_kept_server);
  auto read = read_kept_server(text).server;
  ASSERT_TRUE(read && read->tools && read->prompts);
  EXPECT_FALSE(read->resources);
  EXPECT_TRUE(read->cut);
  EXPECT_EQ(judge_kept(*read, std::nullopt, "stamp", noon, {}), KeptUse::no_room);

  Tool large = *kept.tools->items[0];
  large.description = std::string(largest_kept_server, 'd');
  kept.tools->items = {std::make_shared<const Tool>(large)};
  read = read_kept_server(write_kept_server(kept)).server;
  ASSERT_TRUE(read && read->description);
  EXPECT_FALSE(read->tools);
}

// ---- whether it may be used

TEST(KeptServer, ItIsUsedWhileYoungAndOfTheSameProgram) {
  const auto kept = sample();
  struct Case {
    std::optional<sys_seconds> listed;
    std::string stamp;
    sys_seconds now;
    KeptPolicy policy;
    KeptUse use;
  };
  for (const auto& one : std::vector<Case>{
           {noon, "stamp", noon, {}, KeptUse::usable},
           {noon, "stamp", noon + 899s, {}, KeptUse::usable},
           {noon, "stamp", noon + 900s, {}, KeptUse::expired},
           {noon, "stamp", noon - 1s, {}, KeptUse::from_future},
           {noon, "other", noon, {}, KeptUse::program_changed},
           {noon, "stamp", noon, {.on = false, .lasts = 900s}, KeptUse::switched_off},
           {noon, "stamp", noon, {.on = true, .lasts = 0s}, KeptUse::expired},
           {std::nullopt, "stamp", noon, {}, KeptUse::not_listed},
       }) {
    EXPECT_EQ(judge_kept(kept, one.listed, one.stamp, one.now, one.policy), one.use) << to_string(one.use);
  }
}

TEST(KeptServer, VariablesSwitchItOffAndSetItsAge) {
  EXPECT_EQ(kept_policy(lookup({})), (KeptPolicy{.on = true, .lasts = 900s}));
  EXPECT_EQ(kept_policy(lookup({{"MCP_DISCOVERY_CACHE", "0"}})).on, false);
  EXPECT_EQ(kept_policy(lookup({{"MCP_DISCOVERY_CACHE", "1"}})).on, true);
  EXPECT_EQ(kept_policy(lookup({{"MCP_DISCOVERY_CACHE_TTL_S", "60"}})).lasts, 60s);
  for (const auto* bad : {"", "x", "-1", "1.5", "99999999999999999999"}) {
    EXPECT_EQ(kept_policy(lookup({{"MCP_DISCOVERY_CACHE_TTL_S", bad}})).lasts, 900s) << bad;
  }
}

TEST(KeptServer, WhatIsNewIsPutOverWhatWasKept) {
  KeptServer state_only;
  state_only.name = "files";
  state_only.stamp = "stamp";
  state_only.state = KeptState{ServerState::failed, "connect failed", "no", noon + 5s};
  auto merged = merged_kept(sample(), state_only);
  EXPECT_EQ(merged.state, state_only.state);
  EXPECT_TRUE(merged.tools && merged.prompts && merged.resources && merged.description);
  state_only.stamp = "another program";
  merged = merged_kept(sample(), state_only);
  EXPECT_FALSE(merged.tools || merged.prompts || merged.resources || merged.description);
}

// ---- the key. C11

class Key : public testing::Test {
 protected:
  Key() {
    tree.file("bin/serve", "#!/bin/sh\n");
    fs::permissions(tree.path() / "bin/serve", fs::perms::owner_all);
    tree.file("here/main.js", "1");
    server.name = "a";
    server.command = "serve";
    server.args = {"main.js", "${LEVEL}", "--x"};
  }
  KeyContext context(const std::string& folder = "here", const std::string& level = "1") const {
    return {lookup({{"PATH", (tree.path() / "bin").string()}, {"LEVEL", level}}), (tree.path() / folder).string(), {}};
  }
  TempTree tree;
  ServerConfig server;
};

TEST_F(Key, ScopeAndPlaceDoNotCountButEntryAndValuesDo) {
  const auto key = server_key(server, context());
  EXPECT_EQ(key.hash.size(), 64u);
  EXPECT_EQ(key.files, (std::vector{(tree.path() / "bin/serve").string(), (tree.path() / "here/main.js").string()}));
  auto moved = server;
  moved.origin.scope = ConfigScope::user;
  moved.origin.file = "/elsewhere";
  EXPECT_EQ(server_key(moved, context()), key);
  for (const auto& change : std::vector<std::function<void(ServerConfig&)>>{
           [](ServerConfig& s) { s.name = "b"; }, [](ServerConfig& s) { s.args.push_back("--y"); },
           [](ServerConfig& s) { s.env = {{"A", "1"}}; }, [](ServerConfig& s) { s.disabled_tools = {"x"}; }}) {
    auto other = server;
    change(other);
    EXPECT_NE(server_key(other, context()).hash, key.hash);
  }
  EXPECT_NE(server_key(server, context("here", "2")).hash, key.hash);
  // The same words mean another file there.
  tree.file("there/main.js", "1");
  EXPECT_NE(server_key(server, context("there")).hash, key.hash);
}

// C11: the directory is a part of what a local server is started with.
TEST_F(Key, ALocalServerIsAnotherOneInAnotherDirectory) {
  server.args.clear();
  const auto key = server_key(server, context("here"));
  EXPECT_NE(server_key(server, context("there")).hash, key.hash);
  server.cwd = "below";
  EXPECT_NE(server_key(server, context("there")).hash, server_key(server, context("here")).hash);
  server.cwd = "/";
  EXPECT_EQ(server_key(server, context("there")).hash, server_key(server, context("here")).hash);
  ServerConfig remote;
  remote.name = "r";
  remote.kind = ServerKind::http;
  remote.url = "http://127.0.0.1/mcp";
  EXPECT_EQ(server_key(remote, context("there")).hash, server_key(remote, context("here")).hash);
}

TEST_F(Key, AnotherSizeOrTimeOfAProgramFileIsAnotherStamp) {
  const auto key = server_key(server, context());
  const auto stamp = stamp_of(key.files);
  EXPECT_EQ(stamp_of(key.files), stamp);
  tree.file("here/main.js", "12");
  const auto larger = stamp_of(key.files);
  EXPECT_NE(larger, stamp);
  fs::last_write_time(tree.path() / "here/main.js", fs::file_time_type::clock::now() - 1h);
  EXPECT_NE(stamp_of(key.files), larger);
  fs::remove(tree.path() / "here/main.js");
  EXPECT_NE(stamp_of(key.files), larger);
}

TEST_F(Key, FilesThatValuesComeFromCount) {
  server.env_file = ".env";
  server.env = {{"T", "${file:token}"}};
  const auto key = server_key(server, context());
  EXPECT_THAT(key.files,
              testing::IsSupersetOf({(tree.path() / "here/.env").string(), (tree.path() / "here/token").string()}));
}

// ---- the files

TEST(KeptFiles, AFileIsForTheUserAlone) {
  TempTree tree;
  const auto state = (tree.path() / "state/patchbay").string();
  ASSERT_TRUE(keep_server(state, key_of('a'), sample()));
  struct stat status{};
  ASSERT_EQ(::stat((state + "/servers/" + std::string(64, 'a') + ".json").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  ASSERT_EQ(::stat((state + "/servers").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  EXPECT_EQ(load_kept_server(state, key_of('a')).use, KeptUse::usable);
  EXPECT_EQ(load_kept_server(state, key_of('b')).use, KeptUse::missing);
}

TEST(KeptFiles, OfMoreThan500TheOldestGo) {
  TempTree tree;
  const auto state = tree.path().string();
  const auto old = std::string(64, 'e');
  tree.file("servers/" + old + ".json", "{}");
  tree.file("servers/notes.txt", "of somebody else");
  fs::last_write_time(tree.path() / "servers" / (old + ".json"), fs::file_time_type::clock::now() - 24h);
  for (std::size_t i = 0; i < most_kept_servers - 1; ++i) {
    tree.file(fmt::format("servers/{:064x}.json", i), "{}");
  }
  const auto unfinished = "servers/" + old + ".json.new-abcdef";
  tree.file(unfinished, "half");
  fs::last_write_time(tree.path() / unfinished, fs::file_time_type::clock::now() - 24h);
  ASSERT_TRUE(keep_server(state, key_of('a'), sample()));
  EXPECT_FALSE(tree.has("servers/" + old + ".json"));
  EXPECT_FALSE(tree.has(unfinished));
  EXPECT_TRUE(tree.has("servers/notes.txt"));
  EXPECT_TRUE(tree.has("servers/" + std::string(64, 'a') + ".json"));
  EXPECT_EQ(std::distance(fs::directory_iterator(tree.path() / "servers"), {}), most_kept_servers + 1);
}

TEST(KeptFiles, WhatANewerProgramWroteStays) {
  TempTree tree;
  const auto name = "servers/" + std::string(64, 'a') + ".json";
  tree.file(name, R"({"version":7,"secret sauce":true})");
  EXPECT_EQ(load_kept_server(tree.path(), key_of('a')).use, KeptUse::newer);
  const auto kept = keep_server(tree.path(), key_of('a'), sample());
  ASSERT_FALSE(kept);
  EXPECT_THAT(kept.error().message(), HasSubstr("newer version"));
  EXPECT_EQ(tree.read(name), R"({"version":7,"secret sauce":true})");
}

TEST(KeptFiles, ABrokenFileIsReplaced) {
  TempTree tree;
  tree.file("servers/" + std::string(64, 'a') + ".json", R"({"version":1,"na)");
  EXPECT_EQ(load_kept_server(tree.path(), key_of('a')).use, KeptUse::unreadable);
  ASSERT_TRUE(keep_server(tree.path(), key_of('a'), sample()));
  EXPECT_EQ(load_kept_server(tree.path(), key_of('a')).use, KeptUse::usable);
}

TEST(KeptFiles, WhatHasTheNameAndIsNotAFileIsNotWaitedFor) {
  TempTree tree;
  tree.directory("servers");
  tree.fifo("servers/" + std::string(64, 'a') + ".json");
  EXPECT_EQ(load_kept_server(tree.path(), key_of('a')).use, KeptUse::unreadable);
  tree.directory("servers/" + std::string(64, 'b') + ".json");
  EXPECT_EQ(load_kept_server(tree.path(), key_of('b')).use, KeptUse::unreadable);
  EXPECT_FALSE(keep_server(tree.path(), key_of('b'), sample()));
}

TEST(KeptFiles, ADirectoryThatCannotBeWrittenIsSaidAndLeftAlone) {
  TempTree tree;
  ASSERT_TRUE(keep_server(tree.path(), key_of('a'), sample()));
  const auto name = "servers/" + std::string(64, 'a') + ".json";
  fs::permissions(tree.path() / name, fs::perms::none);
  const auto said = test::as_ordinary_user(tree.path(), [&] {
    // The folder belongs to somebody else and the file cannot be read.
    const auto read = load_kept_server(tree.path(), key_of('a')).use;
    const auto same = keep_server(tree.path(), key_of('a'), sample("other"));
    const auto fresh = keep_server((tree.path() / "servers").string() + "/deeper", key_of('b'), sample());
    return fmt::format("{} {} {}", to_string(read), same.has_value(), fresh.has_value());
  });
  EXPECT_THAT(said, testing::StartsWith("cannot be read false"));
  if (::getuid() == 0) EXPECT_EQ(said, "cannot be read false false");
}

TEST(KeptFiles, AFullDiskIsSaidAndTheOldFileStays) {
  TempTree tree;
  ASSERT_TRUE(keep_server(tree.path(), key_of('a'), sample()));
  const auto name = "servers/" + std::string(64, 'a') + ".json";
  const auto before = tree.read(name);
  // A limit on the size of files stands for a disk without room: writing fails half way.
  const auto child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit none{10, 10};
    ::setrlimit(RLIMIT_FSIZE, &none);
    ::_exit(keep_server(tree.path(), key_of('a'), sample("other")) ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(tree.read(name), before);
  EXPECT_EQ(std::distance(fs::directory_iterator(tree.path() / "servers"), {}), 1);
}

TEST(KeptFiles, EightProcessesOnOneStoreTearNothing) {
  TempTree tree;
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    const auto child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      // Each writes a list of another length, so that a torn file would not be JSON any more.
      auto mine = sample(fmt::format("tool-of-{}", i));
      mine.tools->items.resize(static_cast<std::size_t>(i) * 20 + 1, mine.tools->items.front());
      bool good = true;
      for (int round = 0; round < 50; ++round) {
        good = good && keep_server(tree.path(), key_of('a'), mine).has_value();
        const auto read = load_kept_server(tree.path(), key_of('a'));
        good = good && read.use == KeptUse::usable && read.server->tools && !read.server->tools->items.empty();
      }
      ::_exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const auto child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  const auto read = load_kept_server(tree.path(), key_of('a'));
  ASSERT_TRUE(read.server && read.server->tools);
  const auto name = read.server->tools->items.front()->name;
  EXPECT_EQ(read.server->tools->items.size(), static_cast<std::size_t>(name.back() - '0') * 20 + 1);
  EXPECT_EQ(std::distance(fs::directory_iterator(tree.path() / "servers"), {}), 1);
}

}  // namespace
}  // namespace patchbay
