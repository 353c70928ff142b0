// What the library reports about its own work: one LogEvent for each thing that happened, handed to
// the sink that the program puts into its options. Without a sink nothing is reported. A sink is
// called on the loop thread, in the middle of other work: it must be quick, and what it throws is
// ignored. Log messages that servers send are not here: see ClientOptions::on_log.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/compiler.h>

namespace patchbay {

// In order of severity. `off` is for thresholds alone.
enum class LogLevel : std::uint8_t { trace, debug, info, warning, error, off };

struct LogField {
  std::string name;
  std::string value;  // any text, not escaped
  bool operator==(const LogField&) const = default;
};

struct LogEvent {
  LogLevel level = LogLevel::info;
  std::string server;            // the name of its entry; empty when the event belongs to no server
  std::string event;             // what happened, in a fixed word: "stream_silent"
  std::vector<LogField> fields;  // in the order to show them

  // The value of the first field of that name; empty when there is none.
  std::string_view field(std::string_view name) const noexcept {
    for (const auto& each : fields) {
      if (each.name == name) return each.value;
    }
    return {};
  }
  bool operator==(const LogEvent&) const = default;
};

using LogSink = std::function<void(const LogEvent&)>;

// Where events go, as an option of a Client, Host or Server.
struct LogOptions {
  LogSink sink = {};                       // unset: nothing is reported
  LogLevel threshold = LogLevel::warning;  // events below it are not made
};

}  // namespace patchbay
