// `patchbay -p "…"`: one answer of a model that uses the tools. stdout has the
// answer alone: its text, one JSON object, or a line of JSON for each event.
// Nobody is asked anything; what no rule allows is refused, and the model is
// told.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "agent/conversation/usage_sum.h"
#include "agent/report.h"
#include "agent/sampling.h"
#include "base/as_result.h"
#include "base/exit_code.h"
#include "base/loop_clock.h"
#include "base/scope.h"
#include "base/strings.h"
#include "base/timeout.h"
#include "cli/agent_host.h"
#include "cli/context.h"
#include "cli/output_lines.h"
#include "cli/texts/present.h"
#include "cli/texts/remedy_words.h"
#include "text/clean_text.h"

namespace patchbay::cli {
namespace {

enum class Format { text, json, stream };

Format format_of(const Settings& settings) {
  if (settings.output_format == "stream-json") return Format::stream;
  return settings.output_format == "json" || (settings.output_format.empty() && settings.json) ? Format::json
                                                                                               : Format::text;
}

// A pipe that somebody holds open and never writes to must not hold us up where
// words are given as well.
constexpr int wait_for_stdin_ms = 3000;
constexpr std::size_t most_refusals_told = 5;

// Servers have ended and everything is written by then, if anybody reads.
constexpr std::chrono::milliseconds after_interrupt{10'000};

bool stdin_has_something() {
  pollfd waiting{STDIN_FILENO, POLLIN, 0};
  for (;;) {
    const int ready = ::poll(&waiting, 1, wait_for_stdin_ms);
    if (ready < 0 && errno == EINTR) continue;
    return ready != 0;
  }
}

// What is said: stdin as context, then the words.
std::string words_and_stdin(const Settings& settings, Io& io) {
  auto words = fmt::format("{}", fmt::join(settings.words, " "));
  const bool goes_on = settings.resume || settings.resume_newest;
  std::string given;
  if (!io.in_is_terminal) {
    if ((words.empty() && !goes_on) || stdin_has_something()) {
      given = io.read_input();
    } else if (!settings.quiet) {
      io.talk(
          "patchbay: note: nothing came on stdin within 3 seconds, so it "
          "is not read; to say so at once: < /dev/null\n");
    }
  }
  if (trim(given).empty()) given.clear();
  if (given.empty() && trim(words).empty()) {
    if (goes_on) return {};
    throw Error(Errc::invalid_argument,
                "-p needs what is to be said: patchbay "
                "-p 'What is in this directory?'");
  }
  if (given.empty()) return words;
  if (words.empty()) return given;
  if (!given.ends_with('\n')) given += '\n';
  return given + '\n' + words;
}

// How a run ended for a script. The provider answered, or a server did: that is
// not "not reached".
int code_of(const Error& error) {
  const auto status = error.http_status();
  if (error.code() == Errc::limit || error.code() == Errc::protocol) return 1;
  if (error.code() == Errc::http && status && *status >= 400 && *status < 500 && *status != 408 && *status != 429) {
    return 1;
  }
  return exit_code(error);
}

// One run from its first event to its last line.
class Printed {
 public:
  Printed(const Settings& settings, Io& io) : settings_(settings), io_(io), format_(format_of(settings)), output_(io) {}

  void attach(AgentHost& house, Agent& agent, Clock& clock) {
    house_ = &house;
    agent_ = &agent;
    clock_ = &clock;
    begun_ = clock.now();
    run_.model = fmt::format("{}:{}", agent.model().info().provider, agent.model().info().model);
  }

  void heard(const AgentEvent& event) {
    collect(event);
    if (format_ == Format::stream) {
      begin();
      if (auto json = event_json(event, run_)) put(*json);
      return;
    }
    if (const auto* notice = std::get_if<AgentNotice>(&event.what)) say(notice->text);
    if (const auto* retry = std::get_if<AgentRetry>(&event.what)) {
      say(fmt::format("the model did not answer ({}); attempt {} of {} follows", retry->retry.reason,
                      retry->retry.attempt, retry->retry.of));
    }
  }

  void heard(const HostEvent& event) {
    if (agent_) agent_->heard(event);
    const auto* status = std::get_if<ServerStatus>(&event);
    if (!status || !status->error || settings_.quiet || format_ == Format::stream) return;
    if (status->state != ServerState::failed && status->state != ServerState::needs_auth) return;
    const auto shown = house_->secrets->without(*status);
    const auto failure = shown_failure(shown.name, shown.origin.scope, *shown.error);
    io_.talk(fmt::format("[mcp] Failed to connect to \"{}\": {}\n{}", safe_name(shown.name, 80), failure.cause,
                         failure.below));
  }

  // What the model wrote for a server.
  void answered_server(const ModelAnswer& answer) {
    if (!for_servers_) for_servers_.emplace();
    add(*for_servers_, answer.usage);
    for (const auto& warning : answer.warnings) say(warning);
  }

  int answered(const AgentAnswer& answer) {
    using End = AgentAnswer::End;
    if (format_ == Format::text) {
      auto text = answer.structured ? json_text(*answer.structured, io_.out_is_terminal) : answer.text;
      // A program gets what was said; nobody's terminal is told what to do.
      if (io_.out_is_terminal && !answer.structured) text = clean_for_display(text);
      if (!text.empty() && !text.ends_with('\n')) text += '\n';
      if (!text.empty()) output_.put(std::move(text));
      tell_refused(answer);
    } else {
      last(answer_json(answer, end(), run()));
    }
    switch (answer.end) {
      case End::answered:
        return 0;
      case End::deferred:
        if (format_ == Format::text) {
          say(fmt::format("a hook defers {}; to go on: patchbay -p --resume {}", plural(deferred_.size(), "call"),
                          agent_->id()));
        }
        return 0;
      case End::refused:
        if (format_ == Format::text) say("the model refused to answer");
        return 1;
      case End::max_turns:
        if (format_ == Format::text) say(fmt::format("stopped after {} (--max-turns)", plural(answer.turns, "turn")));
        return 1;
      case End::interrupted:
        break;
    }
    return 130;
  }

  // The JSON lists them; whoever reads the text would not know why nothing was done.
  void tell_refused(const AgentAnswer& answer) {
    std::vector<std::string> told;
    for (const auto& call : answer.denied) {
      if (std::ranges::find(told, call.reason) == told.end()) told.push_back(call.reason);
    }
    for (std::size_t i = 0; i < told.size() && i < most_refusals_told; ++i) say(message_line(told[i], 300));
    if (told.size() > most_refusals_told) say(fmt::format("and {} more", told.size() - most_refusals_told));
    if (!told.empty() && !settings_.plan) say("--allowedTools mcp__SERVER__TOOL allows calls that no rule decides");
  }

  int failed(const Error& given) {
    const auto error = with_remedy_in_words(house_ ? house_->secrets->without(given) : given);
    if (format_ != Format::text) last(failure_json(error, so_far_, end(), run()));
    if (format_ != Format::json && error.code() != Errc::cancelled) io_.talk(error_text(error));
    return code_of(error);
  }

  OutputLines& output() { return output_; }

 private:
  void put(const Json& json) { output_.put(to_text(json) + '\n'); }

  void last(const Json& json) {
    if (format_ == Format::stream) begin();
    if (format_ == Format::json && io_.out_is_terminal) {
      output_.put(json_text(json, true));
    } else {
      put(json);
    }
  }

  // The first line, as soon as there is something to report: by then servers
  // have had their time to connect.
  void begin() {
    if (std::exchange(has_begun_, true) || !agent_) return;
    ReportBegin begin{.session_id = run().session_id,
                      .directory = agent_directory(settings_),
                      .model = run_.model,
                      .permission_mode = agent_->mode() == AgentMode::plan   ? "plan"
                                         : settings_.skip_permissions        ? "bypass"
                                         : settings_.permission_mode.empty() ? "default"
                                                                             : settings_.permission_mode,
                      .problems = house_->host.config().problems};
    for (const auto& server : agent_->context().tools) {
      if (!server.server.empty()) continue;
      for (const auto& [name, tokens] : server.tools) begin.tools.push_back(name);
    }
    for (const auto& tool : house_->host.catalog()->tools()) begin.tools.push_back(tool.name);
    for (const auto& status : house_->host.status()) {
      if (status.origin.scope != ConfigScope::embedded) begin.servers.push_back(house_->secrets->without(status));
    }
    put(begin_json(begin));
  }

  const ReportRun& run() {
    if (agent_) run_.session_id = agent_->id();
    return run_;
  }

  ReportEnd end() const {
    ReportEnd end{.deferred = deferred_, .for_servers = for_servers_};
    if (clock_) end.took = std::chrono::duration_cast<std::chrono::milliseconds>(clock_->now() - begun_);
    return end;
  }

  // For an end that brings no answer with it.
  void collect(const AgentEvent& event) {
    run();
    if (!event.sub_agent.empty()) return;
    if (const auto* message = std::get_if<AgentMessage>(&event.what)) {
      ++so_far_.turns;
      so_far_.usage.input += message->usage.input;
      so_far_.usage.cache_read += message->usage.cache_read;
      so_far_.usage.cache_written += message->usage.cache_written;
      so_far_.usage.output += message->usage.output;
      if (message->message) so_far_.text = text_of(*message->message);
    }
    if (const auto* call = std::get_if<AgentToolCall>(&event.what)) uses_.insert_or_assign(call->use.id, call->use);
    if (const auto* result = std::get_if<AgentToolResult>(&event.what)) {
      auto use = uses_.extract(result->id);
      if (!use) return;
      if (result->end == AgentToolResult::End::denied) so_far_.denied.push_back({use.mapped(), result->reason});
      if (result->end == AgentToolResult::End::deferred) deferred_.push_back(use.mapped());
    }
  }

  void say(const std::string& text) {
    if (!settings_.quiet) io_.talk(fmt::format("patchbay: {}\n", message_line(text, 1000)));
  }

  const Settings& settings_;
  Io& io_;
  Format format_;
  OutputLines output_;
  AgentHost* house_ = nullptr;
  Agent* agent_ = nullptr;
  Clock* clock_ = nullptr;
  Clock::TimePoint begun_;
  ReportRun run_;
  bool has_begun_ = false;
  AgentAnswer so_far_;
  std::map<std::string, ModelToolUse> uses_;
  std::vector<ModelToolUse> deferred_;
  std::optional<ModelUsage> for_servers_;
};

// Asks for no more than somebody reads: an answer and its results may wait for the reader, the next request waits
// itself. Only this wait, which a stop cancels like any other request.
class PacedModel : public Model {
 public:
  PacedModel(std::shared_ptr<Model> model, OutputLines& output) : model_(std::move(model)), output_(output) {}
  const ModelInfo& info() const noexcept override { return model_->info(); }
  Task<ModelAnswer> ask(ModelRequest request, std::function<void(const ModelEvent&)> on_event) override {
    co_await output_.room();
    co_return co_await model_->ask(std::move(request), std::move(on_event));
  }

 private:
  const std::shared_ptr<Model> model_;
  OutputLines& output_;
};

Task<int> ask_once(Agent& agent, std::string text, bool resumes, Printed& printed) {
  auto begun = co_await as_result(agent.begin());
  if (!begun) co_return printed.failed(resumes ? not_resumed(begun.error()) : begun.error());
  auto answer = co_await as_result(agent.send({.text = std::move(text)}));
  co_return answer ? printed.answered(*answer) : printed.failed(answer.error());
}

Task<void> print_to_end(Agent& agent, Host& host, std::string text, bool resumes, Printed& printed, int& code) {
  code = co_await ask_once(agent, std::move(text), resumes, printed);
  co_await asio::this_coro::throw_if_cancelled(false);
  printed.output().end();
  co_await agent.stop();
  co_await host.stop_quickly();
}

// Before there is an agent: said in the format that was asked for.
int not_begun(const Error& error, const Settings& settings, Io& io) {
  const auto format = format_of(settings);
  if (format == Format::text) return report(error, false, io);
  const auto shown = with_remedy_in_words(error);
  io.out(to_text(failure_json(shown, {}, {}, {})) + '\n');
  if (format == Format::stream) io.talk(error_text(shown));
  return code_of(error);
}

int print_once(const Settings& settings, Io& io, const Runtime& given) {
  auto text = words_and_stdin(settings, io);
  Printed printed(settings, io);
  auto options = agent_host_options(settings, io);
  options.permission.ask = [](PermissionQuestion question) -> Task<bool> {
    throw Error(Errc::denied, fmt::format("\"{}\" was not called: nobody can be asked ({})", question.tool.name,
                                          question.decision.reason));
    co_return false;
  };
  options.on_event = [&printed](const HostEvent& event) { printed.heard(event); };
  asio::io_context loop(1);
  std::shared_ptr<Model> model;
  // Servers that settings allow have text of the model; nobody can be asked about the others.
  options.client.sample = [&model, &printed](CreateMessageRequest request, const CallContext&) {
    return answer_sampling(model, std::move(request),
                           [&printed](const ModelAnswer& answer) { printed.answered_server(answer); });
  };
  AgentHost house(settings, io, given, std::move(options), [&io](const std::string& line) { io.talk(line); });
  auto wanted = agent_options(settings);
  // There may be no second message: what servers have is there for the first one, or named as late.
  wanted.wait_for_servers = wait_for_servers(BeginWait::all);
  wanted.resume = conversation_to_resume(settings);
  wanted.on_event = [&printed](const AgentEvent& event) { printed.heard(event); };
  model = std::make_shared<PacedModel>(house.model(), printed.output());
  Agent agent(house.host, model, std::move(wanted));
  printed.attach(house, agent, loop_clock(loop.get_executor()));

  int code = 0;
  int stopped_by = 0;
  std::optional<Error> unwritten;
  Scope working(loop.get_executor());
  Scope writing(loop.get_executor());
  Scope side(loop.get_executor());
  asio::signal_set signals(loop, SIGINT, SIGTERM, SIGHUP);
  auto work =
      working.spawn(print_to_end(agent, house.host, std::move(text), settings.resume.has_value(), printed, code));
  // Whoever has stopped reading wants nothing more.
  writing.spawn([](Printed& p, Spawned asking, std::optional<Error>& fault) -> Task<void> {
    auto written = co_await as_result(p.output().write());
    if (written) co_return;
    fault = written.error();
    asking.cancel();
  }(printed, work, unwritten));
  side.spawn([](asio::signal_set& s, Spawned asking, int& by) -> Task<void> {
    by = co_await s.async_wait(asio::use_awaitable);
    asking.cancel();
    // What a reader has not taken by then, or at a second signal, is left.
    auto again = co_await as_result(with_timeout(
        [](asio::signal_set& more) -> Task<void> { (void)co_await more.async_wait(asio::use_awaitable); }(s),
        as_duration(after_interrupt), "waiting for the reader"));
    if (again || again.error().code() == Errc::timeout) _exit(128 + by);
  }(signals, work, stopped_by));
  Scope ending(loop.get_executor());
  ending.spawn([](Scope& first, Scope& second, Scope& beside, asio::signal_set& s) -> Task<void> {
    co_await first.join();
    co_await second.join();
    beside.cancel();
    s.cancel();
  }(working, writing, side, signals));
  loop.run();
  if (stopped_by != 0) return 128 + stopped_by;
  if (*io.reader_left) return 0;
  if (unwritten) return report(*unwritten, false, io);
  return code;
}

}  // namespace

int print_answer(const Settings& settings, Io& io, const Runtime& runtime) {
  try {
    return print_once(settings, io, runtime);
  } catch (...) {
    if (*io.reader_left) return 0;
    return not_begun(error_from(std::current_exception()), settings, io);
  }
}

}  // namespace patchbay::cli
