// Framing: however a stream is cut into reads, the same lines come out, none longer than the
// limit, and a line that is kept never changes.
//
// Input: the limit (one byte, times eight), how the stream is cut (one byte, a seed), then the
// stream, in which 0x01 C N stands for C repeated N * 257 times: long lines in short inputs.
#include <algorithm>
#include <cstring>

#include "fuzz/fuzz.h"
#include "process/line_reader.h"

namespace {

using patchbay::LineReader;
using patchbay::fuzz::require;

struct Seen {
  std::vector<std::string> lines;
  std::string rest;
  bool too_long = false;
  std::uint64_t junk = 0;
  std::string sample;
  bool operator==(const Seen&) const = default;
};

// Cuts off the way a naive reader would, with the whole stream in hand.
Seen expected(std::string_view stream, std::size_t limit) {
  Seen seen;
  while (!stream.empty()) {
    const bool whole = stream.find('\n') != std::string_view::npos;
    std::string_view line = patchbay::fuzz::take_line(stream);
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    if (line.empty()) continue;
    if (line.front() != '{' && line.front() != '[') {
      ++seen.junk;
      seen.sample = line.substr(0, 120);
      continue;
    }
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.size() > limit) {
      seen.too_long = true;
      return seen;
    }
    if (whole) {
      seen.lines.emplace_back(line);
    } else {
      seen.rest = line;
    }
  }
  return seen;
}

std::string unpack(std::string_view input) {
  std::string stream;
  for (std::size_t i = 0; i < input.size(); ++i) {
    if (input[i] == 1 && i + 2 < input.size() && stream.size() < 1u << 17) {
      stream.append(std::size_t{static_cast<unsigned char>(input[i + 2])} * 257, input[i + 1]);
      i += 2;
    } else {
      stream += input[i];
    }
  }
  return stream;
}

// Reads as many bytes at a time as `most` and `seed` say.
Seen read(std::string_view stream, std::size_t limit, std::size_t most, std::uint32_t seed) {
  Seen seen;
  LineReader reader(limit);
  std::vector<std::pair<LineReader::Line, std::string>> kept;
  const auto note = [&](const LineReader::Line& line) {
    require(line.text.size() <= limit, "a line is longer than the limit");
    const char* block = line.block->data();
    require(line.text.data() >= block && line.text.data() + line.text.size() + 64 <= block + line.block->size(),
            "a line without 64 readable bytes behind it");
    if (seed % 3 == 0) kept.emplace_back(line, line.text);
  };
  while (!stream.empty() && !reader.too_long()) {
    seed = seed * 1664525u + 1013904223u;
    const auto room = reader.room();
    require(room.size() >= 16u << 10, "less room than promised");
    const std::size_t size = std::min({stream.size(), room.size(), std::size_t{1} + (seed >> 8) % most});
    std::memcpy(room.data(), stream.data(), size);
    stream.remove_prefix(size);
    reader.commit(size);
    while (auto line = reader.next()) {
      note(*line);
      seen.lines.emplace_back(line->text);
    }
  }
  if (auto line = reader.rest()) {
    note(*line);
    seen.rest = line->text;
  }
  for (const auto& [line, text] : kept) require(line.text == text, "a line changed after it was handed out");
  seen.too_long = reader.too_long();
  seen.junk = reader.junk_lines();
  seen.sample = reader.junk_sample();
  return seen;
}

}  // namespace

FUZZ_TARGET(line_reader) {
  if (input.size() < 2) return;
  const std::size_t limit = std::size_t{static_cast<unsigned char>(input[0])} * 8;
  const auto seed = static_cast<unsigned char>(input[1]);
  const std::string stream = unpack(input.substr(2));
  const Seen wanted = expected(stream, limit == 2040 ? 1u << 20 : limit);
  const std::size_t used = limit == 2040 ? 1u << 20 : limit;
  require(read(stream, used, 1u << 20, seed) == wanted, "large reads give other lines");
  require(read(stream, used, stream.size() < 20'000 ? 7 : 5'000, seed) == wanted, "small reads give other lines");
}
