// main() of every test program. Tests choose their environment: what the user has set
// (certificates, proxies, locale, terminal, where configuration is, tokens) is taken away
// before anything reads it. ./test does the same for whatever else it starts, and gives the
// tests a home of their own.
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

extern char** environ;  // NOLINT

namespace {

bool is_kept(std::string_view name) {
  constexpr std::array kept{"PATH",
                            "HOME",
                            "TMPDIR",
                            "CI",
                            "XDG_CONFIG_HOME",
                            "XDG_CACHE_HOME",
                            "XDG_DATA_HOME",
                            "XDG_STATE_HOME",
                            "XDG_RUNTIME_DIR",
                            "CLAUDE_CONFIG_DIR"};
  constexpr std::array families{"PATCHBAY_TEST_",
                                "PATCHBAY_NPM_DIR",
                                "PATCHBAY_NODE",
                                "PATCHBAY_SOAK",
                                "PATCHBAY_SEED",
                                "PATCHBAY_CHAOS_SEED",
                                "PATCHBAY_SIM_SEED",
                                "PATCHBAY_SCHEMA_SUITE",
                                "PATCHBAY_UPDATE_GOLDEN",
                                "GTEST_",
                                "ASAN_",
                                "LSAN_",
                                "UBSAN_",
                                "TSAN_"};
  return std::ranges::find(kept, name) != kept.end() ||
         std::ranges::any_of(families, [&](std::string_view family) { return name.starts_with(family); });
}

void choose_environment() {
  std::vector<std::string> names;
  for (char** variable = environ; *variable; ++variable) {
    const std::string_view text = *variable;
    names.emplace_back(text.substr(0, text.find('=')));
  }
  for (const auto& name : names) {
    if (!is_kept(name)) ::unsetenv(name.c_str());
  }
  ::setenv("LANG", "C.UTF-8", 1);
  ::setenv("TERM", "dumb", 1);
  // The keyring of whoever runs the tests is not theirs; some bring one of their own.
  ::setenv("PATCHBAY_SECRET_STORE", "file", 1);
}

}  // namespace

int main(int count, char** words) {
  choose_environment();
  testing::InitGoogleMock(&count, words);
  return RUN_ALL_TESTS();
}
