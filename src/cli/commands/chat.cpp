// `patchbay chat` without -p: a conversation on the terminal.
#include "cli/chat/chat.h"

#include <signal.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <patchbay/config.h>

#include "base/as_result.h"
#include "base/exit_code.h"
#include "base/loop_clock.h"
#include "base/scope.h"
#include "base/strings.h"
#include "cli/agent_host.h"
#include "cli/context.h"
#include "cli/texts/present.h"
#include "cli/texts/remedy_words.h"
#include "text/terminal_text.h"

namespace patchbay::cli {
namespace {

// What everything that talks to the person gets while there is a stage.
Io staged(const Io& io, Stage& stage) {
  Io out = io;
  const auto put = [&stage](std::string_view text) {
    if (stage.is_paused()) {
      stage.write_paused(text);
    } else {
      stage.print(text);
    }
  };
  out.out = [put](std::string_view text) { put(terminal_text(text)); };
  out.log = [put](std::string_view text) { put(terminal_text(text)); };
  out.talk = [put, &stage](std::string_view text) { put(wrapped_lines(terminal_text(text), stage.room())); };
  out.draw = [](std::string_view) {};
  out.width = [&stage] { return stage.columns(); };
  out.out_is_terminal = out.talk_is_terminal = out.in_is_terminal = true;
  return out;
}

Task<void> talk_to_end(Chat& chat, Host& host, std::string words, std::string resume, Result<int>& outcome) {
  outcome = co_await as_result(chat.run(std::move(words), std::move(resume)));
  chat.stage().close();
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await host.stop_quickly();
}

Task<void> follow_signals(asio::signal_set& signals, Chat& chat, int& by) {
  for (;;) {
    const int number = co_await signals.async_wait(asio::use_awaitable);
    switch (number) {
      case SIGWINCH:
        chat.stage().resized();
        break;
      case SIGCONT:
        chat.stage().continued();
        break;
      case SIGINT:
        // While somebody else has the terminal, Ctrl-C is a signal.
        if (by == 0 && !chat.stage().is_paused()) by = number;
        if (by == 0) chat.interrupted();
        if (by != 0) chat.leave(128 + by);
        break;
      default:
        if (by != 0) {
          chat.stage().close();
          _exit(128 + number);
        }
        by = number;
        chat.leave(128 + number);
    }
  }
}

// Why there is no model, and what to do about it; empty: there is one.
std::string find_model(const Settings& settings, const AgentHost& house, std::shared_ptr<Model>& model) {
  try {
    // One that was asked for by name has to be there.
    model = house.model(settings.model.empty() ? TypedWhere::chat : TypedWhere::shell);
    return {};
  } catch (const Error& error) {
    if (!settings.model.empty() || error.code() != Errc::config) throw;
    return with_remedy_in_words(error, TypedWhere::chat).message() + "\n";
  }
}

}  // namespace

int chat(const Settings& settings, Io& io, const Runtime& runtime) {
  if (!io.in_is_terminal || !io.out_is_terminal) {
    throw Error(Errc::invalid_argument,
                "a conversation needs a terminal, and this is none; for one answer in a script: patchbay -p 'TEXT'");
  }
  if (process_environment()("TERM") == "dumb") {
    throw Error(Errc::invalid_argument,
                "a conversation needs a terminal that can move its cursor, and TERM is \"dumb\"; for one answer: "
                "patchbay -p 'TEXT'");
  }
  auto options = agent_host_options(settings, io);

  asio::io_context loop(1);
  Stage stage(loop.get_executor(), io.color);
  Io stage_io = staged(io, stage);
  Chat chat(settings, stage_io, stage, loop_clock(loop.get_executor()));
  chat.connect(options);
  AgentHost house(settings, stage_io, runtime, std::move(options),
                  [&stage_io](const std::string& line) { stage_io.talk(line); });
  std::shared_ptr<Model> model;
  auto no_model = find_model(settings, house, model);
  const bool chosen_later = settings.resume && settings.resume->empty();
  auto resume = model && !chosen_later ? conversation_to_resume(settings) : std::string();
  chat.attach(house, std::move(model), std::move(no_model));

  Result<int> outcome = 0;
  int stopped_by = 0;
  Scope scope(loop.get_executor());
  Scope side(loop.get_executor());
  asio::signal_set signals(loop, SIGINT, SIGTERM, SIGHUP);
  signals.add(SIGWINCH);
  signals.add(SIGCONT);
  scope.spawn([](Chat& c, Host& h, std::string words, std::string id, Result<int>& out, Scope& beside,
                 asio::signal_set& s) -> Task<void> {
    co_await talk_to_end(c, h, std::move(words), std::move(id), out);
    beside.cancel();
    s.cancel();
  }(chat, house.host, fmt::format("{}", fmt::join(settings.words, " ")), std::move(resume), outcome, side, signals));
  side.spawn(follow_signals(signals, chat, stopped_by));
  loop.run();
  stage.close();
  if (stopped_by != 0) return 128 + stopped_by;
  if (!outcome) return report(outcome.error(), false, io);
  return *outcome;
}

}  // namespace patchbay::cli
