#include "recording/recording.h"

#include <array>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

using Kind = RecordedFrame::Kind;

constexpr std::string_view version_key = "patchbayRecording";
constexpr std::size_t longest_shown = 80;

// How a mark is called; the message kinds have directions instead.
constexpr auto mark_names = std::to_array<std::pair<Kind, std::string_view>>({{Kind::opened, "opened"},
                                                                              {Kind::lost, "lost"},
                                                                              {Kind::ended, "ended"},
                                                                              {Kind::closed, "closed"},
                                                                              {Kind::gap, "gap"}});

std::string_view name_of(Kind kind) {
  for (const auto& [one, name] : mark_names) {
    if (one == kind) return name;
  }
  return kind == Kind::sent ? "sent" : "received";
}

std::string text_of(const Json& object, std::string_view key) {
  const auto text = object[key].text();
  return text ? std::string(*text) : std::string();
}

void append_line(std::string& out, const RecordedFrame& frame) {
  fmt::format_to(std::back_inserter(out), "{{\"t\":{},\"c\":{},", frame.time, frame.channel);
  switch (frame.kind) {
    case Kind::sent:
    case Kind::received:
      if (frame.cut) {
        fmt::format_to(std::back_inserter(out), "\"mark\":\"cut\",\"dir\":\"{}\",\"bytes\":{},\"envelope\":{}",
                       name_of(frame.kind), frame.size, frame.text);
      } else {
        fmt::format_to(std::back_inserter(out), "\"dir\":\"{}\",\"frame\":{}", name_of(frame.kind), frame.text);
      }
      break;
    case Kind::lost:
      fmt::format_to(std::back_inserter(out), "\"mark\":\"lost\",\"request\":{}", frame.text);
      break;
    case Kind::ended:
      fmt::format_to(std::back_inserter(out), "\"mark\":\"ended\",\"reason\":{}", to_text(Json(frame.text)));
      break;
    case Kind::gap:
      fmt::format_to(std::back_inserter(out), "\"mark\":\"gap\",\"frames\":{}", frame.size);
      break;
    case Kind::opened:
    case Kind::closed:
      fmt::format_to(std::back_inserter(out), "\"mark\":\"{}\"", name_of(frame.kind));
      break;
  }
  out += "}\n";
}

// What a line says, or why it is not one of ours.
std::expected<RecordedFrame, std::string> frame_of(const Json& line) {
  if (!line.is_object()) return std::unexpected("it is no JSON object");
  RecordedFrame frame;
  frame.time = line["t"].to_int().value_or(0);
  const auto channel = line["c"].to_uint().value_or(0);
  if (channel > UINT32_MAX) return std::unexpected("\"c\" is not the number of a channel");
  frame.channel = static_cast<std::uint32_t>(channel);
  const auto mark = text_of(line, "mark");
  const auto direction = text_of(line, "dir");
  if (mark.empty() || mark == "cut") {
    if (direction != "sent" && direction != "received") {
      return std::unexpected("it has neither a \"dir\" (sent, received) nor a \"mark\" that is known");
    }
    frame.kind = direction == "sent" ? Kind::sent : Kind::received;
    frame.cut = mark == "cut";
    if (frame.cut) frame.size = static_cast<std::size_t>(line["bytes"].to_uint().value_or(0));
    frame.text = to_text(line[frame.cut ? "envelope" : "frame"]);
    // A foreign frame is none.
    const auto block = std::make_shared<const std::string>(frame.text);
    const auto decoded = decode_messages(block, *block, {}, 1);
    if (!decoded)
      return std::unexpected(fmt::format("its frame is no JSON-RPC message: {}", decoded.error().message()));
    if (decoded->batch) return std::unexpected("its frame is a batch; each message has a line of its own");
    return frame;
  }
  for (const auto& [kind, name] : mark_names) {
    if (name != mark) continue;
    frame.kind = kind;
    if (kind == Kind::lost) {
      if (!line["request"].is_object()) return std::unexpected("a lost request without \"request\"");
      frame.text = to_text(line["request"]);
    }
    if (kind == Kind::ended) frame.text = text_of(line, "reason");
    if (kind == Kind::gap) frame.size = static_cast<std::size_t>(line["frames"].to_uint().value_or(0));
    return frame;
  }
  return std::unexpected(fmt::format("the mark \"{}\" is not known", cut_utf8(clean_line(mark), longest_shown)));
}

}  // namespace

std::string write_recording(const RecordingHeader& header, const std::vector<RecordedFrame>& frames) {
  Json first{
      {version_key, recording_version}, {"server", header.server}, {"program", header.program}, {"time", header.time}};
  if (!header.reason.empty()) first["reason"] = header.reason;
  std::string out = to_text(first) + "\n";
  for (const auto& frame : frames) append_line(out, frame);
  return out;
}

Result<RecordingHeader> read_recording_header(std::string_view text) {
  const auto line = text.substr(0, text.find('\n'));
  const auto first = line.size() <= longest_recording_line ? parse_json(line) : Result<Json>(Json());
  const auto version = first ? std::as_const(*first)[version_key].to_int() : std::nullopt;
  if (!version || *version < 1) {
    return fail(
        Errc::config,
        fmt::format("this is not a recording: its first line has no \"{}\", the version of the format", version_key));
  }
  if (*version > recording_version) {
    return fail(Errc::config, fmt::format("the recording has version {} of the format, but this program knows only "
                                          "version {}; use a newer patchbay",
                                          *version, recording_version));
  }
  return RecordingHeader{text_of(*first, "server"), text_of(*first, "program"), text_of(*first, "time"),
                         text_of(*first, "reason")};
}

Result<Recording> read_recording(std::string_view text) {
  if (text.size() > largest_recording) {
    return fail(Errc::limit,
                fmt::format("the recording has {} bytes; the limit is {}", text.size(), largest_recording));
  }
  auto header = read_recording_header(text);
  if (!header) return std::unexpected(std::move(header).error());
  Recording out;
  out.header = std::move(*header);
  std::size_t left_out = 0;
  const auto warn = [&](std::size_t number, std::string_view why) {
    ++left_out;
    if (out.warnings.size() < most_recording_warnings) {
      out.warnings.push_back(fmt::format("line {} is left out: {}", number, why));
    }
  };
  std::size_t number = 0;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const auto line = text.substr(0, end);
    const bool whole = end != text.npos;
    text.remove_prefix(whole ? end + 1 : text.size());
    if (++number == 1 || trim(line).empty()) continue;
    if (out.frames.size() >= most_recorded_frames) {
      out.warnings.push_back(fmt::format("everything from line {} on is left out: a recording has at most {} frames",
                                         number, most_recorded_frames));
      break;
    }
    if (line.size() > longest_recording_line) {
      warn(number, fmt::format("it has {} bytes; the limit is {}", line.size(), longest_recording_line));
      continue;
    }
    const auto value = parse_json(line);
    if (!value) {
      warn(number, whole ? "it is no JSON" : "the recording breaks off in the middle of it");
      continue;
    }
    auto frame = frame_of(*value);
    if (frame) {
      out.frames.push_back(std::move(*frame));
    } else {
      warn(number, frame.error());
    }
  }
  if (left_out > most_recording_warnings) {
    out.warnings.push_back(fmt::format("and {} more", plural(left_out - most_recording_warnings, "line")));
  }
  return out;
}

}  // namespace patchbay
