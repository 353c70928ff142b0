// What every fuzz target shares. A target is one file, NAME_fuzz.cpp, with one
// FUZZ_TARGET(NAME): built alone it is a libFuzzer program (fuzz-NAME), and all of them
// together are the replay program, which runs the kept inputs without libFuzzer.
//
// A target reads a stranger's bytes, calls the code under test and states what must hold
// with require(). What it throws ends libFuzzer with a finding and fails the replay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace patchbay::fuzz {

struct Broken : std::logic_error {
  using std::logic_error::logic_error;
};

inline void require(bool holds, const char* what) {
  if (!holds) throw Broken(what);
}
inline void require(bool holds, const std::string& what) { require(holds, what.c_str()); }

// Up to the next line break, which is taken too: how a text holds several parts.
inline std::string_view take_line(std::string_view& text) {
  const auto end = text.find('\n');
  const auto line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

struct Target {
  std::string name;
  void (*run)(std::string_view input);
};
std::vector<Target>& targets();  // in the replay program

struct AddTarget {
  AddTarget(std::string name, void (*run)(std::string_view)) { targets().push_back({std::move(name), run}); }
};

}  // namespace patchbay::fuzz

#ifdef PATCHBAY_REPLAY
#define PATCHBAY_FUZZ_ENTRY(name, run) const patchbay::fuzz::AddTarget added_##name(#name, run);
#else
#define PATCHBAY_FUZZ_ENTRY(name, run)                                                \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { \
    run({reinterpret_cast<const char*>(data), size});                                 \
    return 0;                                                                         \
  }
#endif

// FUZZ_TARGET(name) { ... uses the std::string_view `input` ... }
#define FUZZ_TARGET(name)                          \
  static void fuzz_##name(std::string_view input); \
  PATCHBAY_FUZZ_ENTRY(name, fuzz_##name)           \
  static void fuzz_##name(std::string_view input)
