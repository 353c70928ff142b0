// read_file, write_file, edit_file and list_dir on a real tree.
#include <sys/stat.h>

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/crypto.h"
#include "builtin/tools.h"
#include "support/temp_tree.h"

namespace patchbay::builtin {
namespace {

using namespace std::string_view_literals;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

class BuiltinFiles : public testing::Test {
 protected:
  Settings settings() const { return {*ConfinedRoot::open(tree.path().string()), limits}; }

  CallToolResult call(FileTool* tool, const Json& arguments) const {
    const Stop stop{false};
    return tool(settings(), arguments, stop);
  }
  // The only text block of a result that succeeded.
  std::string text(FileTool* tool, const Json& arguments) const {
    const auto result = call(tool, arguments);
    EXPECT_FALSE(result.is_error) << first(result);
    EXPECT_EQ(result.content.size(), 1u);
    return first(result);
  }
  std::string error(FileTool* tool, const Json& arguments) const {
    const auto result = call(tool, arguments);
    EXPECT_TRUE(result.is_error) << first(result);
    return first(result);
  }
  static std::string first(const CallToolResult& result) { return block(result, 0); }
  static std::string block(const CallToolResult& result, std::size_t index) {
    if (index >= result.content.size()) return "(none)";
    const auto* content = std::get_if<TextContent>(&result.content[index]);
    return content ? content->text : "(not text)";
  }

  test::TempTree tree;
  BuiltinLimits limits;
};

TEST_F(BuiltinFiles, ReadReturnsTheTextAsItIs) {
  const std::string_view texts[] = {
      "a\n", "a", "a\r\nb\r\n", "\n\n", "caf\u00e9 \u65e5\u672c\n", "\xEF\xBB\xBFx\n", "tab\tend "};
  for (const auto content : texts) {
    tree.file("f.txt", content);
    EXPECT_EQ(text(read_file, {{"path", "f.txt"}}), content);
  }
  EXPECT_EQ(text(read_file, {{"path", (tree.path() / "f.txt").string()}}), "tab\tend ");
}

TEST_F(BuiltinFiles, ReadWindow) {
  tree.file("f", "1\n2\n3\n4\n5");
  struct Case {
    Json arguments;
    const char* text;
    const char* note;  // "(none)": no second block
  };
  const Case cases[] = {
      {{{"path", "f"}}, "1\n2\n3\n4\n5", "(none)"},
      {{{"path", "f"}, {"limit", 5}}, "1\n2\n3\n4\n5", "(none)"},
      {{{"path", "f"}, {"limit", 2}}, "1\n2\n", "[Lines 1 to 2 of 5 lines. Read on with offset=3.]"},
      {{{"path", "f"}, {"offset", 3}, {"limit", 2}}, "3\n4\n", "[Lines 3 to 4 of 5 lines. Read on with offset=5.]"},
      {{{"path", "f"}, {"offset", 5}}, "5", "(none)"},
      {{{"path", "f"}, {"offset", 4}, {"limit", 2000}}, "4\n5", "(none)"},
  };
  for (const auto& item : cases) {
    const auto result = call(read_file, item.arguments);
    EXPECT_FALSE(result.is_error);
    EXPECT_EQ(block(result, 0), item.text) << to_text(item.arguments);
    EXPECT_EQ(block(result, 1), item.note) << to_text(item.arguments);
  }
  EXPECT_EQ(error(read_file, {{"path", "f"}, {"offset", 6}}), "offset 6 is past the end: f has 5 lines.");
  EXPECT_THAT(error(read_file, {{"path", "f"}, {"offset", 0}}), HasSubstr("\"offset\" must be from 1"));
  tree.file("empty", "");
  EXPECT_EQ(text(read_file, {{"path", "empty"}}), "[The file is empty.]");
}

TEST_F(BuiltinFiles, ReadingOnFromEachNoteYieldsTheWholeFile) {
  limits.read_lines = 7;
  limits.read_bytes = 50;
  std::string content;
  for (int i = 0; i < 100; ++i) content += std::string(static_cast<std::size_t>(i % 13), 'x') + "\n";
  tree.file("f", content);
  std::string joined;
  std::int64_t offset = 1;
  for (int calls = 0; calls < 200; ++calls) {
    const auto result = call(read_file, {{"path", "f"}, {"offset", offset}});
    ASSERT_FALSE(result.is_error) << first(result);
    EXPECT_LE(first(result).size(), 50u);
    joined += first(result);
    const auto note = block(result, 1);
    const auto at = note.find("offset=");
    if (at == std::string::npos) break;
    offset = std::stoll(note.substr(at + 7));
  }
  EXPECT_EQ(joined, content);
}

TEST_F(BuiltinFiles, ReadCutsALineLongerThanTheWindow) {
  limits.read_bytes = 10;
  tree.file("f", "ééééééé\nnext\n");
  const auto result = call(read_file, {{"path", "f"}});
  EXPECT_EQ(block(result, 0), "ééééé");
  EXPECT_EQ(block(result, 1), "[Line 1 is longer than 10 bytes and was cut there. Read on with offset=2.]");
  EXPECT_EQ(text(read_file, {{"path", "f"}, {"offset", 2}}), "next\n");
}

TEST_F(BuiltinFiles, ReadFindsAWindowDeepInAHugeFile) {
  std::string content;
  for (int i = 1; i <= 400'000; ++i) content += std::to_string(i) + "\n";
  tree.file("f", content);
  const auto result = call(read_file, {{"path", "f"}, {"offset", 399'000}, {"limit", 2}});
  EXPECT_EQ(block(result, 0), "399000\n399001\n");
  EXPECT_EQ(block(result, 1), "[Lines 399000 to 399001 of 400000 lines. Read on with offset=399002.]");
  const auto head = call(read_file, {{"path", "f"}});
  EXPECT_EQ(block(head, 1), "[Lines 1 to 2000 of 400000 lines. Read on with offset=2001.]");
}

// A file of a TiB takes no room on disk and would take minutes to read.
TEST_F(BuiltinFiles, ReadOfALineFarBehind_LooksThroughABoundedPart) {
  std::string lines;
  while (lines.size() < 10'000) lines += "line\n";
  tree.file("f", lines);
  std::filesystem::resize_file(tree.path() / "f", std::uintmax_t(1) << 40);
  limits.read_through = 1u << 20;
  const auto said = error(read_file, {{"path", "f"}, {"offset", 1'000'000'000}});
  EXPECT_EQ(
      said,
      "offset 1000000000 was not found: only the first 1.0 MiB of f are searched for it, and they have 2001 lines. "
      "Use a smaller offset.");
  EXPECT_EQ(block(call(read_file, {{"path", "f"}, {"offset", 2000}, {"limit", 1}}), 0), "line\n");
}

TEST_F(BuiltinFiles, ReadCountsLinesAlikeInPiecesOfAnySize) {
  std::string content;
  for (int i = 1; i <= 300'000; ++i) content += std::to_string(i) + (i % 7 == 0 ? "\n\n" : "\n");
  tree.file("f", content + "last");
  // 300,000 lines and an empty one behind every seventh.
  EXPECT_EQ(text(read_file, {{"path", "f"}, {"offset", 342'858}}), "last");
  EXPECT_EQ(block(call(read_file, {{"path", "f"}, {"offset", 8}, {"limit", 2}}), 0), "\n8\n");
  EXPECT_EQ(block(call(read_file, {{"path", "f"}, {"limit", 1}}), 1),
            "[Lines 1 to 1 of 342858 lines. Read on with offset=2.]");
}

TEST_F(BuiltinFiles, ReadShowsBytesThatAreNotUtf8) {
  tree.file("f", "caf\xE9\n\xFF\n");
  const auto result = call(read_file, {{"path", "f"}});
  EXPECT_EQ(block(result, 0), "caf\uFFFD\n\uFFFD\n");
  EXPECT_EQ(block(result, 1), "[The file is not all UTF-8: 2 bytes are shown as U+FFFD.]");
}

TEST_F(BuiltinFiles, ReadReturnsImages) {
  const auto png = "\x89PNG\r\n\x1A\n\0\0\0\rIHDR"sv;
  tree.file("picture.txt", png);
  const auto result = call(read_file, {{"path", "picture.txt"}});
  ASSERT_EQ(result.content.size(), 1u);
  const auto* image = std::get_if<ImageContent>(&result.content[0]);
  ASSERT_NE(image, nullptr);
  EXPECT_EQ(image->mime_type, "image/png");
  EXPECT_EQ(image->data, base64_encode(png));
  limits.image_bytes = 4;
  EXPECT_EQ(error(read_file, {{"path", "picture.txt"}}),
            "picture.txt is an image (image/png, 16 bytes); only images up to 4 bytes can be returned.");
}

TEST_F(BuiltinFiles, ReadRefusals) {
  tree.file("d/read_me.txt", "");
  tree.fifo("pipe");
  tree.file("elf",
            "\x7F"
            "ELF\2\1"sv);
  tree.file("zeros", std::string(100'000, '\0'));
  tree.link("out", "/etc/passwd");
  tree.link("up", "../");
  tree.link("loop", "loop");
  const auto root = tree.path().string();
  struct Case {
    Json arguments;
    std::string message;
  };
  const Case cases[] = {
      {Json::object(), "\"path\" is missing"},
      {{{"path", "absent"}}, "absent"},
      {{{"path", "d"}}, "d is a directory; use list_dir"},
      {{{"path", "."}}, "is a directory"},
      {{{"path", "pipe"}}, "pipe is a pipe, socket or device"},
      {{{"path", "elf"}}, "elf is an ELF program (6 bytes), not text"},
      {{{"path", "zeros"}}, "zeros is binary data (97.7 KiB), not text"},
      {{{"path", "out"}}, "outside " + root},
      {{{"path", "up/x"}}, "outside " + root},
      {{{"path", "../x"}}, "outside " + root},
      {{{"path", "/etc/passwd"}}, "outside " + root},
      {{{"path", root + "x"}}, "outside " + root},
      {{{"path", "loop"}}, "loop"},
      {{{"path", "f"}, {"lines", 3}}, "unknown argument \"lines\""},
      {{{"path", "d/reed_me.txt"}}, "did you mean d/read_me.txt?"},
      {{{"path", "zeroes"}}, "did you mean zeros?"},
  };
  for (const auto& item : cases) {
    EXPECT_THAT(error(read_file, item.arguments), HasSubstr(item.message)) << to_text(item.arguments);
  }
}

TEST_F(BuiltinFiles, WriteCreatesWithDirectoriesAndReplaces) {
  EXPECT_EQ(text(write_file, {{"path", "a/b/c.txt"}, {"content", "h\u00e9\r\n"}}), "Created a/b/c.txt (5 bytes).");
  EXPECT_EQ(tree.read("a/b/c.txt"), "h\u00e9\r\n");
  EXPECT_EQ(text(write_file, {{"path", "a/b/c.txt"}, {"content", ""}}), "Replaced a/b/c.txt (0 bytes).");
  EXPECT_EQ(tree.read("a/b/c.txt"), "");
  EXPECT_EQ(text(write_file, {{"path", "a/x"}, {"content", "1"}}), "Created a/x (1 byte).");
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(tree.path() / "a")) ++files;
  EXPECT_EQ(files, 2u) << "nothing temporary is left behind";
}

TEST_F(BuiltinFiles, WriteKeepsPermissionsAndLinks) {
  tree.file("script", "old");
  ::chmod((tree.path() / "script").c_str(), 0750);
  tree.link("link", "script");
  EXPECT_EQ(text(write_file, {{"path", "link"}, {"content", "new"}}), "Replaced link (3 bytes).");
  EXPECT_TRUE(std::filesystem::is_symlink(tree.path() / "link"));
  EXPECT_EQ(tree.read("script"), "new");
  struct stat info{};
  ::stat((tree.path() / "script").c_str(), &info);
  EXPECT_EQ(info.st_mode & 07777, 0750u);
}

TEST_F(BuiltinFiles, WriteRefusals) {
  test::TempTree elsewhere;
  elsewhere.file("victim", "safe");
  tree.directory("d");
  tree.fifo("pipe");
  tree.file("f", "x");
  tree.link("out", elsewhere.path());
  tree.link("victim", elsewhere.path() / "victim");
  tree.link("dangling", "nowhere");
  const auto root = tree.path().string();
  struct Case {
    Json arguments;
    std::string message;
  };
  const Case cases[] = {
      {{{"path", "f"}}, "\"content\" is missing"},
      {{{"path", "f"}, {"content", 1}}, "\"content\" must be a string, not a number"},
      {{{"path", "d"}, {"content", ""}}, "d"},
      {{{"path", "n/"}, {"content", ""}}, "n/ names a directory"},
      {{{"path", "."}, {"content", ""}}, "directory"},
      {{{"path", "pipe"}, {"content", ""}}, "pipe"},
      {{{"path", "f/below"}, {"content", ""}}, "f/below"},
      {{{"path", "out/new"}, {"content", ""}}, "outside " + root},
      {{{"path", "out/deep/er/new"}, {"content", ""}}, "outside " + root},
      {{{"path", "victim"}, {"content", ""}}, "outside " + root},
      {{{"path", "../x"}, {"content", ""}}, "outside " + root},
      {{{"path", elsewhere.path().string() + "/x"}, {"content", ""}}, "outside " + root},
      {{{"path", "dangling"}, {"content", ""}}, "dangling"},
      {{{"path", std::string(5000, 'x')}, {"content", ""}}, "too long"},
  };
  for (const auto& item : cases) {
    EXPECT_THAT(error(write_file, item.arguments), HasSubstr(item.message)) << to_text(item.arguments).substr(0, 200);
  }
  EXPECT_EQ(elsewhere.read("victim"), "safe");
  EXPECT_FALSE(elsewhere.has("new"));
  EXPECT_FALSE(elsewhere.has("deep"));
  EXPECT_FALSE(tree.has("nowhere"));
  EXPECT_EQ(tree.read("f"), "x");
}

TEST_F(BuiltinFiles, EditChangesTheFileAndShowsTheChange) {
  tree.file("f", "one\r\ntwo\r\nthree\r\n");
  EXPECT_EQ(text(edit_file, {{"path", "f"}, {"old_text", "one\ntwo"}, {"new_text", "1\n2"}}),
            "Edited f, 1 replacement.\n@@ line 1 @@\n-one\n-two\n+1\n+2\n three\n");
  EXPECT_EQ(tree.read("f"), "1\r\n2\r\nthree\r\n");
  EXPECT_THAT(text(edit_file, {{"path", "f"}, {"old_text", "e"}, {"new_text", "E"}, {"replace_all", true}}),
              HasSubstr("2 replacements"));
  EXPECT_EQ(tree.read("f"), "1\r\n2\r\nthrEE\r\n");
}

TEST_F(BuiltinFiles, EditRefusalsLeaveTheFile) {
  tree.file("f", "a\nb\na\n");
  tree.file("binary", "a\0b"sv);
  tree.file("big", std::string(101, 'x'));
  tree.directory("d");
  limits.edit_bytes = 100;
  struct Case {
    Json arguments;
    const char* message;
  };
  const Case cases[] = {
      {{{"path", "f"}, {"old_text", "c"}, {"new_text", ""}}, "f was not changed: old_text does not occur"},
      {{{"path", "f"}, {"old_text", "a"}, {"new_text", ""}}, "f was not changed: old_text occurs 2 times (lines 1, 3)"},
      {{{"path", "f"}, {"old_text", "a"}}, "\"new_text\" is missing"},
      {{{"path", "f"}, {"old_text", "a"}, {"new_text", "b"}, {"replace_all", "yes"}},
       "\"replace_all\" must be true or false"},
      {{{"path", "binary"}, {"old_text", "a"}, {"new_text", "b"}}, "binary is binary data, not text"},
      {{{"path", "big"}, {"old_text", "x"}, {"new_text", "y"}}, "100 bytes"},
      {{{"path", "absent"}, {"old_text", "x"}, {"new_text", "y"}}, "absent"},
      {{{"path", "d"}, {"old_text", "x"}, {"new_text", "y"}}, "d is a directory"},
      {{{"path", "/etc/passwd"}, {"old_text", "x"}, {"new_text", "y"}}, "outside"},
  };
  for (const auto& item : cases) {
    EXPECT_THAT(error(edit_file, item.arguments), HasSubstr(item.message)) << to_text(item.arguments);
  }
  EXPECT_EQ(tree.read("f"), "a\nb\na\n");
}

TEST_F(BuiltinFiles, ListShowsKindsAndSizes) {
  EXPECT_EQ(text(list_dir, Json::object()), "[The directory is empty.]");
  tree.file("b.txt", "12345");
  tree.file("a dir/x", "");
  tree.file(".hidden", "1");
  tree.file("new\nline", "");
  tree.link("l", "/etc");
  tree.fifo("p");
  const auto expected =
      ".hidden  1 byte\na dir/\nb.txt  5 bytes\nl  (symbolic link)\nnew\\nline  0 bytes\np  (pipe, socket or device)\n";
  EXPECT_EQ(text(list_dir, Json::object()), expected);
  EXPECT_EQ(text(list_dir, Json()), expected);
  EXPECT_EQ(text(list_dir, {{"path", "."}}), expected);
  EXPECT_EQ(text(list_dir, {{"path", tree.path().string()}}), expected);
  EXPECT_EQ(text(list_dir, {{"path", "a dir/"}}), "x  0 bytes\n");
}

TEST_F(BuiltinFiles, ListIsCapped) {
  for (int i = 0; i < 30; ++i) tree.file("f" + std::to_string(100 + i), "");
  limits.entries = 10;
  const auto listed = text(list_dir, Json::object());
  EXPECT_THAT(listed, AllOf(HasSubstr("f109  0 bytes\n"), Not(HasSubstr("f110")),
                            EndsWith("[10 of 30 entries shown. Use glob with a pattern to see others.]\n")));
}

TEST_F(BuiltinFiles, ListRefusals) {
  tree.file("f", "");
  tree.link("out", "/etc");
  EXPECT_THAT(error(list_dir, {{"path", "f"}}), HasSubstr("f is not a directory"));
  EXPECT_THAT(error(list_dir, {{"path", "absent"}}), HasSubstr("absent"));
  EXPECT_THAT(error(list_dir, {{"path", "out"}}), HasSubstr("outside " + tree.path().string()));
  EXPECT_THAT(error(list_dir, {{"path", "/"}}), HasSubstr("outside " + tree.path().string()));
  EXPECT_THAT(error(list_dir, {{"path", ""}}), HasSubstr("\"path\" must not be empty"));
}

TEST(BuiltinTools, DescriptionsAreCompleteAndSchemasStrict) {
  const BuiltinLimits limits;
  const Tool tools[] = {read_file_tool(limits), write_file_tool(), edit_file_tool(limits),
                        list_dir_tool(limits),  glob_tool(limits), grep_tool(limits)};
  for (const auto& tool : tools) {
    EXPECT_TRUE(tool.title && tool.description) << tool.name;
    EXPECT_EQ(tool.input_schema["type"], Json("object")) << tool.name;
    EXPECT_EQ(tool.input_schema["additionalProperties"], Json(false)) << tool.name;
    for (const auto& [name, schema] : tool.input_schema["properties"].as_object()) {
      EXPECT_TRUE(schema["description"].is_string()) << tool.name << "." << name;
      EXPECT_TRUE(schema["type"].is_string()) << tool.name << "." << name;
    }
    ASSERT_TRUE(tool.annotations) << tool.name;
    EXPECT_EQ(tool.annotations->open_world_hint, false) << tool.name;
    const bool writes = tool.name == "write_file" || tool.name == "edit_file";
    EXPECT_EQ(tool.annotations->read_only_hint, !writes) << tool.name;
    if (writes) {
      EXPECT_EQ(tool.annotations->destructive_hint, true) << tool.name;
    }
  }
  EXPECT_EQ(read_file_tool(limits).input_schema["required"], Json::array({"path"}));
  EXPECT_EQ(write_file_tool().annotations->idempotent_hint, true);
  EXPECT_EQ(edit_file_tool(limits).annotations->idempotent_hint, false);
}

}  // namespace
}  // namespace patchbay::builtin
