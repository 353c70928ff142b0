// The store of secrets between processes, over both places: a real keyring (GNOME Keyring on a bus of the test) and the
// encrypted file. The same tests for both, and what only one of them can do wrong. A2.
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/command.h"
#include "support/places.h"
#include "support/secret_service.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class StoreOfProcesses {
 public:
  std::string path(const std::string& name) const { return (tree.path() / name).string(); }

  // A process of its own; what it printed.
  std::string run(std::vector<std::string> steps, const std::map<std::string, std::string>& more = {}) const {
    std::vector<std::string> words{test::built("vault-user"), path("state"), path("config")};
    words.insert(words.end(), steps.begin(), steps.end());
    test::CommandOptions options;
    options.env = {{"DBUS_SESSION_BUS_ADDRESS", ""},
                   {"XDG_RUNTIME_DIR", path("nowhere")},
                   {"PATCHBAY_SECRET_STORE", ""},
                   {"PATCHBAY_SECRETS_KEY_FILE", ""}};
    if (service) {
      for (const auto& [name, value] : service->env()) options.env[name] = value;
    }
    for (const auto& [name, value] : more) options.env[name] = value;
    const auto result = test::run_program(words, options);
    EXPECT_EQ(result.code, 0) << result.err;
    return result.out;
  }

  // Everything below the state directory, as one text.
  std::string files() const {
    std::string all;
    for (const auto& entry : fs::recursive_directory_iterator(tree.path())) {
      if (entry.is_regular_file()) all += tree.read(fs::relative(entry.path(), tree.path()).string());
    }
    return all;
  }

  test::TempTree tree;
  std::unique_ptr<test::SecretService> service;
};

// ---- both places

class SecretPlaces : public testing::TestWithParam<std::string>, protected StoreOfProcesses {
 protected:
  SecretPlaces() {
    if (GetParam() == "keyring") service = std::make_unique<test::SecretService>();
  }
};

TEST_P(SecretPlaces, WhatOneProcessWrites_AnotherReads) {
  const auto place = GetParam();
  EXPECT_EQ(run({"read:a", "write:a:first-value", "read:a"}),
            fmt::format("nothing\nwritten {}\nvalue first-value\n", place));
  EXPECT_EQ(run({"read:a", "list"}), fmt::format("value first-value\nlist a={}\n", place));
  EXPECT_EQ(run({"write:a:second-value", "write:b:third-value", "read:a", "read:b"}),
            fmt::format("written {0}\nwritten {0}\nvalue second-value\nvalue third-value\n", place));
  EXPECT_THAT(files(), AllOf(Not(HasSubstr("first-value")), Not(HasSubstr("second-value"))));
}

TEST_P(SecretPlaces, Removed_IsGone) {
  run({"write:a:1", "write:b:2"});
  EXPECT_EQ(run({"remove:a", "remove:a", "read:a", "read:b", "list"}),
            fmt::format("removed\nnothing\nnothing\nvalue 2\nlist b={}\n", GetParam()));
}

TEST_P(SecretPlaces, OneMebibyte_IsKept) {
  EXPECT_EQ(run({"fill:a:1048576"}), fmt::format("written {}\n", GetParam()));
  EXPECT_EQ(run({"size:a"}), "size 1048576\n");
}

TEST_P(SecretPlaces, NamesThatAreLongOrOdd_AreKept) {
  const auto name = "token " + std::string(3000, 'n') + " Łódź \"'\n/..";
  EXPECT_EQ(run({fmt::format("write:{}:1", name)}), fmt::format("written {}\n", GetParam()));
  EXPECT_EQ(run({"read:" + name}), "value 1\n");
}

TEST_P(SecretPlaces, EightProcessesAtOnce_LoseNothing) {
  run({"write:count:0"});
  std::vector<std::future<std::string>> processes;
  for (int i = 0; i < 8; ++i) {
    processes.push_back(
        std::async(std::launch::async, [this, i] { return run({fmt::format("each:p{}:5", i), "count:count:5"}); }));
  }
  for (auto& one : processes) EXPECT_EQ(one.get(), "written\ncounted\n");
  EXPECT_EQ(run({"read:count", "read:p7-4"}), "value 40\nvalue 4\n");
  const auto names = run({"list"});
  EXPECT_EQ(std::ranges::count(names, '='), 41);
  EXPECT_TRUE(fs::is_empty(path("state/secrets/locks")));
}

TEST_P(SecretPlaces, TwoStores_DoNotMeet) {
  run({"write:a:mine"});
  StoreOfProcesses other;
  other.service = std::move(service);
  EXPECT_EQ(other.run({"read:a", "write:a:theirs", "read:a"}),
            fmt::format("nothing\nwritten {}\nvalue theirs\n", GetParam()));
  service = std::move(other.service);
  EXPECT_EQ(run({"read:a"}), "value mine\n");
}

TEST_P(SecretPlaces, IndexOfANewerVersion_IsLeftAlone) {
  run({"write:a:1"});
  const auto good = tree.read("state/secrets/index.json");
  tree.file("state/secrets/index.json", R"({"version":2})");
  EXPECT_THAT(run({"read:a"}), StartsWith("error config"));
  EXPECT_THAT(run({"write:a:2"}), HasSubstr("use a newer patchbay"));
  EXPECT_EQ(tree.read("state/secrets/index.json"), R"({"version":2})");
  tree.file("state/secrets/index.json", good);
  EXPECT_EQ(run({"read:a"}), "value 1\n");
}

INSTANTIATE_TEST_SUITE_P(Both, SecretPlaces, testing::Values("keyring", "file"),
                         [](const auto& info) { return info.param; });

// ---- a keyring that cannot be used

class KeyringStore : public testing::Test, protected StoreOfProcesses {
 protected:
  KeyringStore() { service = std::make_unique<test::SecretService>(); }
};

TEST_F(KeyringStore, ProcessWithoutABus_SaysWhereTheSecretIs) {
  run({"write:a:1"});
  const std::map<std::string, std::string> ssh{{"DBUS_SESSION_BUS_ADDRESS", ""}};
  EXPECT_THAT(run({"read:a"}, ssh),
              AllOf(StartsWith("error connect: \"a\" is kept in the system keyring"), HasSubstr("no session bus")));
  EXPECT_THAT(run({"write:a:2"}, ssh), StartsWith("error connect"));
  EXPECT_THAT(run({"remove:a"}, ssh), StartsWith("error connect"));
  // What is new goes to the file, beside it.
  EXPECT_EQ(run({"write:b:2", "list"}, ssh), "written file\nlist a=keyring b=file\n");
  EXPECT_EQ(run({"read:a", "read:b"}), "value 1\nvalue 2\n");
}

TEST_F(KeyringStore, BusThatDoesNotAnswer_IsTheSame) {
  run({"write:a:1"});
  EXPECT_THAT(run({"read:a"}, {{"DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent"}}),
              AllOf(StartsWith("error connect"), HasSubstr("session bus does not answer")));
  service->end_daemon();
  EXPECT_THAT(run({"read:a"}), StartsWith("error connect"));
}

TEST_F(KeyringStore, LockedKeyring_IsAnErrorAndNeverNothing) {
  run({"write:a:1"});
  service->lock();
  EXPECT_THAT(run({"read:a"}), AllOf(StartsWith("error connect"), HasSubstr("locked")));
  EXPECT_THAT(run({"write:a:2"}), AllOf(StartsWith("error connect"), HasSubstr("locked")));
  EXPECT_THAT(run({"remove:a"}), AllOf(StartsWith("error connect"), HasSubstr("locked")));
  EXPECT_EQ(run({"write:b:2"}), "written file\n");
  // Nobody comes to unlock it: that ends too.
  EXPECT_THAT(run({"ask:x", "read:a"}), StartsWith("error"));
}

TEST_F(KeyringStore, KeyringThatHangs_IsGivenUpAfterItsTime) {
  run({"write:a:1"});
  service->hang();
  EXPECT_THAT(run({"read:a"}), AllOf(StartsWith("error timeout"), HasSubstr("did not answer within 5 s")));
  service->go_on();
  EXPECT_EQ(run({"read:a"}), "value 1\n");
}

TEST_F(KeyringStore, ChoiceOfTheFile_MovesASecretThereAtItsNextWrite) {
  run({"write:a:1"});
  const std::map<std::string, std::string> file{{"PATCHBAY_SECRET_STORE", "file"}};
  EXPECT_EQ(run({"read:a", "write:a:2", "read:a", "list"}, file), "value 1\nwritten file\nvalue 2\nlist a=file\n");
  // Also where the keyring is gone for good.
  run({"write:b:1"});
  auto gone = file;
  gone["DBUS_SESSION_BUS_ADDRESS"] = "";
  EXPECT_EQ(run({"write:b:2", "read:b"}, gone), "written file\nvalue 2\n");
  run({"write:c:1"});
  EXPECT_EQ(run({"remove:c", "read:c"}, gone), "removed\nnothing\n");
  EXPECT_THAT(run({"write:d:1"}, {{"PATCHBAY_SECRET_STORE", "keyring"}, {"DBUS_SESSION_BUS_ADDRESS", ""}}),
              StartsWith("error connect"));
}

TEST_F(KeyringStore, ChoiceOfTheKeyring_TakesASecretOutOfTheFile) {
  EXPECT_EQ(run({"write:a:1"}, {{"PATCHBAY_SECRET_STORE", "file"}}), "written file\n");
  const auto size = fs::file_size(path("state/secrets/sealed"));
  EXPECT_EQ(run({"write:a:2", "read:a", "list"}, {{"PATCHBAY_SECRET_STORE", "keyring"}}),
            "written keyring\nvalue 2\nlist a=keyring\n");
  EXPECT_LT(fs::file_size(path("state/secrets/sealed")), size);
  EXPECT_EQ(run({"read:a"}), "value 2\n");
}

TEST_F(KeyringStore, ItemThatItsUserDeleted_IsNotThere) {
  run({"write:a:1"});
  const auto index = tree.read("state/secrets/index.json");
  run({"remove:a"});
  tree.file("state/secrets/index.json", index);
  EXPECT_EQ(run({"read:a", "write:a:2", "read:a"}), "nothing\nwritten keyring\nvalue 2\n");
}

TEST_F(KeyringStore, Libsecret_IsLoadedWhenAKeyringIsAsked) {
  run({"write:a:1"});
  EXPECT_EQ(run({"loaded", "list", "read:b", "loaded", "read:a", "loaded"}),
            "not loaded\nlist a=keyring\nnothing\nnot loaded\nvalue 1\nloaded\n");
  EXPECT_EQ(run({"write:c:1", "read:c", "loaded"}, {{"PATCHBAY_SECRET_STORE", "file"}}),
            "written file\nvalue 1\nnot loaded\n");
}

// ---- the file

class FileStore : public testing::Test, protected StoreOfProcesses {};

TEST_F(FileStore, PassphraseTypedInOneProcess_OpensTheFileForTheNext) {
  EXPECT_EQ(run({"write:a:1", "protect:horse", "read:a"}), "written file\nprotected\nvalue 1\n");
  const auto next = run({"read:a"});
  // A kernel or container without keyrings asks each time.
  EXPECT_THAT(next, testing::AnyOf("value 1\n", HasSubstr("nobody to ask")));
  EXPECT_EQ(run({"ask:horse", "read:a"}), "value 1\n");
}

TEST_F(FileStore, ContainerThatForbidsKeys_AsksInEveryProcess) {
  EXPECT_EQ(run({"no-keyctl", "write:a:1", "protect:horse", "read:a"}),
            "forbidden\nwritten file\nprotected\nvalue 1\n");
  EXPECT_THAT(run({"no-keyctl", "read:a"}), HasSubstr("nobody to ask"));
  EXPECT_EQ(run({"no-keyctl", "ask:horse", "read:a", "read:a"}), "forbidden\nvalue 1\nvalue 1\n");
}

}  // namespace
}  // namespace patchbay
