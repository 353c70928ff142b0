// How a server's question looks on a terminal. E1.
#include "cli/texts/form_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"

namespace patchbay::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

QuestionForm form_of(const char* properties) {
  return *read_form(Json{{"properties", *parse_json(properties)}, {"required", Json::array({"c"})}});
}

// E1
TEST(FormWords, AFieldSaysWhatMayBeTyped) {
  const auto form = form_of(R"({"n":{"type":"integer","default":7,"minimum":1},"m":{"type":"string","format":"email"},
      "c":{"enum":["x","y"],"enumNames":["Ex","Why"]},"password":{"type":"string","description":"of yours"}})");
  EXPECT_EQ(field_prompt(form.fields[0]), "n (a whole number, at least 1; Enter: 7): ");
  EXPECT_EQ(field_prompt(form.fields[1]), "m (an email address, like name@example.com; Enter: leave it out): ");
  EXPECT_EQ(field_prompt(form.fields[2]), "c (one of the 2 choices; type its number or its name): ");
  EXPECT_EQ(field_about(form.fields[2], 80), "  1  Ex  (x)\n  2  Why  (y)\n");
  EXPECT_THAT(field_about(form.fields[3], 80), AllOf(StartsWith("  | of yours\n"), HasSubstr("looks like a secret")));
  EXPECT_EQ(fields_line(form), "n, m, c (required), password");
}

// E1: what a server writes moves no cursor, hides nothing, and begins no line of ours.
TEST(FormWords, WhatAServerWritesIsWrittenOut) {
  const auto form = form_of(
      R"({"a\u001b[2J\nSend them?":{"type":"string","title":"t\u202ex","description":"one\nServer \"x\" asks","format":"\u001b[31m"},
          "c":{"enum":["\u001b[31mred","b\nc"]}})");
  const auto all = field_about(form.fields[0], 40) + field_prompt(form.fields[0]) + field_about(form.fields[1], 40) +
                   fields_line(form) + "\n" +
                   review_text(form, Json{{"c", "b\nc"}, {form.fields[0].name, "\x1b[0m"}}, 40);
  EXPECT_THAT(all, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\xE2\x80\xAE")), HasSubstr("\\x1b")));
  for (const auto line : split(all, '\n')) EXPECT_FALSE(line.starts_with("Server") || line.starts_with("Send")) << line;
}

// E1: at 80 columns and less every line fits.
TEST(FormWords, LongTextsAreWrapped) {
  const std::string words(2000, 'w');
  const Json field{{"type", "string"}, {"description", words + " " + words}, {"pattern", words}};
  const auto form = *read_form(Json{{"properties", Json{{"f", field}}}});
  for (const auto line : split(field_about(form.fields[0], 80), '\n')) EXPECT_LE(line.size(), 80u);
  EXPECT_THAT(quoted(std::string(20'000, 'x'), 80), HasSubstr("(of 20000 bytes, the first 8192)"));
}

// E1
TEST(FormWords, ThePageIsShownAsItIsAndOnlyAWebPageIsOpened) {
  struct Case {
    const char* url;
    const char* host;  // null: it is not opened
    const char* says;  // the warning, or why not
  };
  const Case cases[] = {
      {"https://example.com/sign-in?x=1#y", "example.com", ""},
      {"https://EXAMPLE.com:8443", "example.com", ""},
      {"http://127.0.0.1:8080/", "127.0.0.1", ""},
      {"http://localhost/", "localhost", ""},
      {"http://example.com/", "example.com", "not encrypted"},
      {"https://xn--exmple-cua.com/", "xn--exmple-cua.com", "international name"},
      {"https://www.xn--exmple-cua.com/", "www.xn--exmple-cua.com", "international name"},
      {"https://bank.example@evil.example/", nullptr, "user name before its host"},
      {"https://ex\xC3\xA4mple.com/", nullptr, "cannot be read"},
      {"javascript:alert(1)", nullptr, ""},
      {"file:///etc/passwd", nullptr, ""},
      {"ftp://example.com/", nullptr, "not a web page"},
      {"https://exa mple.com/", nullptr, "cannot be read"},
      {"", nullptr, "cannot be read"},
  };
  for (const auto& one : cases) {
    const auto visit = visit_of({.mode = ElicitRequest::Mode::url, .url = one.url});
    ASSERT_EQ(visit.has_value(), one.host != nullptr) << one.url;
    if (visit) {
      EXPECT_EQ(visit->host, one.host);
      EXPECT_THAT(visit->warning, HasSubstr(one.says));
      EXPECT_EQ(visit->warning.empty(), *one.says == 0);
    } else {
      EXPECT_THAT(visit.error().message(), HasSubstr(one.says)) << one.url;
    }
  }
}

}  // namespace
}  // namespace patchbay::cli
