// The commands of a conversation.
#include <algorithm>

#include <fmt/format.h>

#include <patchbay/tools.h>

#include "agent/conversation/conversation.h"
#include "base/as_result.h"
#include "base/strings.h"
#include "catalog/naming.h"
#include "cli/chat/chat.h"
#include "cli/declared.h"
#include "cli/kept.h"
#include "cli/texts/model_words.h"
#include "cli/texts/present.h"
#include "cli/texts/remedy_words.h"
#include "cli/texts/time_words.h"
#include "cli/texts/tool_text.h"
#include "cli/words/suggested_name.h"
#include "entries/server_argument.h"
#include "host/flight/flight_recorder.h"
#include "terminal/width.h"
#include "text/call_arguments.h"
#include "text/clean_text.h"
#include "text/shell_word.h"

namespace patchbay::cli {
namespace {

constexpr std::size_t shown_frames = 10;
constexpr std::size_t shown_items = 30;
// Of a list to choose from: the newest stays on the screen.
constexpr std::size_t rows_beside_list = 5;
constexpr std::size_t least_listed = 3;
constexpr std::size_t minutes_length = std::string_view("2026-11-18 03:30").size();

std::string all_text(const std::vector<std::string>& lines) {
  std::string out;
  for (const auto& line : lines) out += line + "\n";
  return out;
}

}  // namespace

Task<void> Chat::command(Slash command, std::string rest) {
  const auto show = [this](const std::vector<std::string>& lines) { stage_.print(lines); };
  const auto no_model = [this] { view_.fault("There is no model: " + no_model_); };
  switch (command) {
    case Slash::help:
      stage_.print(wrapped_lines(all_text(slash_help()), stage_.room()));
      break;
    case Slash::quit:
      leave(0);
      break;
    case Slash::cost:
      if (!agent_) co_return no_model();
      show(cost_lines(agent_->usage(), for_servers_));
      break;
    case Slash::context:
      if (!agent_) co_return no_model();
      stage_.print(wrapped_lines(all_text(context_lines(agent_->context(), model_name())), stage_.room()));
      break;
    case Slash::plan:
      if (!agent_) co_return no_model();
      agent_->set_mode(agent_->mode() == AgentMode::plan ? AgentMode::normal : AgentMode::plan);
      view_.note(agent_->mode() == AgentMode::plan ? "Plan mode: only tools that say they only read are called."
                                                   : "Plan mode is off.");
      show_standing();
      break;
    case Slash::compact:
      if (!agent_) co_return no_model();
      busy("Shortening");
      view_.was_shortened = false;
      co_await agent_->compact();
      if (!view_.was_shortened) view_.note("The conversation stays as it is: there is nothing to gain.");
      break;
    case Slash::last:
      if (view_.last_result().empty()) {
        view_.note("No result was shown in part.");
      } else {
        stage_.print(view_.last_result());
      }
      break;
    case Slash::mcp:
      co_await mcp(std::move(rest));
      break;
    case Slash::tools:
      co_await list_tools(std::move(rest));
      break;
    case Slash::call:
      co_await call_tool(std::move(rest));
      break;
    case Slash::connect:
      co_await connect_server(std::move(rest));
      break;
    case Slash::permissions:
      co_await permissions(std::move(rest));
      break;
    case Slash::resume:
      co_await resume(std::move(rest));
      break;
    case Slash::model:
      co_await change_model(std::move(rest));
      break;
  }
}

// ---- servers

void Chat::require_server(const std::string& name) const {
  std::vector<std::string> names;
  for (const auto& status : house_->host.status()) names.push_back(status.name);
  if (std::ranges::find(names, name) != names.end()) return;
  const auto meant = nearest(name, names);
  throw Error(Errc::invalid_argument,
              fmt::format("there is no server \"{}\"{}", safe_name(name, 80),
                          meant.empty() ? "; /mcp lists all servers" : fmt::format("; did you mean \"{}\"?", meant)));
}

Task<void> Chat::mcp(std::string rest) {
  const auto words = words_of(rest);
  auto& host = house_->host;
  co_await host.prepare();
  if (words.empty()) {
    std::string out;
    const auto all = host.status();
    for (const auto& given : all) {
      const auto status = shown(given);
      auto line = status_line(status, stage_.color(), tools_of(*host.catalog(), status));
      out += line.ends_with('\n') ? line : line + "\n";
    }
    stage_.print(wrapped_lines(out, stage_.room()));
    // The tools of its own are always there.
    const bool declared =
        std::ranges::any_of(all, [](const ServerStatus& one) { return one.origin.scope != ConfigScope::embedded; });
    if (!declared) stage_.print(wrapped_lines(no_servers_text(TypedWhere::chat), stage_.room()));
    const auto waits = std::ranges::find_if(all, awaits_approval);
    if (waits != all.end()) {
      view_.note(fmt::format("What awaits approval is asked about with your next message, or now: /mcp{}",
                             shell_operands({waits->name})));
    }
    view_.note("/mcp SERVER shows what one offers; /mcp reconnect, enable, disable, approve, login SERVER.");
    co_return;
  }
  const auto& verb = words.front();
  const bool acts =
      verb == "reconnect" || verb == "enable" || verb == "disable" || verb == "approve" || verb == "login";
  if (!acts) {
    co_await mcp_server(words.front());
    co_return;
  }
  if (words.size() != 2) throw Error(Errc::invalid_argument, fmt::format("/mcp {} needs the name of a server", verb));
  const auto name = words[1];
  require_server(name);
  if (verb == "reconnect") {
    busy(fmt::format("Connecting to {}", safe_name(name, 60)));
    // What was changed in files meanwhile counts.
    (void)co_await host.reload();
    co_await host.reconnect(name);
    view_.note(fmt::format("Connected to \"{}\".", safe_name(name, 80)));
  } else if (verb == "login") {
    busy(fmt::format("Signing in at {}", safe_name(name, 60)));
    const auto result = co_await host.sign_in(name);
    view_.note(fmt::format("Signed in at \"{}\" by {}.", safe_name(name, 80), safe_name(result.issuer, 200)));
  } else {
    for (const auto& status : host.status()) {
      const auto scope = status.origin.scope;
      if (status.name != name || (scope != ConfigScope::dynamic && scope != ConfigScope::embedded)) continue;
      throw Error(Errc::invalid_argument,
                  fmt::format("\"{}\" belongs to this conversation and ends with it; no entry in a file says so",
                              safe_name(name, 80)));
    }
    Settings settings = settings_;
    settings.words = {name};
    if (verb == "approve") {
      settings.command = Command::approve;
      (void)cli::approve(settings, io_);
    } else {
      settings.command = verb == "enable" ? Command::enable : Command::disable;
      (void)(verb == "enable" ? enable(settings, io_) : disable(settings, io_));
    }
    (void)co_await host.reload();
  }
  show_standing();
}

Task<void> Chat::mcp_server(std::string name) {
  require_server(name);
  auto& host = house_->host;
  busy(fmt::format("Looking at {}", safe_name(name, 60)));
  auto started = co_await as_result(host.start({name}));
  std::string out;
  const auto section = [&](std::string_view title, const std::vector<std::string>& items) {
    if (items.empty()) return;
    out += fmt::format("  {}\n", title);
    for (std::size_t i = 0; i < items.size() && i < shown_items; ++i) {
      out += "    " + terminal::cut(items[i], stage_.room() - 4) + "\n";
    }
    if (items.size() > shown_items) out += fmt::format("    … {} more\n", items.size() - shown_items);
  };
  bool connected = false;
  for (const auto& given : host.status()) {
    if (given.name != name) continue;
    const auto status = shown(given);
    connected = status.state == ServerState::connected;
    out += fmt::format("{}: {} {}\n", safe_name(name, 80), to_string(status.state),
                       status.error ? std::string() : reason_text(status));
    out += fmt::format("  {}\n", safe_line(status.transport, 200));
    if (status.error) {
      out += fmt::format("  {}\n", message_line(status.error->message(), 500));
    } else if (status.reason == ServerReason::rejected || status.reason == ServerReason::disabled) {
      const auto kind =
          status.reason == ServerReason::rejected ? Remedy::Kind::undo_rejection : Remedy::Kind::enable_server;
      out += fmt::format("  {}\n", remedy_words({kind, name}, TypedWhere::chat));
    }
    if (status.server) {
      out +=
          fmt::format("  {} {}\n", safe_line(status.server->info.name, 80), safe_line(status.server->info.version, 40));
    }
  }
  std::vector<std::string> items;
  for (const auto& tool : host.catalog()->tools()) {
    if (tool.server != name) continue;
    items.push_back(safe_name(tool.tool->name, 80) + "  " + safe_line(tool.tool->description.value_or(""), 200));
  }
  section("tools", items);
  if (connected) {
    items.clear();
    if (const auto list = co_await as_result(host.resources(name))) {
      for (const auto& one : *list->items) items.push_back(fmt::format("@{}:{}", name, safe_line(one.uri, 200)));
    }
    if (const auto list = co_await as_result(host.resource_templates(name))) {
      for (const auto& one : *list->items) {
        items.push_back(fmt::format("@{}:{}", name, safe_line(one.uri_template, 200)));
      }
    }
    section("resources", items);
    items.clear();
    if (const auto list = co_await as_result(host.prompts(name))) {
      for (const auto& one : *list->items) {
        std::string arguments;
        for (const auto& argument : one.arguments) {
          arguments += " " + (argument.required == true ? safe_name(argument.name, 60)
                                                        : "[" + safe_name(argument.name, 60) + "]");
        }
        items.push_back(fmt::format("/{}{}  {}", normalised_full_name({name, one.name}), arguments,
                                    safe_line(one.description.value_or(""), 200)));
      }
    }
    section("prompts", items);
    items.clear();
    if (const auto skills = co_await as_result(tools().skills())) {
      for (const auto& one : *skills) {
        if (one.server != name) continue;
        items.push_back(fmt::format("{} ({})  {}", safe_name(one.skill.frontmatter["name"].as_text(), 60),
                                    to_string(one.approval),
                                    safe_line(one.skill.frontmatter["description"].as_text(), 200)));
      }
    }
    section("skills", items);
  }
  items.clear();
  if (const auto recorder = flight_recorder_of(host)) {
    if (const auto recording = co_await as_result(recorder->recording_of(name))) {
      const auto lines = split(trim(*recording), '\n');
      for (auto i = lines.size() > shown_frames ? lines.size() - shown_frames : 0; i < lines.size(); ++i) {
        items.push_back(safe_line(lines[i], 1000));
      }
    }
  }
  section("last messages", items);
  stage_.print(out);
  if (!started) throw std::move(started).error();
}

Task<void> Chat::connect_server(std::string rest) {
  if (rest.empty()) throw Error(Errc::invalid_argument, "/connect needs a URL, or a command and its arguments");
  auto& host = house_->host;
  co_await host.prepare();
  const auto words = words_of(rest);
  const bool url = rest.starts_with("http://") || rest.starts_with("https://") || rest.starts_with("ws://") ||
                   rest.starts_with("wss://");
  auto name = url ? name_for_url(words.front()) : name_for_command(words);
  if (name == "NAME") name = "server";
  const auto taken = [&](const std::string& wanted) {
    const auto all = host.status();
    return std::ranges::any_of(all, [&](const ServerStatus& status) { return status.name == wanted; });
  };
  const auto first = name;
  for (int number = 2; taken(name); ++number) name = fmt::format("{}-{}", first, number);
  auto parsed = parse_server_argument(name + "=" + rest, "/connect");
  for (const auto& problem : parsed.problems) {
    if (problem.severity == Severity::error) throw Error(Errc::invalid_argument, problem.text());
  }
  if (parsed.servers.empty()) throw Error(Errc::invalid_argument, "that is neither a URL nor a command");
  busy(fmt::format("Connecting to {}", safe_name(name, 60)));
  host.add_server(parsed.servers.front());
  connecting_ = name;
  auto started = co_await as_result(host.start({name}));
  connecting_.clear();
  if (!started) throw std::move(started).error();
  std::optional<Error> failed;
  for (const auto& status : host.status()) {
    if (status.name != name) continue;
    if (status.state == ServerState::connected) {
      std::string again = " " + pasted_word(name) + (url ? "" : " --");
      for (const auto& word : words) again += " " + pasted_word(word);
      view_.note(fmt::format("Connected to \"{}\" with {}, for this conversation. To keep it: !patchbay add{}",
                             safe_name(name, 80), plural(status.tool_count, "tool"), again));
    } else if (status.error) {
      failed = *status.error;
    }
  }
  // What failed is not tried again with every command: whoever corrects it types it again.
  if (failed && failed->code() != Errc::unauthorized) host.remove_server(name);
  show_standing();
  if (failed) throw std::move(*failed);
}

// ---- tools

Task<void> Chat::list_tools(std::string rest) {
  auto& host = house_->host;
  busy("Starting servers");
  co_await host.start();
  idle();
  const auto catalog = host.catalog();
  const auto words = words_of(rest);
  if (words.size() == 1) {
    const auto found = catalog->find(words.front());
    if (const auto* const* entry = std::get_if<const CatalogEntry*>(&found)) {
      stage_.print(wrapped_lines(tool_page(**entry, TypedWhere::chat), stage_.room()));
      co_return;
    }
  }
  std::size_t width = 0;
  std::vector<const CatalogEntry*> shown;
  for (const auto& entry : catalog->tools()) {
    const auto about = to_lower_ascii(entry.name + " " + entry.tool->description.value_or(""));
    const bool fits = std::ranges::all_of(words, [&](const std::string& word) {
      return entry.server == word || about.find(to_lower_ascii(word)) != std::string::npos;
    });
    if (!fits) continue;
    shown.push_back(&entry);
    width = std::max(width, safe_name(entry.name, 64).size());
  }
  std::vector<std::string> lines;
  for (const auto* entry : shown) lines.push_back(std::string(trim(tool_line(*entry, width, stage_.room()))));
  if (lines.empty()) lines.emplace_back("No tool is called so.");
  stage_.print(all_text(lines));
}

Task<void> Chat::call_tool(std::string rest) {
  auto words = words_of(rest);
  if (words.empty()) throw Error(Errc::invalid_argument, "/call needs a tool: /call TOOL KEY=VALUE…");
  auto& host = house_->host;
  busy(fmt::format("Calling {}", safe_name(words.front(), 60)));
  const auto entry = co_await host.find_tool(words.front());
  words.erase(words.begin());
  ArgumentSources sources;
  sources.read_file = [](const std::string& path) { return read_argument_file(path); };
  sources.read_stdin = []() -> Result<std::string> {
    return fail(Errc::invalid_argument, "there is no stdin in a conversation");
  };
  auto arguments = value_or_throw(call_arguments(words, entry.tool->input_schema, sources));
  auto missing = missing_text(entry, words, arguments, TypedWhere::chat);
  if (!missing.empty()) throw Error(Errc::invalid_argument, std::move(missing));
  CallOptions options;
  options.call_id = ++next_call_;
  own_calls_.insert(options.call_id);
  auto result = co_await host.call(entry.name, Payload(std::move(arguments)), std::move(options));
  idle();
  const auto failed = result.is_error;
  const auto text = clean_for_display(text_of(result));
  if (failed) view_.fault("The tool reported an error:");
  stage_.print(text.empty() ? "(no text)" : text);
}

Task<void> Chat::permissions(std::string rest) {
  auto& host = house_->host;
  co_await host.prepare();
  const auto words = words_of(rest);
  if (!words.empty()) {
    const auto decision = co_await host.decide(words.front());
    stage_.print(wrapped_lines(
        fmt::format("{}: {}\n", to_string(decision.outcome), message_line(decision.reason, 1000)), stage_.room()));
    co_return;
  }
  std::string out = "Allowed for this conversation:\n";
  for (const auto& server : grants_.servers()) out += fmt::format("  all tools of {}\n", safe_name(server, 80));
  for (const auto& tool : grants_.tools()) out += fmt::format("  {}\n", safe_name(tool, 160));
  if (grants_.calls() > 0) out += fmt::format("  {} with certain arguments\n", plural(grants_.calls(), "call"));
  if (grants_.servers().empty() && grants_.tools().empty() && grants_.calls() == 0) out += "  nothing\n";
  for (const auto& problem : host.permission_problems()) {
    out += problem_text(with_remedy_in_words(problem, TypedWhere::chat)) + "\n";
  }
  stage_.print(wrapped_lines(out, stage_.room()));
  view_.note("/permissions TOOL says what rules say about it; docs/permissions.md has the rules.");
}

// ---- conversations and models

Task<std::string> Chat::choose_conversation() {
  const auto kept =
      co_await Conversation::list({.state_directory = state_directory(), .directory = agent_directory(settings_)}, 20);
  kept_ids_.clear();
  if (kept.empty()) {
    view_.note("No conversation of this directory is kept.");
    co_return std::string();
  }
  const auto turn = co_await turns_.acquire();
  Stage::Question asked(stage_);
  std::vector<std::string> lines{"Conversations of this directory, the newest first:"};
  const auto shown = std::max(stage_.rows(), least_listed + rows_beside_list) - rows_beside_list;
  for (const auto& one : kept) {
    kept_ids_.push_back(one.id);
    if (kept_ids_.size() > shown) continue;
    lines.push_back(
        terminal::cut(fmt::format("{:>4}  {}  {}  {}", kept_ids_.size(), one.id,
                                  local_time(one.newest).substr(0, minutes_length), safe_line(one.words, 200)),
                      stage_.room()));
  }
  if (kept.size() > shown) lines.push_back(fmt::format("      … {} more before that", kept.size() - shown));
  asked.say(lines);
  const auto typed = co_await asked.ask(agent_ ? "Which one? (its number; Enter: stay in this one) "
                                               : "Which one? (its number; Enter: a new one) ");
  const auto word = std::string(trim(typed.value_or("")));
  for (std::size_t i = 0; i < kept_ids_.size(); ++i) {
    if (word == std::to_string(i + 1) || word == kept_ids_[i]) co_return kept_ids_[i];
  }
  co_return std::string();
}

Task<void> Chat::resume(std::string rest) {
  if (!model_) {
    view_.fault("There is no model: " + no_model_);
    co_return;
  }
  auto id = rest;
  if (id.empty()) id = co_await choose_conversation();
  if (id.empty() || (agent_ && agent_->id() == id)) co_return;
  auto begun = co_await as_result(begin_agent(id));
  if (!begun && begun.error().code() == Errc::invalid_argument) {
    throw begun.error().with_message(begun.error().message() + "; /resume lists those of this directory");
  }
  if (!begun) throw std::move(begun).error();
  grants_.clear();
  view_.note(fmt::format("Going on with {}.", safe_name(id, 80)));
  show_transcript();
  show_standing();
}

Task<void> Chat::change_model(std::string rest) {
  if (rest.empty()) {
    if (!model_) {
      view_.fault("There is no model: " + no_model_);
    } else {
      stage_.print(safe_name(model_name(), 200));
      view_.note("/model PROVIDER:NAME takes another one.");
    }
    co_return;
  }
  model_ = house_->model_named(rest);
  no_model_.clear();
  if (agent_) {
    agent_->set_model(model_);
  } else {
    co_await begin_agent({});
  }
  view_.note(fmt::format("{} answers from here on.", safe_name(model_name(), 200)));
  show_standing();
}

}  // namespace patchbay::cli
