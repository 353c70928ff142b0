#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "base/crypto.h"
#include "base/strings.h"
#include "builtin/arguments.h"
#include "builtin/text.h"
#include "builtin/tools.h"

namespace patchbay::builtin {

namespace {

constexpr std::size_t chunk_bytes = 256u << 10;
// Behind the window, lines are still counted so far: "lines 1–2000 of 5321" tells more than "there is more".
constexpr std::size_t counted_bytes = 64u << 20;

// Feeds the bytes of a file one line part at a time; keeps the lines of the window.
struct Window {
  std::size_t first;
  std::size_t most_lines;
  std::size_t most_bytes;

  std::string text;
  std::size_t line = 1;     // the one that the next byte belongs to
  bool line_begun = false;  // it has bytes already
  std::size_t taken = 0;    // whole lines in `text`
  std::size_t whole = 0;    // bytes of those
  bool full = false;
  bool line_cut = false;  // the only line taken is longer than the window

  void feed(std::string_view bytes) {
    // Far before the window and behind it lines are only counted.
    const auto newlines = static_cast<std::size_t>(std::ranges::count(bytes, '\n'));
    if (!bytes.empty() && (full || (line < first && first - line > newlines))) {
      line += newlines;
      line_begun = !bytes.ends_with('\n');
      return;
    }
    while (!bytes.empty()) {
      const auto newline = bytes.find('\n');
      const bool ends = newline != std::string_view::npos;
      const auto part = bytes.substr(0, ends ? newline + 1 : newline);
      bytes.remove_prefix(part.size());
      take(part, ends);
      line_begun = !ends;
      if (ends) ++line;
    }
  }

  void take(std::string_view part, bool ends) {
    if (full || line < first) return;
    if (taken == most_lines) {
      full = true;
    } else if (text.size() + part.size() > most_bytes) {
      full = true;
      if (taken > 0) {
        text.resize(whole);
      } else {
        text += cut_utf8(part, most_bytes - text.size());
        line_cut = true;
        taken = 1;
      }
    } else {
      text += part;
      if (ends) {
        ++taken;
        whole = text.size();
      }
    }
  }

  void finish() {
    if (!full && line_begun && line >= first && text.size() > whole) ++taken;
  }
  std::size_t lines_seen() const { return line - 1 + (line_begun ? 1 : 0); }
};

}  // namespace

Tool read_file_tool(const BuiltinLimits& limits) {
  Tool tool;
  tool.name = "read_file";
  tool.title = "Read a file";
  tool.description = fmt::format(
      "Returns the content of a text file exactly as it is, or an image (PNG, JPEG, GIF, WebP) as an image. One call "
      "returns "
      "at most {} lines and {} of text; when there is more, the result ends by saying which offset to read on from. "
      "Other "
      "binary files are refused. Use grep to find the place first when the file is large.",
      limits.read_lines, size_text(limits.read_bytes));
  tool.input_schema = object_schema({
      {"path",
       {{"type", "string"}, {"description", "The file, relative to the root directory or absolute beneath it."}},
       true},
      {"offset",
       {{"type", "integer"}, {"minimum", 1}, {"description", "First line to return, counted from 1. Default 1."}}},
      {"limit",
       {{"type", "integer"},
        {"minimum", 1},
        {"maximum", limits.read_lines},
        {"description", fmt::format("How many lines to return at most. Default {}.", limits.read_lines)}}},
  });
  tool.annotations = file_annotations(Effect::reads);
  return tool;
}

CallToolResult read_file(const Settings& settings, const Json& arguments, const Stop& stop) {
  Arguments in("read_file", arguments, {"path", "offset", "limit"});
  const auto wanted = in.word("path");
  const auto offset = in.integer("offset", 1, 1, INT64_MAX);
  const auto limit = in.integer("limit", static_cast<std::int64_t>(settings.limits.read_lines), 1,
                                static_cast<std::int64_t>(settings.limits.read_lines));
  if (const auto fault = in.fault()) return error_result(*fault);

  const auto& root = settings.root;
  if (const auto refusal = unless_file(root, wanted)) return error_result(*refusal);
  const auto file = root.open_for_reading(wanted);
  if (!file) return error_result(file.error());
  struct stat status{};
  ::fstat(file->get(), &status);
  const auto size = size_text(static_cast<std::size_t>(status.st_size));

  Window window{static_cast<std::size_t>(offset), static_cast<std::size_t>(limit), settings.limits.read_bytes};
  std::vector<char> buffer(chunk_bytes);
  std::size_t total = 0;
  bool ended = false;
  while (!stop) {
    // Filled before it is looked at: what a file is shows in its first bytes, together.
    std::size_t length = 0;
    while (length < buffer.size()) {
      const auto got = ::read(file->get(), buffer.data() + length, buffer.size() - length);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return error_result(fmt::format("{} cannot be read: {}", wanted, std::strerror(errno)));
      if (got == 0) break;
      length += static_cast<std::size_t>(got);
    }
    const std::string_view bytes(buffer.data(), length);
    if (total == 0) {
      if (const auto type = image_type(bytes); !type.empty()) {
        const auto image = root.read(wanted, settings.limits.image_bytes);
        if (!image) {
          return error_result(fmt::format("{} is an image ({}, {}); only images up to {} can be returned.", wanted,
                                          type, size, size_text(settings.limits.image_bytes)));
        }
        CallToolResult result;
        result.content.push_back(ImageContent{.data = base64_encode(*image), .mime_type = std::string(type)});
        return result;
      }
      if (const auto kind = binary_kind(bytes); !kind.empty()) {
        return error_result(fmt::format("{} is {} ({}), not text that can be returned.", wanted, kind, size));
      }
    }
    window.feed(bytes);
    total += length;
    ended = length < buffer.size();
    if (!ended && window.line < window.first && total >= settings.limits.read_through) {
      return error_result(
          fmt::format("offset {} was not found: only the first {} of {} are searched for it, and they have {}. Use a "
                      "smaller offset.",
                      offset, size_text(total), wanted, plural(window.lines_seen(), "line")));
    }
    if (ended || (window.full && total > counted_bytes)) break;
  }
  if (ended) window.finish();

  if (ended && total == 0) return text_result("[The file is empty.]");
  if (window.taken == 0) {
    return error_result(
        fmt::format("offset {} is past the end: {} has {}.", offset, wanted, plural(window.lines_seen(), "line")));
  }
  auto repaired = repair_utf8(window.text);
  std::vector<std::string> notes;
  if (window.full) {
    const auto last = window.first + window.taken - 1;
    const auto of = ended ? plural(window.lines_seen(), "line") : size;
    if (window.line_cut) {
      notes.push_back(
          fmt::format("Line {} is longer than {} and was cut there.", last, size_text(settings.limits.read_bytes)));
    } else {
      notes.push_back(fmt::format("Lines {} to {} of {}.", window.first, last, of));
    }
    if (!ended || window.lines_seen() > last) notes.push_back(fmt::format("Read on with offset={}.", last + 1));
  }
  if (repaired.replaced > 0) {
    notes.push_back(fmt::format("The file is not all UTF-8: {} shown as U+FFFD.",
                                repaired.replaced == 1 ? "1 byte is" : fmt::format("{} bytes are", repaired.replaced)));
  }
  auto result = text_result(std::move(repaired.text));
  if (!notes.empty()) result.content.push_back(TextContent{.text = fmt::format("[{}]", join(notes, " "))});
  return result;
}

}  // namespace patchbay::builtin
