// What a model is given of a tool's result, and reading on in one that is too large for it. Values only, without
// coroutines; any thread. Host::for_model and Host::read_result make and use them; docs/results.md tells the rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <patchbay/compiler.h>

namespace patchbay {

struct ModelText {
  std::string text = {};  // cleaned: nothing invisible, nothing that moves a cursor
  bool operator==(const ModelText&) const = default;
};

struct ModelImage {
  std::string data = {};       // base64, as the server sent it
  std::string mime_type = {};  // as its bytes say: image/png, image/jpeg, image/webp or image/gif
  std::uint32_t width = 0;     // pixels
  std::uint32_t height = 0;
  bool operator==(const ModelImage&) const = default;
};

using ModelBlock = std::variant<ModelText, ModelImage>;

// What goes into a conversation for one call.
struct ModelResult {
  std::vector<ModelBlock> blocks = {};  // at least one
  bool is_error = false;
  // "@result:ID" of what the server sent, where the blocks are not all of it and it was kept. Empty otherwise.
  std::string handle = {};
  std::uint64_t tokens = 0;             // about as many as the texts are
  std::vector<std::string> notes = {};  // for the user: a large result, a disk that refuses
  bool operator==(const ModelResult&) const = default;
};

// How a host keeps results that are too large for a model.
struct ResultOptions {
  // Whose results these are: one that is kept can be named in arguments ("@result:ID#/pointer") and read by calls of
  // the same conversation alone. Empty: nothing is kept, and arguments are passed on as they are.
  std::string conversation = {};
  // What the model reads about reading on, as the program offers it; "{id}" stands for the handle.
  std::string reading = "To read parts of it, call result_read with its id and a pointer, lines or a pattern.";
};

// A look into a kept result.
struct ResultQuery {
  // "@result:ID" with or without "@result:", and "#/json/pointer" behind it for one value in it; "ID/raw" is the result
  // as the server sent it, with all its blocks.
  std::string handle = {};
  std::string pointer = {};       // a JSON pointer, instead of one in the handle
  std::string pattern = {};       // a regular expression (RE2): the lines that match, with their numbers
  bool count = false;             // how much there is, instead of the text; with a pattern: how many lines match
  std::size_t skip_lines = 0;     // of the text, or of those that match
  std::size_t lines = 0;          // at most so many; 0: as many as fit
  std::size_t offset = 0;         // bytes, instead of skip_lines: where an earlier part ended
  std::size_t bytes = 32u << 10;  // of the part; at most 1 MiB
};

struct ResultPart {
  std::string text = {};  // cleaned
  // Of the whole text, not of the part: a value that is not a text is written with one member or item on each line.
  std::uint64_t total_bytes = 0;
  std::uint64_t total_lines = 0;
  std::optional<std::uint64_t> matches = {};    // lines that match the pattern
  std::optional<std::size_t> next_offset = {};  // there is more from here
  bool operator==(const ResultPart&) const = default;
};

}  // namespace patchbay
