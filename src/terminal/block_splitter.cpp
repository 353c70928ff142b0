#include <algorithm>

#include "base/strings.h"
#include "terminal/markdown.h"

namespace patchbay::terminal {
namespace {

// The backticks or tildes that a fence begins with; empty where there is none.
std::string_view fence_of(std::string_view line) noexcept {
  line = trim(line);
  if (!line.starts_with("```") && !line.starts_with("~~~")) return {};
  return line.substr(0, std::min(line.find_first_not_of(line.front()), line.size()));
}

bool closes(std::string_view line, std::string_view fence) noexcept {
  const auto own = fence_of(line);
  return own.size() >= fence.size() && own.front() == fence.front() && own.size() == trim(line).size();
}

bool begins_item(std::string_view line) noexcept {
  if (line.starts_with("- ") || line.starts_with("* ") || line.starts_with("+ ")) return true;
  const auto digits = std::min(line.find_first_not_of("0123456789"), line.size());
  const auto mark = line.substr(digits, 2);
  return digits > 0 && digits < 10 && (mark == ". " || mark == ") ");
}

}  // namespace

void BlockSplitter::end_block(std::vector<std::string>& out) {
  if (!trim(block_).empty()) out.push_back(std::move(block_));
  block_.clear();
  blank_ = false;
  list_ = false;
}

void BlockSplitter::take_line(std::string_view line, std::vector<std::string>& out) {
  const bool empty = trim(line).empty();
  if (!fence_.empty()) {
    block_ += line;
    if (closes(line, fence_)) {
      fence_.clear();
      if (!list_) end_block(out);
      return;
    }
  } else if (empty) {
    if (block_.empty()) return;
    block_ += line;
    blank_ = true;
    // What comes may still belong to an item.
    if (!list_) end_block(out);
    return;
  } else {
    const bool indented = line.front() == ' ' || line.front() == '\t';
    if (blank_ && !indented) end_block(out);
    blank_ = false;
    if (block_.empty()) list_ = begins_item(line);
    const auto fence = fence_of(line);
    if (!fence.empty()) fence_ = fence;
    block_ += line;
  }
  if (block_.size() < longest_block) return;
  const auto fence = fence_;
  if (!fence.empty()) block_ += fence + "\n";
  end_block(out);
  if (!fence.empty()) block_ = fence + "\n";
}

std::vector<std::string> BlockSplitter::feed(std::string_view piece) {
  std::vector<std::string> out;
  while (!piece.empty()) {
    const auto end = piece.find('\n');
    line_ += piece.substr(0, end == std::string_view::npos ? piece.size() : end + 1);
    piece.remove_prefix(end == std::string_view::npos ? piece.size() : end + 1);
    if (line_.ends_with('\n')) {
      take_line(line_, out);
      line_.clear();
    } else if (line_.size() >= longest_block) {
      take_line(line_ + "\n", out);
      line_.clear();
    }
  }
  return out;
}

std::vector<std::string> BlockSplitter::finish() {
  std::vector<std::string> out;
  if (!line_.empty()) take_line(line_ + "\n", out);
  line_.clear();
  fence_.clear();
  end_block(out);
  return out;
}

}  // namespace patchbay::terminal
