// A recording: frames of one server as a file, one JSON object on each line (docs/recording.md has the format). The
// first line says what it is, each other one is a message or a mark. Writing takes frames whose secrets are out of
// them; reading takes a file of any origin, within bounds: what is no frame is left out with a warning, and a file that
// breaks off is used as far as it goes. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/error.h>

#include "recording/frame_ring.h"

namespace patchbay {

inline constexpr std::int64_t recording_version = 1;
inline constexpr std::size_t largest_recording = 16u << 20;
inline constexpr std::size_t longest_recording_line = 2u << 20;
inline constexpr std::size_t most_recorded_frames = 20'000;
inline constexpr std::size_t most_recording_warnings = 20;

struct RecordingHeader {
  std::string server;
  std::string program;  // who recorded it: "patchbay 0.1.0"
  std::string time;     // when: "2026-11-18T02:20:34.123Z"; frames are so many milliseconds later or earlier
  std::string reason;   // what had gone wrong; empty: somebody asked for it
  bool operator==(const RecordingHeader&) const = default;
};

struct Recording {
  RecordingHeader header;
  std::vector<RecordedFrame> frames;
  std::vector<std::string> warnings;  // what was left out, "line 7: …"
};

std::string write_recording(const RecordingHeader& header, const std::vector<RecordedFrame>& frames);

// Errc::config: it is no recording, or one of a newer version than this program knows.
Result<Recording> read_recording(std::string_view text);
// Only who and when, for lists; nothing when it is no recording. `text` may be the beginning of a file.
Result<RecordingHeader> read_recording_header(std::string_view text);

}  // namespace patchbay
