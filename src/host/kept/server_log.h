// The log of one server: what it wrote to stderr and what happened to it, for `patchbay logs` and for people with an
// editor. `logs/<name>-<hash>.log` in the state directory, one line each with its time, for the user alone; 1 MiB, and
// one older file. The hash is that of the name and the file that declares it, so the log goes on when the entry is
// edited; and of the project, where another one may have an entry of that name in the same file. Lines come cleaned and
// without secrets: host/kept/recorder sees to that. Making and reading lines is pure; appending blocks and goes through
// offload(). Any number of processes may append at once.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <patchbay/config.h>

namespace patchbay {

inline constexpr std::size_t largest_server_log = 1u << 20;
inline constexpr std::size_t most_server_logs = 500;

enum class ServerLogKind : std::uint8_t { wrote, event };
std::string_view to_string(ServerLogKind kind) noexcept;  // "stderr", "event"

struct ServerLogLine {
  std::chrono::sys_time<std::chrono::milliseconds> time;
  ServerLogKind kind = ServerLogKind::event;
  std::string text;
  bool operator==(const ServerLogLine&) const = default;
};

// `project`: the root of the one it is used in.
std::string server_log_path(const std::string& state_directory, const ServerConfig& server, std::string_view project);
std::string older_server_log(const std::string& path);

// "2026-11-18T02:20:34.123Z stderr listening" and a line feed. What does not show itself is written out.
std::string write_log_line(const ServerLogLine& line);
// Nothing for what is not such a line.
std::optional<ServerLogLine> read_log_line(std::string_view text);

// Whole lines. Moves the file aside when it is full.
Result<void> append_server_log(const std::string& path, std::string_view lines);

}  // namespace patchbay
