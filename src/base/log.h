// Makes events of what the library does and hands them to the sink of the program. The library
// writes nothing unless the program hands it a Log. Whoever logs names the event in one fixed word and gives
// its values; only a sink makes text of them. An event below the threshold is never made.
// Secrets cannot be logged: Secret has no formatter.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <patchbay/log.h>

namespace patchbay {

class Log {
 public:
  Log() = default;
  Log(LogLevel threshold, LogSink sink)
      : threshold_(threshold), sink_(std::make_shared<const LogSink>(std::move(sink))) {}

  explicit Log(const LogOptions& options) {
    if (options.sink) *this = Log(options.threshold, options.sink);
  }

  bool enabled(LogLevel level) const noexcept { return sink_ && level >= threshold_; }
  LogLevel threshold() const noexcept { return sink_ ? threshold_ : LogLevel::off; }

  // The same log for what happens with one server.
  Log for_server(std::string_view name) const {
    Log log = *this;
    log.server_ = name;
    return log;
  }

  // An event that somebody else made.
  void pass(const LogEvent& event) const {
    if (enabled(event.level)) write(event);
  }

  // log(LogLevel::warning, "not_accepted", "status", 404, "reason", text): names of fields, each before its value.
  template <class... NamesAndValues>
  void operator()(LogLevel level, std::string_view event, const NamesAndValues&... fields) const {
    static_assert(sizeof...(fields) % 2 == 0, "each field has a name and a value");
    if (!enabled(level)) return;
    LogEvent made{level, server_, std::string(event), {}};
    made.fields.reserve(sizeof...(fields) / 2);
    add(made, fields...);
    write(made);
  }

 private:
  static void add(LogEvent& /*event*/) {}
  template <class Value, class... Rest>
  static void add(LogEvent& event, std::string_view name, const Value& value, const Rest&... rest) {
    event.fields.push_back({std::string(name), fmt::format("{}", value)});
    add(event, rest...);
  }

  // Whoever logs is in the middle of something else: a sink that throws loses its event and nothing more.
  void write(const LogEvent& event) const noexcept {
    try {
      (*sink_)(event);
    } catch (...) {
    }
  }

  LogLevel threshold_ = LogLevel::off;
  std::shared_ptr<const LogSink> sink_;
  std::string server_;
};

}  // namespace patchbay
