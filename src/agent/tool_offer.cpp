#include "agent/tool_offer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/strings.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

constexpr std::size_t most_named = 60;    // tools in one line
constexpr std::size_t longest_why = 300;  // of a server's words
constexpr std::size_t longest_schema = 2000;

std::string names(const std::vector<std::string>& all) {
  if (all.size() <= most_named) return join(all, ", ");
  const std::vector<std::string> some(all.begin(), all.begin() + most_named);
  return fmt::format("{} and {} more", join(some, ", "), all.size() - most_named);
}

std::string with_why(std::string text, const std::string& why) {
  return why.empty() ? text + "." : fmt::format("{}: {}", text, why);
}

std::string line_of(const std::string& server, const ServerNote& note) {
  const auto who = fmt::format("Server \"{}\"", clean_line(server));
  switch (note.how) {
    case ServerNote::How::ready:
      return who + " is connected.";
    case ServerNote::How::starting:
      return who + " is still starting; its tools are announced when they are there.";
    case ServerNote::How::away:
      return with_why(who + " is away at the moment", note.why);
    case ServerNote::How::failed:
      return with_why(who + " could not be used", note.why);
    case ServerNote::How::wants_sign_in:
      return who + " wants the person to sign in first; its tool for that, where there is one, shows them the page.";
    case ServerNote::How::wants_approval:
      return who + " is not started before the person has approved it.";
  }
  return {};
}

void add_line(std::string& text, std::string_view line) {
  if (!text.empty()) text += '\n';
  text += line;
}

bool same_for_model(const ModelTool& left, const ModelTool& right) {
  return left.description == right.description &&
         (left.input_schema == right.input_schema || *left.input_schema == *right.input_schema);
}

}  // namespace

std::optional<ServerNote> note_of(const ServerStatus& status) {
  using How = ServerNote::How;
  const auto why = [&] {
    return status.error ? clean_excerpt(status.error->message(), longest_why) : std::string(to_string(status.reason));
  };
  switch (status.state) {
    case ServerState::connected:
      return status.reason == ServerReason::tools_fetch_failed ? ServerNote{How::failed, why()} : ServerNote{};
    case ServerState::failed:
      return ServerNote{How::failed, why()};
    case ServerState::needs_auth:
      return ServerNote{How::wants_sign_in, {}};
    case ServerState::disabled:
      return std::nullopt;
    case ServerState::pending:
      break;
  }
  if (status.reason == ServerReason::awaiting_approval) return ServerNote{How::wants_approval, {}};
  const bool begins = status.reason == ServerReason::not_started || status.reason == ServerReason::connecting;
  return begins ? ServerNote{How::starting, {}} : ServerNote{How::away, std::string(to_string(status.reason))};
}

ToolGrowth growth_of(const ModelInfo& model) noexcept {
  if (!model.holds_deferred) return ToolGrowth::at_end;
  return model.api == ModelApi::anthropic ? ToolGrowth::by_search : ToolGrowth::by_news;
}

ToldTools told_tools(const std::vector<std::shared_ptr<const ModelMessage>>& messages) {
  ToldTools told;
  for (const auto& message : messages) {
    for (const auto& part : message->parts) {
      if (const auto* outcome = std::get_if<ModelToolOutcome>(&part)) {
        told.named.insert(outcome->found.begin(), outcome->found.end());
      }
      const auto* news = std::get_if<ModelNews>(&part);
      if (news == nullptr) continue;
      told.gone.insert(news->removed.begin(), news->removed.end());
      for (const auto& tool : news->added) {
        told.gone.erase(tool.name);
        told.named.insert(tool.name);
      }
    }
  }
  return told;
}

ModelNews ToolOffer::freeze(const ToolsNow& now, const ToldTools& told) {
  auto pool = std::make_shared<ToolPool>(now.pool);
  const auto refused = [&](const ModelTool& tool) { return is_refused(tool); };
  pool->own -= static_cast<std::size_t>(
      std::count_if(pool->tools.begin(), pool->tools.begin() + static_cast<std::ptrdiff_t>(pool->own), refused));
  std::erase_if(pool->tools, refused);
  known_.clear();
  for (const auto& tool : pool->tools) known_[tool.name] = {.tool = tool, .now = tool, .there = true, .frozen = true};
  pool_ = std::move(pool);
  deferred_ = nullptr;
  told_ = told;
  hold_named(now.searchable);
  set_deferred(now.searchable);
  servers_ = now.servers;
  instructed_.clear();
  for (const auto& said : now.pool.instructions) instructed_.insert(said.server);
  ModelNews news;
  for (const auto& [server, note] : now.servers) {
    const auto said = said_.servers.find(server);
    const bool said_ready =
        said == said_.servers.end() || (said->second && said->second->how == ServerNote::How::ready);
    if (note.how != ServerNote::How::ready || !said_ready) say_server(news.text, server, &note);
  }
  const auto before = said_.servers;
  for (const auto& [server, note] : before) {
    if (note && !now.servers.contains(server)) say_server(news.text, server, nullptr);
  }
  std::vector<std::string> back;
  for (auto& [name, known] : known_) {
    if (!told_.gone.contains(name)) continue;
    known.there = true;
    news.added.push_back(known.tool);
    back.push_back(name);
  }
  if (!back.empty()) add_line(news.text, fmt::format("Tools that can be called again: {}.", names(back)));
  for (const auto& [name, known] : known_) {
    const auto said = said_.tools.find(name);
    if (said != said_.tools.end() && !same_for_model(said->second, known.now)) say_changed(news.text, known.now);
  }
  return news;
}

void ToolOffer::take_up(const ToldTools& told, const ToolOffer& last) {
  told_ = told;
  said_ = last.said_;
  for (auto& [name, known] : known_) {
    known.there = known.there && !told_.gone.contains(name);
    if (const auto said = said_.tools.find(name); said != said_.tools.end()) known.now = said->second;
  }
  for (const auto& [server, note] : said_.servers) {
    if (note) {
      servers_[server] = *note;
    } else {
      servers_.erase(server);
    }
  }
}

// Null: it is not used any more.
void ToolOffer::say_server(std::string& text, const std::string& server, const ServerNote* note) {
  add_line(text,
           note ? line_of(server, *note) : fmt::format("Server \"{}\" is not used any more.", clean_line(server)));
  said_.servers.insert_or_assign(server, note ? std::optional(*note) : std::nullopt);
}

void ToolOffer::say_changed(std::string& text, const ModelTool& tool) {
  add_line(text, fmt::format("Tool {} is another one now: {}\nIts arguments: {}", tool.name, tool.description,
                             cut_utf8(to_text(*tool.input_schema), longest_schema)));
  said_.tools.insert_or_assign(tool.name, tool);
}

ModelNews ToolOffer::update(const ToolsNow& now, const std::set<std::string, std::less<>>& found) {
  ModelNews news;
  std::vector<ModelTool> at_end;
  std::map<std::string, std::vector<std::string>> came;  // by server
  std::vector<const ModelTool*> changed;
  const auto server_of = [&](const ModelTool& tool) {
    const auto known = now.servers_of.find(tool.catalog_name);
    return known == now.servers_of.end() ? std::string() : known->second;
  };
  const auto note_change = [&](Known& known, const ModelTool& tool) {
    if (!same_for_model(known.now, tool)) changed.push_back(&tool);
    known.now = tool;
  };
  for (const auto& tool : now.pool.tools) {
    if (is_refused(tool)) continue;
    const auto [at, is_new] = known_.try_emplace(tool.name, Known{.tool = tool, .now = tool});
    auto& known = at->second;
    const bool was_there = !is_new && known.there;
    known.there = true;
    if (is_new && growth_ == ToolGrowth::at_end) {
      at_end.push_back(tool);
      known.frozen = true;
    }
    if (!was_there && !(is_new && found.contains(tool.name))) {
      news.added.push_back(tool);
      came[server_of(tool)].push_back(tool.name);
    }
    note_change(known, tool);
  }
  hold_named(now.searchable);
  for (const auto& tool : now.searchable.tools) {
    const auto known = known_.find(tool.name);
    if (known == known_.end()) continue;
    if (!std::exchange(known->second.there, true)) {
      news.added.push_back(tool);
      came[server_of(tool)].push_back(tool.name);
    }
    note_change(known->second, tool);
  }
  for (auto& [name, known] : known_) {
    if (!known.there || known.tool.catalog_name.empty() || now.servers_of.contains(known.tool.catalog_name)) continue;
    known.there = false;
    news.removed.push_back(name);
  }
  for (const auto& [server, note] : now.servers) {
    const auto before = servers_.find(server);
    if (before == servers_.end() ? note.how == ServerNote::How::ready : before->second.how == note.how) continue;
    say_server(news.text, server, &note);
  }
  for (const auto& [server, before] : servers_) {
    if (!now.servers.contains(server)) say_server(news.text, server, nullptr);
  }
  for (const auto& [server, tools] : came) {
    add_line(news.text, server.empty() ? fmt::format("There are new tools: {}.", names(tools))
                                       : fmt::format("Tools of server \"{}\" that can be called now: {}.",
                                                     clean_line(server), names(tools)));
  }
  for (const auto& said : now.pool.instructions) {
    if (!instructed_.insert(said.server).second) continue;
    add_line(news.text, fmt::format("What server \"{}\" says about itself:\n{}", said.server, said.text));
  }
  if (!news.removed.empty()) add_line(news.text, fmt::format("These tools are gone: {}.", names(news.removed)));
  for (const auto* tool : changed) say_changed(news.text, *tool);
  servers_ = now.servers;
  if (!at_end.empty()) {
    auto longer = std::make_shared<ToolPool>(*pool_);
    std::ranges::move(at_end, std::back_inserter(longer->tools));
    pool_ = std::move(longer);
  }
  set_deferred(now.searchable);
  return news;
}

// Those that the conversation had named before, and that were not there yet or have to be found again.
void ToolOffer::hold_named(const ToolPool& searchable) {
  if (growth_ == ToolGrowth::at_end) return;
  for (const auto& tool : searchable.tools) {
    if (!told_.named.contains(tool.name) || is_refused(tool)) continue;
    known_.try_emplace(tool.name, Known{.tool = tool, .now = tool, .there = !told_.gone.contains(tool.name)});
  }
}

// Those that a conversation has named stay, and as they were then: what was said about them refers to them.
void ToolOffer::set_deferred(const ToolPool& searchable) {
  if (growth_ == ToolGrowth::at_end) return;
  ToolPool all;
  for (const auto& [name, known] : known_) {
    if (!known.frozen) all.tools.push_back(known.tool);
  }
  for (const auto& tool : searchable.tools) {
    if (!known_.contains(tool.name) && !is_refused(tool)) all.tools.push_back(tool);
  }
  std::ranges::sort(all.tools, {}, &ModelTool::name);
  if (all.tools.empty()) {
    deferred_ = nullptr;
  } else if (!deferred_ || *deferred_ != all) {
    deferred_ = std::make_shared<const ToolPool>(std::move(all));
  }
}

// Providers and we name a tool as its catalog does, where there is one; the model may know it by another name.
bool ToolOffer::is_refused(const ModelTool& tool) const {
  return refused_.contains(tool.catalog_name.empty() ? tool.name : tool.catalog_name) || refused_.contains(tool.name);
}

void ToolOffer::leave_out(const std::vector<ToolLeftOut>& tools) {
  if (tools.empty()) return;
  for (const auto& tool : tools) refused_.insert(tool.name);
  const auto without = [&](const std::shared_ptr<const ToolPool>& pool) -> std::shared_ptr<const ToolPool> {
    if (!pool || std::ranges::none_of(pool->tools, [&](const auto& tool) { return is_refused(tool); })) {
      return pool;
    }
    auto left = std::make_shared<ToolPool>(*pool);
    left->own = 0;
    left->tools.clear();
    for (std::size_t i = 0; i < pool->tools.size(); ++i) {
      if (is_refused(pool->tools[i])) continue;
      left->tools.push_back(pool->tools[i]);
      if (i < pool->own) ++left->own;
    }
    return left;
  };
  pool_ = without(pool_);
  deferred_ = without(deferred_);
  std::erase_if(known_, [&](const auto& one) { return is_refused(one.second.tool); });
}

const ModelTool* ToolOffer::find(std::string_view name) const noexcept {
  if (const auto known = known_.find(name); known != known_.end()) return &known->second.now;
  return deferred_ ? deferred_->find(name) : nullptr;
}

}  // namespace patchbay
