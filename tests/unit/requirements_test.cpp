// Holds docs/requirements.md against the tests: a row called built, or partly built, must be
// cited by at least one test, in a comment.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

struct Row {
  std::string id;
  std::string status;
  bool operator==(const Row&) const = default;
};

bool is_id(std::string_view word) {
  auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return word.size() >= 2 && word.size() <= 3 && word[0] >= 'A' && word[0] <= 'Z' &&
         std::ranges::all_of(word.substr(1), digit);
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// Rows of the tables: "| T1 | built | text |".
std::vector<Row> rows_of(const std::string& page) {
  std::vector<Row> rows;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with('|')) continue;
    std::vector<std::string_view> cells;
    for (std::string_view rest = std::string_view(line).substr(1); !rest.empty();) {
      const auto bar = std::min(rest.find('|'), rest.size());
      cells.push_back(trimmed(rest.substr(0, bar)));
      rest.remove_prefix(std::min(bar + 1, rest.size()));
    }
    if (cells.size() >= 3 && is_id(cells[0])) rows.push_back({std::string(cells[0]), std::string(cells[1])});
  }
  return rows;
}

// Ids that stand in comments: after // or, in shell scripts and conversations, after a # that
// begins the line.
std::set<std::string> citations_in(const std::string& text) {
  std::set<std::string> ids;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    auto begin = line.find("//");
    if (begin == std::string::npos) {
      begin = line.find_first_not_of(" \t");
      if (begin == std::string::npos || line[begin] != '#') continue;
    }
    std::string word;
    for (const char c : line.substr(begin) + ' ') {
      if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
        word += c;
        continue;
      }
      if (is_id(word)) ids.insert(word);
      word.clear();
    }
  }
  return ids;
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

const fs::path top = PATCHBAY_SOURCE_DIR;

TEST(Requirements, EveryRow_HasAKnownStatusAndAUniqueId) {
  const auto rows = rows_of(read(top / "docs/requirements.md"));
  EXPECT_GT(rows.size(), 60u);
  std::set<std::string> seen;
  for (const Row& row : rows) {
    EXPECT_TRUE(row.status == "built" || row.status == "partly" || row.status == "later")
        << row.id << " has status " << row.status;
    EXPECT_TRUE(seen.insert(row.id).second) << row.id << " appears twice";
  }
}

TEST(Requirements, EveryBuiltRow_IsCitedByATest) {
  std::set<std::string> cited;
  for (const auto& entry : fs::recursive_directory_iterator(top / "tests")) {
    const auto extension = entry.path().extension();
    const auto name = entry.path().filename();
    if (!entry.is_regular_file() || extension == ".md" || extension == ".json") continue;
    if (name == "requirements_test.cpp" || name == "layers_test.cpp") continue;
    cited.merge(citations_in(read(entry.path())));
  }
  std::vector<std::string> uncited;
  for (const Row& row : rows_of(read(top / "docs/requirements.md"))) {
    if (row.status != "later" && !cited.contains(row.id)) uncited.push_back(row.id);
  }
  EXPECT_THAT(uncited, IsEmpty()) << "rows that docs/requirements.md calls built and no test cites";
}

TEST(Requirements, Rows_AreReadFromTables) {
  EXPECT_THAT(rows_of("# T9\n| id | status | requirement |\n|---|---|---|\n| T1 | built | a | b |\n|L10|later|x|\ntext "
                      "| X1 | built |\n"),
              ElementsAre(Row{"T1", "built"}, Row{"L10", "later"}));
}

TEST(Requirements, Citations_AreReadFromCommentsOnly) {
  EXPECT_THAT(
      citations_in(
          "// T1, L9: a child\nint X1 = 3;  // (W7)\n# N2 in a script\nauto s = \"R1\";\nTX1 // TX12 and C123\n"),
      UnorderedElementsAre("T1", "L9", "W7", "N2"));
}

}  // namespace
