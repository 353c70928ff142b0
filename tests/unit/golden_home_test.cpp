// A home directory that an earlier build wrote (tests/golden/home/ada) is understood by this one: nothing is asked
// again, nothing is lost, and the hashes of entries are the recorded ones. The files are copied as they are; only
// the name of the home directory is another one where a file names a project.
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/config.h>

#include "client/era_memory.h"
#include "entries/signature.h"
#include "host/failure_memory.h"
#include "settings/connectors.h"
#include "settings/secret_file.h"
#include "store/own_store.h"
#include "store/upkeep.h"
#include "support/places.h"
#include "support/temp_tree.h"

namespace patchbay::test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr std::string_view recorded_home = "/home/ada";

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class GoldenHome : public testing::Test {
 protected:
  GoldenHome() {
    const fs::path source = in_sources("tests/golden/home/ada");
    for (const auto& one : fs::recursive_directory_iterator(source)) {
      if (!one.is_regular_file()) continue;
      const auto name = one.path().lexically_relative(source).string();
      auto text = text_of(one.path());
      if (name == ".config/patchbay/config.json") {
        for (auto at = text.find(recorded_home); at != std::string::npos; at = text.find(recorded_home, at + 1)) {
          text.replace(at, recorded_home.size(), home());
        }
      }
      tree.file(name, text);
      // git keeps no modes; ours are private.
      if (!name.starts_with("src/"))
        fs::permissions(tree.path() / name, fs::perms::owner_read | fs::perms::owner_write);
    }
    tree.directory("src/shop/.git");
    tree.file("src/shop-hotfix/.git", "gitdir: " + path("src/shop/.git/worktrees/hotfix") + "\n");
    tree.file("src/shop/.git/worktrees/hotfix/gitdir", path("src/shop-hotfix/.git") + "\n");
    tree.file("src/shop/.git/worktrees/hotfix/commondir", "../..\n");
  }

  std::string path(std::string_view name) const { return (tree.path() / name).string(); }
  std::string home() const { return fs::canonical(tree.path()).string(); }

  LoadedConfig load(std::string_view cwd) const {
    LoadRequest request;
    request.cwd = path(cwd);
    request.home = home();
    request.enterprise_dir = path("etc");
    request.variables = [this](std::string_view name) -> std::optional<std::string> {
      if (name == "HOME") return home();
      return std::nullopt;
    };
    return load_servers(request);
  }

  static std::map<std::string, ServerStanding> standings(const LoadedConfig& config) {
    std::map<std::string, ServerStanding> out;
    for (const auto& server : config.servers) {
      if (server.origin.scope != ConfigScope::connector) out[server.name] = server.standing;
    }
    return out;
  }

  TempTree tree;
};

TEST_F(GoldenHome, NothingIsAskedAgain) {
  // The repository itself, and a work tree of it, which has the answers of the repository.
  for (auto cwd : {"src/shop", "src/shop-hotfix"}) {
    const auto config = load(cwd);
    EXPECT_THAT(standings(config), UnorderedElementsAre(Pair("files", ServerStanding::active),       //
                                                        Pair("everything", ServerStanding::active),  //
                                                        Pair("here", ServerStanding::active),        //
                                                        Pair("notes", ServerStanding::active),       //
                                                        Pair("search", ServerStanding::active),      //
                                                        Pair("unwanted", ServerStanding::rejected),  //
                                                        Pair("weather", ServerStanding::disabled)))
        << cwd;
    EXPECT_TRUE(config.project_trusted) << cwd;
    EXPECT_THAT(config.problems, IsEmpty()) << cwd;
  }
}

TEST_F(GoldenHome, EntriesHaveTheRecordedHashes) {
  const std::map<std::string, std::string> recorded{
      {"notes", "sha256:a4516b0fd21bd69a891fa27d64947437271e8b4f20dc6addfaf2428feb9f51e1"},
      {"search", "sha256:0d2ba359136f23d3032795d03da2627601d14f8f34c95199fed66d0baced5185"},
      {"unwanted", "sha256:dd26b082f6ae654ac7b84aa78c71b72c927a2fe3f286e51ee05dff3b6c0ec340"},
  };
  std::size_t found = 0;
  for (const auto& server : load("src/shop").servers) {
    const auto one = recorded.find(server.name);
    if (one == recorded.end()) continue;
    ++found;
    EXPECT_EQ(entry_hash(server), one->second) << server.name;
  }
  EXPECT_EQ(found, recorded.size());
}

TEST_F(GoldenHome, EntriesSayWhatTheySaid) {
  std::map<std::string, ServerConfig> servers;
  for (auto& server : load("src/shop").servers) servers[server.name] = server;
  EXPECT_EQ(servers["files"].command, "/usr/bin/files-server");
  EXPECT_THAT(servers["files"].args, ElementsAre("--root", "${HOME}"));
  EXPECT_EQ(servers["weather"].url, "https://weather.example/mcp");
  EXPECT_THAT(servers["weather"].headers, ElementsAre(Pair("Authorization", "Bearer ${secret:weather}")));
  EXPECT_THAT(servers["here"].env, ElementsAre(Pair("MODE", "fast")));
  EXPECT_EQ(servers["here"].origin.scope, ConfigScope::local);
}

TEST_F(GoldenHome, WhatWasRememberedIsStillKnown) {
  // Failures, under the same keys.
  const auto failures = read_failure_records(tree.read(".local/state/patchbay/last-failures.json"));
  EXPECT_THAT(failures, SizeIs(6));
  const auto config = load("src/shop");
  for (const auto& server : config.servers) {
    if (server.name != "notes" && server.name != "files" && server.name != "here") continue;
    auto recorded = server;
    recorded.origin.file = std::string(recorded_home) + server.origin.file.substr(home().size());
    EXPECT_TRUE(failures.contains(failure_key(recorded))) << server.name;
  }

  // Servers of older revisions.
  const auto eras = read_era_records(tree.read(".cache/patchbay/older-servers.json"));
  ASSERT_THAT(eras, SizeIs(1));
  const auto& known = eras.begin()->second;
  EXPECT_EQ(first_question(known, known.learned + std::chrono::days(1), known.stamp), FirstQuestion::initialize);

  // What the directory of connectors said.
  ASSERT_TRUE(config.connectors);
  const auto text = tree.read(".cache/patchbay/connectors.json");
  const std::chrono::sys_seconds fetched{std::chrono::seconds(1'794'815'986)};
  const auto kept = read_connector_cache(text, *config.connectors, fetched + std::chrono::days(1));
  ASSERT_TRUE(kept);
  EXPECT_THAT(kept->connectors, ElementsAre(Connector{"c1", "Calendar", "https://calendar.example/mcp"},
                                            Connector{"c2", "Mail", "https://mail.example/mcp"}));
}

TEST_F(GoldenHome, StoredSecretsAndBackupsAreInOrder) {
  const auto file = path(".config/patchbay/secrets.json");
  EXPECT_EQ(stored_secret(file, "weather", ::getuid()), "w-123456789");
  EXPECT_EQ(stored_secret(file, "directory", ::getuid()), "the-bearer");

  const ConfigStore store({path(".config/patchbay/config.json"), path(".local/state/patchbay")});
  const auto state = look_after(store);
  EXPECT_THAT(state.files, SizeIs(2));  // config.json and secrets.json; the backups are closed to others
  for (const auto& one : state.files) EXPECT_FALSE(one.is_open()) << one.path;
  EXPECT_THAT(state.leftovers, IsEmpty());
  EXPECT_THAT(state.gone_projects, IsEmpty());

  // The backups are known to be ours: one that others can read is reported.
  const auto first = fs::directory_iterator(tree.path() / ".local/state/patchbay/backups")->path();
  fs::permissions(first, fs::perms::others_read, fs::perm_options::add);
  EXPECT_THAT(look_after(store).files, SizeIs(3));

  // And the file can still be changed, with everything else in it left as it is.
  auto before = tree.read(".config/patchbay/config.json");
  const auto change = store.change_own_file([](const Json&) -> Result<std::vector<ConfigEdit>> {
    return std::vector{set_member({"mcpServers", "added"}, Json{{"command", "x"}})};
  });
  ASSERT_TRUE(change) << change.error().message();
  const auto after = parse_json(tree.read(".config/patchbay/config.json"));
  auto expected = parse_json(before);
  ASSERT_TRUE(after && expected);
  (*expected)["mcpServers"]["added"] = Json{{"command", "x"}};
  EXPECT_EQ(*after, *expected);
}

}  // namespace
}  // namespace patchbay::test
