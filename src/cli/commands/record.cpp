// `record list|show|export`: what passed between us and a server. In the directory of a session its process is asked
// for its latest frames; elsewhere, and of a server that the session knows nothing of, there is what failures left in
// the state directory (host/flight/recording_files). Starts no server.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "base/fd.h"
#include "base/strings.h"
#include "base/whole_file.h"
#include "cli/context.h"
#include "cli/kept.h"
#include "cli/output_file.h"
#include "cli/recordings.h"
#include "cli/session/control.h"
#include "cli/session/use.h"
#include "cli/texts/present.h"
#include "cli/texts/time_words.h"
#include "gateway/host_view.h"
#include "host/flight/recording_files.h"
#include "text/shell_word.h"

namespace patchbay::cli {
namespace {

constexpr std::size_t longest_header = 64u << 10;
constexpr std::size_t longest_frame = 240;  // of a line of `show`
constexpr std::chrono::milliseconds session_limit{20'000};

struct Found {
  std::string text;
  std::string from;  // the file, or "the session of this directory"
};

struct StoredRow {
  StoredRecording stored;
  RecordingHeader header;
};

std::string folder() {
  const auto directory = state_directory();
  if (directory.empty())
    throw Error(Errc::config, "there is no state directory: neither XDG_STATE_HOME nor HOME is set");
  return recordings_folder(directory);
}

// Those whose first line says what they are; the newest first.
std::vector<StoredRow> stored_rows(const std::string& server) {
  std::vector<StoredRow> rows;
  for (auto& one : stored_recordings(folder())) {
    std::string beginning(longest_header, '\0');
    std::ifstream file(one.file, std::ios::binary);
    file.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
    beginning.resize(static_cast<std::size_t>(file.gcount()));
    auto header = read_recording_header(beginning);
    if (!header || (!server.empty() && header->server != server)) continue;
    rows.push_back({std::move(one), std::move(*header)});
  }
  return rows;
}

// The session of this directory, unless flags say that it is not used.
std::optional<SessionState> session_to_ask(const Settings& settings) {
  if (!flags_against_session(settings).empty()) return std::nullopt;
  auto session = running_session();
  if (session) require_same_version(*session);
  return session;
}

Json ask_for_recording(const SessionState& session, const std::string& server) {
  Json params = Json::object();
  if (!server.empty()) params["server"] = server;
  auto said = ask_session(session.place, session_method::recording, std::move(params), session_limit);
  if (!said) throw Error(Errc::closed, "the session has ended");
  if (!said->answer) throw std::move(said->answer).error();
  return std::move(*said->answer);
}

std::vector<std::string> servers_of(const Json& answer) {
  std::vector<std::string> names;
  for (const auto& name : answer["servers"].items()) {
    if (const auto text = name.text()) names.emplace_back(*text);
  }
  return names;
}

std::string names_text(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (const auto& name : names) shown.push_back(fmt::format("\"{}\"", safe_name(name, 80)));
  return join(shown, ", ");
}

std::optional<Found> found_in_session(const Settings& settings, std::string server) {
  const auto session = session_to_ask(settings);
  if (!session) return std::nullopt;
  const auto names = servers_of(ask_for_recording(*session, {}));
  if (server.empty() && names.size() > 1) {
    throw Error(Errc::invalid_argument,
                fmt::format("the session has frames of {}; name one of them: patchbay record {} SERVER",
                            names_text(names), settings.words.front()));
  }
  if (server.empty() && names.size() == 1) server = names.front();
  if (server.empty() || std::ranges::find(names, server) == names.end()) return std::nullopt;
  const auto answer = ask_for_recording(*session, server);
  const auto text = answer["text"].text();
  if (!text) throw Error(Errc::protocol, "the session did not answer with a recording");
  return Found{std::string(*text), "the session of this directory"};
}

std::string text_of_file(const std::string& file) {
  auto text = read_whole_file(file, largest_recording);
  if (!text) throw std::move(text).error();
  if (!*text) throw Error(Errc::invalid_argument, fmt::format("there is no file {}", file));
  return std::move(**text);
}

// What `export` and `show` are about.
Found find_recording(const Settings& settings) {
  const auto server = settings.words.size() > 1 ? settings.words[1] : std::string();
  if (auto found = found_in_session(settings, server)) return std::move(*found);
  const auto rows = stored_rows(server);
  if (!rows.empty()) return {text_of_file(rows.front().stored.file), rows.front().stored.file};
  throw Error(Errc::invalid_argument,
              fmt::format("there is no recording{}. One is kept when a server fails; to record what you do: patchbay "
                          "session start, then your commands, then patchbay record export{}",
                          server.empty() ? std::string() : fmt::format(" of \"{}\"", safe_name(server, 80)),
                          server.empty() ? std::string() : shell_operands({server})));
}

// Without fractions of a second.
std::string when(const RecordingHeader& header) {
  const auto point = header.time.find('.');
  return local_time(point == std::string::npos ? header.time : header.time.substr(0, point) + "Z");
}

int list_recordings(const Settings& settings, Io& io) {
  const auto server = settings.words.size() > 1 ? settings.words[1] : std::string();
  const auto rows = stored_rows(server);
  const auto session = session_to_ask(settings);
  auto in_session = session ? servers_of(ask_for_recording(*session, {})) : std::vector<std::string>();
  if (!server.empty()) std::erase_if(in_session, [&](const auto& name) { return name != server; });
  if (settings.json) {
    Json list = Json::array();
    for (const auto& [stored, header] : rows) {
      list.push_back({{"server", header.server},
                      {"time", header.time},
                      {"reason", header.reason},
                      {"bytes", stored.bytes},
                      {"file", stored.file}});
    }
    Json running = Json::array();
    for (const auto& name : in_session) running.push_back(name);
    io.out(json_text({{"recordings", std::move(list)}, {"session", std::move(running)}}, io.out_is_terminal));
    return 0;
  }
  std::string text;
  if (!in_session.empty()) text += fmt::format("in the session of this directory: {}\n", names_text(in_session));
  for (const auto& [stored, header] : rows) {
    text +=
        fmt::format("{}  \"{}\"  {} KiB\n    {}\n    {}\n", safe_name(when(header), 40), safe_name(header.server, 80),
                    (stored.bytes + 1023) / 1024, message_line(header.reason, 300), safe_name(stored.file, 1000));
  }
  if (text.empty()) text = "There are no recordings. One is kept when a server fails.\n";
  print_lines(io, text);
  return 0;
}

std::string_view direction_of(const RecordedFrame& frame) {
  return frame.kind == RecordedFrame::Kind::sent ? "->" : "<-";
}

std::string frame_line(const RecordedFrame& frame) {
  using Kind = RecordedFrame::Kind;
  const auto time = fmt::format("{:+.3f}", static_cast<double>(frame.time) / 1000);
  switch (frame.kind) {
    case Kind::opened:
      return fmt::format("{} connection {} was opened\n", time, frame.channel);
    case Kind::closed:
      return fmt::format("{} connection {} was closed\n", time, frame.channel);
    case Kind::ended:
      return fmt::format("{} the server ended connection {}: {}\n", time, frame.channel,
                         message_line(frame.text, longest_frame));
    case Kind::lost:
      return fmt::format("{} a request lost its stream: {}\n", time, safe_line(frame.text, longest_frame));
    case Kind::gap:
      return fmt::format("{} {} are missing here: the recorder had no room for them\n", time,
                         plural(frame.size, "frame"));
    case Kind::sent:
    case Kind::received:
      break;
  }
  const auto cut = frame.cut ? fmt::format(" ({} bytes, too large to keep)", frame.size) : std::string();
  return fmt::format("{} {} {}{}\n", time, direction_of(frame), safe_line(frame.text, longest_frame), cut);
}

int show(const Settings& settings, Io& io) {
  const auto& word = settings.words.size() > 1 ? settings.words[1] : std::string();
  std::error_code error;
  const bool file = !word.empty() && std::filesystem::is_regular_file(word, error);
  const auto found = file ? Found{text_of_file(word), word} : find_recording(settings);
  const auto recording = read_recording(found.text);
  if (!recording) throw recording.error().within(safe_name(found.from, 1000));
  if (settings.json) {
    Json frames = Json::array();
    for (const auto& frame : recording->frames) {
      const auto lines = write_recording({}, {frame});
      auto line = parse_json(lines.substr(lines.find('\n') + 1));
      if (line) frames.push_back(std::move(*line));
    }
    Json warnings = Json::array();
    for (const auto& warning : recording->warnings) warnings.push_back(warning);
    io.out(json_text({{"server", recording->header.server},
                      {"program", recording->header.program},
                      {"time", recording->header.time},
                      {"reason", recording->header.reason},
                      {"from", found.from},
                      {"frames", std::move(frames)},
                      {"warnings", std::move(warnings)}},
                     io.out_is_terminal));
    return 0;
  }
  say_warnings(*recording, settings, io);
  const auto& header = recording->header;
  std::string text = fmt::format("\"{}\", recorded {} by {}\n", safe_name(header.server, 80),
                                 safe_name(when(header), 40), safe_name(header.program, 60));
  if (!header.reason.empty()) text += fmt::format("because: {}\n", message_line(header.reason, 500));
  for (const auto& frame : recording->frames) text += frame_line(frame);
  print_lines(io, text);
  return 0;
}

// For the user alone: what it holds is between them and the server.
void write_file(const std::string& file, std::string_view text) {
  const auto failed = [&] {
    return Error(Errc::invalid_argument,
                 fmt::format("the file {} of --output cannot be written: {}", file, std::strerror(errno)));
  };
  check_output(file);
  const Fd out(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0600));
  struct stat about{};
  if (!out || ::fstat(out.get(), &about) != 0) throw failed();
  if (S_ISREG(about.st_mode) && ::fchmod(out.get(), 0600) != 0) throw failed();
  while (!text.empty()) {
    const auto count = ::write(out.get(), text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw failed();
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

int export_recording(const Settings& settings, Io& io) {
  const auto found = find_recording(settings);
  if (settings.output.empty()) {
    io.out(found.text);
    return 0;
  }
  write_file(settings.output, found.text);
  const auto lines = static_cast<std::size_t>(std::ranges::count(found.text, '\n'));
  if (settings.json) {
    io.out(
        json_text({{"file", settings.output}, {"from", found.from}, {"bytes", found.text.size()}}, io.out_is_terminal));
  } else if (!settings.quiet) {
    io.talk(fmt::format("Wrote {} from {} to {}. To serve it: patchbay replay{}\n",
                        plural(lines == 0 ? 0 : lines - 1, "frame"), safe_name(found.from, 1000),
                        safe_name(settings.output, 1000), shell_operands({settings.output})));
  }
  return 0;
}

}  // namespace

void say_warnings(const Recording& recording, const Settings& settings, Io& io) {
  if (settings.quiet) return;
  for (const auto& warning : recording.warnings) {
    io.talk(fmt::format("patchbay: warning: {}\n", message_line(warning, 500)));
  }
}

int record(const Settings& settings, Io& io) {
  const auto& word = settings.words.front();
  if (word == "list") return list_recordings(settings, io);
  return word == "show" ? show(settings, io) : export_recording(settings, io);
}

}  // namespace patchbay::cli
