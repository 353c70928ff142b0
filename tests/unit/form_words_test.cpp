// What is typed into a server's form becomes the value that its schema wants. E1.
#include "cli/texts/form_words.h"

#include <gtest/gtest.h>

namespace patchbay::cli {
namespace {

// E1
TEST(TypedAnswers, BecomeWhatTheSchemaWants) {
  struct Case {
    const char* schema;
    const char* typed;
    const char* value;  // null: it is refused
  };
  const Case cases[] = {
      {R"({"type":"string"})", "yes", R"("yes")"},
      {R"({"type":"string","minLength":4})", "yes", nullptr},
      {R"({"type":"string","format":"email"})", "nobody", nullptr},
      {R"({"type":"string","enum":["red","green"]})", "green", R"("green")"},
      {R"({"type":"string","enum":["red","green"]})", "blue", nullptr},
      {R"({"type":"string","oneOf":[{"const":"r","title":"Red"}]})", "r", R"("r")"},
      {R"({"type":"integer"})", "12", "12"},
      {R"({"type":"integer"})", "1.5", nullptr},
      {R"({"type":"integer","maximum":5})", "12", nullptr},
      {R"({"type":"number"})", "1.5", "1.5"},
      {R"({"type":"number"})", "{}", nullptr},
      {R"({"type":"boolean"})", "Y", "true"},
      {R"({"type":"boolean"})", "no", "false"},
      {R"({"type":"boolean"})", "maybe", nullptr},
      {R"({"type":"array","items":{"enum":["a","b"]}})", "a, b", R"(["a","b"])"},
      {R"({"type":"array","items":{"enum":["a","b"]}})", "c", nullptr},
  };
  for (const auto& one : cases) {
    const FormField field{"f", *parse_json(one.schema), true};
    const auto value = typed_value(field, one.typed);
    ASSERT_EQ(value.has_value(), one.value != nullptr) << one.schema << one.typed;
    if (value) EXPECT_EQ(to_text(*value), one.value) << one.schema;
  }
}

// E1
TEST(TypedAnswers, FieldsSayWhatMayBeTyped) {
  const auto fields = form_fields(*parse_json(R"({"properties":{"n":{"type":"integer","default":7},
      "c":{"enum":["x","\u001b[31m"]},"l":{"type":"array","items":{"enum":["p","q"]}}},"required":["c"]})"));
  ASSERT_EQ(fields.size(), 3u);
  EXPECT_EQ(fields[0].hint(), "whole number");
  EXPECT_EQ(fields[0].fallback(), Json(7));
  EXPECT_FALSE(fields[0].required);
  EXPECT_EQ(fields[1].hint().find('\x1b'), std::string::npos);
  EXPECT_TRUE(fields[1].required);
  EXPECT_EQ(fields[2].hint(), "any of, separated by commas: p, q");
  EXPECT_TRUE(form_fields(Json()).empty());
}

}  // namespace
}  // namespace patchbay::cli
