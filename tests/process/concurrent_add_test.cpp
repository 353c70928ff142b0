// Many `patchbay add` at once, some killed: the file parses at every moment, and holds every server whose
// process said it was added.
// compat: C5.c
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/household.h"
#include "support/places.h"

extern char** environ;  // NOLINT

namespace patchbay {
namespace {

namespace fs = std::filesystem;
using test::Household;
using testing::HasSubstr;

constexpr int processes = 200;
constexpr int killed = 20;

class Adding {
 public:
  explicit Adding(const Household& house) {
    for (const auto& [name, value] : house.options().env) variables_.push_back(name + "=" + value);
    for (char** variable = environ; *variable != nullptr; ++variable) {
      const std::string text = *variable;
      if (!house.options().env.contains(text.substr(0, text.find('=')))) variables_.push_back(text);
    }
  }

  // What it says goes to a file of its own.
  pid_t start(const std::string& name, const std::string& cwd, const std::string& said) const {
    std::vector<std::string> words{
        test::built("patchbay"), "add", "--quiet", "--scope", "project", name, "--", "server"};
    std::vector<char*> argv, envp;
    for (auto& word : words) argv.push_back(word.data());
    for (const auto& variable : variables_) envp.push_back(const_cast<char*>(variable.c_str()));
    argv.push_back(nullptr);
    envp.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions, 2, said.c_str(), O_WRONLY | O_CREAT, 0600);
    ::posix_spawn_file_actions_addchdir_np(&actions, cwd.c_str());
    pid_t child = -1;
    EXPECT_EQ(::posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), envp.data()), 0);
    ::posix_spawn_file_actions_destroy(&actions);
    return child;
  }

 private:
  std::vector<std::string> variables_;
};

TEST(ConcurrentAdd, EveryServerThatWasAddedIsThereWhoeverWasKilled) {
  Household house;
  house.tree.file("project/.mcp.json", "{\n  // kept\n  \"mcpServers\": {}\n}\n");
  const Adding adding(house);
  std::mt19937 random(20261115);
  // Which die, and how long after the last one was started.
  std::map<int, std::chrono::microseconds> doomed;
  while (doomed.size() < killed) {
    const auto index = static_cast<int>(random() % processes);
    doomed.emplace(index, std::chrono::microseconds(random() % 400'000));
  }

  std::map<pid_t, std::string> running;
  std::multimap<std::chrono::microseconds, pid_t> deaths;
  for (int i = 0; i < processes; ++i) {
    const auto name = "s" + std::to_string(i);
    const auto child = adding.start(name, house.project(), (house.tree.path() / name).string());
    ASSERT_GT(child, 0);
    running.emplace(child, name);
    if (auto fate = doomed.find(i); fate != doomed.end()) deaths.emplace(fate->second, child);
  }
  std::thread reaper([&deaths] {
    const auto begun = std::chrono::steady_clock::now();
    for (const auto& [when, child] : deaths) {
      std::this_thread::sleep_until(begun + when);
      ::kill(child, SIGKILL);  // nobody waits for it before this thread has ended
    }
  });
  // Whoever reads meanwhile sees a whole file.
  const auto parses = [&house] {
    try {
      const auto text = house.tree.read("project/.mcp.json");
      const auto cut = text.find("// kept");
      return cut != std::string::npos &&
             parse_json(text.substr(0, cut) + text.substr(text.find('\n', cut))).has_value();
    } catch (const std::exception&) {
      return false;
    }
  };
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(parses());
  reaper.join();

  std::set<std::string> added;
  int late = 0;
  int died = 0;
  while (!running.empty()) {
    int status = 0;
    const auto child = ::waitpid(running.begin()->first, &status, 0);
    ASSERT_GT(child, 0);
    const auto name = running.extract(child).mapped();
    if (WIFSIGNALED(status)) {
      ++died;
    } else if (WEXITSTATUS(status) == 0) {
      added.insert(name);
    } else {
      // Two hundred at once may keep the last ones waiting for longer than anybody should.
      ++late;
      EXPECT_THAT(house.tree.read(name), HasSubstr("another program has been changing")) << name;
    }
  }
  EXPECT_GE(added.size() + static_cast<std::size_t>(late), static_cast<std::size_t>(processes - killed));
  EXPECT_GE(added.size(), static_cast<std::size_t>(killed)) << "too few to show anything";
  EXPECT_GT(died, 0) << "nobody was killed in time, so nothing was shown";

  ASSERT_TRUE(parses());
  const auto text = house.tree.read("project/.mcp.json");
  EXPECT_NE(text.find("// kept"), std::string::npos);
  const auto listed = parse_json(house.run({"list", "--json", "--trust-project"}).out);
  ASSERT_TRUE(listed);
  std::set<std::string> there;
  for (const auto& server : (*listed)["servers"].as_array()) there.insert(std::string(server["name"].as_text()));
  for (const auto& name : added) EXPECT_TRUE(there.contains(name)) << name << " was added and is not there";

  // What the killed ones left is cleared away by the next one.
  ASSERT_EQ(house.run({"add", "--scope", "project", "last", "--", "server"}).code, 0);
  std::vector<std::string> files;
  for (const auto& file : fs::directory_iterator(house.project())) files.push_back(file.path().filename().string());
  EXPECT_EQ(files, std::vector<std::string>{".mcp.json"});
  std::size_t backups = 0;
  for (const auto& file : fs::directory_iterator(house.home() + "/.local/state/patchbay/backups")) {
    if (file.path().filename().string().starts_with(".mcp.json-")) ++backups;
  }
  EXPECT_EQ(backups, 5u);
}

}  // namespace
}  // namespace patchbay
