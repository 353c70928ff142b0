// How long the program takes from start to exit, and how much memory, for the commands a
// person or a script runs again and again. Needs nothing of the library: what is measured
// is the binary, as a user starts it.
//
//   bench-startup PATH-OF-PATCHBAY [RUNS]
//
// With --serve-legacy or --serve-modern this program is the server that gets called: it
// answers from fixed texts, so that its own cost is next to nothing.
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

extern char** environ;  // NOLINT

namespace {

// The JSON text after `"name":`, up to what ends a number or string; requests of a real
// client are written without blanks.
std::string_view member(std::string_view line, std::string_view name) {
  const std::string key = "\"" + std::string(name) + "\":";
  const auto at = line.find(key);
  if (at == std::string_view::npos) return {};
  auto rest = line.substr(at + key.size());
  if (rest.starts_with('"')) return rest.substr(0, rest.find('"', 1) + 1);
  return rest.substr(0, rest.find_first_of(",}"));
}

int serve(bool modern) {
  const std::string tool =
      R"({"name":"echo","description":"Says it again","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}})";
  const std::string mark = modern ? R"("resultType":"complete",)" : "";
  const std::string cache = modern ? R"(,"ttlMs":0,"cacheScope":"private")" : "";
  for (std::string line; std::getline(std::cin, line);) {
    const auto method = member(line, "method");
    const auto id = member(line, "id");
    if (id.empty()) continue;
    std::string body;
    if (method == R"("server/discover")" && modern) {
      body = R"("result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}})" +
             cache + R"(,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fixed","version":"1"}}})";
    } else if (method == R"("initialize")" && !modern) {
      body =
          R"("result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"fixed","version":"1"}})";
    } else if (method == R"("tools/list")") {
      body = R"("result":{)" + mark + R"("tools":[)" + tool + "]" + cache + "}";
    } else if (method == R"("tools/call")") {
      body = R"("result":{)" + mark + R"("content":[{"type":"text","text":"said"}]})";
    } else {
      body = R"("error":{"code":-32601,"message":"Method not found"})";
    }
    std::cout << R"({"jsonrpc":"2.0","id":)" << id << "," << body << "}\n" << std::flush;
  }
  return 0;
}

struct Run {
  double milliseconds = 0;
  long kibibytes = 0;
  int status = 0;
};

Run run_once(const std::vector<std::string>& command, const std::string& directory) {
  std::vector<char*> argv;
  for (const auto& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
  const auto began = std::chrono::steady_clock::now();
  pid_t child = 0;
  const int failed = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return {.status = 127};
  rusage usage{};
  int status = 0;
  wait4(child, &status, 0, &usage);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
  return {.milliseconds = took.count(),
          .kibibytes = usage.ru_maxrss,
          .status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)};
}

struct Aim {
  double milliseconds;
  double mebibytes;
};

bool measure(const char* title, const std::vector<std::string>& command, int runs, Aim aim,
             const std::string& directory = ".") {
  std::vector<double> times;
  long memory = 0;
  for (int i = 0; i < runs; ++i) {
    const Run run = run_once(command, directory);
    if (run.status != 0) {
      std::printf("%-28s failed with exit code %d\n", title, run.status);
      return false;
    }
    times.push_back(run.milliseconds);
    memory = std::max(memory, run.kibibytes);
  }
  std::ranges::sort(times);
  const double median = times[times.size() / 2];
  const double mebibytes = static_cast<double>(memory) / 1024;
  std::printf("%-28s median %6.1f ms (aim %.0f)   fastest %6.1f   slowest %6.1f   memory %5.1f MiB (aim %.0f)%s\n",
              title, median, aim.milliseconds, times.front(), times.back(), mebibytes, aim.mebibytes,
              median <= aim.milliseconds && mebibytes <= aim.mebibytes ? "" : "   MISSED");
  return true;
}

// A directory whose .mcp.json declares a hundred servers of all kinds.
template <class Function>
bool with_many_servers(const Function& function) {
  char directory[] = "/tmp/patchbay-bench-XXXXXX";
  if (mkdtemp(directory) == nullptr) return false;
  const std::string file = std::string(directory) + "/.mcp.json";
  {
    std::ofstream out(file);
    out << "{\n  // a hundred\n  \"mcpServers\": {\n";
    for (int i = 0; i < 100; ++i) {
      const auto number = std::to_string(i);
      out << "    \"server-" << number << "\": "
          << (i % 3 == 0 ? R"({ "type": "http", "url": "https://host)" + number +
                               R"(.example/mcp", "headers": { "Authorization": "Bearer ${TOKEN:-none}" } })"
                         : R"({ "command": "npx", "args": ["-y", "package-)" + number +
                               R"("], "env": { "API_KEY": "${KEY:-none}", "DEBUG": "1" } })")
          << ",\n";
    }
    out << "  },\n}\n";
  }
  const bool ok = function(directory);
  unlink(file.c_str());
  rmdir(directory);
  return ok;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: bench-startup PATCHBAY [RUNS]\n", stderr);
    return 2;
  }
  const std::string_view first = argv[1];
  if (first == "--serve-legacy") return serve(false);
  if (first == "--serve-modern") return serve(true);
  const std::string program = argv[1];
  const int runs = argc > 2 ? std::max(1, std::atoi(argv[2])) : 50;
  char self[4096] = {};
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return 70;
  auto config = [&](const char* era) {
    return std::string(R"({"mcpServers":{"fixed":{"command":")") + self + R"(","args":["--serve-)" + era + R"("]}}})";
  };
  auto call = [&](const char* era) {
    return std::vector<std::string>{program, "--strict-mcp-config", "--mcp-config", config(era),
                                    "call",  "fixed/echo",          "text=hello"};
  };
  bool ok = measure("patchbay --version", {program, "--version"}, runs, {15, 20});
  ok = measure("patchbay call, legacy server", call("legacy"), runs, {25, 20}) && ok;
  ok = measure("patchbay call, modern server", call("modern"), runs, {25, 20}) && ok;
  ok = with_many_servers([&](const std::string& directory) {
         return measure("patchbay list, 100 servers", {program, "list", "--json"}, runs, {25, 20}, directory);
       }) &&
       ok;
  return ok ? 0 : 1;
}
