// The store of secrets over its encrypted file: what is kept, where, and what is said when it cannot be. What the
// keyring adds, and many processes at once, is in tests/process/secret_places_test.cpp. A2.
#include "auth/store/secret_vault.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "auth/store/kernel_cache.h"
#include "auth/store/secret_index.h"
#include "support/capability.h"
#include "support/fails_with.h"
#include "support/ordinary_user.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using test::FailsWith;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class SecretVaultTest : public testing::Test {
 protected:
  VaultOptions options() {
    VaultOptions options;
    options.state_directory = path("state");
    options.config_directory = path("config");
    options.variables = [this](std::string_view name) -> std::optional<std::string> {
      const auto found = variables.find(std::string(name));
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    };
    options.passphrase_cost = {4, 8, 1};
    return options;
  }
  VaultOptions asking(std::vector<std::string> answers) {
    auto all = options();
    all.ask_passphrase = [this, answers](PassphraseUse use) -> std::optional<Secret> {
      uses.push_back(use);
      if (uses.size() > answers.size()) return std::nullopt;
      return Secret(answers[uses.size() - 1]);
    };
    return all;
  }
  std::string path(std::string_view name) const { return (tree.path() / name).string(); }
  unsigned mode(std::string_view name) const {
    struct stat status{};
    return ::stat(path(name).c_str(), &status) == 0 ? status.st_mode & 07777u : 0;
  }
  static std::string value(const Result<std::optional<Secret>>& read) {
    if (!read) return "error: " + read.error().message();
    return *read ? std::string((*read)->reveal()) : "nothing";
  }
  // What a new process would be told.
  std::string stored(const std::string& name) { return value(SecretVault(options()).read(name)); }
  void store(const std::string& name, std::string text) {
    const auto written = SecretVault(options()).write(name, Secret(std::move(text)), {});
    ASSERT_TRUE(written) << written.error().message();
  }
  // Of everything in the store.
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(tree.path())) {
      if (entry.is_regular_file()) {
        const auto name = fs::relative(entry.path(), tree.path()).string();
        if (!name.ends_with("/lock")) all.emplace(name, tree.read(name));
      }
    }
    return all;
  }

  test::TempTree tree;
  std::map<std::string, std::string> variables{{"PATCHBAY_SECRET_STORE", "file"}};
  std::vector<PassphraseUse> uses;
};

TEST_F(SecretVaultTest, WhatIsWritten_IsReadByTheNextProcess) {
  EXPECT_EQ(stored("secret a"), "nothing");
  store("secret a", "one");
  store("token https://issuer https://resource", "two");
  EXPECT_EQ(stored("secret a"), "one");
  store("secret a", "three");
  EXPECT_EQ(stored("secret a"), "three");
  EXPECT_EQ(stored("token https://issuer https://resource"), "two");
  EXPECT_EQ(stored("secret b"), "nothing");
  for (const char* file : {"state/secrets/sealed", "state/secrets/index.json", "config/secrets.key"}) {
    EXPECT_EQ(mode(file), 0600u) << file;
  }
  for (const auto& [file, text] : files()) EXPECT_THAT(text, AllOf(Not(HasSubstr("three")), Not(HasSubstr("two"))));
}

TEST_F(SecretVaultTest, ListAndFind_NeedNoKey) {
  SecretVault vault(options());
  ASSERT_TRUE(vault.write("b", Secret("2"), {{"expires", 5}}));
  ASSERT_TRUE(vault.write("a", Secret("1"), {}));
  fs::remove(path("config/secrets.key"));
  SecretVault other(options());
  EXPECT_THAT(*other.list(), ElementsAre(KeptSecret{"a", SecretPlace::file, {}},
                                         KeptSecret{"b", SecretPlace::file, {{"expires", 5}}}));
  EXPECT_EQ(**other.find("b"), (KeptSecret{"b", SecretPlace::file, {{"expires", 5}}}));
  EXPECT_EQ(*other.find("c"), std::nullopt);
}

TEST_F(SecretVaultTest, Removed_IsGoneFromFileAndIndex) {
  store("a", "1");
  store("b", "2");
  EXPECT_TRUE(*SecretVault(options()).remove("a"));
  EXPECT_FALSE(*SecretVault(options()).remove("a"));
  EXPECT_EQ(stored("a"), "nothing");
  EXPECT_EQ(stored("b"), "2");
  EXPECT_THAT(*SecretVault(options()).list(), ElementsAre(KeptSecret{"b", SecretPlace::file, {}}));
}

TEST_F(SecretVaultTest, OddNamesAndValues_AreKept) {
  const std::map<std::string, std::string> secrets{
      {std::string(8000, 'n'), "long name"},
      {"../../etc/passwd", "path"},
      {"Łódź \n \"x\"", "text"},
      {"empty", ""},
      {"large", std::string(1u << 20, 'x')},
      {"binary", std::string("\0\xff", 2)},
  };
  for (const auto& [name, text] : secrets) store(name, text);
  for (const auto& [name, text] : secrets) EXPECT_EQ(stored(name), text) << name.substr(0, 40);
}

TEST_F(SecretVaultTest, WhatPassesALimit_IsRefusedAndChangesNothing) {
  store("a", "1");
  const auto before = files();
  auto few = options();
  few.limits.secrets = 1;
  SecretVault vault(few);
  EXPECT_THAT(vault.write("b", Secret("2"), {}), FailsWith(Errc::limit, HasSubstr("1 secrets already")));
  EXPECT_THAT(vault.write("", Secret("2"), {}), FailsWith(Errc::invalid_argument));
  EXPECT_THAT(vault.write("\xff", Secret("2"), {}), FailsWith(Errc::invalid_argument));
  EXPECT_THAT(vault.write(std::string(9000, 'n'), Secret("2"), {}), FailsWith(Errc::invalid_argument));
  EXPECT_THAT(vault.write("a", Secret(std::string((1u << 20) + 1, 'x')), {}), FailsWith(Errc::invalid_argument));
  EXPECT_THAT(vault.write("a", Secret("2"), Json(std::string(70'000, 'x'))), FailsWith(Errc::invalid_argument));
  EXPECT_EQ(files(), before);
}

TEST_F(SecretVaultTest, ANote_IsChangedWithoutTheSecretAndItsKey) {
  store("a", "1");
  const auto before = files();
  SecretVault vault(options());
  const auto add = [](Json& note) { note = Json{{"more", "x"}}; };
  EXPECT_TRUE(vault.change_note("a", add).value());
  EXPECT_FALSE(vault.change_note("b", add).value());
  EXPECT_EQ((*vault.find("a").value()).note, (Json{{"more", "x"}}));
  EXPECT_EQ(stored("a"), "1");
  for (const auto& [name, text] : files()) {
    if (!name.ends_with("index.json")) EXPECT_EQ(text, before.at(name)) << name;
  }
  EXPECT_THAT(vault.change_note("a", [](Json& note) { note = Json(std::string(70'000, 'x')); }),
              FailsWith(Errc::invalid_argument));
  EXPECT_EQ((*vault.find("a").value()).note, (Json{{"more", "x"}}));
}

// Between what is looked at and what is done, nobody comes in.
TEST_F(SecretVaultTest, ASecretIsWrittenOverAndRemoved_AsItsNoteIsThen) {
  SecretVault vault(options());
  const auto count = [](Json& note) { note["n"] = Json(note["n"].to_int().value_or(0) + 1); };
  ASSERT_TRUE(vault.update("a", Secret("one"), count));
  SecretVault other(options());
  ASSERT_TRUE(other.update("a", Secret("two"), count));
  EXPECT_EQ(to_text((*vault.find("a"))->note), R"({"n":2})");
  const auto is = [](std::int64_t n) { return [n](const Json& note) { return note["n"].to_int() == n; }; };
  EXPECT_EQ(vault.remove_if("a", is(1)), Result<bool>(false));
  EXPECT_EQ(stored("a"), "two");
  // Another process writes it as it is about to be removed.
  bool first = true;
  const auto removed = vault.remove_if("a", [&](const Json& note) {
    const bool may = note["n"].to_int() == 2;
    if (std::exchange(first, false)) EXPECT_TRUE(other.update("a", Secret("three"), count));
    return may;
  });
  EXPECT_EQ(removed, Result<bool>(false));
  EXPECT_EQ(stored("a"), "three");
  EXPECT_EQ(vault.remove_if("a", is(3)), Result<bool>(true));
  EXPECT_EQ(vault.remove_if("a", is(3)), Result<bool>(false));
}

TEST_F(SecretVaultTest, ChoiceOfPlaceThatIsNoPlace_IsAnError) {
  variables["PATCHBAY_SECRET_STORE"] = "cloud";
  EXPECT_THAT(SecretVault(options()).write("a", Secret("1"), {}),
              FailsWith(Errc::config, "PATCHBAY_SECRET_STORE must be auto, keyring or file"));
}

TEST_F(SecretVaultTest, WithoutAStateDirectory_NothingIsKept) {
  auto nowhere = options();
  nowhere.state_directory.clear();
  SecretVault vault(nowhere);
  EXPECT_THAT(vault.read("a"), FailsWith(Errc::config, HasSubstr("no state directory")));
  EXPECT_THAT(vault.write("a", Secret("1"), {}), FailsWith(Errc::config, HasSubstr("no state directory")));
}

// ---- key files

TEST_F(SecretVaultTest, KeyFileOfTheUser_ProtectsTheFile) {
  tree.file("keys/mine", "my own key, long enough\n");
  ::chmod(path("keys/mine").c_str(), 0600);
  variables["PATCHBAY_SECRETS_KEY_FILE"] = path("keys/mine");
  store("a", "1");
  EXPECT_FALSE(tree.has("config/secrets.key"));
  EXPECT_EQ(stored("a"), "1");
  // The end of its line is not part of it.
  tree.file("keys/mine", "my own key, long enough");
  EXPECT_EQ(stored("a"), "1");
  variables.erase("PATCHBAY_SECRETS_KEY_FILE");
  EXPECT_THAT(SecretVault(options()).read("a"), FailsWith(Errc::connect, HasSubstr("there is no " + path("config"))));
}

TEST_F(SecretVaultTest, KeyFileThatIsNotSafe_IsNotUsed) {
  struct Case {
    const char* content;
    unsigned mode;
    const char* reason;
  };
  const Case cases[] = {
      {"my own key, long enough", 0640, "others can read or write it"},
      {"my own key, long enough", 0602, "others can read or write it"},
      {"short", 0600, "at least 16 bytes"},
      {"\n", 0600, "at least 16 bytes"},
  };
  for (const auto& [content, mode, reason] : cases) {
    tree.file("config/secrets.key", content);
    ::chmod(path("config/secrets.key").c_str(), mode);
    EXPECT_THAT(SecretVault(options()).write("a", Secret("1"), {}), FailsWith(Errc::config, HasSubstr(reason)));
    EXPECT_FALSE(tree.has("state/secrets/sealed"));
  }
  fs::remove(path("config/secrets.key"));
  tree.directory("config/secrets.key");
  EXPECT_THAT(SecretVault(options()).write("a", Secret("1"), {}), FailsWith(Errc::config, HasSubstr("not a file")));
  variables["PATCHBAY_SECRETS_KEY_FILE"] = path("not-there");
  EXPECT_THAT(SecretVault(options()).write("a", Secret("1"), {}),
              FailsWith(Errc::config, HasSubstr("which does not exist")));
}

TEST_F(SecretVaultTest, LostOrOtherKeyFile_IsAnErrorAndNeverNothing) {
  store("a", "1");
  const auto key = tree.read("config/secrets.key");
  fs::remove(path("config/secrets.key"));
  const auto before = files();
  EXPECT_THAT(SecretVault(options()).read("a"), FailsWith(Errc::connect, HasSubstr("only be opened with its key")));
  EXPECT_THAT(SecretVault(options()).write("b", Secret("2"), {}), FailsWith(Errc::connect));
  EXPECT_THAT(SecretVault(options()).remove("a"), FailsWith(Errc::connect));
  EXPECT_EQ(files(), before);
  tree.file("config/secrets.key", "another key that is long enough");
  ::chmod(path("config/secrets.key").c_str(), 0600);
  EXPECT_THAT(SecretVault(options()).read("a"), FailsWith(Errc::connect, HasSubstr("encrypted with another one")));
  tree.file("config/secrets.key", key);
  EXPECT_EQ(stored("a"), "1");
}

TEST_F(SecretVaultTest, MovedAwayFile_StartsAnew) {
  store("a", "1");
  fs::remove(path("state/secrets/sealed"));
  EXPECT_EQ(stored("a"), "nothing");
  store("a", "2");
  EXPECT_EQ(stored("a"), "2");
}

// ---- passphrases

TEST_F(SecretVaultTest, Passphrase_IsAskedForOnceAndThenKeptByTheKernel) {
  NEEDS(keys);
  store("a", "1");
  ASSERT_TRUE(SecretVault(options()).protect_with_passphrase(Secret("correct horse")));
  EXPECT_EQ(**SecretVault(options()).protection(), FileProtection::passphrase);
  // Nobody is asked: it was typed just now.
  EXPECT_EQ(stored("a"), "1");
  store("b", "2");
  EXPECT_EQ(stored("b"), "2");
}

class PassphraseTest : public SecretVaultTest {
 protected:
  // As after the next login: the kernel has forgotten the key.
  void protect() {
    auto brief = options();
    brief.limits.cached_key = 1s;
    SecretVault vault(brief);
    ASSERT_TRUE(vault.write("a", Secret("1"), {}));
    ASSERT_TRUE(vault.protect_with_passphrase(Secret("correct horse")));
    const auto header = *read_sealed_header(tree.read("state/secrets/sealed"));
    forget_kernel_key("patchbay:" + sha256_hex(header.salt + header.check).substr(0, 32));
  }
};

TEST_F(PassphraseTest, RightOne_OpensTheFile) {
  protect();
  SecretVault vault(asking({"correct horse"}));
  EXPECT_EQ(value(vault.read("a")), "1");
  EXPECT_EQ(value(vault.read("a")), "1");
  ASSERT_TRUE(vault.write("b", Secret("2"), {}));
  EXPECT_THAT(uses, ElementsAre(PassphraseUse::open));
}

TEST_F(PassphraseTest, WrongOne_IsAskedForAgainAtMostThreeTimes) {
  protect();
  EXPECT_EQ(value(SecretVault(asking({"wrong", "correct horse"})).read("a")), "1");
  EXPECT_THAT(uses, ElementsAre(PassphraseUse::open, PassphraseUse::open_again));
  fs::remove_all(path("state"));
  protect();
  uses.clear();
  EXPECT_THAT(SecretVault(asking({"x", "y", "z", "correct horse"})).read("a"),
              FailsWith(Errc::connect, HasSubstr("does not open")));
  EXPECT_EQ(uses.size(), 3u);
}

TEST_F(PassphraseTest, NobodyToAsk_IsAnErrorAndNeverNothing) {
  protect();
  const auto before = files();
  EXPECT_THAT(SecretVault(options()).read("a"), FailsWith(Errc::connect, HasSubstr("nobody to ask")));
  EXPECT_THAT(SecretVault(options()).write("b", Secret("2"), {}), FailsWith(Errc::connect));
  EXPECT_THAT(SecretVault(asking({})).read("a"), FailsWith(Errc::connect, HasSubstr("no passphrase was given")));
  EXPECT_EQ(files(), before);
}

TEST_F(PassphraseTest, ProtectionCanBeChangedBack) {
  protect();
  ASSERT_TRUE(SecretVault(asking({"correct horse"})).protect_with_key_file());
  EXPECT_EQ(**SecretVault(options()).protection(), FileProtection::key_file);
  EXPECT_EQ(stored("a"), "1");
  EXPECT_THAT(SecretVault(options()).protect_with_passphrase(Secret()), FailsWith(Errc::invalid_argument));
}

TEST_F(SecretVaultTest, PassphraseBeforeTheFirstSecret_ProtectsIt) {
  EXPECT_EQ(*SecretVault(options()).protection(), std::nullopt);
  SecretVault vault(options());
  ASSERT_TRUE(vault.protect_with_passphrase(Secret("correct horse")));
  ASSERT_TRUE(vault.write("a", Secret("1"), {}));
  EXPECT_EQ(**vault.protection(), FileProtection::passphrase);
  EXPECT_FALSE(tree.has("config/secrets.key"));
}

TEST_F(SecretVaultTest, ProtectionChangedByAnotherProcess_IsFollowed) {
  SecretVault one(options());
  SecretVault two(options());
  ASSERT_TRUE(one.write("a", Secret("1"), {}));
  ASSERT_TRUE(two.protect_with_passphrase(Secret("correct horse")));
  ASSERT_TRUE(two.protect_with_key_file());
  ASSERT_TRUE(one.write("b", Secret("2"), {}));
  EXPECT_EQ(value(two.read("b")), "2");
}

// ---- what goes wrong

TEST_F(SecretVaultTest, DamagedOrNewerFiles_AreErrorsAndStayAsTheyAre) {
  store("a", "1");
  struct Case {
    const char* file;
    std::string content;
    const char* reason;
  };
  auto flipped = tree.read("state/secrets/sealed");
  flipped.back() = static_cast<char>(flipped.back() ^ 1);
  auto newer = tree.read("state/secrets/sealed");
  newer[8] = 2;
  const Case cases[] = {
      {"state/secrets/sealed", flipped, "damaged"},
      {"state/secrets/sealed", newer, "use a newer patchbay"},
      {"state/secrets/sealed", "", "not an encrypted file"},
      {"state/secrets/index.json", "{", "damaged"},
      {"state/secrets/index.json", R"({"version":1,"store":"x","secrets":{"a":{"place":"cloud"}}})", "damaged"},
      {"state/secrets/index.json", R"({"version":2,"secrets":{}})", "use a newer patchbay"},
  };
  for (const auto& [file, content, reason] : cases) {
    const auto good = tree.read(file);
    tree.file(file, content);
    const auto before = files();
    EXPECT_THAT(SecretVault(options()).read("a"), FailsWith(Errc::config, AllOf(HasSubstr(reason), HasSubstr(file))));
    EXPECT_THAT(SecretVault(options()).write("a", Secret("2"), {}), FailsWith(Errc::config, HasSubstr(reason)));
    EXPECT_THAT(SecretVault(options()).remove("a"), FailsWith(Errc::config, HasSubstr(reason)));
    EXPECT_EQ(files(), before) << file << ": " << reason;
    tree.file(file, good);
  }
  EXPECT_EQ(stored("a"), "1");
}

TEST_F(SecretVaultTest, ReadOnlyStore_CanBeReadAndSaysWhyItIsNotWritten) {
  for (const char* folder : {"state", "config"}) {
    tree.directory(folder);
    ::chmod(path(folder).c_str(), 0777);
  }
  const auto said = test::as_ordinary_user(tree.path().string(), [this]() -> std::string {
    SecretVault vault(options());
    if (!vault.write("a", Secret("1"), {})) return "not written";
    ::chmod(path("state/secrets").c_str(), 0500);
    const auto before = files();
    const auto written = vault.write("b", Secret("2"), {});
    const auto removed = vault.remove("a");
    const bool same = files() == before;
    const auto read = value(vault.read("a"));
    ::chmod(path("state/secrets").c_str(), 0700);
    if (written || removed) return "it was written";
    return fmt::format("{} {} {} | {}", to_string(written.error().code()), same ? "same" : "changed", read,
                       written.error().message());
  });
  EXPECT_THAT(said, AllOf(HasSubstr("config same 1 |"), HasSubstr("Permission denied")));
}

TEST_F(SecretVaultTest, FullDisk_LeavesTheStoreAsItWas) {
  store("a", "1");
  const auto before = files();
  // A limit on the size of files is a disk that is full after that many bytes.
  const auto child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const struct rlimit limit{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto written = SecretVault(options()).write("b", Secret(std::string(100'000, 'x')), {});
    const bool said = !written && written.error().code() == Errc::config &&
                      written.error().message().find("File too large") != std::string::npos;
    ::_exit(said ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(files(), before);
  EXPECT_EQ(stored("a"), "1");
}

// ---- locks

TEST_F(SecretVaultTest, Lock_HasOneOwnerAndIsForOneName) {
  SecretVault one(options());
  SecretVault two(options());
  {
    const auto held = one.lock("a", 0ms);
    ASSERT_TRUE(held);
    EXPECT_THAT(one.lock("a", 0ms), FailsWith(Errc::timeout));
    EXPECT_THAT(two.lock("a", 20ms), FailsWith(Errc::timeout, HasSubstr("locked")));
    EXPECT_TRUE(two.lock("b", 0ms));
    // It is about a refresh, not about reading and writing.
    EXPECT_TRUE(two.write("a", Secret("1"), {}));
  }
  EXPECT_TRUE(two.lock("a", 0ms));
  EXPECT_TRUE(fs::is_empty(path("state/secrets/locks")));
}

TEST_F(SecretVaultTest, LockOfManyThreads_LetsNoUpdateGetLost) {
  store("count", "0");
  std::vector<std::thread> threads;
  std::atomic<int> failures = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      SecretVault vault(options());
      for (int round = 0; round < 10; ++round) {
        const auto held = vault.lock("count", 30s);
        const auto before = vault.read("count");
        if (!held || !before || !*before) {
          ++failures;
          continue;
        }
        const auto next = std::stoi(std::string((*before)->reveal())) + 1;
        if (!vault.write("count", Secret(std::to_string(next)), {})) ++failures;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(stored("count"), "80");
}

TEST_F(SecretVaultTest, OneVaultOfManyThreads_KeepsEverything) {
  SecretVault vault(options());
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&vault, i] {
      for (int n = 0; n < 5; ++n) {
        EXPECT_TRUE(vault.write(fmt::format("{}-{}", i, n), Secret(fmt::format("{}", n)), {}));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(vault.list()->size(), 40u);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(stored(fmt::format("{}-4", i)), "4");
}

// ---- the index

TEST(SecretIndexText, WhatIsWritten_IsReadAgain) {
  SecretIndex index{"store", {{"a", {SecretPlace::file, {}}}, {"b", {SecretPlace::keyring, {{"x", 1}}}}}};
  EXPECT_EQ(*read_index(write_index(index)), index);
  EXPECT_EQ(*read_index(""), SecretIndex());
}

TEST(KeyMemory, ItsPages_AreNotWrittenToCoreFiles) {
  const KeyMemory key("a key");
  EXPECT_EQ(key.text(), "a key");
  std::ifstream maps("/proc/self/smaps");
  const auto at = reinterpret_cast<std::uintptr_t>(key.bytes().data());
  bool inside = false;
  std::string flags;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0;
    unsigned long end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) inside = begin <= at && at < end;
    if (inside && line.starts_with("VmFlags:")) flags = line;
  }
  EXPECT_THAT(flags, HasSubstr(" dd"));
}

TEST(KernelCache, Key_IsKeptForAWhileAndForgottenWhenAsked) {
  NEEDS(keys);
  const KeyMemory key("0123456789");
  const auto name = fmt::format("patchbay:test-{}", ::getpid());
  ASSERT_TRUE(keep_kernel_key(name, key, 60s));
  ASSERT_TRUE(kernel_key(name));
  EXPECT_EQ(kernel_key(name)->text(), "0123456789");
  forget_kernel_key(name);
  EXPECT_FALSE(kernel_key(name));
}

}  // namespace
}  // namespace patchbay
