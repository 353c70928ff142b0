#include "process/command_lookup.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class CommandLookup : public testing::Test {
 protected:
  CommandLookup() {
    std::string pattern = (std::filesystem::temp_directory_path() / "patchbay-test-XXXXXX").string();
    root = ::mkdtemp(pattern.data());
    add("first/other", 0755);
    add("second/tool", 0755);
    add("third/tool", 0755);
    add("locked/tool", 0644);
    std::filesystem::create_directories(root + "/folder/tool");
  }
  ~CommandLookup() override { std::filesystem::remove_all(root); }

  void add(const std::string& name, mode_t mode) const {
    const auto path = root + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << "#!/bin/sh\n";
    ::chmod(path.c_str(), mode);
  }
  std::string in(std::initializer_list<const char*> folders) const {
    std::string path;
    for (const char* folder : folders) path += (path.empty() ? "" : ":") + root + "/" + folder;
    return path;
  }

  std::string root;
};

TEST_F(CommandLookup, FirstExecutableAlongThePathWins) {
  EXPECT_EQ(find_command("tool", in({"first", "second", "third"}), root), root + "/second/tool");
  EXPECT_EQ(find_command("tool", in({"third", "second"}), root), root + "/third/tool");
}

TEST_F(CommandLookup, FilesThatCannotRunAndFoldersArePassedOver) {
  EXPECT_EQ(find_command("tool", in({"locked", "folder", "third"}), root), root + "/third/tool");
}

TEST_F(CommandLookup, RelativePartsAreTakenFromTheWorkingDirectory) {
  EXPECT_EQ(find_command("tool", "first:second", root), root + "/second/tool");
  EXPECT_EQ(find_command("./second/tool", "", root), root + "/./second/tool");
  EXPECT_EQ(find_command("tool", "", root + "/third"), root + "/third/./tool");
}

TEST_F(CommandLookup, AbsoluteCommandIgnoresThePath) {
  EXPECT_EQ(find_command(root + "/third/tool", in({"second"}), "/"), root + "/third/tool");
}

TEST_F(CommandLookup, ErrorNamesTheCommandAndHowMuchWasSearched) {
  auto found = find_command("no-such-tool", in({"first", "second"}), root);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), Errc::connect);
  EXPECT_EQ(found.error().message(),
            "command not found: no-such-tool (it is in none of the 2 directories of PATH); install it, or write its "
            "full path");
}

TEST_F(CommandLookup, AWholeCommandLineIsDistinguishedFromACommand) {
  auto message = [&](std::string_view command, std::string_view path) {
    auto found = find_command(command, path, root);
    return found ? *found : found.error().message();
  };
  EXPECT_EQ(message("tool serve  --root .", in({"third"})),
            "there is no program called \"tool serve  --root .\"; write \"command\": \"tool\", \"args\": [\"serve\", "
            "\"--root\", \".\"]");
  EXPECT_EQ(message("./third/tool x", ""),
            "there is no program called \"./third/tool x\"; write \"command\": \"./third/tool\", \"args\": [\"x\"]");
  EXPECT_THAT(message("no-such-tool x", in({"third"})), HasSubstr("command not found: no-such-tool x"));
}

TEST_F(CommandLookup, ErrorTellsNotExecutableFromNotFound) {
  auto by_path = find_command("tool", in({"locked"}), root);
  ASSERT_FALSE(by_path);
  EXPECT_THAT(by_path.error().message(), HasSubstr("chmod +x " + root + "/locked/tool"));
  auto by_name = find_command(root + "/locked/tool", "", root);
  ASSERT_FALSE(by_name);
  EXPECT_THAT(by_name.error().message(), HasSubstr("not executable"));
  auto folder = find_command(root + "/folder/tool", "", root);
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error().message(), HasSubstr("is a directory"));
  auto nothing = find_command(root + "/nothing", "", root);
  ASSERT_FALSE(nothing);
  EXPECT_THAT(nothing.error().message(), HasSubstr("does not exist"));
}

TEST_F(CommandLookup, EmptyCommandIsAnArgumentError) {
  auto found = find_command("", "/bin", "/");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), Errc::invalid_argument);
}

TEST(Environment, OverlayReplacesAndAdds) {
  const char* base[] = {"A=1", "B=2", "AB=3", nullptr};
  auto merged = overlay_environment(base, {{"A", "x"}, {"C", ""}});
  EXPECT_THAT(merged, UnorderedElementsAre("A=x", "B=2", "AB=3", "C="));
  EXPECT_EQ(variable(merged, "A", "none"), "x");
  EXPECT_EQ(variable(merged, "C", "none"), "");
  EXPECT_EQ(variable(merged, "D", "none"), "none");
}

}  // namespace
}  // namespace patchbay
