#include "cli/chat/view.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/texts/present.h"
#include "terminal/width.h"
#include "text/clean_text.h"

namespace patchbay::cli {
namespace {

constexpr std::array frames{"|", "/", "-", "\\"};
constexpr std::size_t preview_lines = 4;
constexpr std::size_t shown_runs = 6;
constexpr std::size_t shown_queued = 3;

}  // namespace

std::chrono::seconds ChatView::since(Clock::TimePoint begun) const {
  return std::chrono::duration_cast<std::chrono::seconds>(clock_.now() - begun);
}

void ChatView::begin(std::string what) {
  what_ = std::move(what);
  begun_ = clock_.now();
  running_.clear();
  thinking_ = false;
  update();
}

void ChatView::end() {
  finish_text();
  begun_.reset();
  running_.clear();
  sub_agents_.clear();
  update();
}

void ChatView::show(const std::vector<std::string>& blocks) {
  for (const auto& block : blocks) {
    auto lines = terminal::markdown_lines(block, {stage_.room(), stage_.color()});
    lines.emplace_back();
    stage_.print(lines);
  }
}

void ChatView::finish_text() {
  const auto blocks = splitter_.finish();
  show(blocks);
}

void ChatView::note(std::string_view text) {
  std::vector<std::string> lines;
  for (auto& line : split(wrapped_lines(text, stage_.room()), '\n')) {
    lines.push_back(dimmed(std::string(line), look()));
  }
  while (!lines.empty() && lines.back() == dimmed({}, look())) lines.pop_back();
  stage_.print(lines);
}

void ChatView::fault(std::string_view text) {
  std::string out;
  for (const auto line : split(wrapped_lines(text, stage_.room()), '\n')) {
    if (line.empty()) continue;
    out += stage_.color() ? fmt::format("\033[31m{}\033[0m\n", line) : fmt::format("{}\n", line);
  }
  stage_.print(out);
}

void ChatView::heard(const AgentEvent& event) {
  const bool own = event.sub_agent.empty();
  const auto indent = [&](std::vector<std::string> lines) {
    if (!own) {
      for (auto& line : lines) line = "  " + line;
    }
    return lines;
  };
  auto here = look();
  if (!own && here.columns > 12) here.columns -= 2;
  if (const auto* text = std::get_if<AgentText>(&event.what)) {
    thinking_ = false;
    if (own) show(splitter_.feed(text->text));
  } else if (std::holds_alternative<AgentThinking>(event.what)) {
    thinking_ = own || thinking_;
  } else if (std::holds_alternative<AgentMessage>(event.what)) {
    if (own) finish_text();
  } else if (const auto* call = std::get_if<AgentToolCall>(&event.what)) {
    if (own) finish_text();
    thinking_ = false;
    stage_.print(indent({call_line(call->use, here)}));
    running_.insert_or_assign(
        event.sub_agent + "/" + call->use.id,
        Running{call->use.name, event.sub_agent, clock_.now(), {}, call->call, false, edit_lines(call->use, here)});
  } else if (const auto* progress = std::get_if<AgentToolProgress>(&event.what)) {
    const auto found = running_.find(event.sub_agent + "/" + progress->id);
    if (found != running_.end()) found->second.progress = progress->progress;
  } else if (const auto* result = std::get_if<AgentToolResult>(&event.what)) {
    auto shown = *result;
    if (const auto found = running_.find(event.sub_agent + "/" + result->id); found != running_.end()) {
      if (found->second.asked) {
        shown.took = std::chrono::duration_cast<std::chrono::milliseconds>(clock_.now() - found->second.begun);
      }
      if (!found->second.edit.empty()) stage_.print(indent(std::move(found->second.edit)));
      running_.erase(found);
    }
    if (is_cut(*result)) last_result_ = whole_result(*result);
    stage_.print(indent(result_lines(shown, !running_.empty(), here)));
  } else if (const auto* retry = std::get_if<AgentRetry>(&event.what)) {
    // What came of the answer is void.
    splitter_ = {};
    note(fmt::format("The model did not answer ({}); attempt {} of {} follows.", message_line(retry->retry.reason, 500),
                     retry->retry.attempt, retry->retry.of));
  } else if (const auto* notice = std::get_if<AgentNotice>(&event.what)) {
    note(message_line(notice->text, 1000));
  } else if (const auto* compacted = std::get_if<AgentCompacted>(&event.what)) {
    was_shortened = was_shortened || own;
    note(fmt::format("The conversation was shortened: {} tokens, {} before.", grouped(compacted->tokens_after),
                     grouped(compacted->tokens_before)));
  } else if (const auto* begun = std::get_if<SubAgentBegun>(&event.what)) {
    sub_agents_.insert_or_assign(event.sub_agent, begun->name);
    note(fmt::format("  [{}] {}", safe_name(begun->name, 60), safe_line(begun->task, 200)));
  } else if (const auto* ended = std::get_if<SubAgentEnded>(&event.what)) {
    const auto found = sub_agents_.find(event.sub_agent);
    const auto name = found == sub_agents_.end() ? event.sub_agent : found->second;
    note(fmt::format("  [{}] {}", safe_name(name, 60), ended->failed ? "failed" : "is done"));
    sub_agents_.erase(event.sub_agent);
  }
  update();
}

void ChatView::asked(std::uint64_t call) {
  for (auto& [id, run] : running_) {
    if (call != 0 && run.call == call) run.edit.clear();
  }
}

void ChatView::answered(std::uint64_t call) {
  for (auto& [id, run] : running_) {
    if (call == 0 || run.call != call) continue;
    run.begun = clock_.now();
    run.asked = true;
  }
}

void ChatView::update(bool turn) {
  if (turn) ++frame_;
  std::vector<std::string> above;
  const auto here = look();
  if (begun_) {
    // The end of what is being written. It is printed when it is a whole block.
    const auto preview = clean_for_display(splitter_.begun());
    const auto lines = split(trim(preview), '\n');
    for (auto i = lines.size() > preview_lines ? lines.size() - preview_lines : 0; i < lines.size(); ++i) {
      if (!trim(lines[i]).empty()) above.push_back(dimmed(terminal::cut(clean_line(lines[i]), here.columns), here));
    }
    std::string first = fmt::format("{} {} {}", frames.at(frame_ % frames.size()), thinking_ ? "Thinking" : what_,
                                    elapsed_text(since(*begun_)));
    if (running_.size() == 1) {
      const auto& run = running_.begin()->second;
      first += "  " + progress_text(run.name, since(run.begun), run.progress);
    }
    above.push_back(terminal::cut(first, here.columns));
    std::size_t shown = 0;
    if (running_.size() > 1) {
      for (const auto& [id, run] : running_) {
        if (shown++ == shown_runs) break;
        above.push_back(
            dimmed(terminal::cut("  " + progress_text(run.name, since(run.begun), run.progress), here.columns), here));
      }
    }
  }
  for (std::size_t i = 0; i < queued_.size() && i < shown_queued; ++i) {
    above.push_back(dimmed(terminal::cut("  then: " + clean_line(queued_[i]), here.columns), here));
  }
  if (queued_.size() > shown_queued) {
    above.push_back(dimmed(fmt::format("  and {} more", queued_.size() - shown_queued), here));
  }
  std::vector<std::string> below;
  const auto& last = hint_.empty() ? standing_ : hint_;
  if (!last.empty()) below.push_back(dimmed(terminal::cut(last, here.columns), here));
  stage_.set_above(std::move(above));
  stage_.set_below(std::move(below));
  stage_.update();
}

}  // namespace patchbay::cli
