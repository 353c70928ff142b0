// Holds docs/requirements.md and docs/compatibility.md against the tests: a row called built, or
// partly built, must be cited by at least one test, in a comment. Rows of the first page are cited
// by their id alone, lines of the second behind the word compat: "// compat: B3.4, C4.a".
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

#include "support/places.h"

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

// "B3.4", "C4.a": the id of a line of the compatibility page.
bool is_line_id(std::string_view word) {
  const auto dot = word.find('.');
  if (dot == std::string_view::npos || dot + 1 == word.size() || !is_id(word.substr(0, dot))) return false;
  const std::string_view rest = word.substr(dot + 1);
  auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return (rest.size() <= 2 && std::ranges::all_of(rest, digit)) ||
         (rest.size() == 1 && rest[0] >= 'a' && rest[0] <= 'z');
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// Rows of the tables: "| T1 | built | text |".
std::vector<Row> rows_of(const std::string& page, bool (*wanted)(std::string_view) = is_id) {
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
    if (cells.size() >= 3 && wanted(cells[0])) rows.push_back({std::string(cells[0]), std::string(cells[1])});
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

// Ids of the compatibility page behind "compat:" in a line of comment.
std::set<std::string> compat_citations_in(const std::string& text) {
  constexpr std::string_view marker = "compat:";
  std::set<std::string> ids;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto begin = line.find(marker);
    const auto comment = std::min(line.find("//"), line.find('#'));
    if (begin == std::string::npos || comment > begin) continue;
    std::string word;
    for (const char c : line.substr(begin + marker.size()) + ' ') {
      if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.') {
        word += c;
        continue;
      }
      if (word.ends_with('.')) word.pop_back();
      if (is_line_id(word)) ids.insert(word);
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

const fs::path top = patchbay::test::in_sources();

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

std::set<std::string> cited_by_tests(std::set<std::string> (*citations)(const std::string&)) {
  std::set<std::string> cited;
  for (const auto& entry : fs::recursive_directory_iterator(top / "tests")) {
    const auto extension = entry.path().extension();
    const auto name = entry.path().filename();
    if (!entry.is_regular_file() || extension == ".md" || extension == ".json") continue;
    if (name == "requirements_test.cpp" || name == "layers_test.cpp") continue;
    cited.merge(citations(read(entry.path())));
  }
  return cited;
}

TEST(Requirements, EveryBuiltRow_IsCitedByATest) {
  const std::set<std::string> cited = cited_by_tests(citations_in);
  std::vector<std::string> uncited;
  for (const Row& row : rows_of(read(top / "docs/requirements.md"))) {
    if (row.status != "later" && !cited.contains(row.id)) uncited.push_back(row.id);
  }
  EXPECT_THAT(uncited, IsEmpty()) << "rows that docs/requirements.md calls built and no test cites";
}

TEST(Requirements, EveryLineOfTheCompatibilityPage_IsCoveredOrSaysWhyNot) {
  const auto rows = rows_of(read(top / "docs/compatibility.md"), is_line_id);
  // How many lines each part has: none disappears unnoticed.
  std::map<std::string, int> lines;
  for (const Row& row : rows) ++lines[row.id.substr(0, row.id.find('.'))];
  const std::map<std::string, int> expected{{"B1", 16}, {"B2", 6}, {"B3", 29}, {"B4", 26}, {"B5", 25}, {"B6", 19},
                                            {"B7", 17}, {"B9", 3}, {"C1", 6},  {"C2", 3},  {"C3", 3},  {"C4", 1},
                                            {"C5", 3},  {"C6", 4}, {"C7", 3},  {"C8", 2},  {"C9", 2},  {"C10", 3},
                                            {"C11", 3}, {"P1", 4}, {"P2", 2}};
  EXPECT_EQ(lines, expected);
  const std::set<std::string> cited = cited_by_tests(compat_citations_in);
  std::set<std::string> known;
  std::vector<std::string> uncited;
  for (const Row& row : rows) {
    EXPECT_TRUE(row.status == "built" || row.status == "later" || row.status == "no")
        << row.id << " has status " << row.status;
    EXPECT_TRUE(known.insert(row.id).second) << row.id << " appears twice";
    if (row.status == "built" && !cited.contains(row.id)) uncited.push_back(row.id);
  }
  EXPECT_THAT(uncited, IsEmpty()) << "lines that docs/compatibility.md calls built and no test cites";
  std::vector<std::string> unknown;
  std::ranges::set_difference(cited, known, std::back_inserter(unknown));
  EXPECT_THAT(unknown, IsEmpty()) << "lines that tests cite and docs/compatibility.md does not have";
}

TEST(Requirements, LinesOfTheCompatibilityPage_AreCitedBehindTheirWord) {
  EXPECT_THAT(
      compat_citations_in("// compat: B3.4, C4.a: x\n# compat: B1.12.\nB1.3 // B1.4\nauto s = \"compat: B2.1\";\n"),
      UnorderedElementsAre("B3.4", "C4.a", "B1.12"));
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
