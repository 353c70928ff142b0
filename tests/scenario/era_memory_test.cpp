// N1: what one session learned of a server's era serves the next, and never stands in the way
// of learning otherwise.
#include "client/era_memory.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/client.h>

#include "base/as_result.h"
#include "base/crypto.h"
#include "base/runtime.h"
#include "base/scope.h"
#include "client/connect.h"
#include "protocol/methods.h"
#include "protocol/wire.h"
#include "support/command.h"
#include "support/fails_with.h"
#include "support/loop.h"
#include "support/manual_clock.h"
#include "support/script_server.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::FailsSaying;
using test::FailsWith;
using test::ManualClock;
using test::no_answer;
using test::run_task;
using test::ScriptServer;
using test::settle;
using test::TemporaryDirectory;
using testing::ElementsAre;

std::string m(std::string_view method) { return std::string(method); }

const std::string modern_answer =
    R"({"resultType":"complete","supportedVersions":[")" + m(modern_versions().front()) + R"("],"capabilities":{}})";

// One server, met again and again.
class Meetings {
 public:
  explicit Meetings(std::unique_ptr<ScriptServer> who) : server(std::move(who)) {
    server->identity = {key, "v1"};
    options.protocol_memory = directory.path() + "/cache/memory.json";
    clock.set_wall(std::chrono::sys_days{std::chrono::year{2026} / 8 / 1});
  }

  // The questions of one start, in order, and what was settled for.
  Task<std::vector<std::string>> meet() {
    server->asked.clear();
    auto session = co_await connect(Client(options), server->transport(), runtime);
    legacy = session.is_legacy();
    co_await session.close();
    co_return server->asked;
  }
  std::optional<KnownLegacy> known() const { return recall_era(options.protocol_memory, key); }

  const std::string key = sha256_hex("the server");
  TemporaryDirectory directory;
  std::unique_ptr<ScriptServer> server;
  ClientOptions options;
  Runtime runtime;
  ManualClock clock{ManualClock::Passes::by_itself};
  bool legacy = false;
};

TEST(RememberedEra, AnOlderServerIsAskedInItsOwnWayTheSecondTime) {
  Meetings meetings(ScriptServer::legacy("{}"));
  run_task(meetings.clock, [&]() -> Task<void> {
    EXPECT_THAT(co_await meetings.meet(), ElementsAre(method::discover, method::initialize));
    EXPECT_THAT(co_await meetings.meet(), ElementsAre(method::initialize));
    EXPECT_TRUE(meetings.legacy);
  });
}

TEST(RememberedEra, ANewerServerIsAskedAsEverAndLeavesNoTrace) {
  Meetings meetings(ScriptServer::modern("{}"));
  run_task(meetings.clock, [&]() -> Task<void> {
    for (int i = 0; i < 2; ++i) EXPECT_THAT(co_await meetings.meet(), ElementsAre(method::discover));
    EXPECT_EQ(meetings.known(), std::nullopt);
  });
}

TEST(RememberedEra, WithoutAFileOrAKeyNothingIsKept) {
  for (const bool without_file : {true, false}) {
    Meetings meetings(ScriptServer::legacy("{}"));
    if (without_file) {
      meetings.options.protocol_memory.clear();
    } else {
      meetings.server->identity = {};
    }
    run_task(meetings.clock, [&]() -> Task<void> {
      for (int i = 0; i < 2; ++i) {
        EXPECT_THAT(co_await meetings.meet(), ElementsAre(method::discover, method::initialize));
      }
    });
    EXPECT_FALSE(std::filesystem::exists(meetings.directory.path() + "/cache"));
  }
}

// Relying on it does not make it younger.
TEST(RememberedEra, ExpiresSevenDaysAfterItWasLearned) {
  Meetings meetings(ScriptServer::legacy("{}"));
  run_task(meetings.clock, [&]() -> Task<void> {
    (void)co_await meetings.meet();
    for (int day = 1; day < 7; ++day) {
      meetings.clock.skip(24h);
      EXPECT_THAT(co_await meetings.meet(), ElementsAre(method::initialize)) << "day " << day;
    }
    meetings.clock.skip(24h);
    EXPECT_THAT(co_await meetings.meet(), ElementsAre(method::discover, method::initialize));
    meetings.clock.skip(24h);
    EXPECT_THAT(co_await meetings.meet(), ElementsAre(method::initialize));
  });
}

TEST(RememberedEra, ExpiresWithTheProgramThatShowedIt) {
  Meetings meetings(ScriptServer::legacy("{}"));
  run_task(meetings.clock, [&]() -> Task<void> {
    (void)co_await meetings.meet();
    meetings.server->identity.stamp = "v2";
    EXPECT_THAT(co_await meetings.meet(), ElementsAre(method::discover, method::initialize));
    EXPECT_THAT(co_await meetings.meet(), ElementsAre(method::initialize));
  });
}

TEST(RememberedEra, AServerOfBothErasIsFoundOutAfterExpiry) {
  Meetings meetings(ScriptServer::legacy("{}"));
  run_task(meetings.clock, [&]() -> Task<void> {
    (void)co_await meetings.meet();
    meetings.server->on(m(method::discover), modern_answer);
    EXPECT_THAT(co_await meetings.meet(), ElementsAre(method::initialize));
    meetings.clock.skip(7 * 24h);
    EXPECT_THAT(co_await meetings.meet(), ElementsAre(method::discover));
    EXPECT_FALSE(meetings.legacy);
    EXPECT_EQ(meetings.known(), std::nullopt);
  });
}

TEST(RememberedEra, AServerThatHasOnlyTheNewerEraNowIsFoundOutAtOnce) {
  Meetings meetings(ScriptServer::legacy("{}"));
  run_task(meetings.clock, [&]() -> Task<void> {
    (void)co_await meetings.meet();
    auto identity = meetings.server->identity;
    meetings.server = ScriptServer::modern("{}");
    meetings.server->identity = identity;
    EXPECT_THAT(co_await meetings.meet(), ElementsAre(method::initialize, method::discover));
    EXPECT_FALSE(meetings.legacy);
    EXPECT_THAT(co_await meetings.meet(), ElementsAre(method::discover));
  });
}

TEST(RememberedEra, AServerThatEndsAtItIsOpenedOnceMoreAndAskedAnew) {
  Meetings meetings(ScriptServer::legacy("{}"));
  run_task(meetings.clock, [&]() -> Task<void> {
    (void)co_await meetings.meet();
    Scope scope(co_await asio::this_coro::executor);
    meetings.server->opens = 0;
    meetings.server->on(m(method::discover), modern_answer);
    meetings.server->on(m(method::initialize), [&](Request) -> Task<Payload> {
      scope.spawn(meetings.server->die());
      return no_answer();
    });
    EXPECT_THAT(co_await meetings.meet(), ElementsAre(method::initialize, method::discover));
    EXPECT_EQ(meetings.server->opens, 2);
    EXPECT_FALSE(meetings.legacy);
    EXPECT_EQ(meetings.known(), std::nullopt);
    co_await scope.join();
  });
}

TEST(RememberedEra, AServerThatIsSilentNowIsAskedTheOtherWayAsWell) {
  Meetings meetings(ScriptServer::legacy("{}"));
  meetings.runtime.limits.silent_probe = 1ms;
  run_task(meetings.clock, [&]() -> Task<void> {
    (void)co_await meetings.meet();
    meetings.server->on(m(method::initialize), [](Request) { return no_answer(); });
    meetings.server->on(m(method::discover), modern_answer);
    EXPECT_THAT(co_await meetings.meet(), ElementsAre(method::initialize, method::discover));
    EXPECT_FALSE(meetings.legacy);
    EXPECT_EQ(meetings.known(), std::nullopt);
  });
}

// A slow server may answer initialize first: the session stands, and the next start asks anew.
TEST(RememberedEra, ALateNewerAnswerChangesTheMemoryAndNothingElse) {
  Meetings meetings(ScriptServer::legacy("{}"));
  meetings.runtime.limits.silent_probe = 1ms;
  run_task(meetings.clock, [&]() -> Task<void> {
    Event release;
    meetings.server->on(m(method::discover), [&](Request) -> Task<Payload> {
      return [](Event& wait) -> Task<Payload> {
        co_await wait.wait();
        co_return *Payload::parse(modern_answer);
      }(release);
    });
    auto session = co_await connect(Client(meetings.options), meetings.server->transport(), meetings.runtime);
    EXPECT_TRUE(session.is_legacy());
    while (!meetings.known()) co_await settle();
    release.notify_all();
    while (meetings.known()) co_await settle();
    EXPECT_TRUE(session.is_legacy());
    EXPECT_FALSE(session.closed());
    co_await session.close();
  });
}

TEST(RememberedEra, AStartThatFailsChangesNothing) {
  Meetings meetings(ScriptServer::legacy("{}"));
  run_task(meetings.clock, [&]() -> Task<void> {
    (void)co_await meetings.meet();
    const auto before = meetings.known();
    meetings.server->on(m(method::initialize), [](Request) -> Task<Payload> {
      throw Error::rpc(-32603, "licence expired");
      co_return Payload();
    });
    auto failed = co_await as_result(meetings.meet());
    EXPECT_THAT(failed, FailsSaying("licence expired"));
    EXPECT_THAT(meetings.server->asked, ElementsAre(method::initialize, method::discover));
    EXPECT_EQ(meetings.known(), before);
    EXPECT_EQ(meetings.server->connections(), 0u);
  });
}

TEST(RememberedEra, AStartThatTimesOutLeavesNothingBehind) {
  Meetings meetings(ScriptServer::legacy("{}"));
  meetings.runtime.limits.silent_probe = 1ms;
  run_task(meetings.clock, [&]() -> Task<void> {
    (void)co_await meetings.meet();
    for (auto name : {method::initialize, method::discover}) {
      meetings.server->on(m(name), [](Request) { return no_answer(); });
    }
    meetings.runtime.limits.connect = 50ms;
    auto failed = co_await as_result(meetings.meet());
    EXPECT_THAT(failed, FailsWith(Errc::timeout));
    EXPECT_EQ(meetings.server->connections(), 0u);
  });
}

TEST(RememberedEra, ABrokenOrForbiddenFileIsNotAnObstacle) {
  for (const bool forbidden : {true, false}) {
    Meetings meetings(ScriptServer::legacy("{}"));
    auto& path = meetings.options.protocol_memory;
    path = forbidden ? "/dev/null/memory.json" : meetings.directory.path();
    run_task(meetings.clock, [&]() -> Task<void> {
      for (int i = 0; i < 2; ++i) {
        EXPECT_THAT(co_await meetings.meet(), ElementsAre(method::discover, method::initialize));
      }
    });
  }
}

}  // namespace
}  // namespace patchbay
