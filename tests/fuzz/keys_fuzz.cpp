// Keys: however the bytes are cut, the same keys come out, and what they say can be put into a text.
//
// Input: how the bytes are cut (one byte, a seed), then the bytes.
#include "fuzz/fuzz.h"
#include "terminal/keys.h"
#include "text/characters.h"
#include "text/utf8.h"

namespace {

using patchbay::fuzz::require;
using patchbay::terminal::Key;
using patchbay::terminal::KeyCode;
using patchbay::terminal::KeyReader;

std::vector<Key> read(std::string_view bytes, std::size_t most, std::uint32_t seed) {
  KeyReader reader;
  std::vector<Key> out;
  const auto append = [&](std::vector<Key> more) { out.insert(out.end(), more.begin(), more.end()); };
  while (!bytes.empty()) {
    seed = seed * 1664525u + 1013904223u;
    const auto piece = bytes.substr(0, std::size_t{1} + (seed >> 8) % most);
    bytes.remove_prefix(piece.size());
    append(reader.feed(piece));
  }
  append(reader.timed_out());
  require(reader.held() == KeyReader::Held::nothing, "something is held after the time-out");
  return out;
}

}  // namespace

FUZZ_TARGET(keys) {
  if (input.empty()) return;
  const auto seed = static_cast<unsigned char>(input[0]);
  const auto bytes = input.substr(1);
  const auto wanted = read(bytes, 1, seed);
  require(read(bytes, 7, seed) == wanted && read(bytes, bytes.size() + 1, seed) == wanted, "another reading");
  for (const auto& key : wanted) {
    if (key.code == KeyCode::paste) {
      require(key.text.size() <= KeyReader::longest_paste, "a paste over the limit");
    } else if (key.code == KeyCode::character) {
      const auto c = patchbay::decode_utf8(key.text, 0);
      require(c.valid && c.length == key.text.size() && !patchbay::is_control(c.value), "not one character");
    } else {
      require(key.text.empty(), "a text of a key that has none");
    }
  }
}
