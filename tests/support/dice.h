// Every random choice of a chaos run. A choice depends on the seed and on the name of what is chosen,
// not on when it is asked for: two runs of one seed decide alike even where threads race.
#pragma once

#include <cstdint>
#include <string_view>

namespace patchbay::test {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : seed_(seed) {}

  std::uint64_t seed() const noexcept { return seed_; }
  // 0 ... below - 1. `what` tells choices about the same thing apart.
  std::uint64_t number(std::string_view name, std::string_view what, std::uint64_t below) const noexcept {
    std::uint64_t mixed = mix(seed_ + 0x9e3779b97f4a7c15u);
    for (const auto text : {name, what}) {
      for (const char c : text) mixed = (mixed ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
      mixed = mix(mixed);
    }
    return mixed % below;
  }
  bool chance(std::string_view name, std::string_view what, std::uint64_t percent) const noexcept {
    return number(name, what, 100) < percent;
  }

 private:
  static constexpr std::uint64_t mix(std::uint64_t x) noexcept {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }

  std::uint64_t seed_;
};

}  // namespace patchbay::test
