// What would help, as a command line says it.
#include "cli/texts/remedy_words.h"

#include <gtest/gtest.h>

namespace patchbay::cli {
namespace {

TEST(RemedyWordsTest, EachKindSaysWhatToType) {
  struct Case {
    Remedy remedy;
    std::string words;
  };
  for (const auto& c : std::initializer_list<Case>{
           {{Remedy::Kind::approve_server, "docs"},
            "if you trust it: patchbay approve docs (in a script: --trust-project)"},
           {{Remedy::Kind::approve_server, "my server"},
            "if you trust it: patchbay approve 'my server' (in a script: --trust-project)"},
           {{Remedy::Kind::give_more_time, "docs"},
            "give it more time with --timeout, \"timeout\" of its entry or MCP_TOOL_TIMEOUT"},
           {{Remedy::Kind::list_tools}, "`patchbay tools` lists all tools"},
           {{Remedy::Kind::choose_permission_mode}, "use another --permission-mode"},
       }) {
    EXPECT_EQ(remedy_words(c.remedy), c.words);
  }
}

TEST(RemedyWordsTest, TheMessageEndsInItOnce) {
  const auto error = Error(Errc::invalid_argument, "there is no tool called \"x\"")
                         .with_detail("more")
                         .with_remedy({Remedy::Kind::list_tools})
                         .marked();
  const auto shown = with_remedy_in_words(with_remedy_in_words(error));
  EXPECT_EQ(shown.message(), "there is no tool called \"x\"; `patchbay tools` lists all tools");
  EXPECT_EQ(shown.detail(), "more");
  EXPECT_TRUE(shown.is_same_failure(error));
  EXPECT_EQ(with_remedy_in_words(Error(Errc::closed, "gone")), Error(Errc::closed, "gone"));
}

}  // namespace
}  // namespace patchbay::cli
