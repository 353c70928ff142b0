// The hot path without system calls, for counting its instructions: bench/instructions runs
// this under callgrind with two numbers of repetitions and takes the difference. Everything
// is the same in every run: no clock, no pipe, no randomness in what is measured.
//
//   bench-instructions MEASURE REPETITIONS
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>

#include <patchbay/client.h>
#include <patchbay/host.h>

#include "base/runtime.h"
#include "base/waiting.h"
#include "json/schema.h"
#include "many_tools.h"
#include "protocol/codec.h"
#include "protocol/wire.h"
#include "rpc/transport.h"

namespace {

namespace pb = patchbay;
using pb::Task;

constexpr std::string_view said = R"({"content":[{"type":"text","text":"said"}]})";

void check(bool right) {
  if (right) return;
  std::fputs("not the answer that was expected\n", stderr);
  std::exit(1);
}

// A server that answers what is sent to it from fixed texts. Messages are written and read
// as the stdio channel does.
class FixedChannel final : public pb::Channel {
 public:
  pb::Result<void> send(pb::Message message) override {
    line_.clear();
    append_message(line_, message);
    const auto* request = std::get_if<pb::Request>(&message);
    if (!request) return {};
    const char* result =
        request->method == "initialize"   ? R"("result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},)"
                                            R"("serverInfo":{"name":"fixed","version":"1"}})"
        : request->method == "tools/list" ? R"("result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]})"
        : request->method == "tools/call" ? R"("result":{"content":[{"type":"text","text":"said"}]})"
                                          : R"("error":{"code":-32601,"message":"Method not found"})";
    auto answer = std::make_shared<std::string>(R"({"jsonrpc":"2.0","id":)");
    *answer += pb::to_text(request->id);
    *answer += ',';
    *answer += result;
    *answer += '}';
    answer_ = std::move(answer);
    arrived_.notify_all();
    return {};
  }
  Task<pb::Incoming> receive() override {
    while (!answer_ && !closed_) co_await arrived_.wait();
    if (closed_) throw pb::Error(pb::Errc::closed, "closed");
    const std::shared_ptr<const std::string> line = std::exchange(answer_, nullptr);
    auto decoded = pb::decode_messages(line, *line);
    co_return std::move(decoded->messages.front());
  }
  void abandon(const pb::RequestId&) override {}
  Task<void> close(pb::CloseMode) override {
    closed_ = true;
    arrived_.notify_all();
    co_return;
  }

 private:
  std::string line_;
  std::shared_ptr<const std::string> answer_;
  pb::Event arrived_;
  bool closed_ = false;
};

class FixedTransport final : public pb::Transport {
 public:
  Kind kind() const noexcept override { return Kind::memory; }
  std::string describe() const override { return "fixed"; }
  Task<std::unique_ptr<pb::Channel>> open(const pb::Runtime&) override { co_return std::make_unique<FixedChannel>(); }
};

Task<int> calls(int repetitions) {
  const pb::Client client({.info = {.name = "bench", .version = "1"}});
  auto session = co_await client.connect(std::make_shared<FixedTransport>());
  for (int i = 0; i < repetitions; ++i) {
    const auto result = co_await session.call_tool("echo", pb::Json{{"text", "hello"}});
    check(result.content.size() == 1);
  }
  co_await session.close();
  co_return 0;
}

// `state`: where the host keeps what it keeps; with one, the latest frames of each server are recorded.
Task<int> host_calls(int servers, int repetitions, std::string state = {}) {
  pb::HostOptions options;
  options.config = pb::LoadedConfig{};
  options.state_directory = std::move(state);
  pb::Host host(std::move(options));
  for (int i = 0; i < servers; ++i) {
    pb::ServerConfig config;
    config.name = "s" + std::to_string(i);
    host.add_server(std::move(config), std::make_shared<FixedTransport>());
  }
  co_await host.start();
  for (int i = 0; i < repetitions; ++i) {
    const auto result = co_await host.call("mcp__s0__echo", pb::Json{{"text", "hello"}});
    check(result.content.size() == 1);
  }
  co_await host.stop_quickly();
  co_return 0;
}

// Connect, list and the catalog, for each of so many servers.
Task<int> host_start(int servers) {
  pb::HostOptions options;
  options.config = pb::LoadedConfig{};
  pb::Host host(std::move(options));
  for (int i = 0; i < servers; ++i) {
    pb::ServerConfig config;
    config.name = "s" + std::to_string(i);
    host.add_server(std::move(config), std::make_shared<FixedTransport>());
  }
  co_await host.start();
  check(host.catalog()->size() == static_cast<std::size_t>(servers));
  co_await host.stop_quickly();
  co_return 0;
}

void make_catalogs(bench::ManyTools::Size size, int repetitions) {
  bench::ManyTools tools(size);
  tools.start();
  for (int i = 0; i < repetitions; ++i) check(tools.changed_catalog() > 0);
}

void start_catalogs(int repetitions) {
  bench::ManyTools tools(bench::very_many);
  for (int i = 0; i < repetitions; ++i) check(tools.start() == 10'000);
}

void encode_requests(int repetitions) {
  const auto& wire = *pb::find_wire(pb::legacy_versions()[0]);
  std::string out;
  for (int i = 0; i < repetitions; ++i) {
    pb::Members members;
    members.emplace_back("name", pb::Json("echo"));
    members.emplace_back("arguments", pb::Json{{"text", "hello"}});
    out.clear();
    append_message(out, pb::Request{std::int64_t{i}, "tools/call", wire.params(members, {}, {})});
    check(out.size() > 80);
  }
}

void decode_responses(std::string_view result, int repetitions) {
  const auto& wire = *pb::find_wire(pb::legacy_versions()[0]);
  const auto line =
      std::make_shared<const std::string>(R"({"jsonrpc":"2.0","id":7,"result":)" + std::string(result) + "}");
  for (int i = 0; i < repetitions; ++i) {
    auto decoded = pb::decode_messages(line, *line);
    auto& response = std::get<pb::Response>(decoded->messages.front());
    pb::CallToolResult plain;
    if (wire.read_plain(response.result.text(), plain)) continue;
    auto outcome = wire.outcome("tools/call", std::move(response.result).take());
    check(pb::decode<pb::CallToolResult>(std::get<pb::Json>(std::move(*outcome))).has_value());
  }
}

std::string large_text() {
  std::string text = R"({"content":[{"type":"text","text":")";
  while (text.size() < 1'000'000) {
    text += R"(2026-07-28T09:30:12Z worker: handled \"job\" in the usual time; nothing else to report\n)";
  }
  return text + R"("}]})";
}

std::string many_objects() {
  std::string text = R"({"content":[],"structuredContent":{"rows":[)";
  for (int i = 0; text.size() < 1'000'000; ++i) {
    text += (i ? "," : "") + std::string(R"({"id":)") + std::to_string(i);
    text += R"(,"name":"row","score":7.25,"active":true,"tags":["a","b"]})";
  }
  return text + "]}}";
}

void check_schemas(int repetitions) {
  const auto schema = pb::parse_json(R"({"type":"object","required":["text","count"],"properties":{
    "text":{"type":"string","minLength":1},"count":{"type":"integer","minimum":0},
    "tags":{"type":"array","items":{"type":"string"}}}})");
  const auto compiled = pb::Schema::compile(*schema);
  const pb::Json value{{"text", "hello"}, {"count", 3}, {"tags", pb::Json::array({"a", "b"})}};
  for (int i = 0; i < repetitions; ++i) check(compiled->validate(value)->empty());
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::function<void(int)>> measures{
      {"call", [](int n) { check(pb::run(calls(n)) == 0); }},
      {"host-of-one", [](int n) { check(pb::run(host_calls(1, n)) == 0); }},
      // Of servers that the program reaches itself nothing is written there.
      {"host-recorded", [](int n) { check(pb::run(host_calls(1, n, "/nonexistent")) == 0); }},
      {"host", [](int n) { check(pb::run(host_calls(200, n)) == 0); }},
      {"start", [](int n) { check(pb::run(host_start(n)) == 0); }},
      {"catalog", [](int n) { make_catalogs({.servers = 30}, n); }},
      {"catalog-large", [](int n) { make_catalogs(bench::very_many, n); }},
      {"catalog-start", start_catalogs},
      {"encode", encode_requests},
      {"decode", [](int n) { decode_responses(said, n); }},
      {"large", [](int n) { decode_responses(large_text(), n); }},
      {"many", [](int n) { decode_responses(many_objects(), n); }},
      {"schema", check_schemas},
  };
  const auto found = argc == 3 ? measures.find(argv[1]) : measures.end();
  if (found == measures.end()) {
    std::fputs(
        "usage: bench-instructions "
        "call|host-of-one|host-recorded|host|start|catalog|catalog-large|catalog-start|encode|decode|large|many|schema "
        "REPETITIONS\n",
        stderr);
    return 2;
  }
  found->second(std::atoi(argv[2]));
  return 0;
}
