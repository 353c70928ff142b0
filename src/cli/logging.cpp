#include "cli/logging.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

#include <patchbay/error.h>

#include "cli/texts/log_line.h"
#include "cli/texts/log_words.h"
#include "cli/texts/present.h"
#include "text/clean_text.h"

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
  if (fd < 0)
    throw Error(Errc::invalid_argument,
                fmt::format("the file {} of --log-file cannot be written: {}", path, std::strerror(errno)));
  ::close(fd);
}

// Through the one way to stderr, which knows when a person is being asked something.
class TalkSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit TalkSink(Talk talk) : talk_(std::move(talk)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t text;
    formatter_->format(message, text);
    talk_(std::string_view(text.data(), text.size()));
  }
  void flush_() override {}

  Talk talk_;
};

std::shared_ptr<spdlog::logger> make_logger(const Settings& settings, const Talk& talk) {
  spdlog::sink_ptr sink;
  try {
    if (settings.log_file.empty()) {
      sink = std::make_shared<TalkSink>(talk);
    } else {
      prepare_file(settings.log_file);
      sink = std::make_shared<spdlog::sinks::basic_file_sink_st>(settings.log_file);
    }
  } catch (const spdlog::spdlog_ex& error) {
    throw Error(Errc::invalid_argument, std::string("--log-file: ") + error.what());
  }
  auto logger = std::make_shared<spdlog::logger>("patchbay", std::move(sink));
  logger->set_level(spdlog::level::trace);
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  logger->flush_on(spdlog::level::trace);
  // "Failed flush to file NAME: REASON", and the date and the logger's name around it, is not for people.
  logger->set_error_handler([talk, file = settings.log_file, told = false](const std::string& what) mutable {
    if (std::exchange(told, true)) return;
    const auto reason = what.rfind(": ");
    talk(fmt::format("patchbay: warning: the file {} of --log-file cannot be written: {}; the log is not complete\n",
                     file, reason == std::string::npos ? what : what.substr(reason + 2)));
  });
  return logger;
}

}  // namespace

Log make_log(const Settings& settings, Talk talk, std::shared_ptr<const KnownSecrets> secrets) {
  const auto threshold = level_of(settings.debug && settings.log_level.empty() ? "debug" : settings.log_level);
  if (threshold == LogLevel::off) return {};
  // Made at the first line: most runs log nothing.
  auto logger = std::make_shared<std::shared_ptr<spdlog::logger>>();
  if (!settings.log_file.empty()) *logger = make_logger(settings, talk);
  // `serve` has said this one in words.
  const std::string_view told =
      settings.command == Command::serve && !log_is_wanted(settings) ? "http_open_to_the_network" : "";
  return Log(threshold, [logger, settings, told, talk, secrets](LogEvent event) {
    if (event.event == told) return;
    if (!*logger) *logger = make_logger(settings, talk);
    event.server = secrets->line(event.server);
    for (auto& field : event.fields) field.value = secrets->line(field.value);
    (*logger)->log(spdlog_level(event.level), "{}", clean_line(log_line(event)));
  });
}

bool log_is_wanted(const Settings& settings) {
  return settings.debug || !settings.log_level.empty() || !settings.log_file.empty();
}

Log words_for_people(const Settings& settings, std::function<void(const std::string&)> say,
                     std::shared_ptr<const KnownSecrets> secrets) {
  const auto threshold = settings.json || settings.quiet ? LogLevel::error : LogLevel::warning;
  // doctor and why have findings of their own about these.
  const bool looks_itself = settings.command == Command::doctor || settings.command == Command::why;
  auto told = std::make_shared<ToldLines>();
  return Log(threshold, [say = std::move(say), told, looks_itself, secrets](const LogEvent& event) {
    if (looks_itself && (event.event == "headers_helper" || event.event == "ca_file_not_read")) return;
    const auto words = log_words(event);
    if (!words) return;
    // As it is shown: a server may write as much as it likes.
    const auto line = told->next(event.server, message_line(secrets->line(*words), 1000));
    if (line) say(fmt::format("patchbay: {}{}\n", event.level == LogLevel::error ? "" : "warning: ", *line));
  });
}

std::function<void(std::string_view, std::string_view)> make_trace(const Settings& settings, Talk talk,
                                                                   std::shared_ptr<const KnownSecrets> secrets) {
  auto logger = make_logger(settings, talk);
  return [logger, secrets = std::move(secrets)](std::string_view direction, std::string_view message) {
    logger->log(spdlog::level::trace, "{} {}", direction, clean_line(secrets->message(message)));
  };
}

}  // namespace patchbay::cli
