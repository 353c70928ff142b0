// ECMA-262 patterns through PCRE2: what they mean, and what is not a pattern.
#include <cstdint>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/regex.h"

namespace patchbay {
namespace {

Regex::Outcome search(std::string_view pattern, std::string_view text) {
  const auto regex = Regex::compile(pattern);
  if (!regex) throw Error(regex.error().within(pattern));
  RegexScratch scratch;
  std::uint64_t steps = 1'000'000;
  return regex->search(text, scratch, steps);
}

TEST(Regex, Patterns_MeanWhatEcma262Says) {
  struct Case {
    const char* pattern;
    std::string_view text;
    bool matches;
  };
  using namespace std::string_view_literals;
  const Case cases[] = {
      {"", "", true},
      {"b", "abc", true},
      {"^b", "abc", false},
      {"^abc$", "abc\n", false},
      {"^abc$", "x\nabc", false},
      {"^.$", "\n", false},
      {"^.$", "\r", false},
      {"^.$", "\u2028", false},
      {"^.$", "🐲", true},
      {"^🐲*$", "🐲🐲", true},
      {"^\\d$", "5", true},
      {"^\\d$", "৫", false},
      {"^\\D$", "৫", true},
      {"^\\w$", "é", false},
      {"^\\W$", "é", true},
      {"^\\s$", "\u00a0", true},
      {"^\\s$", "\ufeff", true},
      {"^\\s$", "\u2029", true},
      {"^\\S$", "\u2003", false},
      {"^[\\s\\d]+$", "1\u30002", true},
      {"^[^\\S]$", "\u3000", true},
      {"^[\\D]$", "1", false},
      {"^[\\w-.]+$", "a-.b", true},
      {"^[a-\\d]+$", "a-1", true},
      {"^[-a]+$", "-a", true},
      {"^[a-]+$", "-a", true},
      {"^[]$", "a", false},
      {"^[^]$", "\n", true},
      {"^[[:alpha:]]$", "a", false},
      {"^[[:alpha:]]$", "a]", true},
      {"^\\cC$", "\x03", true},
      {"^\\cc$", "\x03", true},
      {"^\\0$", "\0"sv, true},
      {"^\\x41\\u0042\\u{43}$", "ABC", true},
      {"^\\uD83D\\uDC32$", "🐲", true},
      {"^[\\uD83D\\uDC32]$", "🐲", true},
      {"[\\uD800-\\uDFFF]", "a", false},
      {"\\uD800", "a", false},
      {"^\\p{Letter}+$", "été", true},
      {"^\\p{L}+$", "1", false},
      {"^\\P{L}+$", "1", true},
      {"^\\p{Lu}\\p{Lowercase_Letter}$", "Éé", true},
      {"^\\p{digit}+$", "৪২", true},
      {"^\\p{General_Category=Decimal_Number}$", "৪", true},
      {"^\\p{Script=Greek}+$", "αβ", true},
      {"^\\p{sc=Latin}+$", "αβ", false},
      {"^[\\p{L}\\d]+$", "é1", true},
      {"^\\p{Extended_Pictographic}$", "🐲", true},
      {"^\\p{ASCII}$", "a", true},
      {"^\\p{Assigned}$", "a", true},
      {"^(?=.*\\d)(?=.*[a-z]).{4,}$", "ab12", true},
      {"^(?=.*\\d)(?=.*[a-z]).{4,}$", "abcd", false},
      {"^(?!\\.)a", ".a", false},
      {"(?<=\\$)\\d", "$5", true},
      {"(?<!\\$)\\d", "$5", false},
      {"^(?<year>\\d{4})-\\k<year>$", "1999-1999", true},
      {"^(a)(b)?\\2$", "a", true},
      {"^(a)\\1$", "aa", true},
      {"^a{2}$", "aa", true},
      {"^a{2,}$", "aaaa", true},
      {"^a{,2}$", "a{,2}", true},
      {"^{a}$", "{a}", true},
      {"a]b", "a]b", true},
      {"^\\/\\-\\_\\@$", "/-_@", true},
      {"^a+?$", "aaa", true},
      {"\\bword\\b", "a word.", true},
      {"^[\\b]$", "\b", true},
  };
  for (const Case& item : cases) {
    EXPECT_EQ(search(item.pattern, item.text), item.matches ? Regex::Outcome::match : Regex::Outcome::no_match)
        << item.pattern << " on " << item.text;
  }
}

TEST(Regex, WhatEcma262DoesNotKnow_IsRefused) {
  for (const char* pattern : {"(",        ")",       "[a",
                              "a**",      "*a",      "+",
                              "?",        "a{2}{3}", "{2}",
                              "a{3,2}",   "[b-a]",   "\\",
                              "\\Z",      "\\A",     "\\z",
                              "\\G",      "\\Qa\\E", "\\a",
                              "\\h",      "\\K",     "\\C",
                              "\\R",      "\\X",     "\\e",
                              "\\01",     "\\1",     "(a)\\2",
                              "\\k<a>",   "\\k",     "\\x1",
                              "\\u12",    "\\u{}",   "\\u{110000}",
                              "\\u{zz}",  "\\c1",    "\\p{Nonsense}",
                              "\\pL",     "\\p{",    "\\p{L&}",
                              "\\p{x=y}", "(?i)a",   "(?P<a>b)",
                              "(?#c)",    "(?>a)",   "(?|a)",
                              "(?R)",     "(?1)",    "(?C1)",
                              "(?<1>a)",  "(?<>a)",  "(?<a>b)(?<a>c)",
                              "(*VERB)",  "(?=a)*",  "(?<=a)+",
                              "a++",      "\xff",    "a{70000}",
                              "[\\1]",    "(?<=a*)b"}) {
    const auto regex = Regex::compile(pattern);
    EXPECT_FALSE(regex) << pattern;
    if (!regex) EXPECT_EQ(regex.error().code(), Errc::invalid_argument) << pattern;
  }
}

TEST(Regex, TextThatIsNotUtf8_NeverMatches) {
  EXPECT_EQ(search(".*", "\xff"), Regex::Outcome::no_match);
  EXPECT_EQ(search("a", "a\xed\xa0\x80"), Regex::Outcome::no_match);
}

TEST(Regex, DeepGroups_AreRefused) {
  const auto deep = [](int levels) {
    return std::string(static_cast<std::size_t>(levels), '(') + "a" +
           std::string(static_cast<std::size_t>(levels), ')');
  };
  EXPECT_TRUE(Regex::compile(deep(100)));
  EXPECT_FALSE(Regex::compile(deep(101)));
}

TEST(Regex, Search_TakesItsCostOffTheBudget) {
  const auto regex = Regex::compile("^(a|b)*$");
  ASSERT_TRUE(regex);
  RegexScratch scratch;
  std::uint64_t steps = 1'000;
  EXPECT_EQ(regex->search("abab", scratch, steps), Regex::Outcome::match);
  EXPECT_LT(steps, 1'000u);
  EXPECT_GT(steps, 900u);
  EXPECT_EQ(regex->search(std::string(5'000, 'a'), scratch, steps), Regex::Outcome::limit);
  EXPECT_EQ(steps, 0u);
  EXPECT_EQ(regex->search("", scratch, steps), Regex::Outcome::limit);
}

}  // namespace
}  // namespace patchbay
