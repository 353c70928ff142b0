// A host with thirty real servers and a killer among them, for a minute, or ten with PATCHBAY_SOAK=1: it kills, stops
// and wakes processes under a seed, while others call, get 5 MB answers, 404 and 503. In the end every server
// answers again, no process is left, nothing was carried out twice, and neither memory nor descriptors have grown
// since the warm-up. N2, L5, L6, L9.
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/host.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "base/timeout.h"
#include "host/make_host.h"
#include "process/children.h"
#include "support/dice.h"
#include "support/host_parts.h"
#include "support/places.h"
#include "support/running_program.h"

namespace patchbay::test {
namespace {

using namespace std::literals;
using testing::IsEmpty;

constexpr std::size_t how_many = 30;
constexpr int callers = 8;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::chrono::seconds duration() {
  if (const auto given = variable("PATCHBAY_SOAK_SECONDS"); !given.empty())
    return std::chrono::seconds(std::stoi(given));
  return variable("PATCHBAY_SOAK") == "1" ? 600s : 60s;
}

std::uint64_t seed() {
  const auto given = variable("PATCHBAY_SEED");
  return given.empty() ? 1 : std::stoull(given);
}

struct Member {
  ServerConfig config;
  std::string tool;
  std::string argument;  // its name; the value is the number of the call
  bool text = false;     // the value as a text
  std::string folder;    // where it counts its calls, if it does
  bool flaps = false;
};

struct Sample {
  std::size_t kib = 0;
  std::size_t descriptors = 0;
};

std::size_t memory_kib() {
  const auto status = slurp("/proc/self/status");
  const auto at = status.find("VmRSS:");
  return at == std::string::npos ? 0 : std::stoul(status.substr(at + 6));
}

template <class Range, class Member>
std::size_t median(Range range, Member member) {
  std::vector<std::size_t> values;
  for (const auto& one : range) values.push_back(std::invoke(member, one));
  std::ranges::sort(values);
  return values.at(values.size() / 2);
}

class SoakRun {
 public:
  SoakRun() {
    declare_http(2);
    declare_npm();
    for (int i = 0; i < 2; ++i) declare("scenario", built("scenario-server"), {}, "echo", "n");
    for (int i = 0; i < 3; ++i) declare("mode", built("mode-server"), {"good"}, "echo", "text").text = true;
    for (int i = 0; i < 5; ++i) {
      auto& member =
          declare_restless({"flaps", "", std::to_string(3000 + dice_.number("flap", std::to_string(i), 5000))});
      member.flaps = true;
    }
    while (members_.size() < how_many) declare_restless({"good", ""});
  }

  Task<void> run() {
    auto options = empty_options();
    options.local_starts = 6;
    for (const auto& member : members_) options.config->servers.push_back(member.config);
    Runtime runtime;
    runtime.limits.connect = 10s;
    runtime.limits.list = 5s;
    auto host = make_host(std::move(options), runtime);
    const auto executor = co_await asio::this_coro::executor;
    end_ = std::chrono::steady_clock::now() + duration();
    co_await host.start();
    {
      Scope scope(executor);
      for (int who = 0; who < callers; ++who) scope.spawn(call_on(host, who));
      scope.spawn(kill_on());
      scope.spawn(sample_on());
      co_await scope.join();
    }
    for (const auto pid : stopped_) ::kill(pid, SIGCONT);
    co_await everybody_answers(host);
    co_await host.stop();
  }

  void judge() {
    // No process that was ever a server is left.
    for (const auto until = std::chrono::steady_clock::now() + 20s; std::chrono::steady_clock::now() < until;) {
      if (marked(mark_).empty()) break;
      ::usleep(50'000);
    }
    EXPECT_THAT(marked(mark_), IsEmpty());
    http_.clear();
    EXPECT_THAT(own_children(), IsEmpty());
    for (const auto& member : members_) {
      if (member.folder.empty()) continue;
      std::map<std::string, int> counted;
      std::istringstream calls(slurp(member.folder + "/calls"));
      for (std::string line; std::getline(calls, line);) {
        EXPECT_EQ(++counted[line], 1) << "call " << line << " of " << member.config.name << " was carried out twice";
      }
    }
    const auto third = samples_.size() / 3;
    ASSERT_GE(third, 3u);
    const std::vector<Sample> middle(samples_.begin() + static_cast<std::ptrdiff_t>(third),
                                     samples_.begin() + static_cast<std::ptrdiff_t>(2 * third));
    const std::vector<Sample> last(samples_.begin() + static_cast<std::ptrdiff_t>(2 * third), samples_.end());
    const auto descriptors = median(last, &Sample::descriptors), before = median(middle, &Sample::descriptors);
    EXPECT_LE(descriptors, before + 30) << "descriptors have grown since the warm-up";
    const auto kib = median(last, &Sample::kib), kib_before = median(middle, &Sample::kib);
#if defined(NDEBUG) && !__has_feature(address_sanitizer)
    EXPECT_LE(kib, kib_before + kib_before / 4 + (24u << 10)) << "memory has grown since the warm-up";
#endif
    EXPECT_GT(answered_, duration().count()) << "otherwise this shows little";
    EXPECT_GT(kills_, 0);
    std::string failures;
    for (const auto& [code, count] : failed_) failures += fmt::format(", {} {}", to_string(code), count);
    std::printf(
        "soak: %zu servers, %lld s, %d killed, %d stopped; %d calls answered%s\n"
        "soak: memory %zu, later %zu KiB; descriptors %zu, later %zu\n",
        members_.size(), static_cast<long long>(duration().count()), kills_, stops_, answered_, failures.c_str(),
        kib_before, kib, before, descriptors);
  }

 private:
  Member& declare(std::string_view kind, std::string command, std::vector<std::string> args, std::string tool,
                  std::string argument) {
    auto& member = members_.emplace_back();
    member.config = named(fmt::format("{}-{}", kind, members_.size()));
    member.config.command = std::move(command);
    member.config.args = std::move(args);
    member.config.env.emplace_back("PATCHBAY_TEST_SOAK", mark_.substr(mark_.find('=') + 1));
    member.tool = std::move(tool);
    member.argument = std::move(argument);
    return member;
  }

  Member& declare_restless(std::vector<std::string> args) {
    auto folder = fmt::format("{}/{}", directory_.path(), members_.size());
    std::filesystem::create_directory(folder);
    args.at(1) = folder;
    auto& member = declare("restless", built("restless-server"), std::move(args), "count", "n");
    member.folder = std::move(folder);
    return member;
  }

  // Real ones, where ./test has installed them.
  void declare_npm() {
    const auto modules = variable("PATCHBAY_NPM_DIR") + "/node_modules/";
    const auto node = variable("PATCHBAY_NODE");
    if (node.empty() || !std::filesystem::exists(modules)) return;
    for (int i = 0; i < 2; ++i) {
      declare("everything", node, {modules + "@modelcontextprotocol/server-everything/dist/index.js", "stdio"}, "echo",
              "message")
          .text = true;
    }
    for (int i = 0; i < 2; ++i) {
      declare("filesystem", node,
              {modules + "@modelcontextprotocol/server-filesystem/dist/index.js", directory_.path()},
              "list_allowed_directories", "");
    }
    auto& memory =
        declare("memory", node, {modules + "@modelcontextprotocol/server-memory/dist/index.js"}, "read_graph", "");
    memory.config.env.emplace_back("MEMORY_FILE_PATH", directory_.path() + "/memory.json");
  }

  void declare_http(int count) {
    for (int i = 0; i < count; ++i) {
      http_.push_back(std::make_unique<RunningProgram>(
          std::vector{built("shaky-http-server"), std::to_string(dice_.number("http", std::to_string(i), 1000))}));
      const auto line = http_.back()->wait_for("serving at ");
      auto& member = declare("http", {}, {}, "count", "n");
      member.config.kind = ServerKind::http;
      member.config.url = line.substr(line.find("http://"));
      while (!member.config.url.empty() && std::isspace(static_cast<unsigned char>(member.config.url.back()))) {
        member.config.url.pop_back();
      }
    }
  }

  bool over() const { return std::chrono::steady_clock::now() >= end_; }

  Task<bool> call(Host& host, const Member& member, std::chrono::milliseconds limit) {
    const auto number = ++calls_;
    Json arguments = Json::object();
    if (!member.argument.empty()) {
      arguments[member.argument] = member.text ? Json(std::to_string(number)) : Json(number);
    }
    auto name = fmt::format("{}/{}", member.config.name, member.tool);
    const bool large = !member.folder.empty() && number % 40 == 0;
    if (large) name = fmt::format("{}/large", member.config.name);
    auto result = co_await as_result(host.call(name, arguments, {.total = limit}));
    if (!result) {
      ++failed_[result.error().code()];
      EXPECT_TRUE(result.error().carried_out().has_value()) << result.error().message();
      EXPECT_NE(result.error().code(), Errc::internal) << result.error().message();
      co_return false;
    }
    ++answered_;
    const auto* text = result->content.empty() ? nullptr : std::get_if<TextContent>(&result->content.front());
    EXPECT_NE(text, nullptr) << name;
    if (text == nullptr || member.argument.empty()) co_return true;
    if (large) {
      EXPECT_EQ(text->text.size(), 5'000'000u) << name;
    } else {
      EXPECT_THAT(text->text, testing::HasSubstr(std::to_string(number))) << name << ": the answer of another call";
    }
    co_return true;
  }

  Task<void> call_on(Host& host, int who) {
    const auto label = fmt::format("caller {}", who);
    for (int i = 0; !over(); ++i) {
      const auto turn = std::to_string(i);
      const auto& member = members_[dice_.number(label, turn, members_.size())];
      (void)co_await call(host, member, 3s);
      co_await sleep_for(std::chrono::milliseconds(dice_.number(label, turn + " pause", 60)));
    }
  }

  // Processes of servers; the warden between them and us is left alone.
  std::vector<pid_t> victims() const {
    std::vector<pid_t> found;
    for (const auto pid : marked(mark_)) {
      const auto words = slurp(fmt::format("/proc/{}/cmdline", pid));
      if (std::ranges::any_of(members_, [&](const Member& member) {
            return !member.config.command.empty() && words.starts_with(member.config.command);
          })) {
        found.push_back(pid);
      }
    }
    return found;
  }

  Task<void> kill_on() {
    for (int i = 0; !over(); ++i) {
      const auto turn = std::to_string(i);
      co_await sleep_for(std::chrono::milliseconds(100 + dice_.number("killer", turn, 500)));
      const auto all = victims();
      if (all.empty()) continue;
      const auto pid = all[dice_.number("killer", turn + " whom", all.size())];
      if (dice_.chance("killer", turn + " stops", 30)) {
        ++stops_;
        ::kill(pid, SIGSTOP);
        stopped_.push_back(pid);
        co_await sleep_for(std::chrono::milliseconds(dice_.number("killer", turn + " wakes", 1500)));
        // Some are woken later, when the limit of calls is over.
        if (dice_.chance("killer", turn + " sleeps on", 50)) continue;
        for (const auto one : std::exchange(stopped_, {})) ::kill(one, SIGCONT);
      } else {
        ++kills_;
        ::kill(pid, SIGKILL);
      }
    }
  }

  Task<void> sample_on() {
    while (!over()) {
      samples_.push_back({memory_kib(), open_descriptors()});
      co_await sleep_for(500ms);
    }
  }

  // The trouble is over: whoever is called answers, if not at once.
  Task<void> everybody_answers(Host& host) {
    for (const auto& member : members_) {
      bool answered = false;
      for (int tries = 0; tries < 12 && !answered; ++tries) answered = co_await call(host, member, 10s);
      EXPECT_TRUE(answered) << member.config.name << " does not answer any more";
    }
  }

  Dice dice_{seed()};
  std::string mark_ = fmt::format("PATCHBAY_TEST_SOAK={}-{}", ::getpid(), seed());
  TemporaryDirectory directory_;
  std::vector<std::unique_ptr<RunningProgram>> http_;
  std::vector<Member> members_;
  std::chrono::steady_clock::time_point end_;
  std::vector<pid_t> stopped_;
  std::vector<Sample> samples_;
  std::int64_t calls_ = 0;
  int answered_ = 0;
  int kills_ = 0;
  int stops_ = 0;
  std::map<Errc, int> failed_;
};

TEST(Soak, ThirtyServersAmongWhichAKillerIsAtWork) {
  SoakRun soak;
  asio::io_context loop(1);
  asio::co_spawn(loop, soak.run(), [](std::exception_ptr thrown) {
    if (thrown) ADD_FAILURE() << error_from(thrown).message();
  });
  loop.run_for(duration() + 5min);
  EXPECT_TRUE(loop.stopped()) << "it did not end";
  soak.judge();
}

}  // namespace
}  // namespace patchbay::test
