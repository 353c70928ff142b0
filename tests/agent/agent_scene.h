// An agent for tests: a model that answers what the test says and remembers what it was asked, a host with one server
// of this process, and everything the agent told.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/agent.h>
#include <patchbay/server.h>
#include <patchbay/tools.h>

#include "agent/conversation/repair.h"
#include "base/as_result.h"
#include "base/waiting.h"
#include "support/host_parts.h"
#include "support/loop.h"
#include "support/manual_clock.h"

namespace patchbay::test {

// ---- what a model answers

inline ModelAnswer says(std::string text, ModelStop stop = ModelStop::end_turn) {
  ModelAnswer answer;
  answer.message.parts.emplace_back(ModelText{std::move(text)});
  answer.stop = stop;
  return answer;
}

inline ModelToolUse use(std::string id, std::string name, Json input = Json::object()) {
  return {.id = std::move(id), .name = std::move(name), .input = std::move(input)};
}

inline ModelAnswer calls(std::vector<ModelToolUse> uses) {
  ModelAnswer answer;
  for (auto& one : uses) answer.message.parts.emplace_back(std::move(one));
  answer.stop = ModelStop::tool_use;
  return answer;
}

class RecordingModel final : public Model {
 public:
  using Answering = std::function<Task<ModelAnswer>(const ModelRequest&)>;

  RecordingModel() {
    info_.provider = "test";
    info_.model = "test";
  }
  const ModelInfo& info() const noexcept override { return info_; }
  Task<ModelAnswer> ask(ModelRequest request, std::function<void(const ModelEvent&)> on_event) override {
    requests.push_back(request);
    EXPECT_EQ(broken_rule(request.messages), "");
    EXPECT_TRUE(open_uses(request.messages).empty());
    // What a provider would send first, and look for again.
    prefixes.push_back(request.tools ? to_text(to_json(*request.tools, info_.api)) : "");
    asked.notify_all();
    if (answers.empty()) throw Error(Errc::http, "the test has no answer left");
    auto next = std::move(answers.front());
    answers.pop_front();
    auto answer = co_await next(request);
    if (on_event) on_event(ModelTextDelta{text_of(answer.message)});
    co_return answer;
  }

  RecordingModel& then(ModelAnswer answer) {
    return then([answer](const ModelRequest&) -> Task<ModelAnswer> { co_return answer; });
  }
  RecordingModel& then(Answering answering) {
    answers.push_back(std::move(answering));
    return *this;
  }

  ModelInfo info_;
  std::deque<Answering> answers;
  std::vector<ModelRequest> requests;
  std::vector<std::string> prefixes;
  Event asked;
};

// ---- what a conversation has

inline std::string words(const ModelToolOutcome& outcome) {
  std::string all;
  for (const auto& block : outcome.blocks) {
    if (const auto* text = std::get_if<ModelText>(&block)) all += text->text;
  }
  return all;
}

inline std::vector<ModelToolOutcome> outcomes_of(const ModelMessage& message) {
  std::vector<ModelToolOutcome> out;
  for (const auto& part : message.parts) {
    if (const auto* outcome = std::get_if<ModelToolOutcome>(&part)) out.push_back(*outcome);
  }
  return out;
}

inline std::string news_of(const ModelMessage& message) {
  std::string all;
  for (const auto& part : message.parts) {
    if (const auto* news = std::get_if<ModelNews>(&part)) all += news->text;
  }
  return all;
}

// ---- the scene

// Its server "s":  look{at}  reads  ·  change{what}  does something  ·  hang, hang_reads  until cancelled  ·  fails  ·
// big  answers more than a model can be given.
class AgentScene : public testing::Test {
 protected:
  AgentScene() {
    const auto reads = [] {
      ToolAnnotations annotations;
      annotations.read_only_hint = true;
      return annotations;
    };
    server->add_tool({.name = "look", .annotations = reads()},
                     [this](RequestContext&, Json arguments) -> Task<CallToolResult> {
                       order.push_back("look " + std::string(arguments["at"].text().value_or("")));
                       co_return text("seen " + std::string(arguments["at"].text().value_or("")));
                     });
    server->add_tool({.name = "change"}, [this](RequestContext&, Json arguments) -> Task<CallToolResult> {
      order.push_back("change " + std::string(arguments["what"].text().value_or("")));
      co_return text("changed");
    });
    const auto hang = [this](RequestContext&, Json) -> Task<CallToolResult> {
      ++hanging;
      most_hanging = std::max(most_hanging, hanging);
      hangs.notify_all();
      struct Leave {
        explicit Leave(AgentScene& s) : scene(s) {}
        Leave(const Leave&) = delete;
        Leave& operator=(const Leave&) = delete;
        ~Leave() {
          --scene.hanging;
          scene.happened.notify_all();
        }
        AgentScene& scene;
      } leave(*this);
      co_await release.wait();
      co_return text("released");
    };
    server->add_tool({.name = "hang"}, hang);
    server->add_tool({.name = "hang_reads", .annotations = reads()}, hang);
    server->add_tool({.name = "fails"}, [](RequestContext&, Json) -> Task<CallToolResult> {
      throw Error(Errc::internal, "the tool is broken");
      co_return CallToolResult{};
    });
    server->add_tool({.name = "big", .annotations = reads()}, [](RequestContext&, Json) -> Task<CallToolResult> {
      std::string lines;
      for (int i = 0; i < 50'000; ++i) lines += "line " + std::to_string(i) + "\n";
      co_return text(std::move(lines));
    });
  }

  // Runs the body with an agent that has begun, and stops everything behind it.
  void run(std::function<Task<void>(Agent&)> body) {
    auto options = std::move(host_options);
    options.on_event = [this](const HostEvent& event) {
      if (agent_) agent_->heard(event);
      happened.notify_all();
    };
    Host own(std::move(options));
    host = &own;
    own.add_server("s", server);
    agent_options.on_event = [this](const AgentEvent& event) {
      events.push_back(event);
      if (on_event) on_event(event);
      happened.notify_all();
    };
    Agent agent(own, model, agent_options);
    agent_ = &agent;
    const std::function<Task<void>()> all = [&]() -> Task<void> {
      if (start_first) co_await own.start();
      co_await agent.begin();
      auto done = co_await as_result(body(agent));
      co_await agent.stop();
      co_await own.stop();
      value_or_throw(std::move(done));
    };
    if (clock != nullptr) {
      run_task(*clock, all);
    } else {
      run_task(all);
    }
    agent_ = nullptr;
    EXPECT_EQ(broken_rule(agent.messages()), "");
  }

  // Of the calls, in the order in which they ended.
  std::vector<AgentToolResult> results() const {
    std::vector<AgentToolResult> out;
    for (const auto& event : events) {
      if (const auto* result = std::get_if<AgentToolResult>(&event.what)) out.push_back(*result);
    }
    return out;
  }

  std::shared_ptr<RecordingModel> model = std::make_shared<RecordingModel>();
  std::shared_ptr<Server> server = std::make_shared<Server>("s", "1");
  HostOptions host_options = empty_options();
  AgentOptions agent_options;
  bool start_first = true;
  ManualClock* clock = nullptr;  // the only time there is; null: real time
  Host* host = nullptr;
  std::vector<AgentEvent> events;
  std::function<void(const AgentEvent&)> on_event;
  Event happened;
  std::vector<std::string> order;
  int hanging = 0;
  int most_hanging = 0;
  Event hangs;
  Event release;

 private:
  Agent* agent_ = nullptr;
};

}  // namespace patchbay::test
