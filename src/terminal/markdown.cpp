#include "terminal/markdown.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <type_traits>

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/strings.h"
#include "terminal/width.h"
#include "text/clean_text.h"
#include "text/utf8.h"

namespace patchbay::terminal {
namespace {

// What we use of md4c 0.4, as its header has it; the order of these is its interface.
enum class Block : int {
  document,
  quote,
  bullets,
  numbers,
  item,
  rule,
  heading,
  code,
  html,
  paragraph,
  table,
  table_head,
  table_body,
  row,
  head_cell,
  cell
};
enum class Span : int { emphasis, strong, link, image, code, deleted, math, display_math, wiki_link, underline };
enum class Text : int { normal, null, hard_break, soft_break, entity, code, html, math };
enum class Align : int { usual, left, center, right };

struct Attribute {
  const char* text;
  unsigned size;
  const Text* types;
  const unsigned* offsets;
};
struct NumbersDetail {
  unsigned start;
  int is_tight;
  char delimiter;
};
struct ItemDetail {
  int is_task;
  char mark;
  unsigned offset;
};
struct HeadingDetail {
  unsigned level;
};
struct CellDetail {
  Align align;
};
struct LinkDetail {  // of links and images
  Attribute address;
  Attribute title;
};
struct Parser {
  unsigned abi_version;
  unsigned flags;
  int (*enter_block)(Block, void*, void*);
  int (*leave_block)(Block, void*, void*);
  int (*enter_span)(Span, void*, void*);
  int (*leave_span)(Span, void*, void*);
  int (*text)(Text, const char*, unsigned, void*);
  void (*debug_log)(const char*, void*);
  void (*syntax)();
};
constexpr unsigned permissive_urls = 0x0004;
constexpr unsigned no_html = 0x0020 | 0x0040;
constexpr unsigned tables = 0x0100;
constexpr unsigned strikethrough = 0x0200;
constexpr unsigned task_lists = 0x0800;

using Parse = int (*)(const char*, unsigned, const Parser*, void*);

Parse library() {
  static const Parse parse = [] {
    void* found = ::dlopen("libmd4c.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    return found == nullptr ? nullptr : reinterpret_cast<Parse>(::dlsym(found, "md_parse"));
  }();
  return parse;
}

// ---- texts with a look

enum Look : std::uint8_t { plain = 0, bold = 1, italic = 2, code = 4, struck = 8, address = 16 };

struct Piece {
  std::string text;
  std::uint8_t look = plain;
};
using Pieces = std::vector<Piece>;

std::string painted(const Piece& piece, bool color) {
  if (!color || piece.look == plain) return piece.text;
  std::string codes;
  const auto add = [&](Look look, std::string_view number) {
    if ((piece.look & look) == 0) return;
    if (!codes.empty()) codes += ';';
    codes += number;
  };
  add(bold, "1");
  add(italic, "3");
  add(address, "4");
  add(struck, "9");
  add(Look::code, "36");
  return fmt::format("\033[{}m{}\033[0m", codes, piece.text);
}

std::string painted(const Pieces& pieces, bool color) {
  std::string out;
  for (std::size_t i = 0; i < pieces.size();) {
    Piece whole = pieces[i++];
    while (i < pieces.size() && pieces[i].look == whole.look) whole.text += pieces[i++].text;
    out += painted(whole, color);
  }
  return out;
}

std::string text_of(const Pieces& pieces) {
  std::string out;
  for (const auto& piece : pieces) out += piece.text;
  return out;
}

// Breaks between words; inside of one only where it is longer than a line, and never inside an address.
std::vector<Pieces> wrapped(const Pieces& pieces, std::size_t columns) {
  columns = std::max<std::size_t>(columns, 8);
  std::vector<Pieces> lines(1);
  std::size_t used = 0;
  Pieces word;
  std::optional<std::uint8_t> blank;  // the look of the blank before the word
  const auto end_word = [&] {
    if (word.empty()) return;
    const auto whole = text_of(word);
    const auto width = columns_of(whole);
    if (used > 0 && used + (blank ? 1 : 0) + width > columns && (width <= columns || whole.contains("://"))) {
      lines.emplace_back();
      used = 0;
    } else if (blank && used > 0) {
      lines.back().push_back({" ", *blank});
      ++used;
    }
    blank.reset();
    for (auto& piece : word) {
      std::string_view rest = piece.text;
      while (!rest.empty()) {
        auto part = rest;
        if (width > columns && !whole.contains("://")) {
          part = fitting(rest, columns - std::min(used, columns));
          if (part.empty()) {
            if (used == 0) part = rest.substr(0, next_character(rest, 0));
            lines.emplace_back();
            used = 0;
            if (part.empty()) continue;
          }
        }
        lines.back().push_back({std::string(part), piece.look});
        used += columns_of(part);
        rest.remove_prefix(part.size());
      }
    }
    word.clear();
  };
  for (const auto& piece : pieces) {
    std::string_view rest = piece.text;
    while (!rest.empty()) {
      const auto end = rest.find_first_of(" \n\t");
      if (end != 0) {
        word.push_back({std::string(rest.substr(0, end)), piece.look});
        rest.remove_prefix(std::min(end, rest.size()));
        continue;
      }
      end_word();
      if (rest.front() == '\n') {
        lines.emplace_back();
        used = 0;
        blank.reset();
      } else {
        blank = piece.look;
      }
      rest.remove_prefix(1);
    }
  }
  end_word();
  return lines;
}

// A character by its number or one of the usual names; anything else as it was written.
std::string entity(std::string_view text) {
  if (text == "&amp;") return "&";
  if (text == "&lt;") return "<";
  if (text == "&gt;") return ">";
  if (text == "&quot;") return "\"";
  if (text == "&apos;") return "'";
  if (text == "&nbsp;") return " ";
  if (!text.starts_with("&#") || text.size() < 4) return std::string(text);
  const bool hexadecimal = text[2] == 'x' || text[2] == 'X';
  std::uint32_t value = 0;
  for (const char c : text.substr(hexadecimal ? 3 : 2)) {
    if (c == ';') break;
    const auto digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
    value = std::min<std::uint32_t>(value * (hexadecimal ? 16 : 10) + static_cast<std::uint32_t>(digit), 0x110000);
  }
  if (value == 0 || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return "\xEF\xBF\xBD";
  std::string out;
  append_utf8(out, static_cast<char32_t>(value));
  return out;
}

std::string value_of(const Attribute& attribute) {
  std::string out;
  for (unsigned i = 0; attribute.size > 0 && attribute.offsets[i] < attribute.size; ++i) {
    const auto begin = attribute.offsets[i];
    const std::string_view part(attribute.text + begin, attribute.offsets[i + 1] - begin);
    out += attribute.types[i] == Text::entity ? entity(part) : std::string(part);
  }
  return clean_line(out);
}

// ---- blocks

class Page {
 public:
  explicit Page(const MarkdownLook& look) : look_(look) {}

  void enter(Block block, void* detail) {
    switch (block) {
      case Block::quote:
        flush();
        separate();
        inside_.push_back({"| ", "| "});
        break;
      case Block::bullets:
        flush();
        if (lists_.empty()) separate();
        lists_.push_back({});
        break;
      case Block::numbers:
        flush();
        if (lists_.empty()) separate();
        lists_.push_back({static_cast<NumbersDetail*>(detail)->start});
        break;
      case Block::item: {
        flush();
        const auto& item = *static_cast<ItemDetail*>(detail);
        auto mark = lists_.back().number ? fmt::format("{}. ", (*lists_.back().number)++) : std::string("- ");
        auto rest = std::string(mark.size(), ' ');
        if (item.is_task != 0) mark += item.mark == ' ' ? "[ ] " : "[x] ";
        inside_.push_back({std::move(mark), std::move(rest)});
        break;
      }
      case Block::rule:
        separate();
        line(std::string(std::min<std::size_t>(room(), 40), '-'));
        break;
      case Block::heading:
        separate();
        heading_ = static_cast<HeadingDetail*>(detail)->level;
        look_now_ |= bold;
        if (!look_.color) pieces_.push_back({std::string(heading_, '#') + " ", bold});
        break;
      case Block::code:
        flush();
        separate();
        code_ = true;
        break;
      case Block::paragraph:
        flush();
        separate();
        break;
      case Block::table:
        separate();
        table_.emplace();
        break;
      case Block::row:
        table_->rows.emplace_back();
        break;
      case Block::head_cell:
      case Block::cell:
        if (table_->rows.size() == 1) table_->align.push_back(static_cast<CellDetail*>(detail)->align);
        break;
      default:
        break;
    }
  }

  void leave(Block block) {
    switch (block) {
      case Block::quote:
        flush();
        inside_.pop_back();
        break;
      case Block::item:
        flush();
        // An item without a text.
        if (!inside_.back().used) line({});
        inside_.pop_back();
        break;
      case Block::bullets:
      case Block::numbers:
        lists_.pop_back();
        break;
      case Block::heading:
        flush();
        heading_ = 0;
        look_now_ = plain;
        break;
      case Block::code:
        code_lines();
        break;
      case Block::paragraph:
      case Block::html:
      case Block::document:
        flush();
        break;
      case Block::table:
        table_lines();
        table_.reset();
        break;
      case Block::head_cell:
      case Block::cell:
        table_->rows.back().push_back(clean_line(text_of(pieces_)));
        pieces_.clear();
        break;
      default:
        break;
    }
  }

  void enter(Span span) {
    if (span == Span::image) add("[image: ");
    if (span == Span::link || span == Span::image) link_from_.push_back(pieces_.size());
    if (span == Span::code && !look_.color) add("`");
    look_now_ |= look_of(span);
  }

  void leave(Span span, void* detail) {
    look_now_ = static_cast<std::uint8_t>(look_now_ & ~look_of(span));
    if (heading_ > 0) look_now_ |= bold;
    if (span == Span::code && !look_.color) add("`");
    if (span != Span::link && span != Span::image) return;
    const auto target = value_of(static_cast<LinkDetail*>(detail)->address);
    std::string shown;
    for (auto i = link_from_.back(); i < pieces_.size(); ++i) shown += pieces_[i].text;
    link_from_.pop_back();
    if (span == Span::image) add("]");
    if (!target.empty() && target != shown && target != "mailto:" + shown) {
      add(" (");
      pieces_.push_back({target, plain});
      add(")");
    }
  }

  void text(Text type, std::string_view text) {
    switch (type) {
      case Text::hard_break:
        add("\n");
        break;
      case Text::soft_break:
        add(" ");
        break;
      case Text::null:
        add("\xEF\xBF\xBD");
        break;
      case Text::entity:
        add(clean_for_display(entity(text)));
        break;
      default:
        add(text);
    }
  }

  std::vector<std::string> lines() && { return std::move(lines_); }

 private:
  struct Inside {
    std::string first;
    std::string rest;
    bool used = false;
  };
  struct List {
    std::optional<unsigned> number = {};
  };
  struct Table {
    std::vector<std::vector<std::string>> rows;
    std::vector<Align> align;
  };

  static std::uint8_t look_of(Span span) {
    switch (span) {
      case Span::emphasis:
        return italic;
      case Span::strong:
        return bold;
      case Span::code:
        return Look::code;
      case Span::deleted:
        return struck;
      case Span::link:
        return address;
      default:
        return plain;
    }
  }

  void add(std::string_view text) { pieces_.push_back({std::string(text), look_now_}); }

  // Columns beside the marks of what this stands in.
  std::size_t room() const {
    std::size_t taken = 0;
    for (const auto& one : inside_) taken += columns_of(one.rest);
    return look_.columns > taken + 8 ? look_.columns - taken : 8;
  }

  void line(std::string text) {
    std::string before;
    for (auto& one : inside_) {
      before += one.used ? one.rest : one.first;
      one.used = true;
    }
    while (text.empty() && before.ends_with(' ')) before.pop_back();
    lines_.push_back(before + text);
  }

  // A blank line between blocks, but not between an item and what it begins with.
  void separate() {
    if (lines_.empty() || !lists_.empty()) return;
    if (!inside_.empty() && !inside_.back().used) return;
    if (!lines_.back().empty()) line({});
  }

  void flush() {
    if (pieces_.empty()) return;
    for (const auto& one : wrapped(pieces_, room())) line(painted(one, look_.color));
    pieces_.clear();
  }

  void code_lines() {
    const auto text = text_of(pieces_);
    pieces_.clear();
    code_ = false;
    auto rest = std::string_view(text);
    if (rest.ends_with('\n')) rest.remove_suffix(1);
    for (const auto one : split(rest, '\n')) {
      line("    " + painted(Piece{std::string(one), Look::code}, look_.color));
    }
  }

  void table_lines() {
    const auto count = table_->align.size();
    std::vector<std::size_t> widths(count, 1);
    for (const auto& row : table_->rows) {
      for (std::size_t i = 0; i < row.size() && i < count; ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
    }
    constexpr std::size_t gap = 2;
    constexpr std::size_t narrowest_wrapped = 8;
    const auto total = [&] {
      std::size_t sum = gap * (count - 1);
      for (const auto one : widths) sum += one;
      return sum;
    };
    while (count > 0 && total() > room()) {
      auto& widest = *std::ranges::max_element(widths);
      if (widest <= 3) break;
      --widest;
    }
    for (std::size_t r = 0; r < table_->rows.size(); ++r) {
      const auto& row = table_->rows[r];
      // A cell that is wider than its column goes on below. In columns of a few characters nobody could read that.
      std::vector<std::vector<std::string>> cells;
      std::size_t height = 1;
      for (std::size_t i = 0; i < row.size() && i < count; ++i) {
        auto& lines = cells.emplace_back();
        if (widths[i] < narrowest_wrapped || columns_of(row[i]) <= widths[i]) {
          lines.push_back(cut(row[i], widths[i]));
        } else {
          for (const auto& one : wrapped({Piece{row[i]}}, widths[i])) lines.push_back(cut(text_of(one), widths[i]));
        }
        height = std::max(height, lines.size());
      }
      for (std::size_t k = 0; k < height; ++k) {
        std::string out;
        std::size_t blanks = 0;  // none at the end of a line
        for (std::size_t i = 0; i < cells.size(); ++i) {
          const auto shown = k < cells[i].size() ? cells[i][k] : std::string();
          const auto left = widths[i] - std::min(widths[i], columns_of(shown));
          const auto before = table_->align[i] == Align::right    ? left
                              : table_->align[i] == Align::center ? left / 2
                                                                  : 0;
          if (i > 0) blanks += gap;
          if (shown.empty()) {
            blanks += widths[i];
            continue;
          }
          out += std::string(blanks + before, ' ') + painted(Piece{shown, r == 0 ? bold : plain}, look_.color);
          blanks = left - before;
        }
        line(out);
      }
      if (r != 0) continue;
      std::string under;
      for (std::size_t i = 0; i < count; ++i) under += (i > 0 ? "  " : "") + std::string(widths[i], '-');
      line(under);
    }
  }

  MarkdownLook look_;
  std::vector<std::string> lines_;
  std::vector<Inside> inside_;
  std::vector<List> lists_;
  Pieces pieces_;
  std::uint8_t look_now_ = plain;
  unsigned heading_ = 0;
  bool code_ = false;
  std::vector<std::size_t> link_from_;
  std::optional<Table> table_;
};

}  // namespace

bool markdown_is_read() { return library() != nullptr; }

std::vector<std::string> plain_lines(std::string_view text, const MarkdownLook&) {
  auto cleaned = clean_for_display(text);
  while (cleaned.ends_with('\n')) cleaned.pop_back();
  std::vector<std::string> out;
  for (const auto line : split(cleaned, '\n')) out.emplace_back(line);
  return out;
}

std::vector<std::string> markdown_lines(std::string_view text, const MarkdownLook& look) {
  const auto parse = library();
  if (parse == nullptr) return plain_lines(text, look);
  const auto cleaned = clean_for_display(text);
  Page page(look);
  const Parser parser{
      .abi_version = 0,
      .flags = permissive_urls | no_html | tables | strikethrough | task_lists,
      .enter_block = [](Block block, void* detail,
                        void* to) { return static_cast<Page*>(to)->enter(block, detail), 0; },
      .leave_block = [](Block block, void*, void* to) { return static_cast<Page*>(to)->leave(block), 0; },
      .enter_span = [](Span span, void*, void* to) { return static_cast<Page*>(to)->enter(span), 0; },
      .leave_span = [](Span span, void* detail, void* to) { return static_cast<Page*>(to)->leave(span, detail), 0; },
      .text = [](Text type, const char* begin, unsigned size,
                 void* to) { return static_cast<Page*>(to)->text(type, {begin, size}), 0; },
      .debug_log = nullptr,
      .syntax = nullptr,
  };
  if (parse(cleaned.data(), static_cast<unsigned>(cleaned.size()), &parser, &page) != 0) return plain_lines(text, look);
  return std::move(page).lines();
}

}  // namespace patchbay::terminal
