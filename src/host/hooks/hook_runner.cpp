#include "host/hooks/hook_runner.h"

#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "base/semaphore.h"
#include "base/strings.h"
#include "base/timeout.h"
#include "entries/entry.h"
#include "hooks/hook_input.h"
#include "http/url.h"
#include "process/process.h"
#include "process/to_the_end.h"
#include "text/clean_text.h"

namespace patchbay {

using namespace std::chrono_literals;

// What all hooks of one event are given.
struct HookRunner::Due {
  HookEvent event;
  Json input;
  std::shared_ptr<const std::string> text;  // the input, as it is sent
};

namespace {

constexpr std::size_t most_at_once = 16;  // of one event
constexpr std::size_t most_input = 16u << 20;
constexpr std::size_t most_output = 1u << 20;
constexpr std::size_t shown_error = 300;
constexpr std::size_t stderr_lines = 20;
constexpr int blocking_status = 2;
constexpr Patience impatient{.after_eof = 0ms, .after_interrupt = 200ms, .after_terminate = 200ms};
// Nobody waits for its answer any more.
constexpr Patience at_once{.after_eof = 0ms, .after_interrupt = 0ms, .after_terminate = 0ms};

Error failed(std::string why) { return {Errc::config, std::move(why)}; }

std::string took_too_long(const Hook& hook) {
  return fmt::format("it took longer than {:g} s, the limit",
                     std::chrono::duration<double>(hook.setting.timeout).count());
}

// The entry that the environment of a hook is put together for: what came with a repository sees no secrets.
ServerConfig holder_of(const Hook& hook) {
  ServerConfig holder;
  if (is_inside_repository(hook.source)) {
    holder.origin.scope = ConfigScope::project;
    holder.origin.trust = ConfigTrust::needs_approval;
  }
  return holder;
}

ProcessSpec spec_of(const Hook& hook, const StartContext& context) {
  ProcessSpec spec;
  if (hook.setting.args) {
    spec.command = hook.setting.command;
    spec.args = *hook.setting.args;
  } else {
    spec.command = "/bin/sh";
    spec.args = {"-c", hook.setting.command};
  }
  auto environment = helper_environment(context.environment, holder_of(hook), context.run);
  // Those of a server, which there is none of.
  environment.added.erase("CLAUDE_CODE_MCP_SERVER_NAME");
  environment.added.erase("CLAUDE_CODE_MCP_SERVER_URL");
  spec.env = std::move(environment.added);
  spec.unset = std::move(environment.removed);
  spec.cwd = context.run.cwd;
  return spec;
}

std::string texts_of(const CallToolResult& result) {
  std::string out;
  for (const auto& block : result.content) {
    if (const auto* text = std::get_if<TextContent>(&block)) out += text->text;
  }
  if (out.empty() && result.structured_content) return to_text(*result.structured_content);
  return out;
}

HookAnswer answer_or_throw(HookEvent event, std::string_view output) {
  return value_or_throw(read_hook_answer(event, output));
}

}  // namespace

Task<HookAnswer> HookRunner::ask_command(std::shared_ptr<const Due> due, std::shared_ptr<const Hook> hook) {
  auto started = co_await as_result(Process::start(spec_of(*hook, *context_), runtime_));
  if (!started) {
    if (started.error().code() == Errc::cancelled) throw std::move(started).error();
    throw failed(fmt::format("it cannot be run: {}", started.error().message()));
  }
  auto& process = **started;
  auto feeder = std::make_shared<Feeder>(process, due->text);
  feeder->go_on();
  std::string output;
  auto outcome = co_await as_result(with_timeout(read_to_end(process, output, most_output),
                                                 as_duration(hook->setting.timeout), took_too_long(*hook)));
  feeder.reset();

  const auto patience = outcome || outcome.error().code() == Errc::timeout ? impatient : at_once;
  co_await shut_down(process, patience);

  if (!outcome) throw std::move(outcome).error();
  if (output.size() > most_output) throw failed("it printed more than 1 MiB, the limit");
  const auto& status = process.exit_status();
  if (status == ExitStatus{.code = blocking_status}) {
    co_return blocking_answer(due->event, process.stderr_tail(stderr_lines));
  }
  if (!status || *status != ExitStatus{}) {
    const auto said = clean_excerpt(process.stderr_tail(3), shown_error);
    throw failed(fmt::format("it {}{}{}", status ? describe(*status) : "was ended by another program",
                             said.empty() ? "" : ": ", said));
  }
  co_return answer_or_throw(due->event, output);
}

Task<HookAnswer> HookRunner::ask_url(std::shared_ptr<const Due> due, std::shared_ptr<const Hook> hook) {
  if (!http_) {
    HttpClientOptions options;
    options.log = runtime_.log;
    options.environment = context_->variables;
    http_ = std::make_shared<HttpClient>(co_await asio::this_coro::executor, std::move(options));
  }
  const auto client = http_;
  HttpRequest request{.method = "POST", .url = hook->setting.url, .headers = {}, .body = *due->text};
  for (const auto& [name, written] : hook->setting.headers) {
    auto value = filled_in_header(written, hook->setting.allowed_variables, context_->variables);
    if (const auto fault = header_fault(name, value); !fault.empty()) throw failed(fault);
    request.headers.set(name, std::move(value));
  }
  request.headers.set("Content-Type", "application/json");
  request.headers.set("Accept", "application/json");
  HttpRequestLimits limits;
  limits.connect = std::min(limits.connect, as_duration(hook->setting.timeout));
  limits.body = most_output;
  // What a hook is told is for this URL and for nobody it might point at.
  limits.redirects = 0;
  const auto exchange = co_await client->send(std::move(request), limits);
  const auto status = exchange->head().status;
  if (status < 200 || status > 299) throw failed(fmt::format("it answered with HTTP status {}", status));
  const auto body = co_await read_all(*exchange, most_output);
  co_return answer_or_throw(due->event, body);
}

Task<HookAnswer> HookRunner::ask_tool(std::shared_ptr<const Due> due, std::shared_ptr<const Hook> hook) {
  const auto& setting = hook->setting;
  auto arguments = value_or_throw(filled_in(setting.input, due->input));
  const auto result =
      co_await call_tool_(fmt::format("{}/{}", setting.server, setting.tool), std::move(arguments), setting.timeout);
  const auto text = texts_of(result);
  if (result.is_error) throw failed(fmt::format("the tool reported an error: {}", clean_excerpt(text, shown_error)));
  if (text.size() > most_output) throw failed("it answered more than 1 MiB, the limit");
  co_return answer_or_throw(due->event, text);
}

Task<HookAnswer> HookRunner::answer_of(std::shared_ptr<const Due> due, std::shared_ptr<const Hook> hook) {
  const auto& setting = hook->setting;
  if (!setting.fault.empty()) throw failed(setting.fault);
  if (due->text->size() > most_input) throw failed("its input would be larger than 16 MiB");
  switch (setting.kind) {
    case HookSetting::Kind::command:
      co_return co_await ask_command(due, hook);
    case HookSetting::Kind::http:
      co_return co_await with_timeout(ask_url(due, hook), as_duration(setting.timeout), took_too_long(*hook));
    case HookSetting::Kind::mcp_tool:
      co_return co_await with_timeout(ask_tool(due, hook), as_duration(setting.timeout), took_too_long(*hook));
  }
  throw failed("it is of an unknown kind");
}

Task<std::vector<HookOutcome>> HookRunner::run(std::shared_ptr<HookRunner> self, HookEvent event, HookList hooks,
                                               Json input) {
  auto text = std::make_shared<const std::string>(to_text(input));
  const auto due = std::make_shared<const Due>(event, std::move(input), std::move(text));
  std::vector<HookOutcome> outcomes;
  for (const auto& hook : hooks) outcomes.push_back({hook, fail(Errc::cancelled, "cancelled")});
  Semaphore turns(most_at_once);
  Scope scope(co_await asio::this_coro::executor);
  for (auto& outcome : outcomes) {
    scope.spawn([](std::shared_ptr<HookRunner> runner, std::shared_ptr<const Due> what, Semaphore& waiting,
                   HookOutcome& into) -> Task<void> {
      const auto turn = co_await waiting.acquire();
      into.answer = co_await as_result(runner->answer_of(std::move(what), into.hook));
    }(self, due, turns, outcome));
  }
  co_await scope.finish();
  co_return outcomes;
}

}  // namespace patchbay
