// The official JSON-Schema-Test-Suite against our validator. The suite is not part of this
// repository: ./test takes it out of a Debian package. PATCHBAY_SCHEMA_SUITE names the
// directory that holds its tests/ and remotes/.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/schema.h"
#include "support/places.h"

namespace fs = std::filesystem;
using namespace patchbay;

namespace {

fs::path suite_directory() {
  if (const char* given = std::getenv("PATCHBAY_SCHEMA_SUITE")) return given;
  return fs::path(test::in_sources()) / "build/schema-suite/suite";
}

Json read(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  auto json = parse_json(text.str());
  if (!json) throw Error(json.error().within(file.string()));
  return std::move(*json);
}

std::vector<fs::path> json_files(const fs::path& directory) {
  std::vector<fs::path> files;
  if (!fs::is_directory(directory)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file() && entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

// What a real validator would have fetched from the suite's own web server.
const SchemaDocuments& remotes() {
  static const SchemaDocuments documents = [] {
    SchemaDocuments out;
    const fs::path top = suite_directory() / "remotes";
    for (const auto& file : json_files(top)) {
      out.emplace("http://localhost:1234/" + file.lexically_relative(top).generic_string(), read(file));
    }
    return out;
  }();
  return documents;
}

struct Tally {
  std::size_t passed = 0;
  std::size_t all = 0;
  std::vector<std::string> failures;
};

// Empty when both ways of asking give the expected answer.
std::string judge(const Result<Schema>& schema, const Json& data, bool valid) {
  if (!schema) return "the schema does not compile: " + schema.error().message();
  const auto verdict = schema->accepts(data);
  if (!verdict) return verdict.error().message();
  if (*verdict != valid) return valid ? "should be valid" : "should not be valid";
  const auto violations = schema->validate(data);
  if (!violations) return violations.error().message();
  if (violations->empty() != valid) return "validate() and accepts() differ";
  return {};
}

bool is_optional(const fs::path& file) { return file.generic_string().find("/optional/") != std::string::npos; }

Tally run_file(const fs::path& file, SchemaDialect dialect) {
  const SchemaOptions options{
      .default_dialect = dialect,
      .documents = &remotes(),
      .assert_formats = is_optional(file),
  };
  Tally tally;
  const Json groups = read(file);
  for (const Json& group : groups.as_array()) {
    const auto schema = Schema::compile(group["schema"], options);
    for (const Json& test : group["tests"].as_array()) {
      ++tally.all;
      const std::string reason = judge(schema, test["data"], test["valid"].as_bool());
      if (reason.empty()) {
        ++tally.passed;
      } else {
        tally.failures.push_back(file.filename().string() + ": " + std::string(group["description"].as_text()) + ": " +
                                 std::string(test["description"].as_text()) + ": " + reason);
      }
    }
  }
  return tally;
}

struct Draft {
  const char* name;
  const char* folder;
  SchemaDialect dialect;
  std::size_t required;       // in Debian 12, so that a missing folder cannot pass; the suite of Debian 13 has more
  std::size_t optional;       // the same
  std::size_t optional_held;  // those we pass, which may only become more
};

class SchemaSuite : public testing::TestWithParam<Draft> {};

// Both drafts, and the counts: an empty folder does not pass.
TEST_P(SchemaSuite, EveryRequiredCase_Passes) {
  const Draft& draft = GetParam();
  Tally required;
  Tally optional;
  const fs::path top = suite_directory() / "tests" / draft.folder;
  for (const auto& file : json_files(top)) {
    const bool counted = !is_optional(file);
    Tally tally = run_file(file, draft.dialect);
    Tally& into = counted ? required : optional;
    into.passed += tally.passed;
    into.all += tally.all;
    into.failures.insert(into.failures.end(), tally.failures.begin(), tally.failures.end());
  }
  std::printf("json-schema %s: %zu/%zu required, %zu/%zu optional\n", draft.name, required.passed, required.all,
              optional.passed, optional.all);
  for (const auto& failure : optional.failures) std::printf("  optional, not passed: %s\n", failure.c_str());
  for (const auto& failure : required.failures) ADD_FAILURE() << failure;
  EXPECT_GE(required.all, draft.required) << "the suite is not at " << top << "; ./test --only=schema fetches it";
  EXPECT_EQ(required.passed, required.all);
  EXPECT_GE(optional.all, draft.optional);
  EXPECT_GE(optional.passed, draft.optional_held);
}

INSTANTIATE_TEST_SUITE_P(Drafts, SchemaSuite,
                         testing::Values(Draft{"2020-12", "draft2020-12", SchemaDialect::draft_2020_12, 1176, 612, 588},
                                         Draft{"draft-07", "draft7", SchemaDialect::draft_07, 861, 522, 493}),
                         [](const auto& draft) {
                           return draft.param.dialect == SchemaDialect::draft_07 ? "Draft07" : "Draft202012";
                         });

}  // namespace
