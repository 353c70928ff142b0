#include <gtest/gtest.h>

#include "base/crypto.h"
#include "base/exit_code.h"
#include "base/strings.h"

namespace patchbay {
namespace {

TEST(Strings, PositionCountsLinesAndCharactersNotBytes) {
  EXPECT_EQ(position_of("ab\nc\xC3\xA9"
                        "d",
                        0),
            (Position{1, 1}));
  EXPECT_EQ(position_of("ab\nc\xC3\xA9"
                        "d",
                        6),
            (Position{2, 3}));
  EXPECT_EQ(position_of("", 5), (Position{1, 1}));
}

TEST(Strings, CutNeverSplitsACharacter) {
  EXPECT_EQ(cut_utf8("a\xC3\xA9", 2), "a");
  EXPECT_EQ(cut_utf8("a\xC3\xA9", 3), "a\xC3\xA9");
}

TEST(Strings, ValidUtf8RejectsOverlongSurrogateAndTooHigh) {
  for (std::string_view good : {"", "a", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(valid_utf8(good)) << good;
  }
  for (std::string_view bad :
       {"\x80", "\xC0\xAF", "\xC3", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF"}) {
    EXPECT_FALSE(valid_utf8(bad));
  }
}

TEST(Strings, PercentEncodingKeepsLettersDigitsAndWhatItIsTold) {
  EXPECT_EQ(percent_encoded("azAZ09", ""), "azAZ09");
  EXPECT_EQ(percent_encoded("a/b c", "/"), "a/b%20c");
  EXPECT_EQ(percent_encoded("a/b%", ""), "a%2Fb%25");
  EXPECT_EQ(percent_encoded("@[`{\x1f\x7f", ""), "%40%5B%60%7B%1F%7F");
  EXPECT_EQ(percent_encoded("\xC3\xA9", "-"), "%C3%A9");
  EXPECT_EQ(percent_encoded(std::string_view("\0", 1), "-"), "%00");
}

TEST(Strings, NearestFindsTyposAndNothingElse) {
  std::vector<std::string> names{"filesystem", "github", "memory"};
  EXPECT_EQ(nearest("githbu", names), "github");
  EXPECT_EQ(nearest("filesytem", names), "filesystem");
  EXPECT_EQ(nearest("slack", names), "");
}

TEST(Strings, NearestIsFoundAsPeopleSlip) {
  struct Case {
    std::string_view word;
    std::vector<std::string> names;
    std::string_view meant;
  };
  const Case cases[] = {
      {"lti", {"lit"}, "lit"},
      {"rme", {"rem"}, "rem"},
      {"dosc", {"ok", "docs"}, "docs"},
      {"--chekc", {"--help", "--check"}, "--check"},
      {"--setings", {"--settings", "--strict"}, "--settings"},
      {"fil", {"files"}, "files"},
      {"enviro", {"env"}, "env"},
      {"mcp__dosc__read", {"mcp__docs__read", "mcp__docs__write"}, "mcp__docs__read"},
      {"docs/raed", {"docs/read", "docs/write"}, "docs/read"},
      // The nearer of two, and the first of equals.
      {"tolls", {"polls", "tools"}, "polls"},
      {"lint", {"list", "lint"}, "lint"},
      // Words that have little in common but their form.
      {"a", {"ba", "b"}, ""},
      {"mcp__zz__q", {"mcp__b", "mcp__docs"}, ""},
      {"mcp__zz", {"mcp__b"}, ""},
      {"--zz", {"--q", "--json"}, ""},
      {"fil", {"filesystem"}, ""},
      {"test", {"list", "tools"}, ""},
      {"", {"a", "abc"}, ""},
      {"abc", {}, ""},
  };
  for (const auto& one : cases) EXPECT_EQ(nearest(one.word, one.names), one.meant) << one.word;
}

// The names may be gone when the answer is used.
TEST(Strings, NearestIsATextOfItsOwn) {
  const auto meant =
      nearest("githbu", std::vector<std::string>{"a name too long to be stored inside a string", "github"});
  EXPECT_EQ(meant, "github");
}

TEST(Strings, EditDistanceCountsSwappedNeighboursAsOneSlip) {
  EXPECT_EQ(edit_distance("abcd", "abdc", 3), 1u);
  EXPECT_EQ(edit_distance("ab", "ba", 1), 1u);
  EXPECT_EQ(edit_distance("ca", "abc", 5), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting", 5), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting", 2), 3u);
  EXPECT_EQ(edit_distance("", "abc", 3), 3u);
  EXPECT_EQ(edit_distance("xabcdba", "xbadcab", 3), 3u);
}

TEST(Crypto, Sha256MatchesThePublishedVector) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Crypto, Base64RoundTripsAndRejectsGarbage) {
  for (std::string text : {"", "f", "fo", "foo", "foob", "\xFF\x10\x80"}) {
    EXPECT_EQ(base64_decode(base64_encode(text)).value(), text);
    EXPECT_EQ(base64url_decode(base64url_encode(text)).value(), text);
  }
  EXPECT_EQ(base64_encode("foob"), "Zm9vYg==");
  for (std::string_view bad : {"Zg", "Z===", "Zm9v!A==", "Zm 9v"}) EXPECT_FALSE(base64_decode(bad)) << bad;
}

TEST(Crypto, SealedStateOpensOnlyUnalteredAndInItsContext) {
  Sealer sealer(system_random());
  auto box = sealer.seal("answers so far", "tools/call:abc");
  EXPECT_EQ(sealer.open(box, "tools/call:abc").value(), "answers so far");
  EXPECT_FALSE(sealer.open(box, "tools/call:abd"));
  EXPECT_FALSE(Sealer(system_random()).open(box, "tools/call:abc"));
  for (std::size_t i = 0; i < box.size(); ++i) {
    auto altered = box;
    altered[i] = altered[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(sealer.open(altered, "tools/call:abc")) << i;
  }
}

TEST(ExitCode, SaysWhoseFaultItWas) {
  EXPECT_EQ(exit_code(Error(Errc::rpc, "")), 1);
  EXPECT_EQ(exit_code(Error(Errc::config, "")), 2);
  EXPECT_EQ(exit_code(Error(Errc::closed, "")), 3);
  EXPECT_EQ(exit_code(Error(Errc::internal, "")), 70);
  EXPECT_EQ(exit_code(Error(Errc::cancelled, "")), 130);
}

}  // namespace
}  // namespace patchbay
