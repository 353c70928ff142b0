// Rows of docs/requirements.md: C2, C5.
#include "text/jsonc.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

TEST(Jsonc, BlanksWhatIsNotJsonAndMovesNothing) {
  struct Case {
    std::string_view text, plain;
  };
  for (auto [text, plain] : std::initializer_list<Case>{
           {"", ""},
           {"{}", "{}"},
           {"// x\n{}", "    \n{}"},
           {"{}//", "{}  "},
           {"{/**/}", "{    }"},
           {"/*\r\n*/1", "  \r\n  1"},
           {"/*/*/1", "     1"},
           {"/***/1", "     1"},
           {"// a /* b\r1", "         \r1"},
           {"// caf\xC3\xA9\n1", "        \n1"},
           {"[1,]", "[1 ]"},
           {"[1 , \n]", "[1   \n]"},
           {"[1,/* , */]", "[1        ]"},
           {"[1,// ,\n]", "[1     \n]"},
           {"{\"a\":1,}", "{\"a\":1 }"},
           {"{\"a\":[1,],}", "{\"a\":[1 ] }"},
           {"[\"x\",]", "[\"x\" ]"},
           {"[[],]", "[[] ]"},
           // Commas that separate nothing stay, for the parser to refuse.
           {"[,]", "[,]"},
           {"{,}", "{,}"},
           {"[1,,]", "[1,,]"},
           {"{\"a\":,}", "{\"a\":,}"},
           {",]", ",]"},
           // Inside strings nothing is special.
           {R"(["//", "/*", ",]", "\"//", "\\"])", R"(["//", "/*", ",]", "\"//", "\\"])"},
           {R"(["\\"//)", R"(["\\"  )"},
           {R"("never ends // )", R"("never ends // )"},
           {R"("ends in \)", R"("ends in \)"},
           {"\xEF\xBB\xBF{}", "   {}"},
           {" \xEF\xBB\xBF{}", " \xEF\xBB\xBF{}"},
           {"/ /", "/ /"},
           {"/", "/"},
       }) {
    auto result = without_comments(text);
    ASSERT_TRUE(result) << text;
    EXPECT_EQ(*result, plain) << text;
  }
}

TEST(Jsonc, ACommentThatNeverEndsIsAFaultWhereItBegins) {
  for (auto [text, offset] : std::initializer_list<std::pair<std::string_view, std::size_t>>{
           {"/*", 0}, {"{} /* x", 3}, {"/*/", 0}, {"[1, /* *", 4}, {"/**/ /*", 5}}) {
    auto result = without_comments(text);
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().offset, offset) << text;
    EXPECT_EQ(result.error().reason, "the comment that begins here is not closed");
  }
}

}  // namespace
}  // namespace patchbay
