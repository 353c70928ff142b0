// The least a client can do: poll, read and write on pipes, and a look for the end of each
// line. What it sends is what other clients send, each request with an id of its own; what it
// gets it holds as a whole and does not read. For
// `connect` it starts the servers and exchanges the lines of the handshake, no more. `host` and
// `host-connect` are the same as `sequential` and `connect`: it has no host.
//
// Compiled with BENCH_PARSES it is the least a client can do that knows what it got: it reads
// every answer to `echo` with simdjson, finds the request by its id and looks at the text.
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#ifdef BENCH_PARSES
#include <unordered_set>

#include <simdjson.h>
#endif

#include "figures.h"

extern char** environ;  // NOLINT

namespace {

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

struct Child {
  int in = -1;   // we write
  int out = -1;  // we read
  pid_t pid = 0;
};

Child start(const std::string& server) {
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) give_up("pipe");
  fcntl(out[0], F_SETPIPE_SZ, 1 << 20);  // refused when the user's ration is used up: as well
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  char* argv[] = {const_cast<char*>(server.c_str()), nullptr};
  Child child;
  errno = posix_spawn(&child.pid, argv[0], &actions, nullptr, argv, environ);
  if (errno != 0) give_up(server.c_str());
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  child.in = in[1];
  child.out = out[0];
  return child;
}

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto wrote = write(fd, bytes.data(), bytes.size());
    if (wrote < 0) give_up("write");
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

// Large enough for every answer: a line is there as a whole when its end has come.
char buffer[8 << 20];
std::size_t held = 0;  // of a line that has not ended

#ifdef BENCH_PARSES
std::unordered_set<std::int64_t> asked;  // ids of requests without an answer

void understand(const char* line, const char* end) {
  static simdjson::ondemand::parser parser;
  const auto size = static_cast<std::size_t>(end - line);
  const auto room = static_cast<std::size_t>(buffer + sizeof buffer - line);
  std::int64_t id = 0;
  std::string_view text;
  simdjson::ondemand::document answer;
  const bool read = parser.iterate(simdjson::padded_string_view(line, size, room)).get(answer) == simdjson::SUCCESS &&
                    answer["id"].get(id) == simdjson::SUCCESS;
  if (!read || id < 2) return;  // of the handshake
  if (answer["result"]["content"].at(0)["text"].get(text) != simdjson::SUCCESS || text.size() != 4 ||
      asked.erase(id) != 1) {
    std::fputs("not the answer that was expected\n", stderr);
    std::exit(1);
  }
}
#else
void understand(const char*, const char*) {}
#endif

// Waits, reads once, and says how many lines ended in what came.
int lines_read(int fd) {
  pollfd waiting{fd, POLLIN, 0};
  if (poll(&waiting, 1, -1) < 0) give_up("poll");
  const auto got = read(fd, buffer + held, sizeof buffer - held);
  if (got <= 0) give_up("read");
  int lines = 0;
  const char* begun = buffer;  // the line that is being looked at
  const char* const end = buffer + held + got;
  for (const char* at = buffer + held;
       (at = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)))); ++at) {
    ++lines;
    understand(begun, at);
    begun = at + 1;
  }
  held = static_cast<std::size_t>(end - begun);
  if (lines > 0 && held > 0) std::memmove(buffer, begun, held);
  return lines;
}

constexpr std::string_view initialize =
    R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"floor","version":"1"}}})"
    "\n";
constexpr std::string_view initialized_and_list = R"({"jsonrpc":"2.0","method":"notifications/initialized"})"
                                                  "\n"
                                                  R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})"
                                                  "\n";

// A request as other clients write it, with an id of its own.
class Call {
 public:
  explicit Call(std::string_view tool)
      : rest_(R"(,"method":"tools/call","params":{"name":")" + std::string(tool) +
              R"(","arguments":{"text":"hello"}}})" + "\n") {}

  void append_to(std::string& out) {
    char digits[24];
#ifdef BENCH_PARSES
    asked.insert(next_);
#endif
    out += R"({"jsonrpc":"2.0","id":)";
    out.append(digits, std::to_chars(digits, std::end(digits), next_++).ptr);
    out += rest_;
  }

 private:
  std::string rest_;
  int next_ = 2;
};

void connect(const Child& child) {
  write_all(child.in, initialize);
  while (lines_read(child.out) == 0) continue;
  write_all(child.in, initialized_and_list);
  while (lines_read(child.out) == 0) continue;
}

void one_call(const Child& child, Call& call) {
  static std::string line;
  line.clear();
  call.append_to(line);
  write_all(child.in, line);
  while (lines_read(child.out) == 0) continue;
}

// `depth` requests on their way at any time; what one read answers is asked again in one write.
void flood(const Child& child, Call& call, int calls, int depth) {
  std::string batch;
  int sent = 0;
  const auto send = [&](int more) {
    batch.clear();
    for (int i = 0; i < more; ++i) call.append_to(batch);
    write_all(child.in, batch);
    sent += more;
  };
  send(std::min(calls, depth));
  for (int answered = 0; answered < calls;) {
    const int lines = lines_read(child.out);
    answered += lines;
    send(std::min(lines, calls - sent));
  }
}

// Servers one after the other into `at_once` places, each as soon as one is free.
void connect_many(const std::string& server, int count, int at_once) {
  struct Place {
    Child child;
    bool listed = false;
  };
  std::vector<Place> places;
  int started = 0, done = 0;
  while (done < count) {
    while (started < count && static_cast<int>(places.size()) < at_once) {
      places.push_back({start(server)});
      write_all(places.back().child.in, initialize);
      ++started;
    }
    std::vector<pollfd> waiting;
    for (const auto& place : places) waiting.push_back({place.child.out, POLLIN, 0});
    if (poll(waiting.data(), waiting.size(), -1) < 0) give_up("poll");
    for (std::size_t i = waiting.size(); i-- > 0;) {
      if (waiting[i].revents == 0 || lines_read(places[i].child.out) == 0) continue;
      if (!places[i].listed) {
        places[i].listed = true;
        write_all(places[i].child.in, initialized_and_list);
      } else {
        ++done;
        places.erase(places.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = bench::arguments_of(argc, argv);
  if (arguments.measure == "connect" || arguments.measure == "host-connect") {
    bench::Meter meter(arguments.measure);
    connect_many(arguments.server, arguments.count, arguments.at_once);
    meter.print(1);
    return 0;
  }
  const auto child = start(arguments.server);
  connect(child);
  const bool large = arguments.measure == "large" || arguments.measure == "forward";
  Call call(large ? "large" : arguments.measure == "many" ? "many" : "echo");
  if (arguments.measure == "parallel") {
    flood(child, call, arguments.warm_up(), arguments.at_once);
    bench::Meter meter(arguments.measure);
    flood(child, call, arguments.count, arguments.at_once);
    meter.print(arguments.count);
    return 0;
  }
  for (int i = 0; i < arguments.warm_up(); ++i) one_call(child, call);
  bench::Meter meter(arguments.measure);
  for (int i = 0; i < arguments.count; ++i) {
    const double began = bench::wall_us();
    one_call(child, call);
    meter.took(bench::wall_us() - began);
  }
  meter.print(arguments.count);
  return 0;
}
