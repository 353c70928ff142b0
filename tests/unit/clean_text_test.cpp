// What a server says, made fit to be shown.
#include "text/clean_text.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/strings.h"

namespace patchbay {
namespace {

std::string utf8(std::u32string_view points) {
  std::string out;
  for (char32_t c : points) {
    if (c < 0x80) {
      out += static_cast<char>(c);
    } else if (c < 0x800) {
      out += {static_cast<char>(0xC0 | (c >> 6)), static_cast<char>(0x80 | (c & 0x3F))};
    } else if (c < 0x10000) {
      out += {static_cast<char>(0xE0 | (c >> 12)), static_cast<char>(0x80 | ((c >> 6) & 0x3F)),
              static_cast<char>(0x80 | (c & 0x3F))};
    } else {
      out += {static_cast<char>(0xF0 | (c >> 18)), static_cast<char>(0x80 | ((c >> 12) & 0x3F)),
              static_cast<char>(0x80 | ((c >> 6) & 0x3F)), static_cast<char>(0x80 | (c & 0x3F))};
    }
  }
  return out;
}

struct Case {
  std::string name;
  std::string in;
  std::string out;
};

void expect_clean(const std::vector<Case>& cases) {
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    const std::string out = clean_for_display(each.in);
    EXPECT_EQ(out, each.out);
    EXPECT_EQ(clean_for_display(out), out) << "cleaning twice";
  }
}

// W7
TEST(CleanText, OrdinaryText_IsUntouched) {
  for (const std::string& text :
       {std::string(), std::string("plain\ttext\nwith lines"), std::string("Grüße, 世界, Ελλάδα, עברית, العربية"),
        std::string("→ ✓ € \u00A0 e\u0301 한국어 ไทย"), std::string("\uFFFC\uFFFD")}) {
    EXPECT_EQ(clean_for_display(text), text);
  }
}

// W7
TEST(CleanText, Controls_AreRemoved) {
  using namespace std::string_literals;
  expect_clean({
      {"NUL, BEL, BS, VT, FF, DEL",
       "a\0b\a\bc\v\f\x7F"
       "d"s,
       "abcd"},
      {"C1 as UTF-8", utf8(U"a\u0080\u0085\u0099b"), "ab"},
      {"CRLF", "a\r\nb", "a\nb"},
      {"lone CR", "a\rb\r", "a\nb\n"},
      {"CR CR LF", "a\r\r\nb", "a\n\nb"},
      {"line and paragraph separators", utf8(U"a\u2028b\u2029c"), "a\nb\nc"},
  });
}

// W7
TEST(CleanText, EscapeSequences_GoWhole) {
  using namespace std::string_literals;
  expect_clean({
      {"colour", "\x1b[1;31mred\x1b[0m", "red"},
      {"private and intermediate bytes", "\x1b[?25lx\x1b[0 qy", "xy"},
      {"eight-bit CSI", utf8(U"\u009B31mred"), "red"},
      {"title by BEL", "\x1b]0;owned\aafter", "after"},
      {"title by ST", "\x1b]2;owned\x1b\\after", "after"},
      {"eight-bit OSC and ST", utf8(U"\u009D0;owned\u009Cafter"), "after"},
      {"hyperlink", "\x1b]8;;http://evil\x1b\\text\x1b]8;;\x1b\\", "text"},
      {"clipboard", "a\x1b]52;c;cm0gLXJm\ab", "ab"},
      {"DCS, APC, PM, SOS", "1\x1bPq#0\x1b\\2\x1b_x\x1b\\3\x1b^y\x1b\\4\x1bXz\x1b\\5", "12345"},
      {"eight-bit strings", utf8(U"1\u0090q\u009C2\u009Fx\u009C3\u009Ey\u009C4\u0098z\u009C5"), "12345"},
      {"string given up by CAN",
       "a\x1b]0;x\x18"
       "b",
       "ab"},
      {"string broken by another sequence", "a\x1b]0;x\x1b[31mb", "ab"},
      {"two bytes",
       "\x1b"
       "7a\x1b"
       "8\x1b=b\x1b"
       "c",
       "ab"},
      {"character set", "\x1b(0lqk\x1b(B", "lqk"},
      {"bare ESC at the end", "a\x1b", "a"},
      {"bare CSI at the end", "a\x1b[", "a"},
      {"cut CSI keeps the newline", "a\x1b[31\nb", "a\nb"},
      {"ESC before a letter of another alphabet", "a\x1bé", "aé"},
      {"unterminated string keeps the words", "a\x1b]0;all there is", "a0;all there is"},
      {"sequence split by an invisible", "a\x1b" + utf8(U"\u200B") + "[31mb", "a[31mb"},
      {"ESC ESC", "a\x1b\x1b[31mb", "ab"},
  });
}

// W7
TEST(CleanText, InvisibleCharacters_AreRemoved) {
  expect_clean({
      {"bidi embeddings", utf8(U"a\u202A\u202B\u202C\u202D\u202Eb"), "ab"},
      {"bidi isolates", utf8(U"a\u2066\u2067\u2068\u2069b"), "ab"},
      {"bidi marks", utf8(U"a\u200E\u200F\u061Cb"), "ab"},
      {"zero width", utf8(U"a\u200B\uFEFF\u2060\u2061\u2062\u2063\u2064b"), "ab"},
      {"soft hyphen", utf8(U"co\u00ADop"), "coop"},
      {"byte order mark in front", utf8(U"\uFEFFtext"), "text"},
      {"interlinear annotation", utf8(U"a\uFFF9b\uFFFAc\uFFFBd"), "abcd"},
      {"noncharacters", utf8(U"a\uFDD0\uFDEF\uFFFE\uFFFF\U0001FFFE\U0010FFFFb"), "ab"},
      {"variation selectors supplement", utf8(U"a\U000E0100\U000E01EFb"), "ab"},
      {"deprecated and musical format controls", utf8(U"a\u206A\u206F\U0001D173\U0001D17Ab"), "ab"},
  });
}

// W7
TEST(CleanText, Joiners_StayWhereSpellingNeedsThem) {
  const std::string persian = utf8(U"\u0645\u06CC\u200C\u062E\u0648\u0627\u0647\u0645");
  const std::string sinhala = utf8(U"\u0DC1\u0DCA\u200D\u0DBB\u0DD3");
  const std::string hindi = utf8(U"\u0915\u094D\u200D\u0937");
  const std::string family = utf8(U"\U0001F468\u200D\U0001F469\u200D\U0001F467");
  const std::string rainbow = utf8(U"\U0001F3F3\uFE0F\u200D\U0001F308");
  const std::string health = utf8(U"\U0001F469\U0001F3FD\u200D\u2695\uFE0F");
  expect_clean({
      {"Persian", persian, persian},
      {"Sinhala", sinhala, sinhala},
      {"Hindi", hindi, hindi},
      {"family", family, family},
      {"rainbow flag", rainbow, rainbow},
      {"skin tone", health, health},
      {"Latin", utf8(U"pass\u200Dword\u200C!"), "password!"},
      {"between Latin and Arabic", utf8(U"a\u200C\u0645"), utf8(U"a\u0645")},
      {"non-joiner between emoji", utf8(U"\U0001F468\u200C\U0001F469"), utf8(U"\U0001F468\U0001F469")},
      {"at the ends", utf8(U"\u200D\u0645\u200C"), utf8(U"\u0645")},
      {"many in a row leave one", utf8(U"\u0645\u200C\u200C\u200D\u200C\u062E"), utf8(U"\u0645\u200C\u062E")},
      {"across something removed", utf8(U"\u0645\u200C\u200B\u062E"), utf8(U"\u0645\u200C\u062E")},
      {"before a blank", utf8(U"\u0645\u200C \u062E"), utf8(U"\u0645 \u062E")},
  });
}

// W7
TEST(CleanText, TagCharacters_StayOnlyInFlags) {
  const std::string scotland = utf8(U"\U0001F3F4\U000E0067\U000E0062\U000E0073\U000E0063\U000E0074\U000E007F");
  const std::string flag = utf8(U"\U0001F3F4");
  expect_clean({
      {"Scotland", scotland + "!", scotland + "!"},
      {"hidden words", utf8(U"hi\U000E0001\U000E0069\U000E0067\U000E006E\U000E006F\U000E0072\U000E0065"), "hi"},
      {"flag without an end", utf8(U"\U0001F3F4\U000E0067\U000E0062\U000E0073"), flag},
      {"flag with an end too late",
       utf8(U"\U0001F3F4\U000E0067\U000E0062\U000E0073\U000E0063\U000E0074\U000E0061\U000E0061\U000E0061\U000E007F"),
       flag},
      {"flag of nothing", utf8(U"\U0001F3F4\U000E007F"), flag},
      {"flag of a region alone", utf8(U"\U0001F3F4\U000E0067\U000E0062\U000E007F"), flag},
      {"flag with a capital", utf8(U"\U0001F3F4\U000E0047\U000E0062\U000E0073\U000E007F"), flag},
      {"tags before the flag", utf8(U"\U000E0067\U0001F3F4"), flag},
      {"tags behind the end", scotland + utf8(U"\U000E0061"), scotland},
  });
}

// W7
TEST(CleanText, VariationSelectors_StayOncePerCharacter) {
  expect_clean({
      {"keycap", utf8(U"1\uFE0F\u20E3"), utf8(U"1\uFE0F\u20E3")},
      {"heart", utf8(U"\u2764\uFE0F"), utf8(U"\u2764\uFE0F")},
      {"a message in selectors", utf8(U"a\uFE00\uFE05\uFE0A\uFE0F"), utf8(U"a\uFE00")},
      {"at the start and behind blanks", utf8(U"\uFE0Fa \uFE0Fb\n\uFE0Fc"), "a b\nc"},
  });
}

// W7
TEST(CleanText, InvalidUtf8_BecomesTheReplacementCharacter) {
  const std::string r = utf8(U"\uFFFD");
  expect_clean({
      {"stray continuation",
       "a\x80"
       "b",
       "a" + r + "b"},
      {"raw C1 bytes are no introducers",
       "a\x9B"
       "31m",
       "a" + r + "31m"},
      {"cut sequence", "a\xE2\x82", "a" + r},
      {"cut sequence before a letter", "\xF0\x9F\x98z", r + "z"},
      {"overlong", "\xC0\xAF\xE0\x80\xAF", r + r + r + r + r},
      {"surrogate", "\xED\xA0\x80", r + r + r},
      {"past the end", "\xF4\x90\x80\x80", r + r + r + r},
      {"bytes that never occur", "\xFE\xFF", r + r},
  });
}

// W7
TEST(CleanText, Lines_BecomeOne) {
  const std::vector<Case> cases{
      {"newlines and tabs", "a\nb\t\tc\r\nd", "a b c d"},
      {"blanks around them", "a  \n  b", "a b"},
      {"blanks alone stay", "a  b", "a  b"},
      {"ends are trimmed", " \n a b\n\n", "a b"},
      {"nothing but white space", " \n\t", ""},
      {"escape sequences go as well", "\x1b[31ma\x1b[0m\nb", "a b"},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    EXPECT_EQ(clean_line(each.in), each.out);
    EXPECT_EQ(clean_line(clean_line(each.in)), each.out);
  }
}

// Pieces that interact, in random order.
std::string random_text(std::mt19937& random) {
  static const std::vector<std::string> pieces{"a",
                                               " ",
                                               "\n",
                                               "\r",
                                               "\t",
                                               "[",
                                               "]",
                                               "\\",
                                               "0;m",
                                               "\x1b",
                                               "\x07",
                                               "\x18",
                                               "\x80",
                                               "\xE2",
                                               "\xF0\x9F",
                                               "\xC2",
                                               utf8(U"\u009B"),
                                               utf8(U"\u009D"),
                                               utf8(U"\u009C"),
                                               utf8(U"\u0090"),
                                               utf8(U"\u200D"),
                                               utf8(U"\u200C"),
                                               utf8(U"\u200B"),
                                               utf8(U"\uFE0F"),
                                               utf8(U"\uFE01"),
                                               utf8(U"\u0645"),
                                               utf8(U"\u0915"),
                                               utf8(U"\u180E"),
                                               utf8(U"\u1820"),
                                               utf8(U"\U0001F468"),
                                               utf8(U"\U0001F3F4"),
                                               utf8(U"\U000E0067"),
                                               utf8(U"\U000E0062"),
                                               utf8(U"\U000E0073"),
                                               utf8(U"\U000E0030"),
                                               utf8(U"\U000E007F"),
                                               utf8(U"\U000E0001"),
                                               utf8(U"\U000E0100"),
                                               utf8(U"\u202E"),
                                               utf8(U"\u2028"),
                                               utf8(U"\uFFFE")};
  std::uniform_int_distribution<std::size_t> length(0, 40);
  std::uniform_int_distribution<std::size_t> piece(0, pieces.size() - 1);
  std::string out;
  for (std::size_t left = length(random); left > 0; --left) out += pieces[piece(random)];
  return out;
}

std::string random_bytes(std::mt19937& random) {
  std::uniform_int_distribution<std::size_t> length(0, 60);
  std::uniform_int_distribution<int> byte(0, 255);
  std::string out(length(random), '\0');
  for (char& c : out) c = static_cast<char>(byte(random));
  return out;
}

// W7
TEST(CleanText, CleaningTwice_ChangesNothingMore) {
  std::mt19937 random(20250618);
  for (int round = 0; round < 20'000; ++round) {
    const std::string text = round % 2 == 0 ? random_text(random) : random_bytes(random);
    const std::string once = clean_for_display(text);
    ASSERT_EQ(clean_for_display(once), once) << testing::PrintToString(text);
    ASSERT_TRUE(valid_utf8(once)) << testing::PrintToString(text);
    ASSERT_EQ(once.find_first_of("\x1b\x07\r\x7F"), std::string::npos) << testing::PrintToString(text);
    const std::string line = clean_line(text);
    ASSERT_EQ(clean_line(line), line) << testing::PrintToString(text);
    ASSERT_EQ(line.find_first_of("\n\t"), std::string::npos) << testing::PrintToString(text);
  }
}

TEST(CleanText, ManyUnterminatedStrings_AreScannedOnce) {
  std::string text;
  for (int i = 0; i < 400'000; ++i) text += "\x1b]";
  EXPECT_EQ(clean_for_display(text), "");
  text.clear();
  for (int i = 0; i < 200'000; ++i) text += utf8(U"\U0001F3F4\U000E0067");
  EXPECT_EQ(clean_for_display(text).size(), 800'000u);
}

}  // namespace
}  // namespace patchbay
