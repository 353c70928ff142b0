// T8: a server behind a proxy that wants our bearer token, over real sockets: many calls meet
// the end of one token at once.
#include "transport/proxy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/client.h>

#include "base/as_result.h"
#include "base/runtime.h"
#include "base/scope.h"
#include "support/fails_with.h"
#include "support/loop.h"
#include "support/scripted_server.h"

namespace patchbay::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

// The proxy, and an older server behind it. It takes the tokens a test says are good.
class FakeProxy {
 public:
  FakeProxy()
      : server_([this](ScriptConnection& connection) {
          for (;;) serve(connection);
        }) {}

  std::string base() const { return server_.url("/v1/mcp"); }
  std::string origin() const { return server_.url(""); }

  void accept(std::string token) {
    std::lock_guard lock(mutex_);
    good_ = std::move(token);
  }
  // Refusals are held back until so many calls wait for theirs.
  void gather(int calls) {
    std::lock_guard lock(mutex_);
    gather_ = calls;
  }
  int count(const std::string& what) const {
    std::lock_guard lock(mutex_);
    const auto found = counts_.find(what);
    return found == counts_.end() ? 0 : found->second;
  }
  std::vector<std::string> paths() const {
    std::lock_guard lock(mutex_);
    return paths_;
  }

 private:
  void serve(ScriptConnection& connection) {
    const auto got = connection.read_request();
    if (!got.line().starts_with("POST")) return connection.answer("405 Method Not Allowed", "");
    const auto body = parse_json(got.body).value_or(Json());
    const auto method = body["method"].is_string() ? std::string(body["method"].as_text()) : std::string("none");
    const auto token = got.field("Authorization");
    {
      std::unique_lock lock(mutex_);
      paths_.push_back(got.line());
      ++counts_[method];
      if (token != "Bearer " + good_) {
        ++counts_["refused"];
        ++waiting_;
        changed_.notify_all();
        changed_.wait_for(lock, std::chrono::seconds(30), [&] { return waiting_ >= gather_; });
        lock.unlock();
        return connection.answer("401 Unauthorized", "", "WWW-Authenticate: Bearer\r\n");
      }
    }
    auto answer = [&](Json result) {
      const Json message{{"jsonrpc", "2.0"}, {"id", body["id"]}, {"result", std::move(result)}};
      connection.answer("200 OK", to_text(message), "Content-Type: application/json\r\n");
    };
    if (method == "initialize") {
      answer(Json{{"protocolVersion", "2025-11-25"},
                  {"capabilities", {{"tools", Json::object()}}},
                  {"serverInfo", {{"name", "behind"}, {"version", "1"}}}});
    } else if (method.starts_with("notifications/")) {
      connection.answer("202 Accepted", "");
    } else {
      answer(Json{{"content", Json::array({Json{{"type", "text"}, {"text", token}}})}});
    }
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string good_ = "token-0";
  int gather_ = 0;
  int waiting_ = 0;
  std::map<std::string, int> counts_;
  std::vector<std::string> paths_;
  ScriptedServer server_;
};

class StoredToken final : public TokenSource {
 public:
  Task<Secret> token() override { co_return Secret(current); }
  Task<Secret> read_again() override {
    current = stored;
    co_return Secret(current);
  }
  Task<Result<void>> renew(Secret) override {
    ++renewals;
    co_return on_renew ? on_renew() : Result<void>();
  }
  std::string current = "token-0";
  std::string stored = "token-0";
  int renewals = 0;
  std::function<Result<void>()> on_renew;
};

struct Behind {
  FakeProxy proxy;
  std::shared_ptr<StoredToken> tokens = std::make_shared<StoredToken>();
  std::shared_ptr<HttpAuth> shared;

  std::shared_ptr<Transport> transport(const std::string& base) const {
    HttpOptions http;
    http.proxy = "";
    http.headers = {{"Authorization", "Bearer from-an-entry"}};
    return proxy_transport({base, "server one", tokens, "run `patchbay login`", http, shared});
  }
  void with_session(std::function<Task<void>(Session)> body) {
    run_task([&]() -> Task<void> {
      ClientOptions options;
      options.protocol = "legacy";
      auto session = co_await Client(options).connect(transport(proxy.base()));
      // Only then does the session have nothing under way that the test does not know of.
      while (proxy.count("notifications/initialized") == 0) co_await settle();
      auto outcome = co_await as_result(body(session));
      co_await session.close();
      value_or_throw(std::move(outcome));
    });
  }
  // What came of so many calls at once: their texts, or their errors.
  static Task<std::vector<std::string>> calls(Session session, int count) {
    std::vector<std::string> outcomes;
    Scope scope(co_await asio::this_coro::executor);
    for (int i = 0; i < count; ++i) {
      scope.spawn([](Session s, std::vector<std::string>& out) -> Task<void> {
        auto called = co_await as_result(s.call_tool("t", {}));
        out.push_back(called ? text_of(*called) : called.error().message());
      }(session, outcomes));
    }
    co_await scope.join();
    co_return outcomes;
  }
};

constexpr int many = 32;

TEST(Proxy, IsReachedAtItsOwnAddressWithItsOwnToken) {
  Behind behind;
  behind.with_session([&](Session session) -> Task<void> {
    EXPECT_EQ(text_of(co_await session.call_tool("t", {})), "Bearer token-0");
  });
  EXPECT_THAT(behind.proxy.paths(), Each(HasSubstr("POST /v1/mcp/server%20one ")));
  EXPECT_EQ(behind.proxy.count("refused"), 0);
}

TEST(Proxy, ManyCallsThatMeetTheEndOfATokenRenewItOnce) {
  Behind behind;
  behind.tokens->on_renew = [&]() -> Result<void> {
    behind.proxy.accept(behind.tokens->stored = "token-1");
    return {};
  };
  behind.with_session([&](Session session) -> Task<void> {
    behind.proxy.accept("none yet");
    behind.proxy.gather(many);
    const auto texts = co_await Behind::calls(session, many);
    EXPECT_THAT(texts, AllOf(testing::SizeIs(many), Each("Bearer token-1")));
  });
  EXPECT_EQ(behind.tokens->renewals, 1);
  EXPECT_EQ(behind.proxy.count("refused"), many);
  EXPECT_EQ(behind.proxy.count("tools/call"), 2 * many);
}

TEST(Proxy, ServersBehindOneProxyShareTheRenewal) {
  Behind behind;
  behind.shared = proxy_auth(behind.proxy.base(), behind.tokens, "");
  behind.tokens->on_renew = [&]() -> Result<void> {
    behind.proxy.accept(behind.tokens->stored = "token-1");
    return {};
  };
  behind.with_session([&](Session first) -> Task<void> {
    ClientOptions options;
    options.protocol = "legacy";
    auto second = co_await Client(options).connect(behind.transport(behind.proxy.base()));
    while (behind.proxy.count("notifications/initialized") < 2) co_await settle();
    behind.proxy.accept("none yet");
    behind.proxy.gather(2);
    Scope scope(co_await asio::this_coro::executor);
    std::vector<std::string> texts;
    for (const auto& session : {first, second}) {
      scope.spawn([](Session s, std::vector<std::string>& out) -> Task<void> {
        for (auto& text : co_await Behind::calls(s, 1)) out.push_back(text);
      }(session, texts));
    }
    co_await scope.join();
    EXPECT_THAT(texts, testing::ElementsAre("Bearer token-1", "Bearer token-1"));
    co_await second.close();
  });
  EXPECT_EQ(behind.tokens->renewals, 1);
}

TEST(Proxy, WhatAnotherProcessStoredIsUsedWithoutARenewal) {
  Behind behind;
  behind.with_session([&](Session session) -> Task<void> {
    behind.proxy.accept(behind.tokens->stored = "theirs");
    behind.proxy.gather(many);
    EXPECT_THAT(co_await Behind::calls(session, many), Each("Bearer theirs"));
  });
  EXPECT_EQ(behind.tokens->renewals, 0);
}

TEST(Proxy, WithoutANewTokenEveryCallSaysWhatToDo) {
  Behind behind;
  behind.tokens->on_renew = []() -> Result<void> { return fail(Errc::unauthorized, "the sign-in is over"); };
  behind.with_session([&](Session session) -> Task<void> {
    behind.proxy.accept("another");
    behind.proxy.gather(many);
    EXPECT_THAT(co_await Behind::calls(session, many),
                AllOf(testing::SizeIs(many), Each(AllOf(HasSubstr("the sign-in is over"), HasSubstr("patchbay login"),
                                                        Not(HasSubstr("token-0"))))));
  });
  EXPECT_EQ(behind.tokens->renewals, 1);
  EXPECT_EQ(behind.proxy.count("tools/call"), many);
}

TEST(Proxy, ACallIsRepeatedOnceAndNoMore) {
  Behind behind;
  behind.tokens->on_renew = [&]() -> Result<void> {
    behind.tokens->stored = "token-1";  // which the proxy does not take either
    return {};
  };
  behind.with_session([&](Session session) -> Task<void> {
    behind.proxy.accept("another");
    const auto texts = co_await Behind::calls(session, 1);
    EXPECT_THAT(texts, Each(AllOf(HasSubstr("401"), HasSubstr("patchbay login"))));
  });
  EXPECT_EQ(behind.proxy.count("tools/call"), 2);
  EXPECT_EQ(behind.tokens->renewals, 1);
}

TEST(Proxy, AServerThatNeedsSignInSaysSoWhenItIsConnected) {
  Behind behind;
  behind.tokens->stored = behind.tokens->current = "";
  run_task([&]() -> Task<void> {
    auto failed = co_await as_result(Client({}).connect(behind.transport(behind.proxy.base())));
    EXPECT_THAT(failed, FailsWith(Errc::unauthorized, HasSubstr("patchbay login")));
  });
}

TEST(Proxy, ARedirectToAnotherPlaceDoesNotCarryTheToken) {
  ScriptedServer elsewhere([&](ScriptConnection& connection) { (void)connection.read_request(); });
  ScriptedServer redirecting([&](ScriptConnection& connection) {
    for (;;) {
      (void)connection.read_request();
      connection.answer("307 Temporary Redirect", "", "Location: " + elsewhere.url("/mcp") + "\r\n");
    }
  });
  Behind behind;
  run_task([&]() -> Task<void> {
    auto failed = co_await as_result(Client({}).connect(behind.transport(redirecting.url("/v1"))));
    EXPECT_FALSE(failed);
  });
  EXPECT_EQ(behind.tokens->renewals, 0);
  EXPECT_EQ(elsewhere.connections(), 0);
}

TEST(Proxy, WhatIsNotAnAddressIsRefusedBeforeAnythingIsSent) {
  Behind behind;
  run_task([&]() -> Task<void> {
    auto failed = co_await as_result(Client({}).connect(behind.transport("http://proxy.example/v1")));
    EXPECT_THAT(failed, FailsWith(Errc::config, HasSubstr("https://")));
  });
}

}  // namespace
}  // namespace patchbay::test
