// Runs every kept input through its target, without libFuzzer: the seeds of corpus/NAME and
// the findings of regressions/NAME. An empty folder fails, and so does one without a target.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <gtest/gtest.h>

#include "fuzz/fuzz.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/common_interface_defs.h>

#include "support/places.h"
#define PATCHBAY_SAYS_WHERE_IT_DIED 1
#endif
#endif

namespace fs = std::filesystem;

namespace patchbay::fuzz {

std::vector<Target>& targets() {
  static std::vector<Target> all;
  return all;
}

namespace {

std::string current_file;

const fs::path& home() {
  static const fs::path path = fs::path(test::in_sources()) / "tests" / "fuzz";
  return path;
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> all;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) all.push_back(entry.path());
  std::ranges::sort(all);
  return all;
}

std::string read_file(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void replay(const Target& target, const fs::path& folder) {
  const auto files = entries(folder);
  EXPECT_FALSE(files.empty()) << folder << " holds no input";
  for (const auto& file : files) {
    current_file = file;
    // A copy of exactly its size, so that reading past it is seen.
    const std::string text = read_file(file);
    const std::vector<char> input(text.begin(), text.end());
    try {
      target.run({input.data(), input.size()});
    } catch (const std::exception& broken) {
      ADD_FAILURE() << file << ": " << broken.what();
    }
  }
}

class Corpora : public testing::TestWithParam<Target> {};

TEST_P(Corpora, KeptInputs_KeepTheirPromises) {
  const Target& target = GetParam();
  replay(target, home() / "corpus" / target.name);
  if (const auto findings = home() / "regressions" / target.name; fs::exists(findings)) replay(target, findings);
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Corpora, testing::ValuesIn(targets()), [](const auto& each) { return each.param.name; });

TEST(CorporaFolders, EachBelongsToATarget) {
  std::set<std::string> names;
  for (const auto& target : targets()) names.insert(target.name);
  EXPECT_FALSE(names.empty());
  for (const char* kind : {"corpus", "regressions"}) {
    for (const auto& folder : entries(home() / kind)) {
      EXPECT_TRUE(names.contains(folder.filename())) << folder << " belongs to no target";
    }
  }
}

}  // namespace
}  // namespace patchbay::fuzz

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
#ifdef PATCHBAY_SAYS_WHERE_IT_DIED
  __sanitizer_set_death_callback(
      [] { std::fprintf(stderr, "while reading %s\n", patchbay::fuzz::current_file.c_str()); });
#endif
  return RUN_ALL_TESTS();
}
