// What an agent adds between a model's answer and the call that it wants: from the moment at which the answer is there
// to the moment at which the request leaves for the server. Model and server are in this process and answer at once.
//
//   bench-agent [TURNS]
//
// Prints two JSON objects: microseconds for each turn of one conversation, which is kept in memory, and on the disk (in
// TMPDIR), where the call waits until the disk has the answer that wants it.
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include <patchbay/agent.h>
#include <patchbay/transport.h>

#include "base/waiting.h"
#include "figures.h"

using namespace patchbay;

namespace {

struct Moments {
  double answered = 0;  // the model
  std::vector<double> each;
};

// A server of the session era with one tool.
class Echo final : public TextChannel {
 public:
  explicit Echo(Moments& moments) : moments_(moments) {}
  Task<std::optional<std::string>> read() override {
    while (answers_.empty() && !closed_) co_await more_.wait();
    if (answers_.empty()) co_return std::nullopt;
    auto next = std::move(answers_.front());
    answers_.pop_front();
    co_return next;
  }
  Task<void> write(std::string text) override {
    if (text.contains("\"tools/call\"")) moments_.each.push_back(bench::wall_us() - moments_.answered);
    const auto request = parse_json(text).value();
    if (!request.find("id")) co_return;
    const auto method = request["method"].as_text();
    Json result = Json::object();
    if (method == "initialize") {
      result = Json{{"protocolVersion", request["params"]["protocolVersion"]},
                    {"capabilities", Json{{"tools", Json::object()}}},
                    {"serverInfo", Json{{"name", "echo"}, {"version", "1"}}}};
    } else if (method == "tools/list") {
      const Json schema{{"type", "object"}, {"properties", Json{{"text", Json{{"type", "string"}}}}}};
      result["tools"] = Json::array({Json{{"name", "echo"}, {"inputSchema", schema}}});
    } else if (method == "tools/call") {
      result["content"] = Json::array({Json{{"type", "text"}, {"text", "hello"}}});
    }
    answers_.push_back(to_text(Json{{"jsonrpc", "2.0"}, {"id", request["id"]}, {"result", std::move(result)}}));
    more_.notify_all();
  }
  Task<void> close() override {
    closed_ = true;
    more_.notify_all();
    co_return;
  }

 private:
  Moments& moments_;
  std::deque<std::string> answers_;
  Event more_;
  bool closed_ = false;
};

// Wants the tool so many times, then is content.
class Wants final : public Model {
 public:
  Wants(Moments& moments, int turns) : moments_(moments), left_(turns) {
    info_.provider = "bench";
    info_.model = "bench";
    info_.context_tokens = 100'000'000;
  }
  const ModelInfo& info() const noexcept override { return info_; }
  Task<ModelAnswer> ask(ModelRequest, std::function<void(const ModelEvent&)>) override {
    ModelAnswer answer;
    if (left_-- == 0) {
      answer.message.parts.emplace_back(ModelText{"Done."});
      co_return answer;
    }
    answer.message.parts.emplace_back(ModelText{"I call it once more."});
    answer.message.parts.emplace_back(
        ModelToolUse{.id = fmt::format("call_{}", left_), .name = "mcp__s__echo", .input = Json{{"text", "hello"}}});
    answer.stop = ModelStop::tool_use;
    answer.usage = {.input = 100, .output = 10};
    moments_.answered = bench::wall_us();
    co_return answer;
  }

 private:
  Moments& moments_;
  int left_;
  ModelInfo info_;
};

Task<void> converse(Moments& moments, int turns, std::string kept) {
  HostOptions options;
  options.config = LoadedConfig{};
  options.permission.allowed_tools = {"mcp__s__echo"};
  options.permission.ask = [](PermissionQuestion) -> Task<bool> { co_return false; };
  Host host(std::move(options));
  ServerConfig config;
  config.name = "s";
  config.protocol = "legacy";
  host.add_server(config, text_transport("echo", [&]() -> Task<std::unique_ptr<TextChannel>> {
                    co_return std::make_unique<Echo>(moments);
                  }));
  co_await host.start();
  Agent agent(host, std::make_shared<Wants>(moments, turns), {.state_directory = std::move(kept)});
  co_await agent.begin();
  (void)co_await agent.send({.text = "go"});
  co_await agent.stop();
  co_await host.stop();
}

bool measure(const char* where, int turns, const std::string& kept) {
  Moments moments;
  run(converse(moments, turns, kept));
  auto& each = moments.each;
  if (each.size() != static_cast<std::size_t>(turns)) {
    fmt::print(stderr, "{} of {} calls were made\n", each.size(), turns);
    return false;
  }
  std::ranges::sort(each);
  fmt::print(
      "{{\"measure\":\"agent\",\"kept\":\"{}\",\"turns\":{},\"p50_us\":{:.0f},\"p99_us\":{:.0f},\"slowest_us\":{:.0f},"
      "\"aim_us\":1000,\"peak_kib\":{}}}\n",
      where, turns, each[each.size() / 2], each[each.size() * 99 / 100], each.back(), bench::peak_kib());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const int turns = argc > 1 ? std::max(1, std::atoi(argv[1])) : 1000;
  auto folder = (std::filesystem::temp_directory_path() / "patchbay-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 70;
  const bool ok = measure("memory", turns, "") && measure("disk", turns, folder);
  std::filesystem::remove_all(folder);
  return ok ? 0 : 1;
}
