// A process that uses a store of secrets, for tests of the store between processes and over a real keyring:
//   vault-user STATE CONFIG STEP...
// Each step is NAME or NAME:ARGUMENT:ARGUMENT; each prints one line, "error CODE: MESSAGE" when it fails.
//   write:N:V  read:N  remove:N  list  size:N  fill:N:BYTES  count:N:TIMES  each:PREFIX:TIMES  protect:PASSPHRASE
//   ask:PASSPHRASE
//   loaded     whether libsecret is in memory
//   no-keyctl  from now on the kernel refuses to keep keys, as in a container
// `count` adds one to a number under the lock of its name; `ask` is answered to every later question.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "auth/store/secret_vault.h"
#include "base/strings.h"

namespace {

using namespace patchbay;

template <class T>
std::string said(const Result<T>& result, const std::string& text) {
  return result ? text : fmt::format("error {}: {}", to_string(result.error().code()), result.error().message());
}

std::string value_of(const Result<std::optional<Secret>>& read) {
  return said(read, read && *read ? "value " + std::string((*read)->reveal()) : "nothing");
}

std::string count(SecretVault& vault, const std::string& name, int times) {
  for (int i = 0; i < times; ++i) {
    const auto held = vault.lock(name, std::chrono::seconds(60));
    if (!held) return said(held, "");
    const auto before = vault.read(name);
    if (!before || !*before) return value_of(before);
    const auto next = std::stoi(std::string((*before)->reveal())) + 1;
    if (auto written = vault.write(name, Secret(std::to_string(next)), {}); !written) return said(written, "");
  }
  return "counted";
}

bool is_loaded(std::string_view library) {
  std::ifstream maps("/proc/self/maps");
  const std::string text{std::istreambuf_iterator<char>(maps), {}};
  return text.find(library) != std::string::npos;
}

bool forbid_keys() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_keyctl, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_add_key, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
  };
  sock_fprog program{std::size(filter), filter};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

std::string step(SecretVault& vault, const std::vector<std::string>& words) {
  const auto& what = words.at(0);
  if (what == "loaded") return is_loaded("libsecret") ? "loaded" : "not loaded";
  if (what == "no-keyctl") return forbid_keys() ? "forbidden" : "error";
  if (what == "list") {
    const auto all = vault.list();
    std::string names;
    for (const auto& one : all ? *all : std::vector<KeptSecret>()) {
      names += fmt::format(" {}={}", one.name, to_string(one.place));
    }
    return said(all, "list" + names);
  }
  const auto& name = words.at(1);
  if (what == "read") return value_of(vault.read(name));
  if (what == "size") {
    const auto read = vault.read(name);
    return said(read, fmt::format("size {}", read && *read ? (*read)->reveal().size() : 0));
  }
  if (what == "remove") {
    const auto removed = vault.remove(name);
    return said(removed, removed && *removed ? "removed" : "nothing");
  }
  if (what == "count") return count(vault, name, std::stoi(words.at(2)));
  if (what == "each") {
    for (int i = 0; i < std::stoi(words.at(2)); ++i) {
      const auto written = vault.write(fmt::format("{}-{}", name, i), Secret(std::to_string(i)), {});
      if (!written) return said(written, "");
    }
    return "written";
  }
  const auto text = what == "fill" ? std::string(std::stoul(words.at(2)), 'x') : words.at(2);
  const auto written = vault.write(name, Secret(text), {{"step", what}});
  return said(written, fmt::format("written {}", written ? to_string(*written) : ""));
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  auto answer = std::make_shared<std::string>();
  auto make = [&] {
    VaultOptions options;
    options.state_directory = words.at(0);
    options.config_directory = words.at(1);
    options.passphrase_cost = {10, 8, 1};
    options.limits.keyring = std::chrono::seconds(5);
    options.limits.keyring_person = std::chrono::seconds(5);
    if (!answer->empty()) options.ask_passphrase = [answer](PassphraseUse) { return std::optional(Secret(*answer)); };
    return std::make_unique<SecretVault>(std::move(options));
  };
  auto vault = make();
  for (std::size_t i = 2; i < words.size(); ++i) {
    std::vector<std::string> parts;
    for (const auto part : split(words[i], ':')) parts.emplace_back(part);
    if (parts.at(0) == "ask") {
      *answer = parts.at(1);
      vault = make();
    } else if (parts.at(0) == "protect") {
      const auto done = vault->protect_with_passphrase(Secret(parts.at(1)));
      std::puts(said(done, "protected").c_str());
    } else {
      std::puts(step(*vault, parts).c_str());
    }
    std::fflush(stdout);
  }
  return 0;
}
