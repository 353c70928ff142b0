// The encrypted file of secrets and its index, as somebody else left them. Whatever the bytes are, they are read or
// refused; a header that is read can be opened at a bearable cost, and what is sealed inside is read as it was meant.
#include "auth/store/sealed_file.h"
#include "auth/store/secret_index.h"
#include "fuzz/fuzz.h"

using namespace patchbay;
using fuzz::require;

namespace {

const NewSeal& known_seal() {
  static const auto seal = *make_seal(FileProtection::key_file, "key", {1, 1, 1}, [](std::span<std::uint8_t> out) {
    for (auto& byte : out) byte = 7;
  });
  return seal;
}

}  // namespace

// The input is a file, an index, and what is inside a file: names and values, one on each line.
FUZZ_TARGET(sealed_file) {
  if (const auto header = read_sealed_header(input)) {
    require(header->cost.memory() <= 512u << 20, "opening it takes too much memory");
    require(!open_sealed(input, known_seal().key), "a file that we did not seal was opened");
  }
  if (const auto index = read_index(input)) {
    const auto again = read_index(write_index(*index));
    require(again && *again == *index, "an index is not read as it was written");
  }
  SecretTexts entries;
  for (auto rest = input; !rest.empty() && entries.size() < 64;) {
    const auto name = fuzz::take_line(rest);
    entries.insert_or_assign(name, fuzz::take_line(rest));
  }
  const auto random = [](std::span<std::uint8_t> out) {
    for (auto& byte : out) byte = 9;
  };
  auto file = seal(entries, known_seal().header, known_seal().key, random);
  require(file.has_value(), "it was not sealed");
  const auto opened = open_sealed(*file, known_seal().key);
  require(opened && opened->entries() == entries, "what was sealed is not what was opened");
  // One bit, chosen by the input.
  const auto at = (input.size() * 31 + (input.empty() ? 0 : static_cast<unsigned char>(input.back()))) % file->size();
  (*file)[at] = static_cast<char>((*file)[at] ^ 1);
  require(!open_sealed(*file, known_seal().key), "a changed file was opened");
}
