// The walks of docs/architecture.md name files that exist, and stay short: whoever follows a call opens few files, in
// order, and goes back to one of them rarely.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/places.h"

namespace patchbay::test {
namespace {

struct Walk {
  std::vector<std::vector<std::string>> steps;  // files of each numbered line
  std::size_t back = 0;                         // lines that go to a file that was left
};

std::string architecture() {
  std::ifstream in(in_sources("docs/architecture.md"));
  return {std::istreambuf_iterator<char>(in), {}};
}

// The part of the page under a heading, up to the next heading of any level.
std::string part_under(const std::string& page, const std::string& heading) {
  const auto begin = page.find("\n### " + heading + "\n");
  if (begin == std::string::npos) return {};
  return page.substr(begin, page.find("\n#", begin + 5) - begin);
}

Walk read_walk(const std::string& part) {
  static const std::regex numbered(R"(\n(\d+)\. ([^\n]*))"), file(R"(`([a-z_/]+\.(?:cpp|c|h))`)");
  Walk walk;
  for (std::sregex_iterator line(part.begin(), part.end(), numbered), end; line != end; ++line) {
    const std::string text = (*line)[2];
    if (text.starts_with("back")) ++walk.back;
    auto& step = walk.steps.emplace_back();
    for (std::sregex_iterator one(text.begin(), text.end(), file); one != end; ++one) step.push_back((*one)[1]);
  }
  return walk;
}

TEST(Walks, NameFilesThatExistAndStayShort) {
  struct Limit {
    const char* heading;
    std::size_t files, back;
  };
  const auto page = architecture();
  for (const auto& limit : {Limit{"Start", 25, 3}, Limit{"One call", 15, 1}, Limit{"Configuration", 15, 2},
                            Limit{"HTTP", 18, 2}, Limit{"End", 9, 0}}) {
    const auto walk = read_walk(part_under(page, limit.heading));
    ASSERT_GE(walk.steps.size(), 3u) << limit.heading;
    std::set<std::string> seen;
    std::size_t again = 0;
    for (const auto& step : walk.steps) {
      EXPECT_FALSE(step.empty()) << limit.heading << ": a step without a file";
      for (const auto& file : step) {
        EXPECT_TRUE(std::filesystem::exists(in_sources("src/" + file))) << limit.heading << ": " << file;
        if (!seen.insert(file).second) ++again;
      }
    }
    EXPECT_LE(seen.size(), limit.files) << limit.heading;
    EXPECT_LE(walk.back, limit.back) << limit.heading;
    // Whoever opens a file a second time says so.
    EXPECT_EQ(again, walk.back) << limit.heading;
  }
}

}  // namespace
}  // namespace patchbay::test
