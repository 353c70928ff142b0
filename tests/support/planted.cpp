#include "support/planted.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include <fmt/format.h>

#include "base/fd.h"

namespace patchbay::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t least_secret = 12;
constexpr std::size_t most_output = 4u << 20;  // of one run

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// In one piece: other processes of the suite append as well.
void append(const std::string& file, std::string_view text) {
  const Fd out(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!out) return;
  ::flock(out.get(), LOCK_EX);
  while (!text.empty()) {
    const auto put = ::write(out.get(), text.data(), text.size());
    if (put <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(put));
  }
}

bool is_program(const std::string& word) { return fs::path(word).filename() == "patchbay"; }

}  // namespace

void note_planted(std::string_view secret) {
  const auto file = variable("PATCHBAY_TEST_PLANTED");
  if (file.empty() || secret.size() < least_secret || secret.contains('\n')) return;
  append(file, fmt::format("{}\n", secret));
}

void keep_output(const std::vector<std::string>& words, std::string_view output) {
  const auto kept = variable("PATCHBAY_TEST_KEPT");
  if (kept.empty() || words.empty() || !is_program(words.front())) return;
  append(fmt::format("{}/output-{}", kept, ::getpid()), output.substr(0, most_output));
}

void keep_tree(const fs::path& tree) {
  static std::atomic<int> count = 0;
  const auto kept = variable("PATCHBAY_TEST_KEPT");
  if (kept.empty()) return;
  std::error_code ignored;
  // The browser of a test has the address that it came back to, with the code, in its history.
  for (const auto* name : {"home/browser", "home/browser.log"}) fs::remove_all(tree / name, ignored);
  fs::rename(tree, fs::path(kept) / fmt::format("tree-{}-{}", ::getpid(), ++count), ignored);
}

}  // namespace patchbay::test
