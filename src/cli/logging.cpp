#include "cli/logging.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <patchbay/error.h>

#include "protocol/clean_text.h"
#include "protocol/redact.h"

namespace patchbay::cli {
namespace {

LogLevel level_of(const std::string& name) {
  if (name == "trace") return LogLevel::trace;
  if (name == "debug") return LogLevel::debug;
  if (name == "info") return LogLevel::info;
  if (name == "warning") return LogLevel::warning;
  if (name == "error") return LogLevel::error;
  return LogLevel::off;
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::trace:
      return spdlog::level::trace;
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    default:
      return spdlog::level::err;
  }
}

// Readable by its owner only: messages can hold what others should not see. A missing
// directory is an error, not something to make.
void prepare_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) throw Error(Errc::invalid_argument, fmt::format("--log-file {}: {}", path, std::strerror(errno)));
  ::close(fd);
}

std::shared_ptr<spdlog::logger> make_logger(const Settings& settings) {
  spdlog::sink_ptr sink;
  try {
    if (settings.log_file.empty()) {
      sink = std::make_shared<spdlog::sinks::stderr_sink_st>();
    } else {
      prepare_file(settings.log_file);
      sink = std::make_shared<spdlog::sinks::basic_file_sink_st>(settings.log_file);
    }
  } catch (const spdlog::spdlog_ex& error) {
    throw Error(Errc::invalid_argument, std::string("--log-file: ") + error.what());
  }
  auto logger = std::make_shared<spdlog::logger>("patchbay", std::move(sink));
  logger->set_level(spdlog::level::trace);
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %v");
  logger->flush_on(spdlog::level::trace);
  return logger;
}

}  // namespace

Log make_log(const Settings& settings) {
  const auto threshold = level_of(settings.log_level);
  if (threshold == LogLevel::off) return {};
  // Made at the first line: most runs log nothing.
  auto logger = std::make_shared<std::shared_ptr<spdlog::logger>>();
  if (!settings.log_file.empty()) *logger = make_logger(settings);
  return Log(threshold, [logger, settings](LogLevel level, std::string_view line) {
    if (!*logger) *logger = make_logger(settings);
    (*logger)->log(spdlog_level(level), "{}", clean_line(line));
  });
}

std::function<void(std::string_view, std::string_view)> make_trace(const Settings& settings,
                                                                   std::vector<std::string> secrets) {
  auto logger = make_logger(settings);
  return [logger, secrets = std::move(secrets)](std::string_view direction, std::string_view message) {
    auto text = clean_line(redacted_text(message));
    for (const auto& secret : secrets) {
      for (auto at = text.find(secret); at != std::string::npos; at = text.find(secret, at)) {
        text.replace(at, secret.size(), "[redacted]");
      }
    }
    logger->log(spdlog::level::trace, "{} {}", direction, text);
  };
}

}  // namespace patchbay::cli
