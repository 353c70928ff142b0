// Every text of cases.txt through our JSON reader, and through the readers of Python and
// JavaScript: all three agree, except where the table says who differs, how and why.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "json/scanner.h"
#include "support/command.h"
#include "support/places.h"
#include "torture/table.h"

namespace patchbay::torture {
namespace {

const std::vector<Case>& table() {
  static const auto cases = load_table(test::in_sources("tests/torture/cases.txt"));
  return cases;
}

std::string at(const Case& one) { return fmt::format("cases.txt:{}: {}", one.line, one.name); }

// Long texts are shown by their beginning.
std::string shown(const std::string& text) {
  return text.size() <= 200 ? text : fmt::format("{}… ({} bytes)", text.substr(0, 200), text.size());
}

testing::AssertionResult same(const std::string& got, const std::string& expected) {
  if (got == expected) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "\n  expected " << shown(expected) << "\n       got " << shown(got) << "\n";
}

// A copy with nothing readable in front or behind, so that a sanitizer sees one byte too far.
class ExactCopy {
 public:
  explicit ExactCopy(std::string_view text) : bytes_(new char[text.size()]), size_(text.size()) {
    text.copy(bytes_.get(), size_);
  }
  std::string_view text() const noexcept { return {bytes_.get(), size_}; }

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t size_;
};

TEST(JsonTable, HoldsAtLeastThreeHundredDifferentTexts) {
  std::set<std::string> names;
  std::set<std::string> texts;
  std::size_t accepted = 0;
  for (const auto& one : table()) {
    EXPECT_TRUE(names.insert(one.name).second) << at(one) << " is named twice";
    texts.insert(one.bytes);
    accepted += one.accepted ? 1 : 0;
    for (const auto& [reader, difference] : one.differences) {
      EXPECT_NE(difference.verdict, one.verdict()) << at(one) << ": " << reader << " does not differ there";
    }
  }
  EXPECT_GE(texts.size(), 300u);
  EXPECT_GE(accepted, 100u);
  EXPECT_GE(texts.size() - accepted, 100u);
}

TEST(JsonTable, OurReaderGivesEachVerdictValueAndOffset) {
  for (const auto& one : table()) {
    const ExactCopy copy(one.bytes);
    const auto read = parse_json_located(copy.text());
    if (one.accepted) {
      if (read) EXPECT_TRUE(same(spelled(*read), one.value)) << at(one);
      EXPECT_TRUE(read) << at(one) << ": " << read.error().reason;
    } else {
      EXPECT_FALSE(read) << at(one);
      if (!read) EXPECT_EQ(read.error().offset, one.offset) << at(one) << ": " << read.error().reason;
    }
  }
}

TEST(JsonTable, SkippingAndBuildingAgree) {
  for (const auto& one : table()) {
    auto payload = Payload::parse(one.bytes);
    if (one.accepted) {
      ASSERT_TRUE(payload) << at(one) << ": " << payload.error().message();
      EXPECT_TRUE(same(spelled(payload->value()), one.value)) << at(one);
      continue;
    }
    const auto read = parse_json(one.bytes);
    ASSERT_FALSE(read) << at(one);
    if (!read.error().message().starts_with("duplicate key")) {
      ASSERT_FALSE(payload) << at(one);
      EXPECT_EQ(payload.error().message(), read.error().message()) << at(one);
      continue;
    }
    // Keys are compared when somebody asks for the value; a payload that is only forwarded
    // does not pay for it.
    ASSERT_TRUE(payload) << at(one);
    EXPECT_THROW(payload->value(), Error) << at(one);
  }
}

TEST(JsonTable, VerdictsDoNotDependOnWhatSurroundsTheText) {
  for (const auto& one : table()) {
    if (one.bytes.size() > 4096) continue;
    // White space in front moves every token over the borders of the 16-byte steps.
    for (std::size_t shift = 1; shift <= 17; ++shift) {
      const ExactCopy copy(std::string(shift, ' ') + one.bytes);
      const auto read = parse_json_located(copy.text());
      ASSERT_EQ(read.has_value(), one.accepted) << at(one) << " behind " << shift << " blanks";
      if (!read) ASSERT_EQ(read.error().offset, one.offset + shift) << at(one) << ": " << read.error().reason;
    }
    // As a member it is one level deeper, and a text that ends too early takes the bracket in.
    const ExactCopy copy("[0," + one.bytes + ",1]");
    ASSERT_EQ(parse_json_located(copy.text(), {.max_depth = 129}).has_value(), one.accepted) << at(one);
  }
}

TEST(JsonTable, AcceptedValuesSurviveTheWriter) {
  for (const auto& one : table()) {
    if (!one.accepted) continue;
    const Json value = parse_json(one.bytes).value();
    for (const auto& text : {to_text(value), to_pretty_text(value)}) {
      const auto again = parse_json(text);
      ASSERT_TRUE(again) << at(one) << ": " << again.error().message();
      EXPECT_TRUE(same(spelled(*again), one.value)) << at(one);
    }
    // A number no machine type holds is its text.
    if (value.kind() == Json::Kind::big_number) EXPECT_TRUE(same(to_text(value), one.bytes)) << at(one);
    // What is forwarded is what came, without the white space around it.
    const auto first = one.bytes.find_first_not_of(" \t\r\n");
    const auto last = one.bytes.find_last_not_of(" \t\r\n");
    EXPECT_EQ(Payload::parse(one.bytes).value().text(), std::string_view(one.bytes).substr(first, last - first + 1));
  }
}

// Each accepted text cut off anywhere either is still a whole value (a shorter number, or
// the same without white space behind it) or is refused; never is anything else read.
TEST(JsonTable, CutTextsAreRefusedUnlessTheyAreComplete) {
  for (const auto& one : table()) {
    if (!one.accepted || one.bytes.size() > 300) continue;
    const auto last = one.bytes.find_last_not_of(" \t\r\n");
    const bool number = std::string_view("0123456789").contains(one.bytes[last]);
    for (std::size_t length = 0; length <= last; ++length) {
      const ExactCopy copy(std::string_view(one.bytes).substr(0, length));
      if (parse_json_located(copy.text())) EXPECT_TRUE(number) << at(one) << " cut at " << length;
    }
  }
}

std::string hexadecimal(std::string_view bytes) {
  std::string out;
  out.reserve(2 * bytes.size());
  for (const char byte : bytes) {
    for (const int shift : {4, 0}) out += "0123456789abcdef"[static_cast<unsigned char>(byte) >> shift & 15];
  }
  return out;
}

// What is wrong about another reader's verdict; empty when the table has it.
std::string objection(const Case& one, const std::string& reader, const Verdict& theirs) {
  const auto listed = one.differences.find(reader);
  if (listed == one.differences.end()) {
    if (theirs == one.verdict()) return {};
    return fmt::format("{} differs and the table does not say so: {}", reader, shown(theirs));
  }
  if (theirs == listed->second.verdict) return {};
  if (theirs == one.verdict()) return fmt::format("{} does not differ any more", reader);
  return fmt::format("{} differs in another way than listed: {}", reader, shown(theirs));
}

// Holds another reader against the table; returns in how many cases it differs.
std::size_t differences_of(const std::string& reader, const std::vector<std::string>& command) {
  test::CommandOptions options;
  for (const auto& one : table()) options.input += hexadecimal(one.bytes) + "\n";
  const auto result = test::run_program(command, options);
  EXPECT_EQ(result.code, 0) << result.err;
  std::istringstream lines(result.out);
  std::size_t differs = 0;
  for (const auto& one : table()) {
    Verdict theirs;
    if (!std::getline(lines, theirs)) {
      ADD_FAILURE() << reader << " stopped before " << at(one) << ": " << result.err;
      return differs;
    }
    EXPECT_EQ(objection(one, reader, theirs), "") << at(one);
    if (theirs != one.verdict()) ++differs;
  }
  std::string more;
  EXPECT_FALSE(std::getline(lines, more)) << reader << " said more: " << more;
  return differs;
}

// ./test names the node that the interoperation tests use; any other will do.
std::string node() {
  const char* named = std::getenv("PATCHBAY_NODE");
  return named && access(named, X_OK) == 0 ? named : "node";
}

TEST(JsonTable, PythonAndNodeAgreeExceptWhereListed) {
  const std::string folder = test::in_sources("tests/torture/");
  const auto python = differences_of("python", {"/usr/bin/env", "python3", folder + "python_reader.py"});
  const auto javascript = differences_of("node", {"/usr/bin/env", node(), folder + "node_reader.mjs"});
  std::printf("json table: %zu cases, python differs in %zu (listed), node differs in %zu (listed)\n", table().size(),
              python, javascript);
  std::fflush(stdout);
}

TEST(JsonTable, DifferencesNotListedAndNotThereAreNoticed) {
  Case one;
  one.accepted = true;
  one.value = "1";
  one.differences["python"] = {"accept 2", "why"};
  EXPECT_EQ(objection(one, "node", "accept 1"), "");
  EXPECT_EQ(objection(one, "node", "reject"), "node differs and the table does not say so: reject");
  EXPECT_EQ(objection(one, "node", "accept 2"), "node differs and the table does not say so: accept 2");
  EXPECT_EQ(objection(one, "python", "accept 2"), "");
  EXPECT_EQ(objection(one, "python", "accept 1"), "python does not differ any more");
  EXPECT_EQ(objection(one, "python", "reject"), "python differs in another way than listed: reject");
}

TEST(JsonTable, BrokenTablesAreRefused) {
  EXPECT_EQ(expanded("a<00>b<5b*3>"), std::string("a\0b[[[", 6));
  EXPECT_EQ(expanded("<>"), "");
  EXPECT_THROW(expanded("<5"), std::runtime_error);
  EXPECT_THROW(expanded("<5>"), std::runtime_error);
  const test::TemporaryDirectory folder;
  for (const char* line :
       {"accept a | 1", "maybe a | 1 | 1", "python reject | why", "reject a | 1 | x", "accept",
        "accept a | 1 | 1\n  node reject", "accept a | 1 | 1\n  node reject | a\n  node reject | b"}) {
    EXPECT_THROW(load_table(folder.write("cases.txt", line)), std::runtime_error) << line;
  }
}

}  // namespace
}  // namespace patchbay::torture
