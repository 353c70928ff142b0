// R4: entries of skills that break a rule are not used, and neither is a file that is not what its
// entry says.
#include "protocol/skills.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/crypto.h"
#include "protocol/codec.h"
#include "support/fails_with.h"

namespace patchbay {
namespace {

using test::FailsSaying;
using test::FailsWith;
using testing::HasSubstr;

const std::string skill_md = "---\nname: pdf\ndescription: Works on PDF files.\n---\nRead references/forms.md.\n";
const std::string forms = "All about forms.\n";

SkillResource listed(std::string uri, std::string_view content) {
  return {.uri = std::move(uri), .digest = digest_of(content), .size = static_cast<std::int64_t>(content.size())};
}

Skill pdf_skill() {
  Skill skill;
  skill.uri = "skill://office/pdf/SKILL.md";
  skill.frontmatter = Json{{"name", "pdf"}, {"description", "Works on PDF files."}};
  skill.resources.emplace();
  skill.resources->push_back(listed(skill.uri, skill_md));
  skill.resources->push_back(listed("skill://office/pdf/references/forms.md", forms));
  return skill;
}

Skill dynamic_skill() {
  auto skill = pdf_skill();
  skill.resources.reset();
  return skill;
}

ReadResourceResult answer(std::string uri, std::string text) {
  ReadResourceResult read;
  read.contents.push_back({.uri = std::move(uri), .text = std::move(text)});
  return read;
}

TEST(Skills, AServerDeclaresThemWithAnObject) {
  struct Row {
    std::string settings;
    bool skills;
    bool directories;
  };
  for (const auto& row : std::initializer_list<Row>{{"{}", true, false},
                                                    {R"({"directoryRead":true})", true, true},
                                                    {R"({"directoryRead":false})", true, false},
                                                    {R"({"directoryRead":"yes"})", true, false},
                                                    {"true", false, false},
                                                    {"null", false, false}}) {
    SCOPED_TRACE(row.settings);
    ServerCapabilities server;
    EXPECT_FALSE(declares_skills(server));
    server.extensions[std::string(skills_extension)] = *parse_json(row.settings);
    EXPECT_EQ(declares_skills(server), row.skills);
    EXPECT_EQ(declares_directories(server), row.directories);
  }
}

TEST(Skills, EntriesAreReadAndWrittenAsTheyCame) {
  for (const auto& skill : {pdf_skill(), dynamic_skill()}) {
    const auto again = decode<Skill>(encode(skill));
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(*again, skill);
  }
  EXPECT_EQ(encode(dynamic_skill())["resources"], Json("dynamic"));

  struct Row {
    std::string entry;
    std::string reason;
  };
  for (const auto& row : std::initializer_list<Row>{
           {R"({"frontmatter":{},"resources":[]})", "uri: expected a string, found nothing"},
           {R"({"uri":"u","resources":[]})", "frontmatter: expected an object, found nothing"},
           {R"({"uri":"u","frontmatter":[],"resources":[]})", "frontmatter: expected an object, found an array"},
           {R"({"uri":"u","frontmatter":{}})", R"(resources: expected an array or "dynamic", found nothing)"},
           {R"({"uri":"u","frontmatter":{},"resources":null})",
            R"(resources: expected an array or "dynamic", found null)"},
           {R"({"uri":"u","frontmatter":{},"resources":"static"})",
            R"(resources: expected an array or "dynamic", found a string)"},
           {R"({"uri":"u","frontmatter":{},"resources":[{"uri":"u","digest":"d"}]})",
            "resources[0].size: expected an integer, found nothing"},
           {R"({"uri":"u","frontmatter":{},"resources":[{"uri":"u","digest":"d","size":1.5}]})",
            "resources[0].size: expected an integer, found a number"},
           {R"({"uri":"u","frontmatter":{},"resources":[{"uri":"u","size":1}]})",
            "resources[0].digest: expected a string, found nothing"}}) {
    SCOPED_TRACE(row.entry);
    const auto read = decode<Skill>(*parse_json(row.entry));
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().message(), row.reason);
  }
}

TEST(Skills, NamesAreSmallLettersDigitsAndSingleHyphens) {
  for (std::string_view name : {"a", "pdf", "git-workflow", "a-1-b", "0"}) EXPECT_TRUE(is_skill_name(name)) << name;
  EXPECT_TRUE(is_skill_name(std::string(64, 'a')));
  EXPECT_FALSE(is_skill_name(std::string(65, 'a')));
  for (std::string_view name : {"", "-a", "a-", "a--b", "A", "a_b", "a b", "a.b", "\xc3\xa9", "..", "a/b"}) {
    EXPECT_FALSE(is_skill_name(name)) << name;
  }
}

TEST(Skills, TheDirectoryOfASkillIsWhereItsFileLies) {
  struct Row {
    std::string_view uri;
    std::string_view root;
  };
  for (const auto& row :
       std::initializer_list<Row>{{"skill://pdf/SKILL.md", "skill://pdf"},
                                  {"skill://a/b/c/SKILL.md", "skill://a/b/c"},
                                  {"github://owner/repo/skills/x/SKILL.md", "github://owner/repo/skills/x"},
                                  {"file:///home/x/SKILL.md", "file:///home/x"},
                                  {"skill://SKILL.md", ""},
                                  {"skill:///SKILL.md", ""},
                                  {"skill://pdf/skill.md", ""},
                                  {"skill://pdf/README.md", ""},
                                  {"skill://pdf/SKILL.md/", ""},
                                  {"skill://pdf/SKILL.md?x", ""},
                                  {"skill://pdf/SKILL.md#x", ""},
                                  {"skill://a?b/SKILL.md", ""},
                                  {"skill://a/../b/SKILL.md", ""},
                                  {"skill://a/%2e%2E/SKILL.md", ""},
                                  {"skill://a//SKILL.md", ""},
                                  {"skill://a b/SKILL.md", "skill://a b"},
                                  {"skill:pdf/SKILL.md", ""},
                                  {"pdf/SKILL.md", ""},
                                  {"://pdf/SKILL.md", ""},
                                  {"1x://pdf/SKILL.md", ""},
                                  {"", ""}}) {
    EXPECT_EQ(skill_root(row.uri), row.root) << row.uri;
  }
}

TEST(Skills, NothingOutsideADirectoryLiesBelowIt) {
  struct Row {
    std::string_view uri;
    bool below;
    bool child;
  };
  for (const auto& row :
       std::initializer_list<Row>{{"skill://a/b", true, true},        {"skill://a/b/c", true, false},
                                  {"skill://a/b%20c", true, true},    {"skill://a/...", true, true},
                                  {"skill://a", false, false},        {"skill://a/", false, false},
                                  {"skill://ab", false, false},       {"skill://ab/c", false, false},
                                  {"skill://b/a", false, false},      {"other://a/b", false, false},
                                  {"skill://a/..", false, false},     {"skill://a/b/../../c", false, false},
                                  {"skill://a/./b", false, false},    {"skill://a/%2e%2e/b", false, false},
                                  {"skill://a/.%2E/b", false, false}, {"skill://a/b%2fc", false, false},
                                  {"skill://a/b%5Cc", false, false},  {"skill://a/%2fb%", false, false},
                                  {"skill://a/b\\c", false, false},   {"skill://a//b", false, false},
                                  {"skill://a/b/", false, false},     {"skill://a/b?c", false, false},
                                  {"skill://a/b#c", false, false},    {"skill://a/b%00", false, false},
                                  {"skill://a/100%", true, true},     {"skill://a/b\n", false, false},
                                  {"skill://a/b c", true, true}}) {
    EXPECT_EQ(lies_below("skill://a", row.uri), row.below) << row.uri;
    EXPECT_EQ(is_child_of("skill://a", row.uri), row.child) << row.uri;
  }
  EXPECT_FALSE(lies_below("", "/a"));
}

TEST(Skills, AnEntryMustKeepTheRules) {
  const Limits limits{.skill_bytes = 200, .skill_files = 4};
  EXPECT_TRUE(check_skill(pdf_skill(), limits));
  EXPECT_TRUE(check_skill(dynamic_skill(), limits));

  struct Row {
    std::string name;
    std::function<void(Skill&)> spoil;
    Errc code;
    std::string reason;
  };
  for (const auto& row : std::vector<Row>{
           {"no SKILL.md", [](Skill& s) { s.uri = "skill://office/pdf/README.md"; }, Errc::protocol,
            "is not the URI of a SKILL.md"},
           {"no name", [](Skill& s) { s.frontmatter.as_object().erase("name"); }, Errc::protocol,
            "frontmatter.name is not a valid name of a skill"},
           {"no description", [](Skill& s) { s.frontmatter["description"] = " "; }, Errc::protocol,
            "frontmatter.description is missing or empty"},
           {"a description that is no text", [](Skill& s) { s.frontmatter["description"] = 1; }, Errc::protocol,
            "frontmatter.description is missing or empty"},
           {"another name", [](Skill& s) { s.frontmatter["name"] = "word"; }, Errc::protocol, "is not called word"},
           {"a name in the wrong place", [](Skill& s) { s.frontmatter["name"] = "office"; }, Errc::protocol,
            "is not called office"},
           {"a file elsewhere", [](Skill& s) { s.resources->at(1).uri = "skill://office/word/x.md"; }, Errc::protocol,
            "skill://office/word/x.md is not inside skill://office/pdf"},
           {"a file above", [](Skill& s) { s.resources->at(1).uri = "skill://office/pdf/../x.md"; }, Errc::protocol,
            "is not inside"},
           {"a file of another scheme", [](Skill& s) { s.resources->at(1).uri = "file:///etc/passwd"; }, Errc::protocol,
            "is not inside"},
           {"a file twice", [](Skill& s) { s.resources->push_back(s.resources->at(1)); }, Errc::protocol,
            "listed twice"},
           {"not itself", [](Skill& s) { s.resources->erase(s.resources->begin()); }, Errc::protocol, "do not include"},
           {"no file at all", [](Skill& s) { s.resources->clear(); }, Errc::protocol, "do not include"},
           {"a digest in capitals", [](Skill& s) { s.resources->at(1).digest = "sha256:" + std::string(64, 'A'); },
            Errc::protocol,
            "the digest of skill://office/pdf/references/forms.md is not \"sha256:\" and 64 hexadecimal digits in "
            "lower case"},
           {"another digest", [](Skill& s) { s.resources->at(1).digest = "md5:" + std::string(64, 'a'); },
            Errc::protocol, "the digest of"},
           {"a short digest", [](Skill& s) { s.resources->at(1).digest.pop_back(); }, Errc::protocol, "the digest of"},
           {"a size below nothing", [](Skill& s) { s.resources->at(1).size = -1; }, Errc::protocol, "the size of"},
           {"too large", [](Skill& s) { s.resources->at(1).size = 200; }, Errc::limit, "larger than 200 bytes"},
           {"far too large",
            [](Skill& s) {
              s.resources->at(0).size = INT64_MAX;
              s.resources->at(1).size = INT64_MAX;
            },
            Errc::limit, "larger than 200 bytes"},
           {"too many",
            [](Skill& s) {
              for (int i = 0; i < 3; ++i) {
                s.resources->push_back(listed("skill://office/pdf/" + std::to_string(i), ""));
              }
            },
            Errc::limit, "has 5 files, more than 4"}}) {
    SCOPED_TRACE(row.name);
    auto skill = pdf_skill();
    row.spoil(skill);
    const auto checked = check_skill(skill, limits);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code(), row.code);
    EXPECT_THAT(checked.error().message(), HasSubstr(row.reason));
  }
}

TEST(Skills, ASkillUpToTheLimitsOfTheSpecificationIsTaken) {
  auto skill = pdf_skill();
  for (int i = 0; i < 510; ++i) skill.resources->push_back(listed("skill://office/pdf/" + std::to_string(i), ""));
  skill.resources->back().size = (16 << 20) - static_cast<std::int64_t>(skill_md.size() + forms.size());
  EXPECT_TRUE(check_skill(skill, Limits{}));
  ++skill.resources->back().size;
  EXPECT_THAT(check_skill(skill, Limits{}), FailsWith(Errc::limit));
  --skill.resources->back().size;
  skill.resources->push_back(listed("skill://office/pdf/one-more", ""));
  EXPECT_THAT(check_skill(skill, Limits{}), FailsWith(Errc::limit));
}

TEST(Skills, AFileIsNamedByItsUriOrItsPath) {
  auto skill = pdf_skill();
  skill.resources->push_back(listed("skill://office/pdf/a%20b/%C3%A9.md", ""));
  skill.resources->push_back(listed("skill://office/pdf/as it is.md", ""));
  struct Row {
    std::string_view file;
    std::string_view uri;  // or empty
    Errc code = Errc::protocol;
  };
  for (const auto& row :
       std::initializer_list<Row>{{"SKILL.md", "skill://office/pdf/SKILL.md"},
                                  {"references/forms.md", "skill://office/pdf/references/forms.md"},
                                  {"./references/../references/forms.md", "skill://office/pdf/references/forms.md"},
                                  {"skill://office/pdf/references/forms.md", "skill://office/pdf/references/forms.md"},
                                  {"a b/\xc3\xa9.md", "skill://office/pdf/a%20b/%C3%A9.md"},
                                  {"a%20b/%C3%A9.md", "skill://office/pdf/a%20b/%C3%A9.md"},
                                  {"as it is.md", "skill://office/pdf/as it is.md"},
                                  {"references/other.md", "", Errc::protocol},
                                  {"skill://office/pdf/other.md", "", Errc::protocol},
                                  {"references", "", Errc::protocol},
                                  {"", "", Errc::invalid_argument},
                                  {".", "", Errc::invalid_argument},
                                  {"..", "", Errc::invalid_argument},
                                  {"../word/SKILL.md", "", Errc::invalid_argument},
                                  {"references/../../word/SKILL.md", "", Errc::invalid_argument},
                                  {"%2e%2e/word/SKILL.md", "", Errc::invalid_argument},
                                  {"/etc/passwd", "", Errc::invalid_argument},
                                  {"references//forms.md", "", Errc::invalid_argument},
                                  {"references\\forms.md", "", Errc::invalid_argument},
                                  {"\xff", "", Errc::invalid_argument},
                                  {"skill://office/word/SKILL.md", "", Errc::invalid_argument},
                                  {"skill://office/pdf/../word/SKILL.md", "", Errc::invalid_argument},
                                  {"file:///etc/passwd", "", Errc::invalid_argument}}) {
    SCOPED_TRACE(row.file);
    const auto uri = resolve_skill_file(skill, row.file);
    if (!row.uri.empty()) {
      ASSERT_TRUE(uri) << uri.error().message();
      EXPECT_EQ(*uri, row.uri);
    } else {
      ASSERT_FALSE(uri) << *uri;
      EXPECT_EQ(uri.error().code(), row.code);
    }
  }
  // Without a list any file may be asked for, but for those outside.
  EXPECT_EQ(*resolve_skill_file(dynamic_skill(), "x/y.md"), "skill://office/pdf/x/y.md");
  EXPECT_EQ(*resolve_skill_file(dynamic_skill(), "x y?.md"), "skill://office/pdf/x%20y%3F.md");
  EXPECT_EQ(*resolve_skill_file(dynamic_skill(), "x%20y.md"), "skill://office/pdf/x%20y.md");
  EXPECT_THAT(resolve_skill_file(dynamic_skill(), "../x.md"), FailsWith(Errc::invalid_argument));
}

TEST(Skills, WhatWasReadMustBeWhatTheEntrySays) {
  const auto skill = pdf_skill();
  const auto& uri = skill.uri;
  const std::string forms_uri = "skill://office/pdf/references/forms.md";
  EXPECT_EQ(verify_skill_file(skill, uri, answer(uri, skill_md), {})->text, skill_md);
  EXPECT_EQ(verify_skill_file(skill, forms_uri, answer(forms_uri, forms), {})->text, forms);
  // As bytes it is the same file.
  ReadResourceResult bytes;
  bytes.contents.push_back({.uri = uri, .blob = base64_encode(skill_md)});
  EXPECT_EQ(verify_skill_file(skill, uri, bytes, {})->blob, base64_encode(skill_md));

  struct Row {
    std::string name;
    ReadResourceResult read;
    std::string reason;
  };
  auto row = [&](std::string name, std::function<void(ReadResourceResult&)> spoil, std::string reason) {
    auto read = answer(forms_uri, forms);
    spoil(read);
    return Row{std::move(name), std::move(read), std::move(reason)};
  };
  for (const auto& each : std::vector<Row>{
           row(
               "longer", [](auto& r) { *r.contents[0].text += "x"; }, "it has 18 bytes instead of 17"),
           row(
               "shorter", [](auto& r) { r.contents[0].text->pop_back(); }, "it has 16 bytes instead of 17"),
           row(
               "another text", [](auto& r) { r.contents[0].text->at(0) = 'O'; }, "its digest is different"),
           row(
               "nothing", [](auto& r) { r.contents.clear(); }, "did not answer with"),
           row(
               "two", [](auto& r) { r.contents.push_back(r.contents[0]); }, "did not answer with"),
           row(
               "another one", [](auto& r) { r.contents[0].uri = "skill://office/pdf/SKILL.md"; },
               "did not answer with"),
           row(
               "neither", [](auto& r) { r.contents[0].text.reset(); }, "neither text nor bytes"),
           row(
               "both", [](auto& r) { r.contents[0].blob = ""; }, "neither text nor bytes"),
           row(
               "no base64",
               [](auto& r) {
                 r.contents[0].text.reset();
                 r.contents[0].blob = "!!!";
               },
               "not valid base64")}) {
    SCOPED_TRACE(each.name);
    const auto verified = verify_skill_file(skill, forms_uri, each.read, {});
    ASSERT_FALSE(verified);
    EXPECT_EQ(verified.error().code(), Errc::protocol);
    EXPECT_THAT(verified.error().message(), HasSubstr(each.reason));
  }
  EXPECT_THAT(verify_skill_file(skill, "skill://office/pdf/x", answer("skill://office/pdf/x", ""), {}),
              FailsSaying(HasSubstr("it is not listed there")));
}

TEST(Skills, TheHeaderMustBeTheEntrys) {
  struct Row {
    std::string name;
    std::string file;
    std::string reason;  // empty: it is
  };
  for (const auto& row : std::initializer_list<Row>{
           {"the same", skill_md, ""},
           {"in another order and style", "---\ndescription: 'Works on\n  PDF files.'\nname: \"pdf\"\n---\n", ""},
           {"another description", "---\nname: pdf\ndescription: Sends them away.\n---\n",
            R"("description" in its header is different in the list)"},
           {"one more", "---\nname: pdf\ndescription: Works on PDF files.\nallowed-tools: Bash\n---\n",
            R"(its header has "allowed-tools", and the list has not)"},
           {"one less", "---\nname: pdf\n---\n", R"(the list has "description", and its header has not)"},
           {"another kind", "---\nname: [pdf]\ndescription: Works on PDF files.\n---\n",
            R"("name" in its header is different in the list)"},
           {"none", "# PDF\n", "does not begin with a header"},
           {"broken", "---\nname: pdf\nname: pdf\n---\n", "SKILL.md: line 3: the key \"name\" occurs twice"}}) {
    SCOPED_TRACE(row.name);
    auto skill = pdf_skill();
    skill.resources->at(0) = listed(skill.uri, row.file);
    for (const bool dynamic : {false, true}) {
      if (dynamic) skill.resources.reset();
      const auto verified = verify_skill_file(skill, skill.uri, answer(skill.uri, row.file), {});
      if (row.reason.empty()) {
        EXPECT_TRUE(verified) << verified.error().message();
        continue;
      }
      ASSERT_FALSE(verified);
      EXPECT_EQ(verified.error().code(), Errc::protocol);
      EXPECT_THAT(verified.error().message(), HasSubstr(row.reason));
    }
  }
}

TEST(Skills, WithoutAListSizeIsBoundedAllTheSame) {
  const auto skill = dynamic_skill();
  const std::string uri = "skill://office/pdf/x";
  EXPECT_TRUE(verify_skill_file(skill, uri, answer(uri, std::string(100, 'x')), {.skill_bytes = 100}));
  EXPECT_THAT(verify_skill_file(skill, uri, answer(uri, std::string(101, 'x')), {.skill_bytes = 100}),
              FailsWith(Errc::limit));
}

}  // namespace
}  // namespace patchbay
