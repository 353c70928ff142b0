// The form of a server's question: what may be in one, and what a typed or given value becomes. E1.
#include "protocol/question_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fails_with.h"

namespace patchbay {
namespace {

using test::FailsWith;
using testing::ElementsAre;
using testing::HasSubstr;
using Kind = FormField::Kind;

FormField field_of(const char* schema, bool required = true) {
  auto whole = Json{{"type", "object"}, {"properties", Json{{"f", *parse_json(schema)}}}};
  if (required) whole["required"] = Json::array({"f"});
  auto form = read_form(whole);
  EXPECT_TRUE(form) << schema << (form ? "" : form.error().message());
  return form ? form->fields.at(0) : FormField();
}

// E1
TEST(QuestionForms, WhatIsTypedBecomesWhatTheSchemaWants) {
  struct Case {
    const char* schema;
    const char* typed;
    const char* value;  // null: it is refused
    const char* reason = "";
  };
  const Case cases[] = {
      {R"({"type":"string"})", "yes", R"("yes")"},
      {R"({"type":"string"})", "", R"("")"},
      {R"({"type":"string"})", "12", R"("12")"},
      {R"({"type":"string","minLength":4})", "yes", nullptr, "expected at least 4 characters, found 3"},
      {R"({"type":"string","minLength":4})", "ééé", nullptr, "found 3"},
      {R"({"type":"string","maxLength":2})", "yes", nullptr, "at most 2 characters"},
      {R"({"type":"string","minLength":2,"maxLength":2})", "yes", nullptr, "exactly 2 characters"},
      {R"({"type":"string","minLength":1,"maxLength":2})", "", nullptr, "1 to 2 characters"},
      {R"({"type":"string","pattern":"^[a-z]+$"})", "abc", R"("abc")"},
      {R"({"type":"string","pattern":"^[a-z]+$"})", "ABC", nullptr, "pattern"},
      {R"({"type":"string","format":"email"})", "ada@example.com", R"("ada@example.com")"},
      {R"({"type":"string","format":"email"})", "nobody", nullptr, "an email address, like name@example.com"},
      {R"({"type":"string","format":"uri"})", "https://example.com/x", R"("https://example.com/x")"},
      {R"({"type":"string","format":"uri"})", "example", nullptr, "a URL, like https://example.com/page"},
      {R"({"type":"string","format":"date"})", "2026-02-28", R"("2026-02-28")"},
      {R"({"type":"string","format":"date"})", "2026-02-30", nullptr, "a date, like 2026-03-31"},
      {R"({"type":"string","format":"date-time"})", "2026-02-28T10:00:00Z", R"("2026-02-28T10:00:00Z")"},
      {R"({"type":"string","format":"date-time"})", "2026-02-28", nullptr, "a date and a time"},
      {R"({"type":"string","format":"of-theirs"})", "any", R"("any")"},
      {R"({"type":"integer"})", " 12 ", "12"},
      {R"({"type":"integer"})", "-3", "-3"},
      {R"({"type":"integer"})", "1.5", nullptr, "expected a whole number"},
      {R"({"type":"integer"})", "", nullptr, "expected a whole number"},
      {R"({"type":"integer"})", "1e400", "1e400"},
      {R"({"type":"integer"})", "12345678901234567890123", "12345678901234567890123"},
      {R"({"type":"integer","minimum":1,"maximum":5})", "5", "5"},
      {R"({"type":"integer","minimum":1,"maximum":5})", "6", nullptr, "a whole number from 1 to 5"},
      {R"({"type":"number","minimum":1})", "0.5", nullptr, "a number, at least 1"},
      {R"({"type":"number","maximum":1})", "1.5", nullptr, "a number, at most 1"},
      {R"({"type":"number"})", "1.5", "1.5"},
      {R"({"type":"number"})", "{}", nullptr, "expected a number"},
      {R"({"type":"number"})", "NaN", nullptr, "expected a number"},
      {R"({"type":"number","multipleOf":0.5})", "0.3", nullptr, "multiple"},
      {R"({"type":"boolean"})", "Y", "true"},
      {R"({"type":"boolean"})", "no", "false"},
      {R"({"type":"boolean"})", "TRUE", "true"},
      {R"({"type":"boolean"})", "maybe", nullptr, "yes or no"},
      // One choice: by value, title, number, in whichever case; what the server wrote comes before our numbers.
      {R"({"type":"string","enum":["red","green"]})", "green", R"("green")"},
      {R"({"enum":["red","green"]})", "1", R"("red")"},
      {R"({"type":"string","enum":["red","green"]})", "RED", R"("red")"},
      {R"({"type":"string","enum":["red","green"]})", "blue", nullptr, "one of the 2 choices"},
      {R"({"type":"string","enum":["red","green"]})", "3", nullptr, "one of the 2 choices"},
      {R"({"type":"string","enum":["red","green"]})", "0", nullptr, ""},
      {R"({"type":"string","enum":["2","1"]})", "2", R"("2")"},
      {R"({"type":"string","enum":["a","A"]})", "A", R"("A")"},
      {R"({"type":"string","enum":["ab","AB"]})", "Ab", nullptr, ""},
      {R"({"type":"string","enum":["","x"]})", "", R"("")"},
      {R"({"type":"string","enum":["r","g"],"enumNames":["Red","Green"]})", "Green", R"("g")"},
      {R"({"type":"string","enum":["r","g"],"enumNames":["Red","Green"]})", "g", R"("g")"},
      {R"({"type":"string","oneOf":[{"const":"r","title":"Red"}]})", "red", R"("r")"},
      // Several choices.
      {R"({"type":"array","items":{"enum":["a","b"]}})", "a, b", R"(["a","b"])"},
      {R"({"type":"array","items":{"type":"string","enum":["a","b"]}})", "2,1,2", R"(["b","a"])"},
      {R"({"type":"array","items":{"enum":["a","b"]}})", "", "[]"},
      {R"({"type":"array","items":{"enum":["a","b"]}})", "c", nullptr, "choices"},
      {R"({"type":"array","minItems":1,"items":{"enum":["a","b"]}})", "", nullptr, "at least 1 choice, found 0"},
      {R"({"type":"array","maxItems":1,"items":{"enum":["a","b"]}})", "a,b", nullptr, "at most 1 choice, found 2"},
      {R"({"type":"array","items":{"anyOf":[{"const":"a","title":"A, or so"},{"const":"b"}]}})", "A, or so",
       R"(["a"])"},
      {R"({"type":"array","items":{"type":"string"}})", "x, y", R"(["x","y"])"},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(std::string(one.schema) + " <- " + one.typed);
    const auto value = typed_value(field_of(one.schema), one.typed);
    EXPECT_EQ(value.has_value(), one.value != nullptr);
    if (value && one.value != nullptr) EXPECT_EQ(to_text(*value), one.value);
    if (!value) EXPECT_THAT(value.error().message(), HasSubstr(one.reason));
    if (!value) EXPECT_EQ(value.error().code(), Errc::invalid_argument);
  }
  EXPECT_THAT(typed_value(field_of(R"({"type":"string"})"), std::string(most_answer_bytes + 1, 'x')),
              FailsWith(Errc::invalid_argument));
}

// E1
TEST(QuestionForms, EachFieldHasItsKindAndItsDefault) {
  const auto form = read_form(*parse_json(R"({"type":"object","properties":{
      "n":{"type":"integer","default":7,"title":"How many","description":"of them"},
      "bad":{"type":"integer","default":"x"},
      "t":{"type":"string","default":""},
      "b":{"type":"boolean","default":false},
      "c":{"enum":["x","y"],"default":"y"},
      "l":{"type":"array","items":{"enum":["p","q"]},"default":["q"]}},"required":["c"]})"));
  ASSERT_TRUE(form) << form.error().message();
  std::vector<Kind> kinds;
  std::vector<std::string> defaults;
  for (const auto& field : form->fields) {
    kinds.push_back(field.kind);
    defaults.push_back(field.fallback ? to_text(*field.fallback) : "none");
  }
  EXPECT_THAT(kinds, ElementsAre(Kind::whole_number, Kind::whole_number, Kind::text, Kind::yes_or_no, Kind::one_of,
                                 Kind::any_of));
  EXPECT_THAT(defaults, ElementsAre("7", "none", R"("")", "false", R"("y")", R"(["q"])"));
  EXPECT_EQ(form->fields[0].shown(), "How many");
  EXPECT_EQ(form->fields[0].description, "of them");
  EXPECT_TRUE(form->find("c")->required);
  EXPECT_FALSE(form->find("n")->required);
  EXPECT_EQ(form->find("nobody"), nullptr);
  EXPECT_TRUE(read_form(Json())->fields.empty());
}

// E1
TEST(QuestionForms, WhatIsNoFormIsRefusedWithTheReason) {
  struct Case {
    const char* schema;
    Errc code;
    const char* reason;
  };
  const Case cases[] = {
      {"[]", Errc::unsupported, "object"},
      {R"({"type":"array"})", Errc::unsupported, "not an object"},
      {R"({"properties":{"f":{"type":"object"}}})", Errc::unsupported, R"("f" of the form has the type "object")"},
      {R"({"properties":{"f":{}}})", Errc::unsupported, "has no type"},
      {R"({"properties":{"f":true}})", Errc::unsupported, "not described by an object"},
      {R"({"properties":{"f":{"enum":[1,2]}}})", Errc::unsupported, "choices that are not texts"},
      {R"({"properties":{"f":{"type":"integer","enum":[1]}}})", Errc::unsupported, "choices that are not texts"},
      {R"({"properties":{"f":{"oneOf":[{"type":"string"}]}}})", Errc::unsupported, "alternatives"},
      {R"({"properties":{"f":{"type":"array","items":{"type":"integer"}}}})", Errc::unsupported, "list"},
      {R"({"properties":{},"required":["x"]})", Errc::unsupported, "required and is not described"},
  };
  for (const auto& one : cases) {
    const auto form = read_form(*parse_json(one.schema));
    ASSERT_FALSE(form) << one.schema;
    EXPECT_EQ(form.error().code(), one.code) << one.schema;
    EXPECT_THAT(form.error().message(), HasSubstr(one.reason));
  }
}

// E1: bad input
TEST(QuestionForms, AFormThatNobodyCouldFillInIsRefused) {
  Json many{{"type", "object"}, {"properties", Json::object()}};
  for (int i = 0; i < 10'000; ++i) many["properties"]["f" + std::to_string(i)] = Json{{"type", "string"}};
  const auto refused = read_form(many);
  EXPECT_THAT(refused, FailsWith(Errc::limit));
  EXPECT_THAT(refused.error().message(), HasSubstr("the form has 10000 fields; the limit is 100"));

  Json choices = Json::array();
  for (std::size_t i = 0; i <= most_form_choices; ++i) choices.push_back(Json("c" + std::to_string(i)));
  EXPECT_THAT(read_form(Json{{"properties", Json{{"f", Json{{"enum", choices}}}}}}), FailsWith(Errc::limit));

  const Json wide{{"type", "string"}, {"description", std::string(most_form_bytes, 'x')}};
  EXPECT_THAT(read_form(Json{{"properties", Json{{"f", wide}}}}), FailsWith(Errc::limit));
}

// E1
TEST(QuestionForms, AWholeFormIsFilledInFromAnObject) {
  const auto form = *read_form(*parse_json(R"({"properties":{"name":{"type":"string"},"size":{"type":"integer"},
      "colour":{"enum":["r","g"],"enumNames":["Red","Green"],"default":"g"},
      "tags":{"type":"array","items":{"enum":["a","b"]}}},"required":["name"]})"));
  struct Case {
    const char* given;
    const char* content;  // null: it is refused
    const char* reason;   // or what is not used
  };
  const Case cases[] = {
      {R"({"name":"Ada"})", R"({"name":"Ada","colour":"g"})", ""},
      {R"({"name":"Ada","size":"3","colour":"Red","tags":"a,b"})",
       R"({"name":"Ada","size":3,"colour":"r","tags":["a","b"]})", ""},
      {R"({"name":"Ada","tags":["b"],"extra":1})", R"({"name":"Ada","colour":"g","tags":["b"]})", "extra"},
      {R"({"size":3})", nullptr, R"(the field "name" is missing)"},
      {R"({"name":3})", nullptr, R"(the field "name": expected a text)"},
      {R"({"name":"Ada","size":1.5})", nullptr, R"(the field "size": expected a whole number)"},
      {R"({"name":"Ada","tags":["c"]})", nullptr, R"(the field "tags":)"},
      {R"([])", nullptr, "an object"},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.given);
    const auto filled = fill_in(form, *parse_json(one.given));
    ASSERT_EQ(filled.has_value(), one.content != nullptr);
    if (!filled) {
      EXPECT_THAT(filled.error().message(), HasSubstr(one.reason));
      continue;
    }
    EXPECT_EQ(filled->content, *parse_json(one.content));
    EXPECT_EQ(filled->unused, *one.reason ? std::vector<std::string>{one.reason} : std::vector<std::string>());
  }
}

}  // namespace
}  // namespace patchbay
