// What a model writes, on a terminal. G3.
#include "terminal/markdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay::terminal {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

TEST(Markdown, BlocksAsLines) {
  if (!markdown_is_read()) GTEST_SKIP() << "libmd4c is not installed";
  struct Case {
    std::string text;
    std::vector<std::string> lines;
  };
  const std::vector<Case> table{
      {"a paragraph of *several* words that is **wrapped**", {"a paragraph of several", "words that is wrapped"}},
      {"one\ntwo  \nthree", {"one two", "three"}},
      {"# Title\n\ntext\n\n### Third", {"# Title", "", "text", "", "### Third"}},
      {"- one\n- two\n  - inner\n- three", {"- one", "- two", "  - inner", "- three"}},
      {"3. three\n4. four of many words here", {"3. three", "4. four of many words", "   here"}},
      {"- [ ] open\n- [x] done", {"- [ ] open", "- [x] done"}},
      {"- one\n\n  more of it\n- two", {"- one", "  more of it", "- two"}},
      {"> quoted text that is long enough", {"| quoted text that is", "| long enough"}},
      {"> a\n>\n> b", {"| a", "|", "| b"}},
      {"```cpp\nint main() { return a_long_line_stays_whole; }\n\nx\n```",
       {"    int main() { return a_long_line_stays_whole; }", "    ", "    x"}},
      {"use `code` here", {"use `code` here"}},
      {"[a link](https://example.com/a)", {"a link", "(https://example.com/a)"}},
      {"<https://example.com>", {"https://example.com"}},
      {"https://example.com/a-very-long-address-that-is-whole",
       {"https://example.com/a-very-long-address-that-is-whole"}},
      {"![alt](x.png)", {"[image: alt] (x.png)"}},
      {"| a | b |\n|---|--:|\n| 1 | 22 |\n| long cell | 3 |",
       {"a           b", "---------  --", "1          22", "long cell   3"}},
      {"| head | other |\n|---|---|\n| a cell that is much too long | and another one |",
       {"head         other", "-----------  -----------", "a cell that  and another", "is much too  one", "long"}},
      {"| n | what |\n|--:|---|\n| 7 | 日本語 is wide, so it goes on |",
       {"n  what", "-  ---------------------", "7  日本語 is wide, so it", "   goes on"}},
      {"a\n\n---\n\nb", {"a", "", "------------------------", "", "b"}},
      {"~~gone~~ &amp; &#65;&nbsp;&unknown;", {"gone & A &unknown;"}},
      // Nothing that a model writes reaches the terminal as more than text.
      {"&#27;[31m and \033[31mred\033[0m", {"[31m and red"}},
      {"<b>html</b> <script>", {"<b>html</b> <script>"}},
      {"日本語のとても長い文章です。改行されます", {"日本語のとても長い文章で", "す。改行されます"}},
      {"", {}},
  };
  for (const auto& one : table) {
    EXPECT_THAT(markdown_lines(one.text, {.columns = 24}), ElementsAreArray(one.lines)) << one.text;
  }
}

TEST(Markdown, ColoursOnlyWhereTheyAreWanted) {
  if (!markdown_is_read()) GTEST_SKIP() << "libmd4c is not installed";
  EXPECT_THAT(markdown_lines("# T\n\n**a** *b* `c`", {.columns = 80, .color = true}),
              ElementsAre("\033[1mT\033[0m", "", "\033[1ma\033[0m \033[3mb\033[0m \033[36mc\033[0m"));
}

TEST(Markdown, WithoutTheLibraryTheTextAsItIs) {
  EXPECT_THAT(plain_lines("# T\n\n- a \033[31mb\n", {.columns = 4}), ElementsAre("# T", "", "- a b"));
}

TEST(BlockSplitter, FindsWholeBlocksHoweverTheTextIsCut) {
  struct Case {
    std::string text;
    std::vector<std::string> blocks;
  };
  const std::vector<Case> table{
      {"a\nb\n\nc", {"a\nb\n\n", "c\n"}},
      {"\n\n\na\n\n\n\nb\n", {"a\n\n", "b\n"}},
      {"text\n\n```\ncode\n\nmore\n```\nafter\n", {"text\n\n", "```\ncode\n\nmore\n```\n", "after\n"}},
      {"~~~~\n~~~\n```\n~~~~\nx", {"~~~~\n~~~\n```\n~~~~\n", "x\n"}},
      {"```\nnever closed", {"```\nnever closed\n"}},
      {"- a\n\n  still a\n- b\n\nafter", {"- a\n\n  still a\n- b\n\n", "after\n"}},
      {"1. a\n\n       ```\n       x\n       ```\n\nafter",
       {"1. a\n\n       ```\n       x\n       ```\n\n", "after\n"}},
      {"", {}},
  };
  for (const auto& one : table) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, one.text.size() + 1}) {
      BlockSplitter splitter;
      std::vector<std::string> blocks;
      for (std::size_t at = 0; at < one.text.size(); at += piece) {
        for (auto& block : splitter.feed(std::string_view(one.text).substr(at, piece))) blocks.push_back(block);
      }
      for (auto& block : splitter.finish()) blocks.push_back(block);
      EXPECT_THAT(blocks, ElementsAreArray(one.blocks)) << one.text << " in pieces of " << piece;
    }
  }
}

TEST(BlockSplitter, ABlockWithoutAnEndIsCutAtALine) {
  BlockSplitter splitter;
  std::size_t blocks = 0;
  std::string all = "```\n";
  for (int i = 0; i < 40'000; ++i) all += "line " + std::to_string(i) + "\n";
  for (const auto& block : splitter.feed(all)) {
    EXPECT_LE(block.size(), BlockSplitter::longest_block + 100);
    EXPECT_TRUE(block.starts_with("```\n") && block.ends_with("```\n"));
    ++blocks;
  }
  EXPECT_GT(blocks, 5u);
  EXPECT_LE(splitter.begun().size(), BlockSplitter::longest_block);
}

}  // namespace
}  // namespace patchbay::terminal
