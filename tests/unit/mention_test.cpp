// @server:uri in a text of a person, and /mcp__server__prompt with its words. Rows of docs/requirements.md: R1, R3.
// compat: B7.3
#include "catalog/mention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fails_with.h"

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::vector<std::string> servers{"docs", "docs:v2", "my server", "plugin:a:b", "Größe"};

std::vector<std::string> found(std::string_view text) {
  std::vector<std::string> out;
  for (const auto& one : mentions_in(text, servers)) {
    EXPECT_EQ(text[one.begin], '@') << text;
    EXPECT_LE(one.end, text.size()) << text;
    out.push_back(one.server + " " + one.uri);
  }
  return out;
}

TEST(Mentions, AreFoundInATextOfAPerson) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> rows{
      {"look at @docs:file:///a.md please", {"docs file:///a.md"}},
      {"@docs:file:///a.md", {"docs file:///a.md"}},
      {"(see @docs:file:///a.md).", {"docs file:///a.md"}},
      {"see @docs:file:///a_(1).md, then", {"docs file:///a_(1).md"}},
      {"@docs:note:x @docs:note:y", {"docs note:x", "docs note:y"}},
      {"is it @docs:issue://12?", {"docs issue://12"}},
      {"@docs:q://x?y=1&z=2!", {"docs q://x?y=1&z=2"}},
      {"**@docs:file:///a.md**", {"docs file:///a.md"}},
      {"the longest name: @docs:v2:file:///a", {"docs:v2 file:///a"}},
      {"@plugin:a:b:mem://x", {"plugin:a:b mem://x"}},
      {"@my_server:mem://x", {"my server mem://x"}},
      {"@\"my server:mem://a b\" there", {"my server mem://a b"}},
      {"@Größe:mem://x", {"Größe mem://x"}},
      {"line\n@docs:mem://x\nline", {"docs mem://x"}},
      // Not mentions.
      {"me@docs:mem://x", {}},
      {"\\@docs:mem://x", {}},
      {"@@docs:mem://x", {}},
      {"@nobody:mem://x", {}},
      {"@docs mem://x", {}},
      {"@docs:", {}},
      {"@docs:plain", {}},
      {"@docs::x", {}},
      {"@docs:1://x", {}},
      {"@docs:mem:", {}},
      {"@\"my server:mem://a b", {}},
      {"@\"my server:mem://a\nb\"", {}},
      {"", {}},
      {"@", {}},
  };
  for (const auto& [text, expected] : rows) EXPECT_EQ(found(text), expected) << text;
}

TEST(Mentions, SayWhereTheyAre) {
  const std::string text = "a @docs:mem://x, b @\"my server:mem://y z\" c";
  const auto all = mentions_in(text, servers);
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(text.substr(all[0].begin, all[0].end - all[0].begin), "@docs:mem://x");
  EXPECT_EQ(text.substr(all[1].begin, all[1].end - all[1].begin), "@\"my server:mem://y z\"");
}

TEST(Mentions, TwoServersThatAreSpelledAlikeAreMeantByTheirOwnNamesAlone) {
  const std::vector<std::string> alike{"a b", "a.b", "a_c", "a c"};
  EXPECT_THAT(mentions_in("@a_b:mem://x", alike), IsEmpty());
  EXPECT_EQ(mentions_in("@a.b:mem://x", alike).at(0).server, "a.b");
  EXPECT_EQ(mentions_in("@a_c:mem://x", alike).at(0).server, "a_c");
}

TEST(Mentions, AreBounded) {
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "@docs:mem://x ";
  EXPECT_THAT(mentions_in(many, servers), SizeIs(most_mentions));
  EXPECT_THAT(mentions_in("@docs:mem://" + std::string(longest_mention, 'x'), servers), IsEmpty());
}

TEST(Mentions, OneCanBeTheWholeText) {
  EXPECT_EQ(mention_of("@docs:file:///a b", servers), (Mention{"docs", "file:///a b", 0, 17}));
  EXPECT_EQ(mention_of("docs:file:///a", servers)->server, "docs");
  EXPECT_FALSE(mention_of("file:///a", servers));
  EXPECT_FALSE(mention_of("@nobody:file:///a", servers));
}

std::string shown(std::string_view text) {
  const auto line = parse_prompt_line(text);
  if (!line) return "error: " + std::string(line.error().message());
  std::string out = line->name;
  for (const auto& word : line->words) {
    out += "|" + word.text;
    if (word.equals) out += "@" + std::to_string(*word.equals);
  }
  return out;
}

TEST(PromptLine, IsCutIntoWords) {
  const std::vector<std::pair<std::string, std::string>> rows{
      {"/mcp__s__p", "mcp__s__p"},
      {"  mcp__s__p  ", "mcp__s__p"},
      {"/mcp__s__p a  b\tc\nd", "mcp__s__p|a|b|c|d"},
      {"/p \"a b\" 'c d'", "p|a b|c d"},
      {"/p \"a \\\"b\\\" \\\\ \\n\"", "p|a \"b\" \\ \\n"},
      {"/p 'a \\' b", "p|a \\|b"},
      {"/p a\"b c\"d", "p|ab cd"},
      {"/p \"\" ''", "p||"},
      {"/p key=value", "p|key=value@3"},
      {"/p key=\"a b\"", "p|key=a b@3"},
      {"/p \"key=value\"", "p|key=value"},
      {"/p =x", "p|=x"},
      {"/p a=b=c", "p|a=b=c@1"},
      {"/p grün=ß", "p|grün=ß@5"},
      {"/p \"a", "error: a quote (\") is opened and not closed"},
      {"/p it's", "error: a quote (') is opened and not closed"},
      {"", "error: there is no name of a prompt; it is written /mcp__server__prompt"},
      {"/ x", "error: there is no name of a prompt; it is written /mcp__server__prompt"},
  };
  for (const auto& [text, expected] : rows) EXPECT_EQ(shown(text), expected) << text;
  EXPECT_FALSE(parse_prompt_line(std::string(longest_prompt_line + 1, 'x')));
}

Prompt review() {
  Prompt prompt;
  prompt.name = "review";
  prompt.arguments.push_back({.name = "file", .required = true});
  prompt.arguments.push_back({.name = "style"});
  prompt.arguments.push_back({.name = "depth", .required = true});
  return prompt;
}

std::string filled(std::string_view text, const Prompt& prompt = review()) {
  const auto line = parse_prompt_line(text);
  const auto arguments = prompt_arguments("/mcp__code__review", prompt, line->words);
  if (!arguments) return std::string(arguments.error().message());
  std::string out;
  for (const auto& [name, value] : *arguments) out += name + "=" + value + ";";
  return out;
}

TEST(PromptArguments, GoToTheirPlaces) {
  EXPECT_EQ(filled("/p a b c"), "depth=c;file=a;style=b;");
  EXPECT_EQ(filled("/p style=b a c"), "depth=c;file=a;style=b;");
  EXPECT_EQ(filled("/p depth=c \"a b\""), "depth=c;file=a b;");
  EXPECT_EQ(filled("/p url=x=1 2 3"), "depth=3;file=url=x=1;style=2;") << "no argument is called url";
  EXPECT_EQ(filled("/p \"file=x\" 2 3"), "depth=3;file=file=x;style=2;");
  EXPECT_EQ(filled("/p", Prompt{.name = "plain"}), "");
}

TEST(PromptArguments, ErrorsNameWhatIsMissingOrTooMuch) {
  EXPECT_EQ(filled("/p"),
            "the prompt \"/mcp__code__review\" also needs file, depth; its arguments are file, style, depth");
  EXPECT_EQ(filled("/p a b"),
            "the prompt \"/mcp__code__review\" also needs depth; its arguments are file, style, depth");
  EXPECT_THAT(filled("/p a b c d"), HasSubstr("has no argument for \"d\"; its arguments are file, style, depth"));
  EXPECT_THAT(filled("/p a b c stile=x"), HasSubstr("did you mean \"style\"?"));
  EXPECT_THAT(filled("/p file=a file=b"), HasSubstr("is given \"file\" twice"));
  EXPECT_THAT(filled("/p a", Prompt{.name = "plain"}), HasSubstr("takes no arguments"));
}

}  // namespace
}  // namespace patchbay
