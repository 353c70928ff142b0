#include "host/flight/recording_files.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

#include <fmt/format.h>

#include "host/kept/server_log.h"
#include "host/kept/state_files.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view ending = ".jsonl";
constexpr std::size_t most_looked_at = 10'000;

// Also one that is being written.
bool is_ours(std::string_view name) { return name.contains(ending); }

}  // namespace

std::string recordings_folder(const std::string& state_directory) { return state_directory + "/recordings"; }

std::string recording_stem(const ServerConfig& server) {
  return fs::path(server_log_path("", server, "")).stem().string();
}

std::vector<StoredRecording> stored_recordings(const std::string& folder) {
  std::vector<StoredRecording> all;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end && all.size() < most_looked_at;
       at.increment(error)) {
    const auto name = at->path().filename().string();
    const auto dot = name.find('.');
    if (!name.ends_with(ending) || dot + ending.size() >= name.size()) continue;
    // Others may take it away meanwhile. A link is not one of ours.
    std::error_code gone;
    if (at->symlink_status(gone).type() != fs::file_type::regular || gone) continue;
    const auto time = at->last_write_time(gone);
    const auto bytes = gone ? 0 : at->file_size(gone);
    if (!gone) all.push_back({at->path().string(), name.substr(0, dot), time, bytes});
  }
  std::ranges::sort(all, [](const auto& left, const auto& right) {
    return left.time != right.time ? left.time > right.time : left.file > right.file;
  });
  return all;
}

std::vector<StoredRecording> recordings_to_drop(const std::vector<StoredRecording>& all,
                                                std::chrono::file_clock::time_point now) {
  std::vector<StoredRecording> out;
  std::map<std::string, std::size_t> of_server;
  std::uintmax_t bytes = 0;
  std::size_t kept = 0;
  for (const auto& one : all) {
    const bool old = now - one.time > recordings_last;
    const bool fits = bytes + one.bytes <= most_recording_bytes && kept < most_recordings;
    if (old || !fits || of_server[one.stem] >= most_recordings_each) {
      out.push_back(one);
    } else {
      ++of_server[one.stem];
      ++kept;
      bytes += one.bytes;
    }
  }
  return out;
}

bool is_recorded_just_now(const std::vector<StoredRecording>& all, std::string_view stem,
                          std::chrono::file_clock::time_point now) {
  return std::ranges::any_of(all, [&](const StoredRecording& one) {
    return one.stem == stem && one.time <= now && now - one.time < between_recordings;
  });
}

Result<std::string> store_recording(const std::string& folder, const std::string& stem, const std::string& time,
                                    std::string_view text) {
  const auto file = fmt::format("{}/{}.{}-{}{}", folder, stem, time, ::getpid(), ending);
  if (auto written = write_whole(file, text); !written) return std::unexpected(std::move(written).error());
  for (const auto& one : recordings_to_drop(stored_recordings(folder), fs::file_time_type::clock::now())) {
    std::error_code gone;
    fs::remove(one.file, gone);
  }
  // And what was never finished.
  remove_oldest(folder, most_looked_at, is_ours);
  return file;
}

}  // namespace patchbay
