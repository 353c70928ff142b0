// N5, safety: what a server in a sandbox tries and cannot do, each beside the same attempt without one, which succeeds:
// reading keys, writing outside, reaching the network, starting processes without end. With and without bubblewrap, as
// root and as an ordinary user, inside and outside of a user namespace; and what is said where something is not there.
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "base/fd.h"
#include "host/start/sandbox_start.h"
#include "process/confinement_file.h"
#include "process/process.h"
#include "process/sandbox_probe.h"
#include "process/warden/image.h"
#include "process/warden/protocol.h"
#include "support/capability.h"
#include "support/household.h"
#include "support/loop.h"
#include "support/ordinary_user.h"
#include "support/places.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using test::Household;
using test::json_of;
using test::run_task;
using test::server_file;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// A port of the loopback at which somebody listens.
class Listener {
 public:
  Listener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    struct sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* plain = reinterpret_cast<struct sockaddr*>(&address);
    if (::bind(socket_.get(), plain, size) != 0 || ::listen(socket_.get(), 16) != 0 ||
        ::getsockname(socket_.get(), plain, &size) != 0) {
      throw std::runtime_error("cannot listen on the loopback");
    }
    port_ = ntohs(address.sin_port);
  }
  std::string port() const { return std::to_string(port_); }

 private:
  Fd socket_;
  unsigned port_ = 0;
};

Task<std::string> output_of(ProcessSpec spec) {
  auto process = co_await Process::start(std::move(spec), Runtime{});
  std::string text;
  std::array<char, 4096> room;
  for (;;) {
    const auto length = co_await process->read_some(room);
    if (!length || *length == 0) break;
    text.append(room.data(), *length);
  }
  // What the sandbox's own parts may have had to say.
  const auto errors = process->stderr_tail();
  for (const auto& line : {errors}) {
    if (line.find("patchbay-warden") != line.npos || line.find("bwrap") != line.npos) text += line;
  }
  co_await process->shutdown({60s, 60s, 60s});
  co_return text;
}

// A home with a key in it and a project beside it, as planned for a server; the machine is what each test says it is.
class Attack {
 public:
  Attack() {
    house.tree.file("home/.ssh/id_ed25519", "the private key");
    house.tree.file("home/notes.txt", "some notes");
    house.tree.file("project/data.txt", "some data");
    for (const auto& one : fs::recursive_directory_iterator(house.tree.path())) {
      ::chmod(one.path().c_str(), one.is_directory() ? 0777 : 0666);
    }
    ::chmod(house.tree.path().c_str(), 0777);
  }

  ProcessSpec server(const std::string& script) const {
    ProcessSpec spec{.command = "/bin/bash", .args = {"-c", script}, .cwd = house.project()};
    spec.env = {{"HOME", house.home()}, {"PORT", listener.port()}};
    return spec;
  }

  // What it prints in the sandbox that the entry asks for.
  std::string confined(const std::string& script, const std::string& sandbox, const SandboxMachine& machine) const {
    const auto levels = SandboxLevels{
        .entry = read_sandbox(parse_json(sandbox).value()).value(), .entry_is_users = true, .command = "/bin/bash"};
    const VariableLookup variables = [home = house.home()](std::string_view name) {
      return name == "HOME" ? std::optional(home) : std::nullopt;
    };
    const auto places = sandbox_places(variables, house.project(), house.home() + "/.config/patchbay");
    auto plan = plan_sandbox("attacker", levels, places, variables, "/bin/bash", machine);
    if (!plan) return plan.error().message();
    auto spec = server(script);
    spec.confinement = plan->confinement;
    std::string out;
    run_task([&]() -> Task<void> { out = co_await output_of(std::move(spec)); });
    return out;
  }
  std::string free(const std::string& script) const {
    std::string out;
    run_task([&]() -> Task<void> { out = co_await output_of(server(script)); });
    return out;
  }

  Household house;
  Listener listener;
};

// Each prints its word when it succeeds.
constexpr std::string_view read_key = R"(cat "$HOME/.ssh/id_ed25519" > /dev/null 2>&1 && echo read-key; )";
constexpr std::string_view list_keys = R"(ls "$HOME/.ssh" > /dev/null 2>&1 && echo list-keys; )";
constexpr std::string_view read_key_around =
    R"(ln -sf "$HOME/.ssh" way 2> /dev/null; cat way/id_ed25519 /proc/self/root"$HOME"/.ssh/id_ed25519 2> /dev/null | grep -q key && echo read-around; )";
constexpr std::string_view write_outside = R"((echo x > "$HOME/notes.txt") 2> /dev/null && echo write-outside; )";
constexpr std::string_view make_outside = R"((echo x > "$HOME/new.txt") 2> /dev/null && echo make-outside; )";
constexpr std::string_view empty_outside =
    R"(python3 -c 'import os,sys; os.open(sys.argv[1], os.O_RDONLY | os.O_TRUNC); print("empty-outside")' "$HOME/notes.txt" 2> /dev/null; )";
constexpr std::string_view truncate_outside =
    R"(python3 -c 'import os,sys; os.truncate(sys.argv[1], 0); print("truncate-outside")' "$HOME/notes.txt" 2> /dev/null; )";
constexpr std::string_view connect = R"((exec 3<> /dev/tcp/127.0.0.1/$PORT) 2> /dev/null && echo connect; )";
constexpr std::string_view other_sockets =
    R"(python3 -c 'import socket; socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); print("udp")' 2> /dev/null; )";
// What must work all the same.
constexpr std::string_view honest =
    R"(cat data.txt > /dev/null && echo y > made.txt && cat made.txt > /dev/null && echo honest; )"
    R"(python3 -c 'import socket; socket.socketpair(); socket.socket(socket.AF_UNIX); print("unix")'; )";

std::string everything() {
  std::string out;
  for (const auto part : {read_key, list_keys, read_key_around, write_outside, make_outside, empty_outside,
                          truncate_outside, connect, other_sockets, honest}) {
    out += part;
  }
  return out;
}
constexpr std::string_view all_succeed =
    "read-key\nlist-keys\nread-around\nwrite-outside\nmake-outside\nempty-outside\ntruncate-outside\nconnect\nudp\n"
    "honest\nunix\n";

SandboxMachine this_machine(bool bubblewrap) {
  auto machine = look_at_sandbox_machine({});
  if (!bubblewrap) machine.bubblewrap.clear();
  return machine;
}

class Sandbox : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    NEEDS(landlock);
    if (GetParam()) NEEDS(bubblewrap);
    machine = this_machine(GetParam());
    if (GetParam()) ASSERT_NE(machine.bubblewrap, "");
  }
  SandboxMachine machine;
};

// No test of a refusal means anything where the attempt fails anyway.
TEST(SandboxControl, EveryAttemptSucceedsWithoutASandbox) { EXPECT_EQ(Attack().free(everything()), all_succeed); }

TEST_P(Sandbox, KeepsAServerFromKeysFromWritingOutsideAndFromTheNetwork) {
  const Attack attack;
  EXPECT_EQ(attack.confined(everything(), R"({"network": "none", "write": ["."]})", machine), "honest\nunix\n");
  EXPECT_EQ(attack.house.tree.read("home/notes.txt"), "some notes");
  EXPECT_EQ(attack.house.tree.read("project/made.txt"), "y\n");
}

TEST_P(Sandbox, KeepsAnOrdinaryUserFromTheSame) {
  NEEDS(root);
  const Attack attack;
  const auto as_user = [&](const std::function<std::string()>& work) {
    return test::as_ordinary_user(attack.house.tree.path(), work);
  };
  EXPECT_EQ(as_user([&] { return attack.free(everything()); }), all_succeed);
  std::ofstream(attack.house.home() + "/notes.txt") << "some notes";
  EXPECT_EQ(as_user([&] {
              return attack.confined(everything(), R"({"network": "none", "write": ["."]})", this_machine(GetParam()));
            }),
            "honest\nunix\n");
}

// With nothing but "auto": the keys alone are out of reach, and what is not of the project stays as it is.
TEST_P(Sandbox, AutoLeavesTheNetworkAndHidesKeys) {
  const Attack attack;
  const auto said = attack.confined(everything(), R"("auto")", machine);
  EXPECT_THAT(said, AllOf(HasSubstr("connect\n"), HasSubstr("honest\n"), Not(HasSubstr("read-key")),
                          Not(HasSubstr("list-keys")), Not(HasSubstr("read-around"))));
}

TEST_P(Sandbox, ReadsOnlyWhatIsNamed) {
  const Attack attack;
  const std::string script = R"(cat "$HOME/notes.txt" 2> /dev/null; cat data.txt; ls / > /dev/null 2>&1 && echo root)";
  EXPECT_EQ(attack.confined(script, R"({"read": ["data.txt"], "write": []})", machine), "some data");
  EXPECT_EQ(attack.confined(script, R"({"read": ["~/notes.txt", "data.txt"]})", machine), "some notessome data");
  EXPECT_EQ(attack.free(script), "some notessome dataroot\n");
}

// A folder that was made after the start is as far away as one that was there.
TEST_P(Sandbox, KeysThatAreMadeLaterAreOutOfReachToo) {
  const Attack attack;
  const std::string script = R"(mkdir -p "$HOME/.aws" && echo made; echo x > "$HOME/.aws/credentials" && echo wrote)";
  EXPECT_EQ(attack.confined("{ " + script + "; } 2> /dev/null", R"({"write": ["~"]})", machine), "");
  EXPECT_EQ(attack.free(script), "made\nwrote\n");
}

TEST_P(Sandbox, EndsAServerThatStartsProcessesWithoutEnd) {
  NEEDS(root);
  const Attack attack;
  // Bounded all the same: a test that fails must not take the machine along.
  const std::string script =
      R"(for i in {1..80}; do sleep 20 < /dev/null > /dev/null 2>&1 & echo $i > count; done 2> /dev/null)";
  const auto count = [&](const std::string& sandbox) {
    std::ofstream(attack.house.project() + "/count") << "0\n";
    ::chmod((attack.house.project() + "/count").c_str(), 0666);
    (void)test::as_ordinary_user(attack.house.tree.path(), [&] {
      // What runs longer than the shell is ended by the warden.
      return sandbox.empty() ? attack.free(script) : attack.confined(script, sandbox, this_machine(GetParam()));
    });
    return std::stoi(attack.house.tree.read("project/count"));
  };
  EXPECT_EQ(count(""), 80);
  EXPECT_LT(count(R"({"limits": {"processes": 40}})"), 40);
}

TEST_P(Sandbox, LowersLimitsForGood) {
  const Attack attack;
  const std::string script = "ulimit -c; ulimit -n; ulimit -v; ulimit -n 200 2> /dev/null && echo raised";
  EXPECT_EQ(attack.confined(script, R"({"limits": {"files": 100, "memory": 1073741824}})", machine),
            "0\n100\n1048576\n");
}

TEST_P(Sandbox, GivesNoPrivilegesBack) {
  const Attack attack;
  EXPECT_THAT(attack.confined("grep -E '^NoNewPrivs' /proc/self/status", R"("auto")", machine), HasSubstr("\t1\n"));
  EXPECT_THAT(attack.free("grep -E '^NoNewPrivs' /proc/self/status"), HasSubstr("\t0\n"));
}

TEST_P(Sandbox, SeesNoProcessesButItsOwnBehindBubblewrap) {
  const Attack attack;
  const auto count = attack.confined("ls /proc | grep -c '^[0-9]'", R"("auto")", machine);
  // The test itself is one that is not the server's.
  EXPECT_EQ(std::stoi(count) <= 8, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Each, Sandbox, testing::Values(false, true),
                         [](const auto& info) { return std::string(info.param ? "BehindBubblewrap" : "Alone"); });

TEST(SandboxMachine, BubblewrapGivesALoopbackOfItsOwn) {
  NEEDS(landlock);
  NEEDS(bubblewrap);
  const Attack attack;
  const std::string script =
      std::string(connect) +
      R"(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); socket.create_connection(s.getsockname()); print("own")')";
  EXPECT_EQ(attack.confined(script, R"({"network": "loopback"})", this_machine(true)), "own\n");
  EXPECT_EQ(attack.free(script), "connect\nown\n");
}

// Landlock before version 3 does not see that a file is emptied.
TEST(SandboxMachine, AnOldLandlockIsHelpedByAFilter) {
  NEEDS(landlock);
  auto machine = this_machine(false);
  machine.landlock = 2;
  const Attack attack;
  EXPECT_EQ(attack.confined(everything(), R"({"network": "none", "write": ["."]})", machine), "honest\nunix\n");
  EXPECT_EQ(attack.house.tree.read("home/notes.txt"), "some notes");
}

TEST(SandboxMachine, WithoutLandlockRequiredStartsNothingAndAutoSaysSo) {
  auto machine = this_machine(false);
  machine.landlock = 0;
  machine.kernel = "5.10";
  const Attack attack;
  EXPECT_EQ(
      attack.confined("touch started", R"("required")", machine),
      "server \"attacker\" is not started, because its sandbox is required: reading and writing files cannot be "
      "limited: kernel 5.10 has no Landlock, or it is switched off; use kernel 5.13 or later with \"landlock\" in "
      "its lsm= list");
  EXPECT_FALSE(attack.house.tree.has("project/started"));
  EXPECT_EQ(attack.confined(std::string(connect) + std::string(read_key) + std::string(honest),
                            R"({"network": "none"})", machine),
            "read-key\nhonest\nunix\n");
}

TEST(SandboxMachine, RemembersWhetherBubblewrapWorks) {
  NEEDS(bubblewrap);
  const test::TempTree tree;
  const auto state = (tree.path() / "state").string();
  const auto first = look_at_sandbox_machine({.state_directory = state});
  ASSERT_NE(first.bubblewrap, "");
  const auto file = state + "/bubblewrap-trial.json";
  struct stat info{};
  ASSERT_EQ(::stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  // What is remembered is believed, for this start of the machine alone.
  auto kept = parse_json(tree.read("state/bubblewrap-trial.json")).value();
  kept["works"] = false;
  std::ofstream(file) << to_text(kept);
  EXPECT_EQ(look_at_sandbox_machine({.state_directory = state}).bubblewrap, "");
  kept["circumstances"] = "another start";
  std::ofstream(file) << to_text(kept);
  EXPECT_EQ(look_at_sandbox_machine({.state_directory = state}), first);
  EXPECT_EQ(look_at_sandbox_machine({.path = "/nowhere"}).bubblewrap, "");
}

// What a warden says to a plan of these bytes.
pb_warden_record said_to(const std::string& plan) {
  const auto image = find_warden().value();
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
  const Fd ours(ends[0]);
  Fd theirs(ends[1]);
  const Fd file(::memfd_create("plan", MFD_CLOEXEC));
  EXPECT_EQ(::write(file.get(), plan.data(), plan.size()), static_cast<ssize_t>(plan.size()));
  const auto child = ::fork();
  if (child == 0) {
    // Away from where they go.
    const int socket = ::fcntl(theirs.get(), F_DUPFD, 10);
    const int bytes = ::fcntl(file.get(), F_DUPFD, 10);
    ::dup2(socket, PB_WARDEN_SOCKET);
    ::dup2(bytes, PB_WARDEN_PLAN);
    ::execl(image.path.c_str(), "patchbay-warden", PB_WARDEN_CONFINES, "/bin/true", "true", nullptr);
    ::_exit(9);
  }
  theirs.reset();
  pb_warden_record record{};
  EXPECT_EQ(::recv(ours.get(), &record, sizeof record, 0), static_cast<ssize_t>(sizeof record));
  ::waitpid(child, nullptr, 0);
  return record;
}

// The warden believes nothing it has not counted.
TEST(SandboxPlanFile, ABrokenPlanStartsNothing) {
  Confinement wanted;
  wanted.paths = {{"/usr", 1}, {"/etc", 1}};
  const auto good = confinement_bytes(wanted).value();
  ASSERT_EQ(good.size() % 8, 0u);
  EXPECT_EQ(said_to(good).kind, PB_WARDEN_STARTED);
  const auto changed = [&](std::size_t at, char byte) {
    auto plan = good;
    plan.at(at) = byte;
    return plan;
  };
  const auto path = sizeof(pb_plan);
  const std::pair<std::string_view, std::string> cases[] = {
      {"nothing", ""},
      {"cut", good.substr(0, good.size() - 8)},
      {"too long", good + std::string(8, '\0')},
      {"another mark", changed(0, 'X')},
      {"another size", changed(4, 1)},
      {"more steps than there are bytes", changed(9, 1)},
      {"more paths than there are", changed(12, 3)},
      {"fewer paths than there are", changed(12, 1)},
      {"a path of an odd size", changed(path + 8, 7)},
      {"a path beyond the end", changed(path + 9, 1)},
      {"a path of no size", changed(path + 8, 0)},
      {"a path without an end", changed(path + sizeof(pb_plan_path) + 7, 'x')},
  };
  for (const auto& [name, plan] : cases) {
    const auto said = said_to(plan);
    EXPECT_EQ(said.kind, PB_WARDEN_FAILED) << name;
    EXPECT_EQ(said.place, PB_AT_PLAN) << name;
  }
  EXPECT_FALSE(confinement_bytes({.filter = std::vector<FilterStep>(PB_PLAN_MOST_STEPS + 1)}));
  EXPECT_FALSE(confinement_bytes({.paths = std::vector<ConfinedPath>(3000, {std::string(1000, 'x'), 1})}));
}

// ---- the program

class SandboxedServer : public testing::Test {
 protected:
  SandboxedServer() {
    house.tree.file("home/.ssh/id_ed25519", "the private key");
    for (const auto& one : fs::recursive_directory_iterator(house.tree.path())) {
      ::chmod(one.path().c_str(), one.is_directory() ? 0777 : 0666);
    }
    ::chmod(house.tree.path().c_str(), 0777);
  }
  // A server that tries to get at a key before it serves.
  void declare(const std::string& sandbox, const std::string& before = R"(cat "$HOME/.ssh/id_ed25519" > got 2> why;)",
               const std::string& file = "home/.config/patchbay/config.json") const {
    Json entry{{"command", "/bin/bash"},
               {"args", Json::array({"-c", before + " exec " + programs + "/mode-server good"})}};
    if (!sandbox.empty()) entry["sandbox"] = parse_json(sandbox).value();
    house.tree.file(file, server_file({{"fake", std::move(entry)}}));
    ::chmod((house.tree.path() / file).c_str(), 0666);
  }
  std::string got() const { return house.tree.has("project/got") ? house.tree.read("project/got") : "nothing"; }
  test::CommandResult run_behind(std::vector<std::string> front, const std::vector<std::string>& words) const {
    front.push_back(programs + "/patchbay");
    front.insert(front.end(), words.begin(), words.end());
    return test::run_program(front, house.options());
  }

  Household house;
  std::string programs = test::built();
};

TEST_F(SandboxedServer, NothingIsDifferentWhereNobodyAsksForOne) {
  declare("");
  const auto result = house.run({"tools"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(got(), "the private key");
  EXPECT_THAT(house.run({"list"}).out, Not(HasSubstr("sandbox:")));
}

TEST_F(SandboxedServer, EntrySettingAndFlagEachPutAServerIntoOne) {
  NEEDS(landlock);
  const auto expect_confined = [&](const std::vector<std::string>& words) {
    fs::remove(house.tree.path() / "project/got");
    const auto result = house.run(words);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(got(), "") << testing::PrintToString(words);
  };
  declare(R"("auto")");
  expect_confined({"tools"});
  declare("");
  expect_confined({"--sandbox", "tools"});
  expect_confined({"tools", "--sandbox=required"});
  house.tree.file("home/.claude/settings.json", R"({"sandbox": {"default": "required"}})");
  expect_confined({"tools"});
  // Less is not to be had: neither by the entry nor by the flag.
  declare(R"("off")");
  expect_confined({"tools", "--sandbox=auto"});
  EXPECT_EQ(house.run({"tools", "--sandbox=off"}).code, 2);
}

TEST_F(SandboxedServer, ARepositoryCannotLoosenWhatSettingsAskFor) {
  NEEDS(landlock);
  house.tree.file("home/.claude/settings.json", R"({"sandbox": {"default": "auto"}})");
  house.tree.file("project/.claude/settings.json", R"({"sandbox": {"default": {"mode": "off", "write": ["/"]}}})");
  const std::string outside = R"(cat "$HOME/.ssh/id_ed25519" > got 2> why; echo x > "$HOME/outside";)";
  declare(R"({"mode": "off", "write": ["/"], "read": ["/"]})", outside, "project/.mcp.json");
  const auto result = house.run({"tools", "--trust-project"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(got(), "");
  EXPECT_FALSE(house.tree.has("home/outside"));
}

TEST_F(SandboxedServer, HoldsForRootForAnOrdinaryUserAndInAUserNamespace) {
  NEEDS(landlock);
  NEEDS(root);
  // The checkout may be where nobody else may look.
  house.tree.directory("programs");
  for (const auto* name : {"patchbay", "mode-server"}) {
    fs::copy_file(test::built(name), house.tree.path() / "programs" / name);
  }
  programs = (house.tree.path() / "programs").string();
  declare(R"("auto")");
  const std::vector<std::vector<std::string>> fronts{
      {"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"},
      {"/usr/bin/unshare", "--user", "--map-root-user"},
      {"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/unshare", "--user"}};
  for (const auto& front : fronts) {
    if (front.back().starts_with("--") && front.front().ends_with("unshare") && test::lacks(test::namespaces)) continue;
    if (front.back() == "--user" && test::lacks(test::namespaces)) continue;
    fs::remove(house.tree.path() / "project/got");
    fs::remove(house.tree.path() / "project/why");
    // What one user keeps is not for the next one.
    fs::remove_all(house.tree.path() / "home/.local");
    const auto result = run_behind(front, {"tools"});
    EXPECT_EQ(result.code, 0) << result.err << testing::PrintToString(front);
    EXPECT_EQ(got(), "") << testing::PrintToString(front);
  }
}

TEST_F(SandboxedServer, ItsStateIsShown) {
  NEEDS(landlock);
  // In a container, where there are no namespaces.
  const std::vector<std::string> container{test::in_sources("tests/bare/ordinary")};
  const auto run = [&](const std::vector<std::string>& given) { return run_behind(container, given); };
  declare(R"({"network": "loopback"})");
  const std::string words = "writes limited, credentials out of reach, network open";
  const std::string why = ": a loopback of its own needs bubblewrap, which is not there or does not work\n";
  for (const auto* command : {"status", "list", "doctor"}) {
    const auto shown = run({command, command == std::string("doctor") ? "--offline" : "-q"}).out;
    EXPECT_THAT(shown, AllOf(HasSubstr("sandbox: " + words), HasSubstr(why.substr(0, why.size() - 1)))) << command;
  }
  EXPECT_THAT(run({"get", "fake"}).out, AllOf(HasSubstr("  Sandbox: " + words), HasSubstr(why)));
  const auto list = json_of(run({"list", "--json"}));
  const auto sandbox = list["servers"].as_array().at(0)["sandbox"];
  EXPECT_EQ(sandbox["mode"], Json("auto"));
  EXPECT_EQ(sandbox["files"], Json("writes"));
  EXPECT_EQ(sandbox["gaps"], Json::array({"loopback"}));
  EXPECT_EQ(json_of(run({"status", "--json"}))["clients"].as_array().at(0)["sandbox"], sandbox);
}

TEST_F(SandboxedServer, ARequiredSandboxThatIsNotToBeHadStartsNothing) {
  const std::vector<std::string> container{test::in_sources("tests/bare/ordinary")};
  declare(R"({"mode": "required", "network": ["a.example"]})");
  const auto result = run_behind(container, {"tools"});
  EXPECT_NE(result.code, 0);
  EXPECT_THAT(result.err, AllOf(HasSubstr("its sandbox is required"), HasSubstr("single domains"),
                                HasSubstr("write \"network\": \"none\" or \"any\"")));
  EXPECT_EQ(got(), "nothing");
  const auto doctor = run_behind(container, {"doctor", "--offline"});
  EXPECT_THAT(doctor.out, HasSubstr("single domains"));
}

// docs/sandbox.md, with a server that is there.
TEST_F(SandboxedServer, TheExampleOfThePageHoldsWhatItSays) {
  NEEDS(landlock);
  std::ifstream file(test::in_sources("docs/sandbox.md"));
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::string fence = "```json\n";
  const auto begin = page.find(fence) + fence.size();
  auto example = parse_json(page.substr(begin, page.find("```", begin) - begin)).value();
  auto& entry = example["mcpServers"]["notes"];
  ASSERT_EQ(entry["command"], Json("notes-server"));
  entry["command"] = "/bin/bash";
  entry["args"] = Json::array(
      {"-c",
       R"(cat "$HOME/.ssh/id_ed25519"; echo a > "$HOME/notes/made"; echo b > "$HOME/project.txt"; echo c > here; exec )" +
           test::built("mode-server") + " good"});
  house.tree.directory("home/notes");
  house.tree.file("home/.config/patchbay/config.json", to_text(example));
  const auto result = house.run({"tools"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(house.tree.has("home/notes/made"));
  EXPECT_FALSE(house.tree.has("home/project.txt"));
  EXPECT_FALSE(house.tree.has("project/here"));
  EXPECT_THAT(house.run({"get", "notes"}).out,
              HasSubstr("  Sandbox: writes limited, credentials out of reach, no network"));
}

TEST_F(SandboxedServer, AStartThatFailsNamesTheRuleToAdd) {
  NEEDS(landlock);
  declare(R"("auto")", R"(echo x > "$HOME/.bashrc2" || exit 1;)");
  const auto result = house.run({"tools"});
  EXPECT_NE(result.code, 0);
  EXPECT_THAT(result.err, AllOf(HasSubstr("its sandbox keeps it from writing"), HasSubstr(house.home() + "/.bashrc2"),
                                HasSubstr("\"sandbox.write\"")));
}

TEST_F(SandboxedServer, WithoutLandlockAutoSaysSoAndRequiredStartsNothing) {
  NEEDS(landlock);
  // A container whose filter knows no Landlock.
  const std::vector<std::string> old{test::in_sources("tests/bare/ordinary"), "--no-landlock"};
  declare(R"({"mode": "auto", "network": "none"})");
  EXPECT_THAT(run_behind(old, {"list", "-q"}).out, HasSubstr("files open, no network: kernel"));
  EXPECT_EQ(run_behind(old, {"tools"}).code, 0);
  EXPECT_EQ(got(), "the private key");
  declare(R"("required")");
  EXPECT_THAT(run_behind(old, {"tools"}).err, HasSubstr("has no Landlock"));
}

}  // namespace
}  // namespace patchbay
