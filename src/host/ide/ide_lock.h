// Editors that offer themselves: each writes a lock file <port>.lock that says
// where its server listens and with which token it may be called. Here is what
// such a file says, and which of several editors is meant. Pure; host/ide/ide looks
// at files, processes and ports.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/error.h>

#include "base/secret.h"

namespace patchbay {

struct IdeLock {
  enum class Way : std::uint8_t { sse, websocket };

  std::uint16_t port = 0;
  std::int64_t pid = 0;
  std::vector<std::string> folders;  // the editor has open
  std::string editor;                // its name, cleaned for display
  Way way = Way::sse;
  Secret token;                        // empty: it wants none
  std::chrono::sys_seconds written{};  // when the file was

  bool operator==(const IdeLock&) const = default;
};

// `file_name` without its folder. An Error says what is wrong with it.
Result<IdeLock> read_ide_lock(std::string_view file_name, std::string_view text);

// The port a lock file's name stands for; nothing when it is not a lock file.
std::optional<std::uint16_t> ide_lock_port(std::string_view file_name);

struct IdeCandidate {
  IdeLock lock;
  bool process_gone = false;
  bool port_closed = false;
};

// What tells the editor that is meant from the others.
struct IdeWish {
  std::optional<std::uint16_t> port;  // of the editor whose terminal this is
  std::string cwd;                    // absolute, without links
};

// The one at the wanted port; else the one that has a folder open which
// contains the working directory, the nearest such folder first, then the
// newest lock. Stale ones do not count.
std::optional<std::size_t> choose_ide(std::span<const IdeCandidate> candidates, const IdeWish& wish);

// Why one was not chosen, for the message that none was.
std::string why_not(const IdeCandidate& candidate, const IdeWish& wish);

}  // namespace patchbay
