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
