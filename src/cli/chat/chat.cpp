#include "cli/chat/chat.h"

#include <algorithm>

#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include <patchbay/tools.h>
#include <patchbay/version.h>

#include "base/as_result.h"
#include "base/kept_file.h"
#include "base/offload.h"
#include "base/strings.h"
#include "base/timeout.h"
#include "cli/chat/input.h"
#include "cli/context.h"
#include "cli/kept.h"
#include "cli/texts/present.h"
#include "cli/texts/remedy_words.h"
#include "text/clean_text.h"
#include "text/shell_word.h"

namespace patchbay::cli {
namespace {

constexpr auto frame_time = std::chrono::milliseconds(150);
constexpr std::size_t most_waiting_lines = 100;
constexpr std::size_t most_for_model = 50'000;
constexpr std::size_t history_bytes = 1u << 20;
constexpr std::size_t shown_transcript = 6;  // messages of a conversation that goes on

std::string history_file() {
  const auto folder = state_directory();
  return folder.empty() ? std::string() : folder + "/chat-history.jsonl";
}

std::vector<std::string> lines_of_history(std::string_view text) {
  std::vector<std::string> out;
  for (const auto line : split(text, '\n')) {
    const auto value = parse_json(std::string(line));
    if (value && value->is_string()) out.emplace_back(value->as_text());
  }
  return out;
}

}  // namespace

std::vector<std::string> read_chat_history() {
  const auto file = history_file();
  return file.empty() ? std::vector<std::string>() : lines_of_history(read_kept_file(file, history_bytes));
}

Chat::Chat(const Settings& settings, Io& io, Stage& stage, Clock& clock)
    : settings_(settings), io_(io), stage_(stage), clock_(clock), view_(stage, clock), waiting_(io) {}

void Chat::attach(AgentHost& house, std::shared_ptr<Model> model, std::string no_model) {
  house_ = &house;
  model_ = std::move(model);
  no_model_ = std::move(no_model);
}

ModelTools& Chat::tools() { return agent_ ? agent_->model_tools() : *own_tools_; }

std::string Chat::model_name() const {
  if (!model_) return {};
  return fmt::format("{}:{}", model_->info().provider, model_->info().model);
}

// ---- the whole of it

Task<int> Chat::run(std::string first_words, std::string resume) {
  scope_.emplace(co_await asio::this_coro::executor);
  stage_.editor.set_history(read_chat_history());
  stage_.on_edit = [this](terminal::EditEvent event) { edited(event); };
  auto talked = co_await as_result(talk(std::move(first_words), std::move(resume)));

  co_await asio::this_coro::throw_if_cancelled(false);
  leave(0);
  view_.end();
  scope_->cancel();
  co_await scope_->join();
  const auto id = agent_ && !agent_->messages().empty() ? agent_->id() : std::string();
  co_await end_agent();
  if (!id.empty()) {
    view_.note(fmt::format("To go on with this conversation: patchbay chat --resume{}", shell_operands({id})));
  }
  stage_.close();
  if (!talked) throw std::move(talked).error();
  co_return *code_;
}

Task<void> Chat::talk(std::string first_words, std::string resume) {
  if (settings_.resume && settings_.resume->empty() && model_) {
    scope_->spawn(read_keys());
    resume = co_await choose_conversation();
    if (code_) co_return;
    co_await begin_agent(std::move(resume));
  } else {
    const bool named = settings_.resume && !resume.empty();
    auto begun = co_await as_result(begin_agent(std::move(resume)));
    if (!begun) throw named ? not_resumed(begun.error()) : std::move(begun).error();
    scope_->spawn(read_keys());
  }
  show_intro(agent_ && !agent_->messages().empty());
  show_standing();
  scope_->spawn(work());
  scope_->spawn(tick());
  if (!trim(first_words).empty()) submit(std::move(first_words));
  while (!code_) co_await left_.wait();
}

void Chat::leave(int code) {
  if (!code_) code_ = code;
  stage_.withdraw();
  left_.notify_all();
}

Task<void> Chat::begin_agent(std::string resume) {
  if (!model_) {
    own_tools_ = std::make_unique<ModelTools>(house_->host);
    co_await own_tools_->begin();
    co_return;
  }
  auto options = agent_options(settings_);
  options.resume = std::move(resume);
  options.on_event = [this](const AgentEvent& event) { view_.heard(event); };
  options.model_tools.state_directory = state_directory();
  options.approve_server = [this](ApprovalQuestion question) { return approve_new(std::move(question)); };
  options.model_tools.approve_skill = [this](SkillQuestion question) { return approve_skill(std::move(question)); };
  auto agent = std::make_unique<Agent>(house_->host, model_, std::move(options));
  auto begun = co_await as_result(agent->begin());
  if (!begun) {
    co_await agent->stop();
    throw std::move(begun).error();
  }
  co_await end_agent();
  agent_ = std::move(agent);
  listening_ = scope_->spawn(listen());
}

Task<void> Chat::end_agent() {
  listening_.cancel();
  if (agent_) co_await agent_->stop();
  agent_.reset();
  if (own_tools_) co_await own_tools_->stop();
  own_tools_.reset();
}

void Chat::show_intro(bool resumed) {
  // With the reason, where nobody asked for it.
  const auto name = house_->chosen_line();
  const auto directory = safe_name(agent_directory(settings_), 200);
  if (model_) {
    view_.note(fmt::format("patchbay {} · {} · {}\nWhat is there to do? /help lists commands and keys.", version(),
                           safe_name(name, 200), directory));
  } else {
    view_.note(fmt::format("patchbay {} · no model · {}", version(), directory));
    stage_.print(wrapped_lines(no_model_, stage_.room()));
    view_.note(
        "Servers can be looked at and tools can be called without one: /mcp, /tools, /call TOOL. /help has more.");
  }
  if (resumed) show_transcript();
}

// The end of what was said before.
void Chat::show_transcript() {
  const auto& messages = agent_->messages();
  std::size_t from = messages.size();
  for (std::size_t shown = 0; from > 0 && shown < shown_transcript; --from) {
    if (!text_of(*messages[from - 1]).empty()) ++shown;
  }
  if (from > 0) view_.note(fmt::format("… {} before", plural(from, "message")));
  for (auto i = from; i < messages.size(); ++i) {
    const auto text = text_of(*messages[i]);
    if (text.empty()) continue;
    if (messages[i]->role == Role::assistant) {
      auto lines = terminal::markdown_lines(text, {stage_.room(), stage_.color()});
      lines.emplace_back();
      stage_.print(lines);
    } else {
      auto said = clean_for_display(cut_utf8(text, 2000));
      stage_.print("> " + said);
    }
  }
}

void Chat::show_error(const Error& error) {
  if (error.code() == Errc::cancelled) {
    if (!code_) view_.note("Interrupted.");
    return;
  }
  view_.fault(error_text(house_->secrets->without(with_remedy_in_words(error, TypedWhere::chat))));
}

ServerStatus Chat::shown(ServerStatus status) const {
  if (status.error) status.error = with_remedy_in_words(*status.error, TypedWhere::chat);
  return house_->secrets->without(std::move(status));
}

void Chat::show_standing() {
  std::string out = model_ ? safe_name(model_name(), 60) : std::string("no model");
  if (agent_ && agent_->mode() == AgentMode::plan) out += " · plan mode: nothing is changed";
  std::size_t connected = 0;
  std::size_t failed = 0;
  for (const auto& status : house_->host.status()) {
    if (status.origin.scope == ConfigScope::embedded) continue;
    if (status.state == ServerState::connected) ++connected;
    if (status.state == ServerState::failed || status.state == ServerState::needs_auth) ++failed;
  }
  if (connected > 0) out += " · " + plural(connected, "server");
  if (failed > 0) out += fmt::format(" · {} failed: /mcp", failed);
  view_.set_standing(std::move(out));
  view_.update();
}

void Chat::heard(const HostEvent& event) {
  if (agent_) agent_->heard(event);
  if (own_tools_) own_tools_->heard(event);
  const auto* given = std::get_if<ServerStatus>(&event);
  if (given == nullptr || house_ == nullptr) return;
  const auto status = shown(*given);
  show_standing();
  if (status.state != ServerState::failed && status.state != ServerState::needs_auth) return;
  if (!status.error || status.reason == ServerReason::connecting) return;
  // /connect says it itself.
  if (!connecting_.empty() && status.name == connecting_) return;
  const auto failure = shown_failure(status.name, status.origin.scope, *status.error, TypedWhere::chat);
  view_.note(
      fmt::format("[mcp] {} \"{}\": {}\n{}",
                  status.reason == ServerReason::connection_lost ? "Lost the connection to" : "Failed to connect to",
                  safe_name(status.name, 80), failure.cause, failure.below));
}

Task<void> Chat::read_keys() {
  auto read = co_await as_result(stage_.run());
  // The terminal has gone, and so has the person.
  if (!read && read.error().code() != Errc::cancelled) leave(129);
}

// Draws while something goes on; an idle conversation costs nothing.
Task<void> Chat::tick() {
  for (;;) {
    while (!view_.is_busy()) co_await lines_changed_.wait();
    co_await sleep_for(frame_time);
    if (view_.is_busy()) view_.update(true);
  }
}

// ---- lines

void Chat::edited(terminal::EditEvent event) {
  using terminal::EditEvent;
  if (event != EditEvent::interrupt) {
    interrupts_ = 0;
    view_.set_hint({});
  }
  switch (event) {
    case EditEvent::submit:
      submit(stage_.editor.take());
      break;
    case EditEvent::interrupt:
      interrupt();
      break;
    case EditEvent::end_of_input:
      leave(0);
      break;
    case EditEvent::complete:
      scope_->spawn(complete());
      break;
    case EditEvent::escape:
      // The last of those that wait can be changed again.
      if (stage_.editor.empty() && !lines_.empty()) {
        stage_.editor.set(std::move(lines_.back()));
        lines_.pop_back();
        view_.set_queued({lines_.begin(), lines_.end()});
      }
      break;
    case EditEvent::none:
    case EditEvent::redraw:
      break;
  }
  view_.update();
}

void Chat::submit(std::string line) {
  if (trim(line).empty()) return;
  const auto typed = read_typed_line(line);
  scope_->spawn(keep_history(line));
  if (typed.kind == Typed::Kind::unknown) {
    stage_.print("> " + clean_for_display(line));
    view_.fault(unknown_slash_text(typed.rest));
    return;
  }
  if (typed.slash != nullptr && typed.slash->command == Slash::quit) {
    leave(0);
    return;
  }
  if (working_ && typed.slash != nullptr && typed.slash->at_once) {
    doing_ = scope_->spawn(at_once(std::move(line)));
    return;
  }
  enqueue(std::move(line));
}

void Chat::enqueue(std::string line) {
  if (lines_.size() >= most_waiting_lines) {
    view_.fault("So many lines wait already that this one was dropped.");
    return;
  }
  lines_.push_back(std::move(line));
  if (working_) view_.set_queued({lines_.begin(), lines_.end()});
  view_.update();
  lines_changed_.notify_all();
}

void Chat::interrupt() {
  const bool works = working_ || view_.is_busy();
  switch (interrupt_means(!stage_.editor.empty(), works, interrupts_++)) {
    case InterruptMeans::clears:
      stage_.editor.clear();
      interrupts_ = 0;
      break;
    case InterruptMeans::interrupts:
      doing_.cancel();
      if (agent_ && agent_->is_busy()) agent_->interrupt();
      view_.set_hint("Interrupted. Ctrl-C again ends the turn.");
      break;
    case InterruptMeans::ends_turn:
      doing_.cancel();
      if (agent_ && agent_->is_busy()) agent_->interrupt_turn();
      view_.set_hint("Ctrl-C again leaves.");
      break;
    case InterruptMeans::warns:
      view_.set_hint("Ctrl-C again leaves, and so does Ctrl-D.");
      break;
    case InterruptMeans::leaves:
      leave(0);
      break;
  }
}

void Chat::interrupted() {
  doing_.cancel();
  if (agent_ && agent_->is_busy()) agent_->interrupt();
}

Task<void> Chat::work() {
  for (;;) {
    while (code_ || (lines_.empty() && !told_waits_)) co_await lines_changed_.wait();
    working_ = true;
    interrupts_ = 0;
    if (lines_.empty()) {
      auto said = co_await as_result(say_to_model({}));
      told_waits_ = false;
      if (!said) show_error(said.error());
    } else {
      auto line = std::move(lines_.front());
      lines_.pop_front();
      view_.set_queued({lines_.begin(), lines_.end()});
      stage_.print("> " + clean_for_display(line));
      auto done = co_await as_result(do_line(std::move(line)));
      if (!done) show_error(done.error());
    }
    view_.end();
    working_ = false;
    interrupts_ = 0;
    view_.set_hint({});
    show_standing();
    lines_changed_.notify_all();
  }
}

// Messages from elsewhere: a channel, something that ended in the background.
Task<void> Chat::listen() {
  for (;;) {
    if (!co_await as_result(agent_->told())) co_return;
    told_waits_ = true;
    lines_changed_.notify_all();
    while (told_waits_) co_await lines_changed_.wait();
  }
}

Task<void> Chat::do_line(std::string line) {
  auto typed = read_typed_line(line);
  switch (typed.kind) {
    case Typed::Kind::message:
      co_await say_to_model(std::move(typed.rest));
      break;
    case Typed::Kind::slash: {
      // In a coroutine that Ctrl-C can end.
      auto done = std::make_shared<Completion<Result<void>>>();
      doing_ = scope_->spawn([](Task<void> work, std::shared_ptr<Completion<Result<void>>> end) -> Task<void> {
        end->set(co_await as_result(std::move(work)));
      }(command(typed.slash->command, std::move(typed.rest)), done));
      value_or_throw(co_await done->wait());
      break;
    }
    case Typed::Kind::prompt: {
      view_.begin("Getting the prompt");
      lines_changed_.notify_all();
      const auto prompt = co_await tools().prompt(typed.rest);
      auto text = prompt_text(prompt);
      view_.note(fmt::format("The prompt says:\n{}", clean_excerpt(text, 600)));
      co_await say_to_model(std::move(text));
      break;
    }
    case Typed::Kind::shell:
      co_await run_shell(std::move(typed.rest));
      break;
    case Typed::Kind::unknown:
      break;
  }
}

Task<void> Chat::at_once(std::string line) {
  auto typed = read_typed_line(line);
  stage_.print("> " + clean_for_display(line));
  aside_ = true;
  auto done = co_await as_result(command(typed.slash->command, std::move(typed.rest)));
  aside_ = false;
  if (!done) show_error(done.error());
}

void Chat::busy(std::string what) {
  if (aside_) return;
  view_.begin(std::move(what));
  lines_changed_.notify_all();
}

void Chat::idle() {
  if (!aside_) view_.end();
}

Task<void> Chat::say_to_model(std::string text) {
  using End = AgentAnswer::End;
  if (!agent_) {
    view_.fault("There is no model that could answer: " + no_model_);
    co_return;
  }
  view_.begin("Working");
  lines_changed_.notify_all();
  ChatInput made;
  if (!text.empty()) {
    made = co_await chat_input(agent_->model_tools(), std::move(text), agent_directory(settings_));
    for (const auto& note : made.notes) view_.note("  " + note);
    if (!for_model_.empty()) made.input.text = std::exchange(for_model_, {}) + made.input.text;
  }
  auto answer = co_await as_result(agent_->send(std::move(made.input)));
  view_.finish_text();
  if (!answer) {
    show_error(answer.error());
    if (model_->info().provider == "script" && answer.error().code() == Errc::limit) {
      view_.note("A script has only so many answers. To talk to a model: /model PROVIDER:NAME");
    }
    co_return;
  }
  switch (answer->end) {
    case End::answered:
      break;
    case End::refused:
      view_.fault("The model refused to answer.");
      break;
    case End::max_turns:
      view_.note(fmt::format("Stopped after {} (--max-turns).", plural(answer->turns, "request")));
      break;
    case End::interrupted:
      view_.note("Interrupted. What would you rather have?");
      break;
    case End::deferred:
      view_.note("A hook put a call off; it is made when you go on.");
      break;
  }
}

// The built-in tool runs it; the person is not asked about their own command.
Task<void> Chat::run_shell(std::string command) {
  if (command.empty()) co_return;
  view_.begin("Running");
  lines_changed_.notify_all();
  CallOptions options;
  options.call_id = ++next_call_;
  own_calls_.insert(options.call_id);
  auto arguments = Json{{"command", "sh"}, {"args", Json::array({"-c", command})}};
  auto done = std::make_shared<Completion<Result<CallToolResult>>>();
  doing_ = scope_->spawn(
      [](Task<CallToolResult> work, std::shared_ptr<Completion<Result<CallToolResult>>> end) -> Task<void> {
        end->set(co_await as_result(std::move(work)));
      }(house_->host.call("run_command", Payload(std::move(arguments)), std::move(options)), done));
  auto result = co_await done->wait();
  view_.end();
  if (!result) throw std::move(result).error();
  const auto text = clean_for_display(text_of(*result));
  stage_.print(text.empty() ? "(no output)" : text);
  for_model_ += fmt::format("<command-of-the-user>\n{}\n</command-of-the-user>\n<its-output>\n{}\n</its-output>\n\n",
                            command, cut_utf8(text, most_for_model));
  if (for_model_.size() > 4 * most_for_model) for_model_.erase(0, for_model_.size() - 4 * most_for_model);
}

Task<void> Chat::keep_history(std::string line) {
  const auto file = history_file();
  // A line with a blank in front is nobody's business.
  if (file.empty() || line.starts_with(' ') || line.size() > 10'000) co_return;
  (void)co_await as_result(offload(Pool::slow, [file, line] {
    (void)change_kept_file(file, history_bytes, [&](std::string_view before) {
      auto lines = lines_of_history(before);
      if (!lines.empty() && lines.back() == line) lines.pop_back();
      lines.push_back(line);
      std::string out;
      for (std::size_t i = lines.size() > 500 ? lines.size() - 500 : 0; i < lines.size(); ++i) {
        out += to_text(Json(lines[i])) + "\n";
      }
      return std::optional(out);
    });
  }));
}

}  // namespace patchbay::cli
