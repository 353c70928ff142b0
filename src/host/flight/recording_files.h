// Recordings of servers that failed, as files: `recordings/<name>-<hash>.<time>-<pid>.jsonl` in the state directory,
// for the user alone. All of them together are bounded in bytes, number and age, and so are those of one server, so
// that one that fails again and again does not push out the others. Any number of processes may write and take away at
// the same time; none of them waits. Blocking, through offload(). docs/recording.md
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/config.h>
#include <patchbay/error.h>

namespace patchbay {

inline constexpr std::uintmax_t most_recording_bytes = 64u << 20;
inline constexpr std::chrono::days recordings_last{7};
inline constexpr std::size_t most_recordings = 500;
inline constexpr std::size_t most_recordings_each = 10;
// Between two recordings of one server, whichever process writes them.
inline constexpr std::chrono::seconds between_recordings{60};

struct StoredRecording {
  std::string file;  // absolute
  std::string stem;  // of its server: recording_stem()
  std::chrono::file_clock::time_point time;
  std::uintmax_t bytes = 0;
};

std::string recordings_folder(const std::string& state_directory);
// What the files of a server are called: its name, and a hash of the name and the file that declares it.
std::string recording_stem(const ServerConfig& server);

// The newest first.
std::vector<StoredRecording> stored_recordings(const std::string& folder);
// Those that have to go. Pure: `all` has the newest first.
std::vector<StoredRecording> recordings_to_drop(const std::vector<StoredRecording>& all,
                                                std::chrono::file_clock::time_point now);
// Whether one of the server was written a moment ago.
bool is_recorded_just_now(const std::vector<StoredRecording>& all, std::string_view stem,
                          std::chrono::file_clock::time_point now);

// Writes one and drops what has to go. `time`: for its name, "20261118T022034123Z".
Result<std::string> store_recording(const std::string& folder, const std::string& stem, const std::string& time,
                                    std::string_view text);

}  // namespace patchbay
