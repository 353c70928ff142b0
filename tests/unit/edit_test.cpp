// Edits of configuration texts: what is asked for changes, and not one byte more.
// compat: C5.c
#include "store/edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using testing::HasSubstr;

const Json tool{{"command", "npx"}, {"args", Json::array({"-y", "pkg"})}};

struct Case {
  const char* name;
  std::string text;
  ConfigEdit edit;
  std::string expected;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

class EditText : public testing::TestWithParam<Case> {};

TEST_P(EditText, ChangesOnlyWhatIsMeant) {
  const auto& one = GetParam();
  auto out = edit_text(one.text, one.edit);
  ASSERT_TRUE(out) << out.error().reason;
  EXPECT_EQ(*out, one.expected);
}

ConfigEdit add(const char* name) { return set_member({"mcpServers", name}, tool); }
ConfigEdit drop(const char* name) { return remove_member({"mcpServers", name}); }

const Case sets[] = {
    {"EmptyFile", "", add("a"),
     "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"npx\",\n      \"args\": [\"-y\", \"pkg\"]\n    }\n  "
     "}\n}\n"},
    {"BlanksOnly", " \n\n", set_member({"a"}, 1), "{\n  \"a\": 1\n}\n"},
    {"EmptyObject", "{}", set_member({"a"}, 1), "{\n  \"a\": 1\n}"},
    {"EmptyObjectKeepsFinalNewline", "{ }\n", set_member({"a"}, 1), "{\n  \"a\": 1\n}\n"},
    {"EmptyObjectOnLines", "{\n}\n", set_member({"a"}, 1), "{\n  \"a\": 1\n}\n"},
    {"CommentsOnly", "// mine\n", set_member({"a"}, 1), "// mine\n{\n  \"a\": 1\n}\n"},
    {"CommentsOnlyWithoutNewline", "/* mine */", set_member({"a"}, 1), "/* mine */\n{\n  \"a\": 1\n}\n"},
    {"ByteOrderMarkAlone", "\xEF\xBB\xBF", set_member({"a"}, 1), "\xEF\xBB\xBF{\n  \"a\": 1\n}\n"},
    {"ByteOrderMarkStays", "\xEF\xBB\xBF{\n  \"a\": 1\n}\n", set_member({"b"}, 2),
     "\xEF\xBB\xBF{\n  \"a\": 1,\n  \"b\": 2\n}\n"},
    {"CarriageReturns", "{\r\n  \"a\": 1\r\n}\r\n", set_member({"b", "c"}, 2),
     "{\r\n  \"a\": 1,\r\n  \"b\": {\r\n    \"c\": 2\r\n  }\r\n}\r\n"},
    {"NoFinalNewline", "{\n  \"a\": 1\n}", set_member({"b"}, 2), "{\n  \"a\": 1,\n  \"b\": 2\n}"},
    {"Tabs", "{\n\t\"mcpServers\": {\n\t\t\"z\": {}\n\t}\n}\n", add("a"),
     "{\n\t\"mcpServers\": {\n\t\t\"z\": {},\n\t\t\"a\": {\n\t\t\t\"command\": \"npx\",\n\t\t\t\"args\": [\"-y\", "
     "\"pkg\"]\n\t\t}\n\t}\n}\n"},
    {"FourBlanks", "{\n    \"a\": {}\n}\n", set_member({"a", "b", "c"}, 1),
     "{\n    \"a\": {\n        \"b\": {\n            \"c\": 1\n        }\n    }\n}\n"},
    {"OneLineFileStaysOneLine", "{\"mcpServers\":{}}", add("a"),
     "{\"mcpServers\":{\"a\":{\"command\":\"npx\",\"args\":[\"-y\",\"pkg\"]}}}"},
    {"OneLineWithMember", "{\"a\":1}\n", set_member({"b"}, 2), "{\"a\":1,\"b\":2}\n"},
    {"OneLineSpaced", "{ \"a\": 1 }", set_member({"b"}, Json{{"c", 2}}), "{ \"a\": 1, \"b\": { \"c\": 2 } }"},
    {"SiblingsOnOneLineEach", "{\n  \"mcpServers\": {\n    \"z\": { \"command\": \"x\" }\n  }\n}\n", add("a"),
     "{\n  \"mcpServers\": {\n    \"z\": { \"command\": \"x\" },\n    \"a\": { \"command\": \"npx\", \"args\": "
     "[\"-y\", "
     "\"pkg\"] }\n  }\n}\n"},
    {"TrailingCommaIsFollowed", "{\n  \"a\": 1,\n}\n", set_member({"b"}, 2), "{\n  \"a\": 1,\n  \"b\": 2,\n}\n"},
    {"TrailingCommaOnOneLine", "{\"a\": 1,}", set_member({"b"}, 2), "{\"a\": 1, \"b\": 2,}"},
    {"CommentBehindTheLast", "{\n  \"a\": 1 // one\n}\n", set_member({"b"}, 2),
     "{\n  \"a\": 1, // one\n  \"b\": 2\n}\n"},
    {"CommentThatLooksClosed", "{\"a\": 1 // one */\n}\n", set_member({"b"}, 2),
     "{\"a\": 1, // one */\n  \"b\": 2\n}\n"},
    {"CommentedOutEntriesStayBefore", "{\n  \"a\": 1\n  // \"x\": 2,\n}\n", set_member({"b"}, 2),
     "{\n  \"a\": 1,\n  // \"x\": 2,\n  \"b\": 2\n}\n"},
    {"CommentBehindTrailingComma", "{\n  \"a\": 1, /* one */\n}\n", set_member({"b"}, 2),
     "{\n  \"a\": 1, /* one */\n  \"b\": 2,\n}\n"},
    {"CommentInEmptyObject", "{\n    // servers\n}\n", set_member({"a"}, 1), "{\n    // servers\n    \"a\": 1\n}\n"},
    {"CommentBesideOpenBrace", "{ // servers\n}\n", set_member({"a"}, 1), "{ // servers\n  \"a\": 1\n}\n"},
    {"BlockCommentInOneLineObject", "{ /* none */ }\n", set_member({"a"}, 1), "{ /* none */\n  \"a\": 1\n}\n"},
    {"ReplaceScalar", "{\n  \"a\" : 1 , // one\n  \"b\": 2\n}", set_member({"a"}, "x"),
     "{\n  \"a\" : \"x\" , // one\n  \"b\": 2\n}"},
    {"ReplaceObject", "{\n  \"a\": {\n    \"b\": 1 // gone\n  }\n}\n", set_member({"a"}, Json{{"c", 2}}),
     "{\n  \"a\": {\n    \"c\": 2\n  }\n}\n"},
    {"ReplaceOneLineObject", "{\n  \"a\": { \"b\": 1 }\n}\n", set_member({"a"}, Json{{"c", 2}}),
     "{\n  \"a\": { \"c\": 2 }\n}\n"},
    {"ReplaceInOneLineFile", "{\"a\":{\"b\":1},\"c\":2}", set_member({"a"}, Json{{"b", 1}, {"d", true}}),
     "{\"a\":{\"b\":1,\"d\":true},\"c\":2}"},
    {"EscapedKeyIsTheSameKey", "{\"\\u0061\": 1}", set_member({"a"}, 2), "{\"\\u0061\": 2}"},
    {"KeysAreEscaped", "{\"a\": 1}", set_member({"b\"\n"}, 2), "{\"a\": 1, \"b\\\"\\n\": 2}"},
    {"BracketsInStrings", "{\n  \"a\": \"}],{[ // /*\"\n}\n", set_member({"b"}, 2),
     "{\n  \"a\": \"}],{[ // /*\",\n  \"b\": 2\n}\n"},
    {"LongListsOnLines", "{}", set_member({"a"}, Json::array({std::string(60, 'x'), std::string(60, 'y')})),
     "{\n  \"a\": [\n    \"" + std::string(60, 'x') + "\",\n    \"" + std::string(60, 'y') + "\"\n  ]\n}"},
    {"CommaFirst", "{ \"a\": 1\n, \"b\": 2\n}\n", set_member({"c"}, 3), "{ \"a\": 1\n, \"b\": 2, \"c\": 3\n}\n"},
    {"CloseBraceBesideTheLast", "{\n  \"a\": 1}\n", set_member({"b"}, 2), "{\n  \"a\": 1,\n  \"b\": 2\n}\n"},
    {"NumbersKeepTheirSpelling", "{\n  \"a\": 1.50e2,\n  \"n\": 123456789012345678901234567890\n}\n",
     set_member({"b"}, 2), "{\n  \"a\": 1.50e2,\n  \"n\": 123456789012345678901234567890,\n  \"b\": 2\n}\n"},
};
INSTANTIATE_TEST_SUITE_P(Set, EditText, testing::ValuesIn(sets), [](const auto& info) { return info.param.name; });

const Case removals[] = {
    {"Only", "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}\n  }\n}\n", drop("a"),
     "{\n  \"mcpServers\": {}\n}\n"},
    {"First", "{\n  \"a\": 1,\n  \"b\": 2\n}\n", remove_member({"a"}), "{\n  \"b\": 2\n}\n"},
    {"Last", "{\n  \"a\": 1,\n  \"b\": 2\n}\n", remove_member({"b"}), "{\n  \"a\": 1\n}\n"},
    {"Middle", "{\n  \"a\": 1,\n\n  \"b\": {\n    \"x\": []\n  },\n  \"c\": 3\n}\n", remove_member({"b"}),
     "{\n  \"a\": 1,\n\n  \"c\": 3\n}\n"},
    {"FirstOnOneLine", "{\"a\":1, \"b\":2}", remove_member({"a"}), "{\"b\":2}"},
    {"LastOnOneLine", "{ \"a\": 1, \"b\": 2 }", remove_member({"b"}), "{ \"a\": 1 }"},
    {"LastWithTrailingComma", "{\n  \"a\": 1,\n  \"b\": 2,\n}\n", remove_member({"b"}), "{\n  \"a\": 1,\n}\n"},
    {"OnlyWithTrailingComma", "{\n  \"a\": 1,\n}\n", remove_member({"a"}), "{}\n"},
    {"CommentsAboveStay", "{\n  // about a\n  \"a\": 1,\n  // about b\n  \"b\": 2\n}\n", remove_member({"a"}),
     "{\n  // about a\n  // about b\n  \"b\": 2\n}\n"},
    {"CommentsBesideStay", "{\n  \"a\": 1, // one\n  \"b\": 2 // two\n}\n", remove_member({"a"}),
     "{\n  // one\n  \"b\": 2 // two\n}\n"},
    {"CommentsBesideTheLastStay", "{\n  \"a\": 1, // one\n  \"b\": 2 // two\n}\n", remove_member({"b"}),
     "{\n  \"a\": 1 // one\n  // two\n}\n"},
    {"CommentAboveTheLastStays", "{\n  \"a\": 1,\n  // about b\n  \"b\": 2\n}\n", remove_member({"b"}),
     "{\n  \"a\": 1\n  // about b\n}\n"},
    {"CommentsInsideGo", "{\n  \"a\": { /* inside */ },\n  \"b\": 2\n}\n", remove_member({"a"}), "{\n  \"b\": 2\n}\n"},
    {"CommentBeforeComma", "{\"a\": 1 /* one */, \"b\": 2}", remove_member({"a"}), "{/* one */ \"b\": 2}"},
    {"CommentBeforeTrailingComma", "{\"a\": 1, \"b\": 2 /* two */,}", remove_member({"b"}), "{\"a\": 1, /* two */}"},
    {"OnlyAmongComments", "{\n  // top\n  \"a\": 1\n  // end\n}\n", remove_member({"a"}), "{\n  // top\n  // end\n}\n"},
    {"LastBehindBlockComment", "{\n  \"a\": 1, /* c */ \"b\": 2\n}\n", remove_member({"b"}),
     "{\n  \"a\": 1 /* c */\n}\n"},
    {"CarriageReturns", "{\r\n  // top\r\n  \"a\": 1,\r\n  // mid\r\n  \"b\": 2\r\n}\r\n", remove_member({"a"}),
     "{\r\n  // top\r\n  // mid\r\n  \"b\": 2\r\n}\r\n"},
    {"CommaFirst", "{ \"a\": 1\n, \"b\": 2\n, \"c\": 3\n}\n", remove_member({"b"}), "{ \"a\": 1\n, \"c\": 3\n}\n"},
    {"WithByteOrderMark", "\xEF\xBB\xBF{\"a\":1}", remove_member({"a"}), "\xEF\xBB\xBF{}"},
};
INSTANTIATE_TEST_SUITE_P(Remove, EditText, testing::ValuesIn(removals),
                         [](const auto& info) { return info.param.name; });

const Case renames[] = {
    {"KeepsItsPlace", "{\n  \"a\" : 1, // one\n  \"b\": 2\n}\n", rename_member({"a"}, "c"),
     "{\n  \"c\" : 1, // one\n  \"b\": 2\n}\n"},
    {"Nested", "{\"s\":{\"a\":{}}}", rename_member({"s", "a"}, "b"), "{\"s\":{\"b\":{}}}"},
    {"ToItself", "{\"a\": 1}", rename_member({"a"}, "a"), "{\"a\": 1}"},
};
INSTANTIATE_TEST_SUITE_P(Rename, EditText, testing::ValuesIn(renames),
                         [](const auto& info) { return info.param.name; });

const Case items[] = {
    {"NoArrayYet", "{\n  \"a\": 1\n}\n", add_item({"l"}, "x"), "{\n  \"a\": 1,\n  \"l\": [\"x\"]\n}\n"},
    {"NoArrayBelow", "{}", add_item({"p", "l"}, "x"), "{\n  \"p\": {\n    \"l\": [\"x\"]\n  }\n}"},
    {"EmptyArray", "{\n  \"l\": []\n}\n", add_item({"l"}, "x"), "{\n  \"l\": [\"x\"]\n}\n"},
    {"BehindOthers", "{\n  \"l\": [\"w\"]\n}\n", add_item({"l"}, "x"), "{\n  \"l\": [\"w\", \"x\"]\n}\n"},
    {"OnLines", "{\n  \"l\": [\n    \"w\" // first\n  ]\n}\n", add_item({"l"}, "x"),
     "{\n  \"l\": [\n    \"w\", // first\n    \"x\"\n  ]\n}\n"},
    {"Compact", "{\"l\":[1,2]}", add_item({"l"}, 3), "{\"l\":[1,2,3]}"},
    {"ThereAlready", "{\"l\" : [ \"x\" ]}", add_item({"l"}, "x"), "{\"l\" : [ \"x\" ]}"},
    {"TakenOut", "{\"l\": [\"w\", \"x\", \"y\"]}", remove_item({"l"}, "x"), "{\"l\": [\"w\", \"y\"]}"},
    {"TakenOutEverywhere", "{\"l\": [\"x\", /* c */ \"y\", \"x\"]}", remove_item({"l"}, "x"),
     "{\"l\": [/* c */ \"y\"]}"},
    {"TakenOutAlone", "{\n  \"l\": [\n    \"x\"\n  ]\n}\n", remove_item({"l"}, "x"), "{\n  \"l\": []\n}\n"},
    {"NothingToTakeOut", "{\"p\": {}}", remove_item({"p", "l"}, "x"), "{\"p\": {}}"},
    {"NoParentToTakeFrom", "{}", remove_item({"p", "l"}, "x"), "{}"},
};
INSTANTIATE_TEST_SUITE_P(Items, EditText, testing::ValuesIn(items), [](const auto& info) { return info.param.name; });

struct Fault {
  const char* name;
  std::string text;
  ConfigEdit edit;
  std::size_t offset;
  std::string reason;
};

void PrintTo(const Fault& one, std::ostream* out) { *out << one.name; }

class EditFault : public testing::TestWithParam<Fault> {};

TEST_P(EditFault, IsReportedWithItsPlace) {
  const auto& one = GetParam();
  auto out = edit_text(one.text, one.edit);
  ASSERT_FALSE(out) << *out;
  EXPECT_THAT(out.error().reason, HasSubstr(one.reason));
  EXPECT_EQ(out.error().offset, one.offset);
}

const Fault faults[] = {
    {"KeyTwice", "{\"a\": 1, \"a\": 2}", set_member({"b"}, 1), 9, "duplicate"},
    {"KeyTwiceFarFromTheEdit", "{\"x\": {\"a\": 1, \"a\": 2}}", set_member({"b"}, 1), 15, "duplicate"},
    {"NotJson", "{\"a\": }", set_member({"b"}, 1), 6, "expected"},
    {"CommentWithoutEnd", "{ /* ", set_member({"b"}, 1), 2, "is not closed"},
    {"ArrayAtTheTop", "// c\n[1]", set_member({"b"}, 1), 5, "the top of the file must be an object, found an array"},
    {"ParentIsNoObject", "{\"p\": [1]}", set_member({"p", "b"}, 1), 6, "\"p\" must be an object, found an array"},
    {"ParentIsNull", "{\"p\": {\"q\": null}}", set_member({"p", "q", "b"}, 1), 12,
     "\"q\" must be an object, found null"},
    {"NothingToRemove", "{\"p\": {}}", remove_member({"p", "b"}), 0, "there is no \"b\""},
    {"NoParentToRemoveFrom", "{}", remove_member({"p", "b"}), 0, "there is no \"p\""},
    {"NothingInAnEmptyText", "", remove_member({"b"}), 0, "there is no \"b\""},
    {"NewNameIsTaken", "{\"a\": 1, \"b\": 2}", rename_member({"a"}, "b"), 0, "\"b\" already exists"},
    {"ItemsOfNoArray", "{\"l\": {}}", add_item({"l"}, 1), 6, "\"l\" must be an array, found an object"},
    // A string that is not UTF-8 cannot be written as it is, so the text would say something else.
    {"ValueThatCannotBeWritten", "{}", set_member({"a"}, "\xFF"), 0, "nothing was changed"},
};
INSTANTIATE_TEST_SUITE_P(All, EditFault, testing::ValuesIn(faults), [](const auto& info) { return info.param.name; });

TEST(EditTextSequence, EachEditSeesTheOneBefore) {
  const std::vector<ConfigEdit> edits{set_member({"version"}, 1), set_member({"mcpServers", "a"}, tool),
                                      rename_member({"mcpServers", "a"}, "b"), remove_member({"version"})};
  auto out = edit_text("// c\n{}\n", edits);
  ASSERT_TRUE(out);
  EXPECT_EQ(
      *out,
      "// c\n{\n  \"mcpServers\": {\n    \"b\": {\n      \"command\": \"npx\",\n      \"args\": [\"-y\", \"pkg\"]\n"
      "    }\n  }\n}\n");
}

TEST(EditTextSequence, ManyAddsAndRemovalsLeaveTheTextAsItWas) {
  const std::string text = "{\n  // keep\n  \"mcpServers\": {\n    \"z\": {}, // last\n  },\n}\n";
  std::string now = text;
  for (int i = 0; i < 50; ++i) {
    auto next = edit_text(now, add(("s" + std::to_string(i)).c_str()));
    ASSERT_TRUE(next) << next.error().reason;
    now = *next;
  }
  for (int i = 49; i >= 0; --i) {
    auto next = edit_text(now, drop(("s" + std::to_string(i)).c_str()));
    ASSERT_TRUE(next) << next.error().reason;
    now = *next;
  }
  EXPECT_EQ(now, text);
}

}  // namespace
}  // namespace patchbay
