#include "cli/logging.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <set>

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <patchbay/error.h>

#include "cli/log_words.h"
#include "cli/present.h"
#include "protocol/clean_text.h"
#include "protocol/redact.h"

namespace patchbay::cli {
namespace {

LogLevel level_of(const std::string& name) {
  if (name == "trace") return LogLevel::trace;
  if (name == "debug") return LogLevel::debug;
  if (name == "info") return LogLevel::info;
  if (name == "warning" || name.empty()) return LogLevel::warning;
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
  // `serve` has said this one in words.
  const std::string_view told =
      settings.command == Command::serve && !log_is_wanted(settings) ? "http_open_to_the_network" : "";
  return Log(threshold, [logger, settings, told](LogLevel level, std::string_view line) {
    if (!told.empty() && log_event(line) == told) return;
    if (!*logger) *logger = make_logger(settings);
    (*logger)->log(spdlog_level(level), "{}", clean_line(line));
  });
}

bool log_is_wanted(const Settings& settings) { return !settings.log_level.empty() || !settings.log_file.empty(); }

Log words_for_people(const Settings& settings, std::function<void(const std::string&)> say) {
  const auto threshold = settings.json || settings.quiet ? LogLevel::error : LogLevel::warning;
  // doctor and why have findings of their own about these.
  const bool looks_itself = settings.command == Command::doctor || settings.command == Command::why;
  auto told = std::make_shared<std::set<std::string, std::less<>>>();
  return Log(threshold, [say = std::move(say), told, looks_itself](LogLevel level, std::string_view line) {
    const auto event = log_event(line);
    if (looks_itself && (event == "headers_helper" || event == "ca_file_not_read")) return;
    const auto words = log_words(level, line);
    if (words && told->insert(*words).second) {
      say(fmt::format("patchbay: {}{}\n", level == LogLevel::error ? "" : "warning: ", safe_line(*words, 1000)));
    }
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
