// Forms: the bodies of sign-in, and what comes back as one. A1.
#include "http/form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fails_with.h"

namespace patchbay {
namespace {

using test::FailsWith;

TEST(Form, ValuesComeBackAsTheyWere) {
  using namespace std::string_literals;
  for (const auto& [text, encoded] : std::vector<std::pair<std::string, std::string>>{
           {"", ""},
           {"abc-._~*09", "abc-._~*09"},
           {"a b", "a+b"},
           {"a+b", "a%2Bb"},
           {"100%", "100%25"},
           {"%20", "%2520"},
           {"a&b=c;d", "a%26b%3Dc%3Bd"},
           {"https://h.example/?x", "https%3A%2F%2Fh.example%2F%3Fx"},
           {"é\n", "%C3%A9%0A"},
           {"\0"s, "%00"},
       }) {
    EXPECT_EQ(form_encoded(text), encoded);
    EXPECT_EQ(read_form("x=" + encoded).value(), (FormMembers{{"x", text}}));
  }
}

TEST(Form, MembersAreReadInOrder) {
  EXPECT_EQ(read_form("a=1&&b=x+y&c&=d&a=2&e=f=g").value(),
            (FormMembers{{"a", "1"}, {"b", "x y"}, {"c", ""}, {"", "d"}, {"a", "2"}, {"e", "f=g"}}));
  EXPECT_EQ(read_form("").value(), FormMembers());
  std::string form;
  append_form(form, "a", "b c");
  append_form(form, "d&", "");
  EXPECT_EQ(form, "a=b+c&d%26=");
}

TEST(Form, WhatIsNotOne_IsAnError) {
  for (const char* bad : {"a=%", "a=%2", "a=%zz", "%4=b"})
    EXPECT_THAT(read_form(bad), FailsWith(Errc::protocol)) << bad;
  std::string many;
  for (int i = 0; i < 257; ++i) append_form(many, "a", "b");
  EXPECT_THAT(read_form(many), FailsWith(Errc::protocol));
}

}  // namespace
}  // namespace patchbay
