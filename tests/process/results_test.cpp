// Results for a model on the command line: what --for-model prints, reading on, and handing a result from one server to
// another in a session. X1, X2, W7, N4.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/session_house.h"

namespace patchbay::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

std::string rows(int count) {
  Json all = Json::array();
  for (int i = 0; i < count; ++i)
    all.push_back(Json{{"id", i}, {"name", fmt::format("row {} {}", i, std::string(80, 'x'))}});
  return to_text(Json{{"rows", std::move(all)}});
}

class ResultCommands : public testing::Test {
 protected:
  ResultCommands() {
    for (const auto* name : {"notes", "sheet"}) {
      EXPECT_EQ(house.run({"add", name, "--", built("mode-server"), "good"}).code, 0);
    }
    house.tree.file("project/large.json", rows(3000));
  }
  // The handle of a new large result.
  std::string keep(const std::string& file = "large.json") const {
    const auto given = json_of(house.run({"call", "notes/echo", "text=@" + file, "--for-model", "--json"}));
    return std::string(given["handle"].text().value_or("(none)"));
  }

  SessionHouse house;
};

TEST_F(ResultCommands, ASmallResultIsPrintedAsAModelReadsIt) {
  const auto raw = house.run({"call", "notes/raw", "--for-model"});
  EXPECT_EQ(raw.code, 0) << raw.err;
  EXPECT_THAT(raw.out, AllOf(Not(HasSubstr("\x1b")), Not(IsEmpty())));
  EXPECT_THAT(house.run({"call", "notes/raw"}).out, HasSubstr("\x1b")) << "who asks for the result gets every byte";
  const auto failed = house.run({"call", "notes/boom", "--for-model"});
  EXPECT_THAT(failed.out, StartsWith("MCP error "));
  EXPECT_EQ(failed.code, 1);
  const auto error = json_of(house.run({"call", "notes/fail", "--for-model", "--json"}));
  EXPECT_EQ(error["isError"], Json(true));
  EXPECT_EQ(error["handle"], Json());
  EXPECT_THAT(house.run({"results", "list"}).out, IsEmpty());
}

TEST_F(ResultCommands, ALargeResultIsKeptReadInPartsAndRemoved) {
  const auto given = house.run({"call", "notes/echo", "text=@large.json", "--for-model"});
  EXPECT_EQ(given.code, 0) << given.err;
  EXPECT_THAT(given.out,
              AllOf(StartsWith("The result of mcp__notes__echo is too large to show: "),
                    HasSubstr("Shape: {rows:[{id:number,name:string}]}"), HasSubstr("patchbay results read @result:")));
  EXPECT_LT(given.out.size(), 4000u);
  EXPECT_THAT(given.err, HasSubstr("patchbay: note: the result of mcp__notes__echo has about "));

  const auto listed = json_of(house.run({"results", "list", "--json"}));
  ASSERT_EQ(listed["results"].size(), 1u);
  const Json one = listed["results"].items()[0];
  EXPECT_EQ(one["tool"], Json("mcp__notes__echo"));
  const std::string id(one["id"].as_text());
  EXPECT_THAT(house.run({"results", "list"}).out, AllOf(StartsWith(id), HasSubstr("mcp__notes__echo")));

  EXPECT_EQ(house.run({"results", "read", id}).out, rows(3000) + "\n") << "every byte";
  EXPECT_EQ(house.run({"results", "read", "@result:" + id, "--pointer", "/rows/7/id"}).out, "7\n");
  EXPECT_EQ(house.run({"results", "read", id + "#/rows", "--count", "--json"}).code, 0);
  EXPECT_THAT(house.run({"results", "read", id, "--pointer", "/rows", "--count"}).out, StartsWith("3000 items; "));
  const auto found = house.run({"results", "read", id, "--grep", "row 299[0-9]", "--lines", "2"});
  EXPECT_THAT(found.out, AllOf(HasSubstr("row 2990 "), HasSubstr("row 2991 "), Not(HasSubstr("row 2992 "))));
  EXPECT_EQ(json_of(house.run({"results", "read", id, "--grep", "row 299[0-9]", "--json"}))["matches"], Json(10));
  EXPECT_EQ(house.run({"results", "read", id, "--skip", "1", "--lines", "1"}).out, "  \"rows\": [\n");

  for (const auto& words : std::vector<std::vector<std::string>>{{"results", "read", "aaaaaaaa"},
                                                                 {"results", "read", id, "--pointer", "/nothing"},
                                                                 {"results", "read", id, "--grep", "("},
                                                                 {"results", "read", "what?"},
                                                                 {"results", "read"},
                                                                 {"results", "remove"},
                                                                 {"results", "list", "--count"}}) {
    const auto wrong = house.run(words);
    EXPECT_EQ(wrong.code, 2) << wrong.out << wrong.err;
    EXPECT_THAT(wrong.err, StartsWith("patchbay: "));
  }
  EXPECT_EQ(house.run({"results", "remove", id}).out, "Removed 1 result\n");
  EXPECT_EQ(house.run({"results", "remove", id}).code, 2);
  EXPECT_THAT(house.run({"results", "list"}).out, IsEmpty());
}

TEST_F(ResultCommands, InASessionAResultGoesFromServerToServer) {
  house.start();
  const auto handle = keep();
  ASSERT_THAT(handle, StartsWith("@result:"));
  EXPECT_EQ(house.run({"call", "sheet/echo", "text=see " + handle + "#/rows/12/name."}).out,
            fmt::format("see row 12 {}.\n", std::string(80, 'x')));
  const auto whole = json_of(house.run({"call", "sheet/echo", "text=all: " + handle, "--json"}));
  EXPECT_EQ(whole["content"].items()[0]["text"].text(), "all: " + rows(3000));
  const auto added = house.run({"call", "sheet/add", "a=" + handle + "#/rows/5/id", "b=2"});
  EXPECT_EQ(added.code, 0) << added.err;
  EXPECT_THAT(added.out, HasSubstr("7"));
  // What is sent is what the schema is about.
  const auto wrong = house.run({"call", "sheet/add", "a=" + handle + "#/rows/5/name", "b=2"});
  EXPECT_EQ(wrong.code, 2) << wrong.out;
  EXPECT_EQ(house.run({"call", "sheet/echo", "text=\\" + handle}).out, handle + "\n");
  house.tree.file("project/about.md", "Write " + handle + " to hand it on.");
  EXPECT_EQ(house.run({"call", "sheet/echo", "text=@about.md"}).out, "Write " + handle + " to hand it on.\n");
}

TEST_F(ResultCommands, AResultOfAnotherConversationCannotBeNamed) {
  const auto handle = keep();
  ASSERT_THAT(handle, StartsWith("@result:"));
  for (const bool session : {false, true}) {
    if (session) house.start();
    const auto refused = house.run({"call", "sheet/echo", "text=" + handle});
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err,
                AllOf(HasSubstr("this conversation has no such result"), HasSubstr("patchbay results list")));
    EXPECT_THAT(refused.out, IsEmpty());
  }
  const auto mine = keep();
  EXPECT_EQ(house.run({"call", "sheet/echo", "text=" + mine + "#/rows/1/id"}).code, 2) << "a number is no text";
  EXPECT_EQ(house.run({"call", "sheet/echo", "text=id " + mine + "#/rows/1/id"}).out, "id 1\n");
}

TEST_F(ResultCommands, KeptResultsAreForTheUserAlone) {
  ASSERT_THAT(keep(), StartsWith("@result:"));
  std::size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(house.home()) / ".local/state/patchbay/results")) {
    struct stat status{};
    ASSERT_EQ(::stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0077u, 0u) << entry.path();
    if (entry.is_regular_file()) ++files;
  }
  EXPECT_EQ(files, 1u);
}

// The first block of commands in docs/results.md, as it is typed.
TEST_F(ResultCommands, TheExampleOfTheDocumentWorks) {
  std::ifstream in(in_sources("docs/results.md"));
  std::string script, line;
  while (std::getline(in, line) && line != "```sh") {
  }
  while (std::getline(in, line) && line != "```") script += line + "\n";
  ASSERT_THAT(script, HasSubstr("patchbay call"));
  const auto all = "patchbay() { '" + built("patchbay") + "' \"$@\"; }\nset -e\n" + script;
  const auto done = run_program({"/bin/bash", "-c", all}, house.options());
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  EXPECT_THAT(done.out, AllOf(HasSubstr("is too large to show"), HasSubstr("\"name\": \"row 42 "),
                              HasSubstr("The first one is row 0 ")));
}

}  // namespace
}  // namespace patchbay::test
