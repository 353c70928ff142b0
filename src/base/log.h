// One line per event, key=value, server name first. The library writes nothing unless
// the program hands it a Log; the command line wires one to stderr or --log-file.
// Secrets cannot be logged: Secret has no formatter.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <patchbay/log.h>

namespace patchbay {

class Log {
 public:
  using Sink = std::function<void(LogLevel, std::string_view line)>;

  Log() = default;
  Log(LogLevel threshold, Sink sink) : threshold_(threshold), sink_(std::make_shared<const Sink>(std::move(sink))) {}

  bool enabled(LogLevel level) const noexcept { return sink_ && level >= threshold_; }

  // The same log with "server=<name> " in front of every line.
  Log for_server(std::string_view name) const {
    Log log = *this;
    log.prefix_ = fmt::format("server={} ", name);
    return log;
  }

  template <class... Args>
  void operator()(LogLevel level, fmt::format_string<Args...> text, Args&&... args) const {
    if (enabled(level)) write(level, prefix_ + fmt::format(text, std::forward<Args>(args)...));
  }

 private:
  // Whoever logs is in the middle of something else: a sink that throws loses its line and nothing more.
  void write(LogLevel level, std::string_view line) const noexcept {
    try {
      (*sink_)(level, line);
    } catch (...) {
    }
  }

  LogLevel threshold_ = LogLevel::off;
  std::shared_ptr<const Sink> sink_;
  std::string prefix_;
};

}  // namespace patchbay
