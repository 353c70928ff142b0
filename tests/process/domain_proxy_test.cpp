// N5: the proxy of a sandbox that lists domains, against servers that use it as they should and against hostile ones:
// whom it connects to, where a request ends, what each thing may cost, and that nothing of it is left.
#include "process/domain_proxy.h"

#include <arpa/inet.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>

#include "base/offload.h"
#include "base/scope.h"
#include "base/timeout.h"
#include "support/beside.h"
#include "support/capability.h"
#include "support/loop.h"
#include "support/manual_clock.h"
#include "support/scripted_server.h"

namespace patchbay {
namespace {

using asio::ip::tcp;
using boost::system::error_code;
using namespace std::chrono_literals;
using test::beside;
using test::ManualClock;
using test::run_task;
using test::ScriptConnection;
using test::ScriptedServer;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using testing::UnorderedElementsAre;

using Names = std::map<std::string, std::vector<std::string>>;

// A port that nobody else gets for as long as this lives. It does not listen.
tcp::socket held_port(const asio::any_io_executor& executor) {
  tcp::socket out(executor, tcp::v4());
  out.set_option(tcp::socket::reuse_address(true));
  out.bind({asio::ip::address_v4::loopback(), 0});
  return out;
}

// A proxy of a server "notes", and what it was told and asked.
class Scene {
 public:
  Scene(const asio::any_io_executor& executor, const std::vector<std::string>& domains, Names known = {},
        DomainProxyLimits limits = {})
      : names(std::move(known)), executor_(executor), held_(held_port(executor)) {
    DomainProxy::Options options{.limits = limits};
    options.access = {.server = "notes", .rules = {}, .setting = "\"sandbox.network\" of its entry"};
    for (const auto& domain : domains) options.access.rules.push_back(read_domain_rule(domain).value());
    options.refused = [this](std::string_view line) { told.emplace_back(line); };
    options.look_up = [this](std::string name) -> Task<std::vector<std::string>> {
      asked.push_back(name);
      if (resolver) co_return co_await resolver(std::move(name));
      if (hangs) co_await sleep_for(24h);
      co_return names[name];
    };
    proxy = std::make_unique<DomainProxy>(executor, std::move(options));
    tcp::acceptor listener(executor, held_.local_endpoint());
    proxy->serve(Fd(listener.release()));
  }

  Task<tcp::socket> dial() {
    tcp::socket socket(executor_);
    co_await socket.async_connect(held_.local_endpoint(), asio::use_awaitable);
    co_return socket;
  }
  static Task<void> write(tcp::socket& socket, std::string bytes) {
    error_code ignored;
    co_await asio::async_write(socket, asio::buffer(bytes), asio::redirect_error(asio::use_awaitable, ignored));
  }
  // What comes until there is `mark`, or the end.
  static Task<std::string> read(tcp::socket& socket, std::string mark = {}) {
    std::string text;
    std::array<char, 4096> room;
    while (mark.empty() || !text.contains(mark)) {
      error_code failed;
      const auto length =
          co_await socket.async_read_some(asio::buffer(room), asio::redirect_error(asio::use_awaitable, failed));
      if (failed) break;
      text.append(room.data(), length);
    }
    co_return text;
  }
  // The whole answer to what one connection sends.
  Task<std::string> ask(std::string bytes) {
    auto socket = co_await dial();
    co_await write(socket, std::move(bytes));
    co_return co_await read(socket);
  }

  Names names;
  bool hangs = false;
  LookUpName resolver;
  std::vector<std::string> told;
  std::vector<std::string> asked;
  std::unique_ptr<DomainProxy> proxy;

 private:
  asio::any_io_executor executor_;
  tcp::socket held_;
};

// Until it is so. The loop answers everything meanwhile.
Task<void> until(std::function<bool()> so) {
  while (!so()) co_await asio::post(asio::use_awaitable);
}

std::string connect_to(const std::string& target) { return "CONNECT " + target + " HTTP/1.1\r\nHost: x\r\n\r\n"; }
std::string at(std::string_view name, const ScriptedServer& server) {
  return std::string(name) + ":" + std::to_string(server.port());
}

const Names here{{"api.test", {"127.0.0.1"}}, {"other.test", {"127.0.0.1"}}};

TEST(DomainProxyTest, ATunnelCarriesEveryByteBothWays) {
  ScriptedServer server([](ScriptConnection& connection) {
    const auto all = connection.read_exactly(300'000);
    connection.write(all);
    connection.finish();
  });
  run_task([&]() -> Task<void> {
    Scene scene(co_await asio::this_coro::executor, {at("api.test", server), at("127.0.0.1", server)}, here);
    auto socket = co_await scene.dial();
    std::string bytes;
    for (int i = 0; i < 300'000; ++i) bytes += static_cast<char>(i * 7);
    // The first of them come with the head.
    co_await Scene::write(socket, connect_to(at("API.test.", server)) + bytes);
    const auto answer = co_await Scene::read(socket);
    EXPECT_EQ(answer, std::string("HTTP/1.1 200 Connection established\r\n\r\n") + bytes);
    EXPECT_THAT(scene.told, IsEmpty());
    socket.close();
    co_await until([&] { return scene.proxy->connections() == 0; });
  });
}

TEST(DomainProxyTest, AnEndOfOneSideIsHandedOn) {
  ScriptedServer server([](ScriptConnection& connection) {
    connection.read_until("hello");
    EXPECT_THROW(connection.read_exactly(1), ScriptConnection::Ended);  // the client's end
    connection.write("bye");
    connection.finish();
  });
  run_task([&]() -> Task<void> {
    Scene scene(co_await asio::this_coro::executor, {at("127.0.0.1", server)});
    auto socket = co_await scene.dial();
    co_await Scene::write(socket, connect_to(at("127.0.0.1", server)) + "hello");
    socket.shutdown(tcp::socket::shutdown_send);
    EXPECT_THAT(co_await Scene::read(socket), EndsWith("bye"));
  });
}

// An answer may have no other mark of its end.
TEST(DomainProxyTest, AResetOfOneSideIsNoEndOfTheOther) {
  test::Signal reset_here;
  ScriptedServer server([&](ScriptConnection& connection) {
    if (connection.read_exactly(1) == "r") {
      std::array<char, 1> byte{};
      EXPECT_EQ(::recv(connection.fd(), byte.data(), byte.size(), 0), -1);
      EXPECT_EQ(errno, ECONNRESET);
      reset_here.set();
      return;
    }
    connection.write("half");
    connection.read_exactly(1);
    connection.reset();
  });
  run_task([&]() -> Task<void> {
    Scene scene(co_await asio::this_coro::executor, {at("127.0.0.1", server)});
    auto socket = co_await scene.dial();
    co_await Scene::write(socket, connect_to(at("127.0.0.1", server)) + "x");
    EXPECT_THAT(co_await Scene::read(socket, "half"), EndsWith("half"));
    co_await Scene::write(socket, "y");
    std::array<char, 16> room;
    error_code failed;
    co_await socket.async_read_some(asio::buffer(room), asio::redirect_error(asio::use_awaitable, failed));
    EXPECT_EQ(failed, asio::error::connection_reset);

    auto breaks = co_await scene.dial();
    co_await Scene::write(breaks, connect_to(at("127.0.0.1", server)) + "r");
    EXPECT_THAT(co_await Scene::read(breaks, "\r\n\r\n"), StartsWith("HTTP/1.1 200 "));
    breaks.set_option(tcp::socket::linger(true, 0));
    breaks.close();
    co_await until([&] { return reset_here.is_set(); });
  });
}

TEST(DomainProxyTest, APlainRequestGoesToItsUrlWhateverHostSays) {
  ScriptedServer server([](ScriptConnection& connection) {
    const auto request = connection.read_request();
    connection.answer("200 OK", request.line() + "|" + request.field("Host") + "|" + request.body);
    connection.finish();
  });
  run_task([&]() -> Task<void> {
    Scene scene(co_await asio::this_coro::executor, {at("api.test", server), at("127.0.0.1", server)}, here);
    const auto answer = co_await scene.ask("POST http://" + at("api.test", server) +
                                           "/a?b HTTP/1.1\r\nHost: other.test\r\nContent-Length: 4\r\n\r\nbody");
    EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 200 OK"),
                              EndsWith("POST /a?b HTTP/1.1|" + at("api.test", server) + "|body")));
    // A listed name in Host does not help a URL that is not.
    EXPECT_THAT(co_await scene.ask("GET http://evil.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n"),
                AllOf(StartsWith("HTTP/1.1 403 "), HasSubstr("evil.test")));
    EXPECT_EQ(server.connections(), 1);
  });
}

TEST(DomainProxyTest, WhatIsNotListedIsRefusedBeforeAnythingIsAsked) {
  ScriptedServer server([](ScriptConnection& connection) { connection.wait_for_end(); });
  run_task([&]() -> Task<void> {
    Scene scene(co_await asio::this_coro::executor, {at("api.test", server), "*.b.test"}, here);
    const std::string line =
        "the sandbox of \"notes\" does not allow evil.test:443; to allow it, add \"evil.test\" to \"sandbox.network\" "
        "of "
        "its entry";
    const auto answer = co_await scene.ask(connect_to("evil.test:443"));
    EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 403 Forbidden\r\n"), EndsWith("\r\n\r\n" + line + "\n")));
    EXPECT_THAT(scene.told, ElementsAre(line));
    for (const auto& target :
         {std::string("169.254.169.254:80"), std::string("[::ffff:169.254.169.254]:80"), std::string("0xa9fea9fe:80"),
          std::string("api.test:22"), std::string("b.test:443"), at("other.test", server), at("127.0.0.1", server),
          at("0x7f.1", server), at("localhost", server), std::string("8.8.8.8:53")}) {
      EXPECT_THAT(co_await scene.ask(connect_to(target)), StartsWith("HTTP/1.1 403 ")) << target;
    }
    EXPECT_THAT(co_await scene.ask("GET http://169.254.169.254/latest/meta-data HTTP/1.1\r\n\r\n"),
                StartsWith("HTTP/1.1 403 "));
    EXPECT_THAT(co_await scene.ask(connect_to("b\xC3\xBC"
                                              "cher.test:443")),
                StartsWith("HTTP/1.1 400 "));
    EXPECT_THAT(scene.asked, IsEmpty());
    EXPECT_EQ(server.connections(), 0);
  });
}

TEST(DomainProxyTest, AListedNameThatComesToAnAddressNearUsIsRefused) {
  ScriptedServer server([](ScriptConnection& connection) { connection.finish(); });
  run_task([&]() -> Task<void> {
    const auto executor = co_await asio::this_coro::executor;
    const auto target = at("api.test", server);
    for (const auto* address : {"127.0.0.1", "0.0.0.0", "::1", "::ffff:127.0.0.1", "10.1.2.3", "192.168.1.1",
                                "169.254.169.254", "fe80::1", "fd00::1", "nonsense"}) {
      Scene scene(executor, {target}, {{"api.test", {address}}});
      EXPECT_THAT(co_await scene.ask(connect_to(target)),
                  AllOf(StartsWith("HTTP/1.1 403 "), HasSubstr("because it is at")))
          << address;
      EXPECT_EQ(scene.told.size(), 1u) << address;
    }
    // Of several addresses the allowed ones are used, and no others.
    Scene scene(executor, {target, at("127.0.0.1", server)}, {{"api.test", {"10.1.2.3", "127.0.0.2", "127.0.0.1"}}});
    EXPECT_THAT(co_await scene.ask(connect_to(target)), StartsWith("HTTP/1.1 200 "));
    EXPECT_EQ(server.connections(), 1);
  });
}

// A network of this thread's own, whose loopback has this address as well.
bool own_network_with(const char* address) {
  if (::unshare(CLONE_NEWNET) != 0) return false;
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  for (const auto& [name, value] : {std::pair("lo", "127.0.0.1"), std::pair("lo:1", address)}) {
    ifreq wish{};
    std::strcpy(wish.ifr_name, name);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    ::inet_pton(AF_INET, value, &to.sin_addr);
    std::memcpy(&wish.ifr_addr, &to, sizeof to);
    if (::ioctl(socket.get(), SIOCSIFADDR, &wish) != 0) return false;
    std::strcpy(wish.ifr_name, name);
    wish.ifr_flags = IFF_UP | IFF_RUNNING;
    if (::ioctl(socket.get(), SIOCSIFFLAGS, &wish) != 0) return false;
  }
  return true;
}

TEST(DomainProxyTest, AListedNameThatComesToThisMachineByItsPublicAddressIsRefused) {
  NEEDS(root);
  NEEDS(namespaces);
  // The network of a thread ends with it.
  std::thread([] {
    ASSERT_TRUE(own_network_with("8.8.4.4")) << std::strerror(errno);
    std::string heard;
    {
      ScriptedServer server([&](ScriptConnection& connection) { heard += connection.read_exactly(1); },
                            {.address = "8.8.4.4"});
      run_task([&]() -> Task<void> {
        const auto executor = co_await asio::this_coro::executor;
        const auto target = at("api.test", server);
        Scene scene(executor, {target}, {{"api.test", {"8.8.4.4"}}});
        EXPECT_THAT(
            co_await scene.ask(connect_to(target) + "secret"),
            AllOf(StartsWith("HTTP/1.1 403 "), HasSubstr("because it is at 8.8.4.4, an address of this machine"),
                  HasSubstr("add \"" + at("8.8.4.4", server) + "\" to")));
        EXPECT_EQ(scene.told.size(), 1u);
        // Who lists the address means it.
        Scene named(executor, {target, at("8.8.4.4", server)}, scene.names);
        for (const auto& one : {target, at("8.8.4.4", server)}) {
          EXPECT_THAT(co_await named.ask(connect_to(one) + "x"), StartsWith("HTTP/1.1 200 "));
        }
      });
    }
    EXPECT_EQ(heard, "xx");
  }).join();
}

TEST(DomainProxyTest, ANameIsLookedUpOnceForEachConnection) {
  ScriptedServer server([](ScriptConnection& connection) { connection.finish(); });
  run_task([&]() -> Task<void> {
    Scene scene(co_await asio::this_coro::executor, {at("api.test", server), at("127.0.0.1", server)}, here);
    EXPECT_THAT(co_await scene.ask(connect_to(at("api.test", server))), StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(scene.asked, ElementsAre("api.test"));
    // It comes to another address now, which is judged anew.
    scene.names["api.test"] = {"169.254.169.254"};
    EXPECT_THAT(co_await scene.ask(connect_to(at("api.test", server))), StartsWith("HTTP/1.1 403 "));
    EXPECT_EQ(server.connections(), 1);
  });
}

TEST(DomainProxyTest, WhatFollowsARequestIsForNobody) {
  std::mutex mutex;
  std::vector<std::string> seen;
  ScriptedServer server([&](ScriptConnection& connection) {
    const auto head = connection.read_until("\r\n\r\n");
    // All that comes before the answer.
    std::string body;
    if (head.contains("Content-Length")) body = connection.read_exactly(3);
    if (head.contains("chunked")) body = connection.read_until("0\r\n\r\n");
    connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    connection.finish();
    std::string more;
    try {
      for (;;) more += connection.read_exactly(1);
    } catch (const ScriptConnection::Ended&) {
    }
    const std::lock_guard lock(mutex);
    seen.push_back(body + "|" + more);
  });
  run_task([&]() -> Task<void> {
    Scene scene(co_await asio::this_coro::executor, {at("api.test", server), at("127.0.0.1", server)}, here);
    const auto url = "http://" + at("api.test", server) + "/";
    const std::string second = "GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n";
    for (const auto& first : {"GET " + url + " HTTP/1.1\r\nConnection: keep-alive\r\n\r\n",
                              "POST " + url + " HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
                              "POST " + url + " HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"}) {
      const auto answer = co_await scene.ask(first + second);
      EXPECT_EQ(answer, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") << first;
    }
    // The same later, on the connection that was to be kept.
    auto socket = co_await scene.dial();
    co_await Scene::write(socket, "GET " + url + " HTTP/1.1\r\n\r\n");
    EXPECT_THAT(co_await Scene::read(socket, "ok"), EndsWith("ok"));
    co_await Scene::write(socket, second);
    EXPECT_EQ(co_await Scene::read(socket), "");
    co_await until([&] {
      const std::lock_guard lock(mutex);
      return seen.size() == 4;
    });
    // Each connection has a thread, and these end in any order.
    EXPECT_THAT(seen, UnorderedElementsAre("|", "abc|", "3\r\nabc\r\n0\r\n\r\n|", "|"));
    EXPECT_THAT(scene.asked, Not(testing::Contains("evil.test")));
    // What is no chunk ends the request for both.
    co_await scene.ask("POST " + url + " HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\nabc" + second);
    EXPECT_THAT(scene.told, IsEmpty());
  });
}

TEST(DomainProxyTest, HeadersWithoutEndAreCutOff) {
  run_task([&]() -> Task<void> {
    Scene scene(co_await asio::this_coro::executor, {"api.test"});
    const auto answer = co_await scene.ask("GET http://api.test/ HTTP/1.1\r\nA: " + std::string(1u << 20, 'x'));
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 431 "));
    EXPECT_THAT(co_await scene.ask("GET http://api.test/ HTTP/1.1\r\nA: " + std::string(33u << 10, 'x') + "\r\n\r\n"),
                StartsWith("HTTP/1.1 431 "));
    EXPECT_THAT(co_await scene.ask("no http at all\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
    EXPECT_THAT(co_await scene.ask(std::string("\x16\x03\x01\0\r\n\r\n", 8)), StartsWith("HTTP/1.1 400 "));
  });
}

TEST(DomainProxyTest, WhoNeverEndsItsHeadLosesItsPlace) {
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    Scene scene(co_await asio::this_coro::executor, {"api.test"}, {}, {.connections = 1});
    auto slow = co_await scene.dial();
    co_await Scene::write(slow, "GET http://api.test/ HTTP/1.1\r\n");
    co_await until([&] { return scene.proxy->connections() == 1; });
    for (int second = 0; second < 9; ++second) {
      co_await clock.advance(1s);
      co_await Scene::write(slow, "A: 1\r\n");
    }
    EXPECT_EQ(scene.proxy->connections(), 1u);
    co_await clock.advance(2s);
    EXPECT_EQ(co_await Scene::read(slow), "");
    EXPECT_THAT(co_await scene.ask(connect_to("evil.test:443")), StartsWith("HTTP/1.1 403 "));
  });
}

TEST(DomainProxyTest, MoreConnectionsThanThereIsRoomForWait) {
  ScriptedServer server([](ScriptConnection& connection) { connection.wait_for_end(); });
  run_task([&]() -> Task<void> {
    Scene scene(co_await asio::this_coro::executor, {at("127.0.0.1", server)}, {}, {.connections = 3});
    std::vector<tcp::socket> open;
    for (int i = 0; i < 20; ++i) {
      open.push_back(co_await scene.dial());
      co_await Scene::write(open.back(), connect_to(at("127.0.0.1", server)));
    }
    for (int i = 0; i < 3; ++i) EXPECT_THAT(co_await Scene::read(open[i], "\r\n\r\n"), StartsWith("HTTP/1.1 200 "));
    co_await test::settle();
    EXPECT_EQ(scene.proxy->connections(), 3u);
    open[1].close();
    EXPECT_THAT(co_await Scene::read(open[3], "\r\n\r\n"), StartsWith("HTTP/1.1 200 "));
    EXPECT_LE(scene.proxy->connections(), 3u);
  });
}

TEST(DomainProxyTest, AConnectionWithoutAByteForLongIsBrokenOff) {
  ScriptedServer server([](ScriptConnection& connection) {
    connection.write("first");
    connection.read_exactly(1);
    connection.write("second");
    connection.wait_for_end();
  });
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    Scene scene(co_await asio::this_coro::executor, {at("127.0.0.1", server)});
    auto socket = co_await scene.dial();
    co_await Scene::write(socket, connect_to(at("127.0.0.1", server)));
    EXPECT_THAT(co_await Scene::read(socket, "first"), EndsWith("first"));
    co_await clock.advance(9min);
    co_await Scene::write(socket, "x");
    EXPECT_EQ(co_await Scene::read(socket, "second"), "second");
    co_await clock.advance(9min);
    EXPECT_EQ(scene.proxy->connections(), 1u);
    co_await clock.advance(2min);
    // Half an answer is not to be taken for a whole one.
    std::array<char, 1> room;
    error_code failed;
    co_await socket.async_read_some(asio::buffer(room), asio::redirect_error(asio::use_awaitable, failed));
    EXPECT_EQ(failed, asio::error::connection_reset);
    co_await until([&] { return scene.proxy->connections() == 0; });
  });
}

TEST(DomainProxyTest, FewNamesAreLookedUpAtATimeAndNoneForEver) {
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    const auto executor = co_await asio::this_coro::executor;
    Scene scene(executor, {"*.test"});
    scene.hangs = true;
    Scope scope(executor);
    std::vector<std::shared_ptr<test::Beside<std::string>>> answers;
    for (int i = 0; i < 4; ++i) answers.push_back(beside(scope, scene.ask(connect_to(fmt::format("a{}.test:443", i)))));
    co_await until([&] { return scene.proxy->connections() == 4 && scene.asked.size() == 2; });
    co_await test::settle();
    EXPECT_EQ(scene.asked.size(), 2u);
    co_await clock.advance(15s);
    co_await until([&] { return scene.asked.size() == 4; });
    co_await clock.advance(15s);
    co_await until(
        [&] { return std::ranges::all_of(answers, [](const auto& one) { return one->result.has_value(); }); });
    for (const auto& one : answers) EXPECT_THAT(one->result->value(), StartsWith("HTTP/1.1 502 "));
  });
}

// A resolver that does not answer keeps its threads. That is bounded, and nothing else waits for them.
TEST(DomainProxyTest, NamesThatNobodyAnswersForTakeFewThreads) {
  test::Signal released;
  std::atomic<int> running = 0, most = 0, calls = 0;
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    const auto executor = co_await asio::this_coro::executor;
    Scene scene(executor, {"*.test"});
    scene.resolver = system_lookup([&](const std::string&) -> Result<std::vector<std::string>> {
      most = std::max<int>(most, ++running);
      ++calls;
      released.wait();
      --running;
      return std::vector<std::string>();
    });
    Scope scope(executor);
    const auto first = beside(scope, scene.ask(connect_to("a.test:443")));
    const auto second = beside(scope, scene.ask(connect_to("b.test:443")));
    co_await until([&] { return running == 2; });
    co_await clock.advance(15s);
    co_await until([&] { return first->result && second->result; });
    EXPECT_THAT(first->result->value(), AllOf(StartsWith("HTTP/1.1 502 "), HasSubstr("no answer")));
    // Nobody waits for these two any more, and they go on: others are told so at once.
    for (int i = 0; i < 10; ++i) {
      EXPECT_THAT(co_await scene.ask(connect_to(fmt::format("c{}.test:443", i))),
                  AllOf(StartsWith("HTTP/1.1 502 "), HasSubstr("2 names that were asked about before have no answer")));
    }
    EXPECT_EQ(calls, 2);
    // What the rest of the program does on helper threads goes on meanwhile.
    for (int i = 0; i < 3; ++i) {
      auto work = [] { return 1; };
      EXPECT_EQ(co_await offload(Pool::slow, std::move(work)), 1);
    }
    released.set();
    co_await until([&] { return running == 0; });
    std::string answer;
    // The threads give their places back a moment after that.
    do answer = co_await scene.ask(connect_to("d.test:443"));
    while (answer.contains("asked about before"));
    EXPECT_THAT(answer, HasSubstr("there is none"));
    EXPECT_EQ(most, 2);
  });
}

// The work waits for a thread, and whoever wanted it is gone before it begins.
TEST(DomainProxyTest, ANameThatNobodyWaitsForAnyMoreIsNotAskedAbout) {
  test::Signal released;
  std::atomic<int> running = 0;
  std::atomic<bool> asked_late = false;
  run_task([&]() -> Task<void> {
    const auto executor = co_await asio::this_coro::executor;
    const auto blocks = [&](const std::string&) -> Result<std::vector<std::string>> {
      ++running;
      released.wait();
      --running;
      return std::vector<std::string>();
    };
    // Two servers, whose names take all the threads there are.
    Scope scope(executor);
    std::vector<LookUpName> servers;
    std::vector<std::shared_ptr<test::Beside<std::vector<std::string>>>> stuck;
    for (int i = 0; i < 2; ++i) {
      servers.push_back(system_lookup(blocks));
      for (const auto* name : {"a.test", "b.test"}) stuck.push_back(beside(scope, servers.back()(name)));
    }
    co_await until([&] { return running == 4; });
    const auto late = system_lookup([&](const std::string&) -> Result<std::vector<std::string>> {
      asked_late = true;
      return std::vector<std::string>();
    });
    {
      Scope leaves(executor);
      const auto gone = beside(leaves, late("c.test"));
      co_await test::settle();
      leaves.cancel();
      co_await until([&] { return gone->result.has_value(); });
    }
    released.set();
    co_await until([&] { return std::ranges::all_of(stuck, [](const auto& one) { return one->result.has_value(); }); });
    // Behind it in the queue.
    const auto next = system_lookup([](const std::string&) { return Result<std::vector<std::string>>(); });
    for (int i = 0; i < 8; ++i) co_await next("d.test");
    EXPECT_FALSE(asked_late);
  });
}

TEST(DomainProxyTest, WhatCannotBeReachedIsSaid) {
  run_task([&]() -> Task<void> {
    const auto executor = co_await asio::this_coro::executor;
    const auto dead = held_port(executor);
    const auto target = fmt::format("127.0.0.1:{}", dead.local_endpoint().port());
    Scene scene(executor, {target, "gone.test"});
    EXPECT_THAT(co_await scene.ask(connect_to(target)),
                AllOf(StartsWith("HTTP/1.1 502 "), HasSubstr("cannot be reached")));
    EXPECT_THAT(co_await scene.ask(connect_to("gone.test:443")),
                AllOf(StartsWith("HTTP/1.1 502 "), HasSubstr("the address of gone.test is not known")));
    EXPECT_THAT(scene.told, IsEmpty());
  });
}

TEST(DomainProxyTest, TellsOfEachRefusalOnceAndNotOfAllThereAre) {
  run_task([&]() -> Task<void> {
    Scene scene(co_await asio::this_coro::executor, {"api.test"}, {}, {.refusals = 3});
    for (int i = 0; i < 10; ++i) {
      co_await scene.ask(connect_to("evil.test:443"));
      co_await scene.ask(connect_to(fmt::format("evil{}.test:443", i)));
    }
    EXPECT_THAT(scene.told, ElementsAre(HasSubstr("evil.test"), HasSubstr("evil0.test"), HasSubstr("evil1.test"),
                                        HasSubstr("more is refused")));
  });
}

TEST(DomainProxyTest, EndsEveryConnectionWithItself) {
  test::Signal ended;
  ScriptedServer server([&](ScriptConnection& connection) {
    connection.write("up");
    connection.wait_for_end();
    ended.set();
  });
  run_task([&]() -> Task<void> {
    const auto executor = co_await asio::this_coro::executor;
    Scene scene(executor, {at("127.0.0.1", server), "hangs.test"});
    scene.hangs = true;
    auto tunnel = co_await scene.dial();
    co_await Scene::write(tunnel, connect_to(at("127.0.0.1", server)));
    EXPECT_THAT(co_await Scene::read(tunnel, "up"), EndsWith("up"));
    auto half = co_await scene.dial();
    co_await Scene::write(half, "GET http://");
    auto waiting = co_await scene.dial();
    co_await Scene::write(waiting, connect_to("hangs.test:443"));
    co_await until([&] { return scene.proxy->connections() == 3 && !scene.asked.empty(); });
    scene.proxy.reset();
    for (auto* socket : {&tunnel, &half, &waiting}) EXPECT_EQ(co_await Scene::read(*socket), "");
    // Nobody listens any more.
    bool refused = false;
    try {
      auto late = co_await scene.dial();
    } catch (const boost::system::system_error&) {
      refused = true;
    }
    EXPECT_TRUE(refused);
  });
  EXPECT_TRUE(ended.wait());
}

TEST(DomainProxyTest, WhatTheListCallsThisMachineGoesThroughTheProxy) {
  const auto without = [](const std::vector<std::string>& domains) {
    DomainAccess access;
    for (const auto& domain : domains) access.rules.push_back(read_domain_rule(domain).value());
    const auto all = proxy_variables(access);
    return std::ranges::find(all, "NO_PROXY", &std::pair<std::string, std::string>::first)->second;
  };
  EXPECT_EQ(without({"api.test"}), "localhost,127.0.0.1,::1");
  EXPECT_EQ(without({"localhost:3000", "[::1]:80"}), "127.0.0.1");
  EXPECT_EQ(without({"localhost", "127.0.0.1", "::1"}), "");
}

// ---- the way the listening socket comes

void hand_over(int socket, std::vector<int> files) {
  char byte = 'L';
  struct iovec data{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(4 * sizeof(int))> space{};
  struct msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (!files.empty()) {
    message.msg_control = space.data();
    message.msg_controllen = CMSG_SPACE(files.size() * sizeof(int));
    auto* part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(files.size() * sizeof(int));
    std::memcpy(CMSG_DATA(part), files.data(), files.size() * sizeof(int));
  }
  ASSERT_EQ(::sendmsg(socket, &message, MSG_NOSIGNAL), 1);
}

TEST(DomainProxyTest, ServesTheListenerThatItIsHandedAndNothingElse) {
  run_task([&]() -> Task<void> {
    const auto executor = co_await asio::this_coro::executor;
    const auto handed = [&](std::function<std::vector<int>(tcp::acceptor&)> what) -> Task<std::string> {
      std::array<int, 2> ends{};
      EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
      Fd theirs(ends[1]);
      DomainProxy proxy(executor, {.access = {.server = "notes"}});
      proxy.serve_what_comes(Fd(ends[0]));
      tcp::socket client(executor);
      {
        tcp::acceptor listener(executor, {asio::ip::address_v4::loopback(), 0});
        co_await client.async_connect(listener.local_endpoint(), asio::use_awaitable);
        hand_over(theirs.get(), what(listener));
        // Until it has been taken.
        co_await until([&] {
          char byte = 0;
          return ::recv(theirs.get(), &byte, 1, MSG_DONTWAIT) == 0;
        });
      }
      co_await Scene::write(client, connect_to("evil.test:443"));
      co_return co_await Scene::read(client);
    };
    EXPECT_THAT(co_await handed([](tcp::acceptor& listener) { return std::vector{listener.native_handle()}; }),
                StartsWith("HTTP/1.1 403 "));
    EXPECT_EQ(co_await handed([](tcp::acceptor&) { return std::vector<int>(); }), "");
    EXPECT_EQ(co_await handed([](tcp::acceptor&) { return std::vector{STDERR_FILENO}; }), "");
    EXPECT_EQ(co_await handed([](tcp::acceptor& listener) {
                return std::vector{listener.native_handle(), listener.native_handle()};
              }),
              "");
  });
}

}  // namespace
}  // namespace patchbay
