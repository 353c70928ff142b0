// The file of one kept result: a line of JSON that says what it is, and behind it the result as its server sent it, as
// JSON, compressed or not. Pure; any thread. host/results/result_store writes and reads such files.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <patchbay/error.h>

namespace patchbay {

enum class ResultPacking : std::uint8_t { none, zstd };

struct StoredHead {
  std::string id = {};
  std::string tool = {};  // as it was called
  std::chrono::sys_seconds time = {};
  std::uint64_t size = 0;  // of the result, not compressed
  ResultPacking packing = ResultPacking::none;
  bool operator==(const StoredHead&) const = default;
};

inline constexpr std::size_t longest_stored_head = 4096;

std::string write_stored_head(const StoredHead& head);  // with the newline behind it

struct StoredResult {
  StoredHead head;
  std::string_view body;  // of the text that was read
};
// `text`: a whole file, or its beginning. An Error says why it is none of ours.
Result<StoredResult> read_stored_result(std::string_view text);

bool is_result_id(std::string_view text) noexcept;
// Eight letters and digits that cannot be mixed up.
std::string result_id(std::uint64_t random);

}  // namespace patchbay
