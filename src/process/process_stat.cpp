#include "process/process_stat.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "base/fd.h"

namespace patchbay {
namespace {

// The next of some words between blanks; empty behind the last.
std::string_view next_word(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(" \n"), rest.size()));
  const auto word = rest.substr(0, rest.find_first_of(" \n"));
  rest.remove_prefix(word.size());
  return word;
}

template <class Number>
bool read_number(std::string_view word, Number& number) {
  const auto* end = word.data() + word.size();
  const auto [at, failed] = std::from_chars(word.data(), end, number);
  return failed == std::errc() && at == end;
}

}  // namespace

std::optional<ProcessStat> read_process_stat(std::string_view text) {
  const auto name_end = text.rfind(')');
  if (name_end == text.npos) return std::nullopt;
  auto rest = text.substr(name_end + 1);
  // state, ppid, pgrp, session, tty, tpgid, flags
  std::array<std::string_view, 7> words;
  for (auto& word : words) word = next_word(rest);
  ProcessStat found;
  if (words[0].size() != 1 || !read_number(words[3], found.session) || !read_number(words[6], found.flags)) {
    return std::nullopt;
  }
  found.state = words[0].front();
  return found;
}

std::optional<ProcessStat> process_stat(pid_t pid) {
  const Fd file(::open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  std::array<char, 1024> text;  // longer than the system writes
  ssize_t length = -1;
  do {
    length = ::read(file.get(), text.data(), text.size());
  } while (length < 0 && errno == EINTR);
  if (length <= 0) return std::nullopt;
  return read_process_stat({text.data(), static_cast<std::size_t>(length)});
}

}  // namespace patchbay
