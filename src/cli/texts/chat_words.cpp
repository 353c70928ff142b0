#include "cli/texts/chat_words.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/texts/present.h"
#include "terminal/diff_lines.h"
#include "terminal/width.h"
#include "text/clean_text.h"
#include "text/visible_text.h"

namespace patchbay::cli {
namespace {

constexpr std::size_t shown_result_lines = 5;
constexpr std::size_t most_diff_lines = 40;
// Of an argument in a question. It is shown in full up to here; a call that is larger cannot be read by anybody.
constexpr std::size_t longest_argument = 256u << 10;

std::string painted(std::string text, std::string_view code, const ChatLook& look) {
  return look.color && !text.empty() ? fmt::format("\033[{}m{}\033[0m", code, text) : text;
}

// The first of these members that is a text: its name, or nothing.
std::string_view text_member(const Json& input, std::initializer_list<std::string_view> names) {
  for (const auto name : names) {
    const auto* found = input.find(name);
    if (found != nullptr && found->is_string()) return name;
  }
  return {};
}

// The members that say what an edit replaces, whoever's tool it is; the usual names. All empty: it is none.
struct EditMembers {
  std::string_view before;  // empty: a whole file is written
  std::string_view now;
};
EditMembers edit_members(const Json& input) {
  if (!input.is_object() || text_member(input, {"path", "file_path", "file", "filename"}).empty()) return {};
  const EditMembers replaces{text_member(input, {"old_text", "old_string", "oldText", "old_str"}),
                             text_member(input, {"new_text", "new_string", "newText", "new_str"})};
  if (!replaces.before.empty() && !replaces.now.empty()) return replaces;
  return {{}, text_member(input, {"content", "contents", "text", "file_text"})};
}

std::vector<terminal::DiffLine> edit_of(const Json& input, std::size_t most_lines) {
  const auto members = edit_members(input);
  if (members.now.empty()) return {};
  const auto before = members.before.empty() ? std::string() : std::string(input[members.before].as_text());
  return terminal::diff_lines(before, std::string(input[members.now].as_text()), {.most_lines = most_lines});
}

std::string member_text(const Json& value) {
  return value.is_string() ? "\"" + std::string(value.as_text()) + "\"" : to_text(value);
}

std::string arguments_text(const ModelToolUse& use) {
  if (!use.broken.empty()) return "not JSON: " + use.broken;
  std::string out;
  if (!use.input.is_object()) return out;
  // What an edit changes is shown as lines, and not here as well.
  const auto edited = edit_of(use.input, 1).empty() ? EditMembers() : edit_members(use.input);
  for (const auto& [key, value] : use.input.members()) {
    if (!out.empty()) out += ", ";
    const bool in_lines = !key.empty() && (key == edited.before || key == edited.now);
    out += fmt::format("{}: {}", key, in_lines ? std::string("…") : member_text(value));
    if (out.size() > 4096) break;
  }
  return out;
}

std::string text_of_blocks(const ModelResult& result) {
  std::string out;
  for (const auto& block : result.blocks) {
    if (const auto* text = std::get_if<ModelText>(&block)) {
      out += text->text;
    } else if (const auto* image = std::get_if<ModelImage>(&block)) {
      out += fmt::format("[image: {}, {} x {}]", image->mime_type, image->width, image->height);
    }
    if (!out.ends_with('\n')) out += '\n';
  }
  return out;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> out;
  const auto cleaned = clean_for_display(text);
  for (const auto line : split(cleaned, '\n')) {
    std::string one;
    for (const char c : line) one += c == '\t' ? std::string(4, ' ') : std::string(1, c);
    if (out.empty() && trim(one).empty()) continue;
    out.push_back(std::move(one));
  }
  while (!out.empty() && trim(out.back()).empty()) out.pop_back();
  return out;
}

std::string tokens(std::size_t count) { return fmt::format("{:>9}", grouped(count)); }

}  // namespace

std::string grouped(std::uint64_t number) {
  auto out = std::to_string(number);
  for (std::size_t at = out.size(); at > 3; at -= 3) out.insert(at - 3, ",");
  return out;
}

std::string dimmed(std::string text, const ChatLook& look) { return painted(std::move(text), "2", look); }

std::string elapsed_text(std::chrono::seconds time) {
  if (time.count() < 60) return fmt::format("{} s", time.count());
  return fmt::format("{} min {} s", time.count() / 60, time.count() % 60);
}

std::string call_line(const ModelToolUse& use, const ChatLook& look) {
  const auto name = safe_name(use.name, 100);
  // More than a line of it is never shown.
  const auto arguments = visible_message(cut_utf8(arguments_text(use), 4096));
  auto line = terminal::cut(fmt::format("* {}({})", name, arguments), look.columns);
  if (look.color && line.size() > 2 + name.size()) {
    line = fmt::format("* \033[1m{}\033[0m{}", name, line.substr(2 + name.size()));
  }
  return line;
}

std::vector<std::string> edit_lines(const ModelToolUse& use, const ChatLook& look) {
  std::vector<std::string> out;
  const auto columns = look.columns > 8 ? look.columns - 4 : look.columns;
  for (auto& one : terminal::shown_diff(edit_of(use.input, most_diff_lines), {columns, look.color})) {
    out.push_back("    " + one);
  }
  return out;
}

std::vector<std::string> result_lines(const AgentToolResult& result, bool named, const ChatLook& look) {
  using End = AgentToolResult::End;
  const auto room = look.columns > 8 ? look.columns - 4 : look.columns;
  std::vector<std::string> out;
  const auto add = [&](std::string text, std::string_view code) {
    const auto before = out.empty() ? "  > " : "    ";
    out.push_back(before + painted(terminal::cut(text, room), code, look));
  };
  const auto whose = named ? safe_name(result.name, 60) + ": " : std::string();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(result.took);
  const auto took = seconds.count() > 0 ? fmt::format(" ({})", elapsed_text(seconds)) : std::string();
  switch (result.end) {
    case End::denied: {
      // The line above names the tool.
      auto why = message_line(result.reason, 400);
      if (const auto said = why.find("was not called: "); said != std::string::npos) why.erase(0, said + 16);
      add(whose + "not called: " + why, "33");
      return out;
    }
    case End::deferred:
      add(whose + "put off", "33");
      return out;
    case End::interrupted:
      add(whose + "interrupted" + took, "33");
      return out;
    case End::failed:
    case End::answered:
      break;
  }
  const bool failed = result.end == End::failed;
  const auto lines = lines_of(text_of_blocks(result.result));
  if (failed) add(whose + "failed" + took, "31");
  if (!failed && (named || !took.empty())) add(whose + plural(lines.size(), "line") + took, "2");
  if (lines.empty() && out.empty()) add("done, without a text", "2");
  const auto shown = lines.size() > shown_result_lines + 1 ? shown_result_lines : lines.size();
  for (std::size_t i = 0; i < shown; ++i) add(lines[i], failed ? "31" : "2");
  if (lines.size() > shown) {
    auto rest = fmt::format("… {}: /last", plural(lines.size() - shown, "more line"));
    if (!result.result.handle.empty()) rest += ", kept as " + result.result.handle;
    add(rest, "2");
  }
  return out;
}

bool is_cut(const AgentToolResult& result) {
  using End = AgentToolResult::End;
  return (result.end == End::answered || result.end == End::failed) &&
         lines_of(text_of_blocks(result.result)).size() > shown_result_lines + 1;
}

std::string whole_result(const AgentToolResult& result) {
  std::string out = fmt::format("{}:\n", safe_name(result.name, 100));
  for (const auto& line : lines_of(text_of_blocks(result.result))) out += line + "\n";
  if (!result.result.handle.empty()) out += fmt::format("The rest is kept as {}\n", result.result.handle);
  return out;
}

std::string progress_text(std::string_view name, std::chrono::seconds time, const std::optional<Progress>& progress) {
  auto out = fmt::format("{} {}", safe_name(name, 60), elapsed_text(time));
  if (!progress) return out;
  out += progress->total ? fmt::format("  {:g}/{:g}", progress->progress, *progress->total)
                         : fmt::format("  {:g}", progress->progress);
  if (progress->message) out += "  " + safe_line(*progress->message, 200);
  return out;
}

std::vector<std::string> cost_lines(const ModelUsage& usage, const ModelUsage& for_servers) {
  std::vector<std::string> out{
      "Tokens of this conversation, as the provider counts them:",
      fmt::format("  {}  read by the model, not from its cache", tokens(usage.input)),
      fmt::format("  {}  read from its cache", tokens(usage.cache_read)),
      fmt::format("  {}  written to its cache", tokens(usage.cache_written)),
      fmt::format("  {}  written by the model", tokens(usage.output)),
  };
  if (!usage.cache_miss.empty()) {
    out.push_back("The cache was missed: " + message_line(usage.cache_miss, 300));
  }
  if (for_servers.prompt() + for_servers.output > 0) {
    out.emplace_back("And of what servers asked the model for since the start:");
    out.push_back(fmt::format("  {}  read by the model", tokens(for_servers.prompt())));
    out.push_back(fmt::format("  {}  written by the model", tokens(for_servers.output)));
  }
  return out;
}

std::vector<std::string> context_lines(const AgentContext& context, std::string_view model) {
  std::vector<std::string> out;
  std::size_t tools = 0;
  for (const auto& server : context.tools) {
    for (const auto& [name, count] : server.tools) tools += count;
  }
  const auto used = context.system + context.messages + tools;
  const auto share = context.limit > 0 ? used * 100 / context.limit : 0;
  out.push_back(fmt::format("{} of {} tokens ({} %), of {}; a token is counted as four bytes", grouped(used),
                            grouped(context.limit), share, safe_name(model, 100)));
  out.push_back(fmt::format("  {}  system text", tokens(context.system)));
  out.push_back(fmt::format("  {}  messages", tokens(context.messages)));
  out.push_back(fmt::format("  {}  tools", tokens(tools)));
  for (const auto& server : context.tools) {
    std::size_t sum = 0;
    for (const auto& [name, count] : server.tools) sum += count;
    const auto whose = server.server.empty() ? std::string("of the agent itself") : safe_name(server.server, 60);
    auto line = fmt::format("  {}    {}", tokens(sum), whose);
    if (server.deferred > 0) line += fmt::format(", and {} found by searching", plural(server.deferred, "more tool"));
    out.push_back(std::move(line));
    for (const auto& [name, count] : server.tools) {
      out.push_back(fmt::format("  {}      {}", tokens(count), safe_name(name, 80)));
    }
  }
  return out;
}

// ---- the question before a call

std::vector<std::string> permission_lines(const PermissionQuestion& question, const ChatLook& look) {
  std::vector<std::string> out;
  const auto add = [&](const std::string& text) {
    for (auto& line : wrapped(text, look.columns, "      | ")) out.push_back(std::move(line));
  };
  const auto title =
      fmt::format("The model wants to call \"{}\" of the server \"{}\":", visible_text(question.tool.tool->name),
                  visible_text(question.tool.server));
  for (auto& line : wrapped(title, look.columns, "      | ")) out.push_back(painted(std::move(line), "1", look));
  const auto& arguments = question.arguments.value();
  const auto edited = edit_members(arguments);
  const auto has_lines = [&](std::string_view member) {
    return !member.empty() && arguments[member].as_text().find('\n') != std::string_view::npos;
  };
  // What is on one line anyhow is read best as it is, and once is enough.
  const auto diff = has_lines(edited.before) || has_lines(edited.now) ? edit_of(arguments, 100'000)
                                                                      : std::vector<terminal::DiffLine>();
  if (!arguments.is_object() || arguments.members().empty()) {
    add("    without arguments");
  } else {
    for (const auto& [key, value] : arguments.members()) {
      const bool in_diff = !diff.empty() && (key == edited.before || key == edited.now) && has_lines(key);
      if (in_diff) continue;
      const auto whole = value.is_string() ? std::string(value.as_text()) : to_text(value);
      const auto shown = cut_utf8(whole, longest_argument);
      auto text = fmt::format("    {}: {}", visible_text(key), value.is_string() ? "\"" : "");
      text += visible_text(shown);
      if (value.is_string()) text += '"';
      if (shown.size() < whole.size()) {
        text += fmt::format(" and {} more bytes, which nobody can read here", grouped(whole.size() - shown.size()));
      }
      add(text);
    }
    const auto columns = look.columns > 8 ? look.columns - 4 : look.columns;
    for (auto& one : terminal::shown_diff(diff, {columns, look.color}, true)) out.push_back("    " + one);
  }
  if (!question.decision.reason.empty()) add("  Why you are asked: " + visible_message(question.decision.reason));
  return out;
}

namespace {

struct Choice {
  std::string_view letter;
  std::string_view word;
  PermissionAnswer answer;
};

std::vector<Choice> choices_of(const std::vector<GrantScope>& possible) {
  using Kind = PermissionAnswer::Kind;
  const auto can = [&](GrantScope scope) { return std::ranges::find(possible, scope) != possible.end(); };
  std::vector<Choice> out{{"y", "yes", {Kind::once}}};
  if (can(GrantScope::tool)) out.push_back({"t", "tool", {Kind::grant, GrantScope::tool}});
  if (can(GrantScope::server)) out.push_back({"s", "server", {Kind::grant, GrantScope::server}});
  if (can(GrantScope::arguments)) {
    out.push_back({"a", "arguments", {Kind::grant, GrantScope::arguments}});
    out.push_back({"e", "edit", {Kind::edit}});
  }
  out.push_back({"n", "no", {Kind::no}});
  out.push_back({"w", "why", {Kind::no_because}});
  return out;
}

}  // namespace

std::string permission_legend(const std::vector<GrantScope>& possible) {
  const auto can = [&](GrantScope scope) { return std::ranges::find(possible, scope) != possible.end(); };
  std::vector<std::string> always;
  if (can(GrantScope::tool)) always.emplace_back("t tool");
  if (can(GrantScope::server)) always.emplace_back("s server");
  if (can(GrantScope::arguments)) always.emplace_back("a same call");
  std::string out = "y once";
  if (!always.empty()) out += " · always: " + join(always, ", ");
  if (can(GrantScope::arguments)) out += " · e edit";
  return out + " · n no · w no, and why";
}

std::string permission_prompt(const std::vector<GrantScope>& possible) {
  std::string letters;
  for (const auto& choice : choices_of(possible)) letters += fmt::format("{}/", choice.letter);
  return fmt::format("Call it? [{}?] ", letters);
}

std::vector<std::string> permission_help(const PermissionQuestion& question, const std::vector<GrantScope>& possible) {
  using Kind = PermissionAnswer::Kind;
  const auto tool = visible_text(question.tool.tool->name);
  const auto server = visible_text(question.tool.server);
  std::vector<std::string> out;
  for (const auto& [letter, word, answer] : choices_of(possible)) {
    std::string text;
    switch (answer.kind) {
      case Kind::once:
        text = "yes, this once";
        break;
      case Kind::grant:
        text = answer.scope == GrantScope::tool ? fmt::format("yes, and \"{}\" always in this conversation", tool)
               : answer.scope == GrantScope::arguments
                   ? "yes, and with exactly these arguments always in this conversation"
                   : fmt::format(
                         "yes, and all tools of \"{}\" in this conversation, but those that say they destroy "
                         "something",
                         server);
        break;
      case Kind::edit:
        text = "not so: you write other arguments, and the model may call it with those";
        break;
      case Kind::no:
        text = "no";
        break;
      case Kind::no_because:
        text = "no, and you tell the model why";
        break;
    }
    out.push_back(fmt::format("  {}  {}", letter, text));
  }
  if (possible.empty()) {
    out.emplace_back("It is asked about each time, because a rule or the tool itself wants that.");
  }
  return out;
}

std::optional<PermissionAnswer> permission_answer(std::string_view typed, const std::vector<GrantScope>& possible) {
  const auto word = to_lower_ascii(trim(typed));
  for (const auto& choice : choices_of(possible)) {
    if (word == choice.letter || word == choice.word) return choice.answer;
  }
  return std::nullopt;
}

InterruptMeans interrupt_means(bool typed, bool busy, std::size_t again) noexcept {
  if (busy) {
    return again == 0 ? InterruptMeans::interrupts : again == 1 ? InterruptMeans::ends_turn : InterruptMeans::leaves;
  }
  if (typed) return InterruptMeans::clears;
  return again == 0 ? InterruptMeans::warns : InterruptMeans::leaves;
}

}  // namespace patchbay::cli
