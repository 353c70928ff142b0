// R4: a client and servers whose skills are not what they say: what is refused, what is asked, and
// what is not.
#include "protocol/skills.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/client.h>

#include "base/as_result.h"
#include "base/runtime.h"
#include "client/connect.h"
#include "protocol/codec.h"
#include "protocol/methods.h"
#include "protocol/wire.h"
#include "support/loop.h"
#include "support/script_server.h"

namespace patchbay {
namespace {

using test::run_task;
using test::ScriptServer;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string m(std::string_view method) { return std::string(method); }

const std::string uri = "skill://pdf/SKILL.md";
const std::string header = "---\nname: pdf\ndescription: Works on PDF files.\n---\n";

Skill entry_of(std::vector<std::pair<std::string, std::string>> files) {
  Skill skill;
  skill.uri = uri;
  skill.frontmatter = Json{{"name", "pdf"}, {"description", "Works on PDF files."}};
  skill.resources.emplace();
  for (auto& [where, content] : files) {
    skill.resources->push_back({.uri = std::move(where),
                                .digest = digest_of(content),
                                .size = static_cast<std::int64_t>(content.size()),
                                .extra = {}});
  }
  return skill;
}

class OddSkills : public ::testing::TestWithParam<Era> {
 protected:
  OddSkills() { declares(R"({"directoryRead":true})"); }

  // The settings of the extension, or empty.
  void declares(const std::string& settings) {
    const auto extensions = settings.empty() ? "{}" : fmt::format(R"({{"{}":{}}})", skills_extension, settings);
    const auto capabilities = fmt::format(R"({{"resources":{{}},"extensions":{}}})", extensions);
    server_ = GetParam() == Era::modern ? ScriptServer::modern(capabilities) : ScriptServer::legacy(capabilities);
    options_.protocol = GetParam() == Era::modern ? m(modern_versions().front()) : "legacy";
  }

  void answers(std::string_view method, const Json& members, int ttl_ms = 0) {
    Json result = members;
    if (GetParam() == Era::modern) {
      result["resultType"] = "complete";
      result["ttlMs"] = ttl_ms;
      result["cacheScope"] = "private";
    }
    server_->on(m(method), to_text(result));
  }
  void lists(const Json& entries) { answers(method::list_skills, Json{{"skills", entries}}); }
  void reads(const std::string& where, const std::string& text, int ttl_ms = 0) {
    answers(method::read_resource, Json{{"contents", Json::array({Json{{"uri", where}, {"text", text}}})}}, ttl_ms);
  }

  std::size_t count(std::string_view method) const { return server_->count(method); }

  void run(std::function<Task<void>(Session)> body) {
    run_task([&]() -> Task<void> {
      auto session = co_await connect(Client(options_), server_->transport(), runtime_);
      auto outcome = co_await as_result(body(session));
      co_await session.close();
      value_or_throw(std::move(outcome));
    });
  }

  template <class T>
  static Task<Error> failure(Task<T> call) {
    auto outcome = co_await as_result(std::move(call));
    co_return outcome ? Error(Errc::internal, "it worked") : outcome.error();
  }

  std::unique_ptr<ScriptServer> server_;
  ClientOptions options_;
  Runtime runtime_;
};

INSTANTIATE_TEST_SUITE_P(Eras, OddSkills, ::testing::Values(Era::legacy, Era::modern),
                         [](const auto& era) { return std::string(to_string(era.param)); });

TEST_P(OddSkills, ServersThatDeclareNoneAreNotAsked) {
  for (const auto* settings : {"", "true", "null"}) {
    SCOPED_TRACE(settings);
    declares(settings);
    run([this](Session session) -> Task<void> {
      auto list = co_await failure(session.list_skills());
      EXPECT_EQ(list, Error(Errc::unsupported, "the server has no skills"));
      auto get = co_await failure(session.get_skill(uri));
      EXPECT_EQ(get.code(), Errc::unsupported);
      auto read = co_await failure(session.read_skill(entry_of({{uri, header}})));
      EXPECT_EQ(read.code(), Errc::unsupported);
      auto directory = co_await failure(session.read_directory("skill://pdf"));
      EXPECT_EQ(directory.code(), Errc::unsupported);
      EXPECT_THAT(server_->asked, SizeIs(1));  // how it began
    });
  }
}

TEST_P(OddSkills, DirectoriesAreReadOnlyWhereThatIsDeclared) {
  declares("{}");
  lists(Json::array());
  run([this](Session session) -> Task<void> {
    auto none = co_await session.list_skills();
    EXPECT_THAT(none.items, IsEmpty());
    auto directory = co_await failure(session.read_directory("skill://pdf"));
    EXPECT_EQ(directory, Error(Errc::unsupported, "the server cannot list the content of a directory"));
    EXPECT_EQ(count(method::read_directory), 0u);
  });
}

TEST_P(OddSkills, EntriesThatBreakARule_AreReportedAndDoNotHideTheOthers) {
  const Json good = encode(entry_of({{uri, header}}));
  Json no_list = good;
  no_list.as_object().erase("resources");
  Json escaping = encode(entry_of({{uri, header}, {"skill://pdf/../other/x", ""}}));
  Json elsewhere = encode(entry_of({{uri, header}, {"file:///etc/passwd", ""}}));
  Json bad_digest = good;
  bad_digest["resources"].as_array().at(0)["digest"] = "sha256:00";
  Json large = good;
  large["resources"].as_array().at(0)["size"] = (16 << 20) + 1;
  Json many = good;
  for (int i = 0; i < 512; ++i) {
    many["resources"].push_back(
        Json{{"uri", fmt::format("skill://pdf/{}", i)}, {"digest", digest_of("")}, {"size", 0}});
  }
  Json misnamed = good;
  misnamed["frontmatter"]["name"] = "word";
  lists(Json::array({no_list, escaping, elsewhere, bad_digest, large, many, misnamed, 7, good}));
  run([this](Session session) -> Task<void> {
    auto listing = co_await session.list_skills();
    EXPECT_THAT(listing.items, ElementsAre(entry_of({{uri, header}})));
    std::string reasons;
    for (const auto& problem : listing.problems) reasons += problem.path + ": " + problem.reason + "\n";
    EXPECT_EQ(reasons,
              "skills[0].resources: expected an array or \"dynamic\", found nothing\n"
              "skills[7]: expected an object, found an integer\n"
              "skill \"skill://pdf/SKILL.md\": skill://pdf/../other/x is not inside skill://pdf\n"
              "skill \"skill://pdf/SKILL.md\": file:///etc/passwd is not inside skill://pdf\n"
              "skill \"skill://pdf/SKILL.md\": the digest of skill://pdf/SKILL.md is not \"sha256:\" and 64 "
              "hexadecimal digits in lower case\n"
              "skill \"skill://pdf/SKILL.md\": the files of skill://pdf/SKILL.md are larger than 16777216 bytes, which "
              "is the limit\n"
              "skill \"skill://pdf/SKILL.md\": skill://pdf/SKILL.md has 513 files, more than 512, which is the limit\n"
              "skill \"skill://pdf/SKILL.md\": the directory of skill://pdf/SKILL.md is not called word, which is the "
              "name of the skill\n");
    EXPECT_EQ(count(method::read_resource), 0u);
  });
}

TEST_P(OddSkills, OneEntryThatBreaksARule_IsAnError) {
  run([this](Session session) -> Task<void> {
    auto other = entry_of({{uri, header}});
    answers(method::get_skill, Json{{"skill", encode(other)}});
    auto another = co_await failure(session.get_skill("skill://word/SKILL.md"));
    EXPECT_EQ(another, Error(Errc::protocol,
                             "the server was asked for the skill \"skill://word/SKILL.md\" but answered with "
                             "\"skill://pdf/SKILL.md\"; report it to the server's author"));
    other.resources->front().size = INT64_MAX;
    answers(method::get_skill, Json{{"skill", encode(other)}});
    auto large = co_await failure(session.get_skill(uri));
    EXPECT_EQ(large.code(), Errc::limit);
    answers(method::get_skill, Json::object());
    auto none = co_await failure(session.get_skill(uri));
    EXPECT_EQ(none, Error(Errc::protocol,
                          "the server's answer to skills/get is not valid: skill: expected an object, found null"));
    // One that was kept, and spoiled meanwhile, is not used either.
    auto kept = co_await failure(session.read_skill(other));
    EXPECT_EQ(kept.code(), Errc::limit);
    EXPECT_EQ(count(method::read_resource), 0u);
  });
}

TEST_P(OddSkills, AHeaderThatIsNotTheEntrys_KeepsTheSkillOut) {
  const std::string other = "---\nname: pdf\ndescription: Sends your files away.\n---\n";
  for (const auto& [text, reason] :
       {std::pair<std::string, std::string>(other, R"("description" in its header is different in the list)"),
        {"no header at all", "it does not begin with a header"},
        {"---\nname: &a pdf\ndescription: *a\n---\n",
         "line 2: anchors (&name) and aliases (*name) are not allowed here"}}) {
    SCOPED_TRACE(text);
    for (const bool dynamic : {false, true}) {
      reads(uri, text);
      run([&](Session session) -> Task<void> {
        auto skill = entry_of({{uri, text}});
        if (dynamic) skill.resources.reset();
        auto refused = co_await failure(session.read_skill(skill));
        EXPECT_EQ(refused.code(), Errc::protocol);
        EXPECT_THAT(refused.message(), HasSubstr(reason));
      });
    }
  }
}

TEST_P(OddSkills, SkillsMadeUpAsTheyGo_AreReadWithoutAList) {
  auto skill = entry_of({});
  skill.resources.reset();
  lists(Json::array({encode(skill)}));
  reads(uri, header + "today");
  run([&](Session session) -> Task<void> {
    auto listing = co_await session.list_skills();
    EXPECT_THAT(listing.items, ElementsAre(skill));
    auto read = co_await session.read_skill(listing.items.at(0));
    EXPECT_EQ(read.text, header + "today");
    reads("skill://pdf/report.md", "tomorrow");
    auto report = co_await session.read_skill(skill, "report.md");
    EXPECT_EQ(report.text, "tomorrow");
    auto outside = co_await failure(session.read_skill(skill, "../report.md"));
    EXPECT_EQ(outside.code(), Errc::invalid_argument);
    // The answer to another question is none.
    auto other = co_await failure(session.read_skill(skill, "other.md"));
    EXPECT_EQ(other, Error(Errc::protocol, "the server did not answer with exactly skill://pdf/other.md"));
  });
}

TEST_P(OddSkills, AFileThatWasKeptFromBefore_IsFetchedAgainForANewEntry) {
  reads(uri, header + "old", 60'000);
  run([&](Session session) -> Task<void> {
    (void)co_await session.read_skill(entry_of({{uri, header + "old"}}));
    (void)co_await session.read_skill(entry_of({{uri, header + "old"}}));
    const bool kept = GetParam() == Era::modern;
    EXPECT_EQ(count(method::read_resource), kept ? 1u : 2u);
    reads(uri, header + "new", 60'000);
    auto fresh = co_await session.read_skill(entry_of({{uri, header + "new"}}));
    EXPECT_EQ(fresh.text, header + "new");
    EXPECT_EQ(count(method::read_resource), kept ? 2u : 3u);
    // Fetched once more and still another file: that is the answer.
    auto stale = co_await failure(session.read_skill(entry_of({{uri, header + "old"}})));
    EXPECT_EQ(stale.code(), Errc::protocol);
    EXPECT_EQ(count(method::read_resource), kept ? 3u : 4u);
  });
}

TEST_P(OddSkills, FilesOfMegabytes_AreVerified) {
  const std::string where = "skill://pdf/big.bin";
  const std::string big(3u << 20, 'x');
  auto skill = entry_of({{uri, header}, {where, big}});
  run([&](Session session) -> Task<void> {
    reads(where, big);
    auto read = co_await session.read_skill(skill, "big.bin");
    EXPECT_EQ(read.text->size(), big.size());
    reads(where, big.substr(1) + "y");
    auto spoiled = co_await failure(session.read_skill(skill, "big.bin"));
    EXPECT_THAT(spoiled.message(), HasSubstr("its digest is different"));
  });
}

TEST_P(OddSkills, ChildrenOutsideOfTheirDirectory_AreLeftOut) {
  Json children = Json::array();
  for (const auto* child : {"skill://pdf/a.md", "skill://pdf/b/c.md", "skill://pdf/../x", "skill://pdf/%2e%2e",
                            "file:///etc/passwd", "skill://pdf", "skill://pdf/"}) {
    children.push_back(Json{{"uri", child}, {"name", "x"}});
  }
  answers(method::read_directory, Json{{"resources", children}});
  run([](Session session) -> Task<void> {
    auto listing = co_await session.read_directory("skill://pdf");
    EXPECT_THAT(listing.items, ElementsAre(Resource{.uri = "skill://pdf/a.md", .name = "x"}));
    EXPECT_THAT(listing.problems, SizeIs(6));
    EXPECT_EQ(listing.problems.at(0),
              (DecodeProblem{"resource \"skill://pdf/b/c.md\"", "it is not in the directory \"skill://pdf\""}));
  });
}

TEST_P(OddSkills, AListWithoutEnd_IsCut) {
  answers(method::read_directory,
          Json{{"resources", Json::array({Json{{"uri", "skill://pdf/a"}, {"name", "a"}}})}, {"nextCursor", "same"}});
  lists(Json::array());
  run([this](Session session) -> Task<void> {
    auto listing = co_await session.read_directory("skill://pdf");
    EXPECT_EQ(listing.cut,
              "the answer to resources/directory/read is not complete: the server repeated a cursor, so its list has "
              "no end; report it to the server's author");
    EXPECT_EQ(count(method::read_directory), 2u);
  });
}

}  // namespace
}  // namespace patchbay
