#include "sandbox/confinement.h"

#include <algorithm>
#include <array>
#include <bit>

#include <fmt/format.h>

namespace patchbay {
namespace {

// linux/landlock.h. Of devices and of special files nothing is allowed that ordinary programs do not do.
namespace access {
constexpr std::uint64_t execute = 1u << 0;
constexpr std::uint64_t write_file = 1u << 1;
constexpr std::uint64_t read_file = 1u << 2;
constexpr std::uint64_t read_dir = 1u << 3;
constexpr std::uint64_t remove_dir = 1u << 4;
constexpr std::uint64_t remove_file = 1u << 5;
constexpr std::uint64_t make_dir = 1u << 7;
constexpr std::uint64_t make_reg = 1u << 8;
constexpr std::uint64_t make_sock = 1u << 9;
constexpr std::uint64_t make_fifo = 1u << 10;
constexpr std::uint64_t make_sym = 1u << 12;
constexpr std::uint64_t first_version = (1u << 13) - 1;
constexpr std::uint64_t refer = 1u << 13;     // version 2: moving between folders
constexpr std::uint64_t truncate = 1u << 14;  // version 3
}  // namespace access
constexpr int sees_moves = 2;
constexpr int sees_emptying = 3;
constexpr int sees_signals = 6;
constexpr std::uint64_t scope_abstract_sockets = 1u << 0;
constexpr std::uint64_t scope_signals = 1u << 1;

std::uint64_t handled_files(int version) {
  auto all = access::first_version;
  if (version >= sees_moves) all |= access::refer;
  if (version >= sees_emptying) all |= access::truncate;
  return all;
}

std::uint64_t access_of(const PathRule& rule, int version) {
  std::uint64_t out = access::execute | access::read_file;
  if (rule.write) out |= access::write_file | access::truncate;
  if (rule.folder) {
    out |= access::read_dir;
    if (rule.write) {
      out |= access::remove_dir | access::remove_file | access::make_dir | access::make_reg | access::make_sock |
             access::make_fifo | access::make_sym | access::refer;
    }
  }
  return out & handled_files(version);
}

// linux/filter.h and linux/seccomp.h.
constexpr std::uint16_t load = 0x20;   // BPF_LD | BPF_W | BPF_ABS
constexpr std::uint16_t equal = 0x15;  // BPF_JMP | BPF_JEQ | BPF_K
constexpr std::uint16_t least = 0x35;  // BPF_JMP | BPF_JGE | BPF_K
constexpr std::uint16_t mask = 0x54;   // BPF_ALU | BPF_AND | BPF_K
constexpr std::uint16_t give = 0x06;   // BPF_RET | BPF_K
constexpr std::uint32_t allow = 0x7fff0000;
constexpr std::uint32_t with_errno = 0x00050000;
constexpr std::uint32_t not_there = with_errno | 38;  // ENOSYS: callers fall back to something older
constexpr std::uint32_t refused = with_errno | 13;    // EACCES
constexpr std::uint32_t number_at = 0;
constexpr std::uint32_t processor_at = 4;
// The lower half of an argument, which is all that these calls look at.
constexpr std::uint32_t argument_at(unsigned index) {
  return 16 + 8 * index + (std::endian::native == std::endian::little ? 0 : 4);
}

struct NativeCalls {
  std::uint32_t processor = 0;  // linux/audit.h; 0: not known here
  std::uint32_t socket = 0;
  std::uint32_t truncate = 0;
  std::uint32_t openat = 0;
  std::optional<std::uint32_t> open;
  bool second_table = false;  // numbers from 0x40000000 are the same calls once more
};
constexpr NativeCalls native{
#if defined(__x86_64__) && defined(__LP64__)
    .processor = 0xC000003E, .socket = 41, .truncate = 76, .openat = 257, .open = 2, .second_table = true
#elif defined(__aarch64__) && defined(__LP64__)
    .processor = 0xC00000B7, .socket = 198, .truncate = 45, .openat = 56
#elif defined(__riscv) && defined(__LP64__)
    .processor = 0xC00000F3, .socket = 198, .truncate = 45, .openat = 56
#endif
};
// The same everywhere.
constexpr std::uint32_t call_io_uring_setup = 425;
constexpr std::uint32_t call_openat2 = 437;

constexpr std::uint32_t family_unix = 1;
constexpr std::uint32_t family_ipv4 = 2;
constexpr std::uint32_t family_ipv6 = 10;
constexpr std::uint32_t family_netlink = 16;
constexpr std::uint32_t netlink_route = 0;
constexpr std::uint32_t flag_empty = 0x200;  // O_TRUNC
constexpr std::uint32_t flag_writes = 3;     // O_ACCMODE

class FilterWriter {
 public:
  void loads(std::uint32_t offset) { add(load, 0, 0, offset); }
  void masks(std::uint32_t bits) { add(mask, 0, 0, bits); }
  void gives(std::uint32_t result) { add(give, 0, 0, result); }
  void if_equal(std::uint32_t value, std::uint32_t result) {
    add(equal, 0, 1, value);
    gives(result);
  }
  void unless_equal(std::uint32_t value, std::uint32_t result) {
    add(equal, 1, 0, value);
    gives(result);
  }
  void if_least(std::uint32_t value, std::uint32_t result) {
    add(least, 0, 1, value);
    gives(result);
  }
  // What `inside` writes ends with a result.
  template <class F>
  void when_call(std::uint32_t number, F inside) {
    loads(number_at);
    const auto at = steps_.size();
    add(equal, 0, 0, number);
    inside();
    steps_[at].no = static_cast<std::uint8_t>(steps_.size() - at - 1);
  }
  std::vector<FilterStep> take() { return std::move(steps_); }

 private:
  void add(std::uint16_t code, std::uint8_t yes, std::uint8_t no, std::uint32_t value) {
    steps_.push_back({code, yes, no, value});
  }
  std::vector<FilterStep> steps_;
};

FilterWish::Network filtered(const SandboxPolicy& policy) {
  switch (policy.network) {
    case SandboxNetwork::none:
      return FilterWish::Network::none;
    case SandboxNetwork::domains:
      return FilterWish::Network::own;
    case SandboxNetwork::loopback:
    case SandboxNetwork::any:
      break;
  }
  return FilterWish::Network::open;
}

}  // namespace

bool knows_native_calls() noexcept { return native.processor != 0; }

std::vector<FilterStep> socket_filter(const FilterWish& wish) {
  using Network = FilterWish::Network;
  if (!knows_native_calls() || (wish.network == Network::open && !wish.emptying)) return {};
  FilterWriter out;
  // The calls of another processor that this one can be as well have other numbers.
  out.loads(processor_at);
  out.unless_equal(native.processor, not_there);
  if (native.second_table) {
    out.loads(number_at);
    out.if_least(0x40000000, not_there);
  }
  // Opens files and sockets without the calls that are looked at here.
  out.when_call(call_io_uring_setup, [&] { out.gives(not_there); });
  if (wish.network != Network::open) {
    out.when_call(native.socket, [&] {
      out.loads(argument_at(0));
      out.if_equal(family_unix, allow);
      if (wish.network == Network::own) {
        out.if_equal(family_ipv4, allow);
        out.if_equal(family_ipv6, allow);
      }
      // Of netlink, what lists the interfaces: it reaches nobody.
      out.unless_equal(family_netlink, refused);
      out.loads(argument_at(2));
      out.unless_equal(netlink_route, refused);
      out.gives(allow);
    });
  }
  if (wish.emptying) {
    // A file is emptied when it is opened with O_TRUNC, also for reading alone.
    const auto opening = [&](unsigned flags) {
      out.loads(argument_at(flags));
      out.masks(flag_empty | flag_writes);
      out.if_equal(flag_empty, refused);
      out.if_equal(flag_empty | flag_writes, refused);
      out.gives(allow);
    };
    out.when_call(native.truncate, [&] { out.gives(refused); });
    out.when_call(call_openat2, [&] { out.gives(not_there); });  // its flags are in memory
    out.when_call(native.openat, [&] { opening(2); });
    if (native.open) out.when_call(*native.open, [&] { opening(1); });
  }
  out.gives(allow);
  return out.take();
}

std::string_view to_string(FilesHold files) noexcept {
  constexpr std::array<std::string_view, 3> words{"open", "writes", "reads and writes"};
  return words[static_cast<std::size_t>(files)];
}

std::string_view to_string(NetworkHold network) noexcept {
  constexpr std::array<std::string_view, 4> words{"open", "own loopback", "domains", "closed"};
  return words[static_cast<std::size_t>(network)];
}

std::string_view to_string(SandboxGap gap) noexcept {
  constexpr std::array<std::string_view, 6> words{"files",    "files too large", "network",
                                                  "loopback", "domains",         "processes"};
  return words[static_cast<std::size_t>(gap)];
}

SandboxState sandbox_state(const SandboxPolicy& policy, const SandboxMachine& machine, bool too_large) {
  SandboxState out;
  out.mode = policy.mode;
  out.kernel = machine.kernel;
  if (policy.mode == SandboxMode::off) return out;
  const bool front = !machine.bubblewrap.empty();
  const bool filters = machine.filters && machine.native_calls;
  out.own_processes = front;
  if (machine.landlock <= 0) {
    out.gaps.push_back(SandboxGap::files);
  } else if (too_large) {
    out.gaps.push_back(SandboxGap::files_too_large);
  } else if (machine.landlock < sees_emptying && !filters) {
    // Files could be emptied by name, which is no limit of writing.
    out.gaps.push_back(SandboxGap::files);
  } else {
    const bool everything = std::ranges::find(policy.read, "/") != policy.read.end();
    out.files = everything ? FilesHold::writes : FilesHold::reads_writes;
  }
  switch (policy.network) {
    case SandboxNetwork::any:
      break;
    case SandboxNetwork::none:
      if (filters || front) {
        out.network = NetworkHold::closed;
      } else {
        out.gaps.push_back(SandboxGap::network);
      }
      break;
    case SandboxNetwork::loopback:
      if (front) {
        out.network = NetworkHold::own_loopback;
      } else {
        out.gaps.push_back(SandboxGap::loopback);
      }
      break;
    case SandboxNetwork::domains:
      out.network = NetworkHold::domains;
      out.domains = policy.domains;
      if (!front) out.gaps.push_back(SandboxGap::domains);
      break;
  }
  if (policy.asked_limits && machine.root) out.gaps.push_back(SandboxGap::processes);
  return out;
}

std::string gap_text(SandboxGap gap, const SandboxMachine& machine) {
  switch (gap) {
    case SandboxGap::files:
      return machine.landlock > 0
                 ? fmt::format(
                       "writing cannot be limited: Landlock of kernel {} is too old, and this system has no "
                       "seccomp filters that would help; use kernel 6.2 or later",
                       machine.kernel)
                 : fmt::format(
                       "reading and writing files cannot be limited: kernel {} has no Landlock, or it is "
                       "switched off; use kernel 5.13 or later with \"landlock\" in its lsm= list",
                       machine.kernel);
    case SandboxGap::files_too_large:
      return "a folder that holds credentials has too much in it to allow the rest piece by piece; name what the "
             "server "
             "needs in \"sandbox.read\" and \"sandbox.write\"";
    case SandboxGap::network:
      return fmt::format(
          "network access cannot be taken away: this system (kernel {}) has no seccomp filters; write "
          "\"network\": \"any\"",
          machine.kernel);
    case SandboxGap::loopback:
      return "a loopback of its own needs bubblewrap, which is not installed or does not work here; install the "
             "package "
             "bubblewrap and allow user namespaces, or write \"network\": \"none\" or \"any\"";
    case SandboxGap::domains:
      return "a network of single domains needs bubblewrap, which is not installed or does not work here; install the "
             "package bubblewrap and allow user namespaces, or write \"network\": \"none\" or \"any\"";
    case SandboxGap::processes:
      return "the number of processes cannot be limited for root; run as an ordinary user, or leave out "
             "\"limits.processes\"";
  }
  return {};
}

std::vector<std::string> bubblewrap_front(const std::string& program, bool own_network) {
  std::vector<std::string> out{
      program,         "--bind",           "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc",
      "--unshare-pid", "--die-with-parent"};
  if (own_network) {
    out.emplace_back("--unshare-net");
    // Who is root could walk into another network that somebody keeps a name of. Others have none of these.
    for (const auto* right : {"CAP_SYS_ADMIN", "CAP_NET_ADMIN", "CAP_SYS_PTRACE", "CAP_SYS_MODULE"}) {
      out.insert(out.end(), {"--cap-drop", right});
    }
  }
  out.emplace_back("--");
  return out;
}

bool keeps_from_starting(const SandboxState& state) noexcept {
  if (state.gaps.empty()) return false;
  return state.mode == SandboxMode::required || std::ranges::find(state.gaps, SandboxGap::domains) != state.gaps.end();
}

Confinement confinement(const SandboxPolicy& policy, const SandboxMachine& machine, const FileRules& files,
                        const std::string& server) {
  Confinement out;
  const auto state = sandbox_state(policy, machine, files.too_large.has_value());
  if (state.files != FilesHold::open) {
    out.handled_files = handled_files(machine.landlock);
    if (machine.landlock >= sees_signals) out.scoped = scope_abstract_sockets | scope_signals;
    for (const auto& rule : files.rules) out.paths.push_back({rule.path, access_of(rule, machine.landlock)});
  }
  if (machine.filters) {
    out.filter = socket_filter(
        {.network = filtered(policy), .emptying = state.files != FilesHold::open && machine.landlock < sees_emptying});
  }
  out.limits = policy.limits;
  if (!machine.bubblewrap.empty()) {
    const bool own_network = policy.network != SandboxNetwork::any;
    out.front = bubblewrap_front(machine.bubblewrap, own_network);
  }
  if (policy.network == SandboxNetwork::domains) {
    out.domains.emplace(server, std::vector<DomainRule>(), policy.domains_setting);
    for (const auto& domain : policy.domains) {
      // What cannot be read allows nothing.
      if (auto rule = read_domain_rule(domain)) out.domains->rules.push_back(std::move(*rule));
    }
  }
  return out;
}

}  // namespace patchbay
