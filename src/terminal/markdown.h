// What a model writes, as lines for a terminal. Markdown is read by md4c, which is loaded when it is first needed;
// without it texts are shown as they were written. Texts are cleaned first (text/clean_text): nothing a model says
// moves a cursor, colours or hides anything. Called with whole blocks: BlockSplitter finds them in what arrives piece
// by piece. Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace patchbay::terminal {

struct MarkdownLook {
  std::size_t columns = 80;
  bool color = false;
};

// Whether md4c is there.
bool markdown_is_read();

// None is wider than the columns but for addresses and code, which stay whole so that they can be copied.
std::vector<std::string> markdown_lines(std::string_view text, const MarkdownLook& look);
// The same without reading Markdown.
std::vector<std::string> plain_lines(std::string_view text, const MarkdownLook& look);

// Cuts a text that arrives in pieces into blocks that can be shown by themselves: at blank lines outside of fences,
// with the paragraphs of a list item beside their item.
class BlockSplitter {
 public:
  static constexpr std::size_t longest_block = std::size_t{64} << 10;  // more is cut at a line

  // The blocks that are complete now.
  std::vector<std::string> feed(std::string_view piece);
  // The text is complete: what is left, if anything.
  std::vector<std::string> finish();
  // What has arrived of the block that is not complete.
  std::string begun() const { return block_ + line_; }

 private:
  void take_line(std::string_view line, std::vector<std::string>& out);
  void end_block(std::vector<std::string>& out);

  std::string block_;   // whole lines
  std::string line_;    // the one that is not complete
  std::string fence_;   // the fence that is open, as it was written
  bool blank_ = false;  // blank lines stand between the block and what comes
  bool list_ = false;   // the block is a list
};

}  // namespace patchbay::terminal
