// An agent as it is in use, for tests: a model behind real HTTP, in the words of each provider, and servers that are
// processes of their own. The test says what the model answers, turn by turn, and looks at the requests that came.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/agent.h>

#include "agent/conversation/repair.h"
#include "base/as_result.h"
#include "base/waiting.h"
#include "json/scanner.h"
#include "spoken.h"
#include "support/host_parts.h"
#include "support/loop.h"
#include "support/places.h"
#include "support/temp_tree.h"

namespace patchbay::test {

// The tools of a request as the bytes that were sent, one text for each; of Anthropic's those behind `loaded` are such
// as a search has to find first.
struct SentTools {
  std::vector<std::string> loaded;
  std::vector<std::string> held_back;
  std::string first_bytes() const {
    std::string all;
    for (const auto& one : loaded) all += one + ',';
    return all;
  }
};

inline SentTools tools_of(Spoken spoken, const ModelApiRequest& request) {
  const std::string_view mark = spoken == Spoken::gemini ? "\"functionDeclarations\":[" : "\"tools\":[";
  const std::string_view body = request.body;
  // In the text of a message the quotes would have a backslash; tools that a message announces are somewhere deeper.
  auto at = spoken == Spoken::responses ? body.rfind(mark) : body.find(mark);
  SentTools out;
  if (at == std::string_view::npos) return out;
  JsonScanner scanner(body.substr(at + mark.size()));
  while (scanner.peek() == '{') {
    std::string_view slice;
    if (!scanner.skip_value(slice)) break;
    const bool held = slice.contains("\"defer_loading\":true");
    (held ? out.held_back : out.loaded).emplace_back(slice);
    if (!held) EXPECT_TRUE(out.held_back.empty()) << "held back tools stand behind the others";
    if (!scanner.accept(',')) break;
  }
  return out;
}

// The conversation that a request has, as the bytes that were sent.
inline std::string said_in(Spoken spoken, const ModelApiRequest& request) {
  const std::string_view mark = spoken == Spoken::gemini      ? "\"contents\":"
                                : spoken == Spoken::responses ? "\"input\":"
                                                              : "\"messages\":";
  const std::string_view body = request.body;
  const auto at = body.find(mark);
  if (at == std::string_view::npos) return {};
  JsonScanner scanner(body.substr(at + mark.size()));
  std::string_view slice;
  return scanner.skip_value(slice) ? std::string(slice) : std::string();
}

inline ModelToolUse use(std::string id, std::string name, Json input = Json::object()) {
  return {.id = std::move(id), .name = std::move(name), .input = std::move(input)};
}

// Whether the last places of these texts are in this order.
inline bool in_order(std::string_view body, const std::vector<std::string>& texts) {
  std::size_t before = 0;
  for (const auto& text : texts) {
    const auto at = body.rfind(text);
    if (at == std::string_view::npos || at < before) return false;
    before = at;
  }
  return true;
}

// ---- the scene

class WireScene : public testing::Test {
 public:
  WireScene() { agent_options.wait_for_servers = BeginWait::all; }
  using Turn = std::function<Said(const ModelApiRequest&)>;

  WireScene& then(Said said) {
    return then([said = std::move(said)](const ModelApiRequest&) { return said; });
  }
  // Decided with the request, on another thread than the agent's.
  WireScene& then(Turn turn) {
    std::lock_guard lock(mutex_);
    turns_.push_back(std::move(turn));
    return *this;
  }

 protected:
  virtual Spoken spoken() const { return Spoken::anthropic; }

  ServerConfig program(std::string name, std::vector<std::string> words) const {
    auto entry = named(std::move(name));
    entry.command = built(words.front());
    entry.args.assign(words.begin() + 1, words.end());
    return entry;
  }
  void add(std::string name, std::vector<std::string> words) {
    servers.push_back(program(std::move(name), std::move(words)));
  }

  // Runs the body with an agent that has begun, and stops everything behind it.
  void run(std::function<Task<void>(Agent&)> body) {
    auto options = std::move(host_options);
    options.on_event = [this](const HostEvent& event) {
      if (agent_) agent_->heard(event);
      happened.notify_all();
    };
    agent_options.on_event = [this](const AgentEvent& event) {
      events.push_back(event);
      happened.notify_all();
    };
    run_task([&]() -> Task<void> {
      set_loop(co_await asio::this_coro::executor);
      // Both go before their loop does.
      Host own(std::move(options));
      host = &own;
      for (const auto& server : servers) own.add_server(server);
      Agent agent(own, model_of(spoken(), api.url(), model_words), agent_options);
      agent_ = &agent;
      co_await agent.begin();
      auto done = co_await as_result(body(agent));
      release();
      set_loop({});
      co_await agent.stop();
      co_await own.stop();
      EXPECT_EQ(broken_rule(agent.messages()), "");
      agent_ = nullptr;
      host = nullptr;
      value_or_throw(std::move(done));
    });
  }

  // The model answers when release() was called.
  Turn when_released(Said said) {
    return [this, said = std::move(said)](const ModelApiRequest&) {
      std::unique_lock lock(mutex_);
      released_changed_.wait(lock, [&] { return released_ > 0; });
      --released_;
      return said;
    };
  }
  void release() {
    std::lock_guard lock(mutex_);
    ++released_;
    released_changed_.notify_all();
  }
  // Until that many requests have come.
  Task<void> requested(std::size_t count) {
    while (api.requests().size() < count) co_await happened.wait();
  }
  Task<void> until(std::function<bool()> condition) {
    while (!condition()) co_await happened.wait();
  }
  bool offers(const std::string& tool) const { return host->catalog()->at(tool) != nullptr; }

  std::vector<SentTools> sent_tools() const {
    std::vector<SentTools> out;
    for (const auto& request : api.requests()) out.push_back(tools_of(spoken(), request));
    return out;
  }
  // What a provider caches: the tools of one request begin those of the next, byte by byte; and they are the very same
  // where tools that come later have a place of their own.
  void expect_stable_tools() const {
    const auto all = sent_tools();
    for (std::size_t i = 1; i < all.size(); ++i) {
      EXPECT_FALSE(all[i].loaded.empty()) << i;
      const auto before = all[i - 1].first_bytes(), now = all[i].first_bytes();
      EXPECT_EQ(now.substr(0, before.size()), before) << "request " << i + 1;
      if (spoken() == Spoken::anthropic || spoken() == Spoken::responses) EXPECT_EQ(now, before) << "request " << i + 1;
    }
  }
  std::string said(std::size_t at) const {
    const auto all = api.requests();
    return at < all.size() ? said_in(spoken(), all[at]) : "(there was no such request)";
  }

  std::vector<ServerConfig> servers;
  HostOptions host_options = empty_options();
  AgentOptions agent_options;
  std::string model_words;  // as --model says it; empty: the usual one of the provider
  // Answers instead of a turn, where it does; on the thread of the connection.
  std::function<std::optional<ModelApiReply>(const ModelApiRequest&)> refuse;
  Host* host = nullptr;
  std::vector<AgentEvent> events;
  Event happened;
  TempTree tree;

 private:
  ModelApiReply answer(const ModelApiRequest& request) {
    if (refuse) {
      if (auto refusal = refuse(request)) return std::move(*refusal);
    }
    Turn turn;
    {
      std::lock_guard lock(mutex_);
      if (loop_) asio::post(*loop_, [this] { happened.notify_all(); });
      if (turns_.empty()) return {.status = 400, .chunks = {R"({"error":{"message":"the test has no turn left"}})"}};
      turn = std::move(turns_.front());
      turns_.pop_front();
    }
    return reply_of(spoken_by(request).value_or(spoken()), turn(request));
  }

  void set_loop(std::optional<asio::any_io_executor> loop) {
    std::lock_guard lock(mutex_);
    loop_ = std::move(loop);
  }

  Agent* agent_ = nullptr;
  std::mutex mutex_;
  std::optional<asio::any_io_executor> loop_;
  std::condition_variable released_changed_;
  int released_ = 0;
  std::deque<Turn> turns_;  // by one request at a time, once there are any

 protected:
  ModelApi api{[this](const ModelApiRequest& request) { return answer(request); }};
};

// The same for every provider.
class EachProvider : public WireScene, public testing::WithParamInterface<Spoken> {
 protected:
  Spoken spoken() const override { return GetParam(); }
};

}  // namespace patchbay::test
