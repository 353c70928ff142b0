#include "acp/updates.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "text/clean_text.h"

namespace patchbay::acp {
namespace {

constexpr std::size_t longest_title = 120;

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};

Json text_block(std::string_view text) { return {{"type", "text"}, {"text", text}}; }

Json image_block(const ModelImage& image) {
  return {{"type", "image"}, {"data", image.data}, {"mimeType", image.mime_type}};
}

Json chunk(std::string_view update, Json content) {
  return {{"sessionUpdate", update}, {"content", std::move(content)}};
}

Json as_content(Json block) { return {{"type", "content"}, {"content", std::move(block)}}; }

void add_blocks(Json& content, const std::vector<ModelBlock>& blocks) {
  for (const auto& block : blocks) {
    content.push_back(as_content(std::visit(Overloaded{[](const ModelText& text) { return text_block(text.text); },
                                                       [](const ModelImage& image) { return image_block(image); }},
                                            block)));
  }
}

// What a tool of the built-in server does, and which of its arguments says to what.
struct KnownTool {
  std::string_view name;
  std::string_view kind;
  std::string_view about;
  bool is_path = false;
};
constexpr std::array known_tools{
    KnownTool{"read_file", "read", "path", true},   KnownTool{"list_dir", "read", "path", true},
    KnownTool{"glob", "search", "pattern"},         KnownTool{"grep", "search", "pattern"},
    KnownTool{"write_file", "edit", "path", true},  KnownTool{"edit_file", "edit", "path", true},
    KnownTool{"run_command", "execute", "command"}, KnownTool{"tool_search", "search", "query"},
    KnownTool{"result_read", "read", "id"},
};

std::string text_at(const Json& object, std::string_view key) {
  const auto text = object[key].text();
  return text ? std::string(*text) : std::string();
}

std::string absolute(const std::string& path, const std::string& directory) {
  return (std::filesystem::path(directory) / path).lexically_normal().string();
}

// The change that an edit makes; nothing for other tools.
std::optional<Json> diff_of(const ModelToolUse& use, const std::string& path) {
  if (use.name == "write_file") {
    return Json{{"type", "diff"}, {"path", path}, {"newText", text_at(use.input, "content")}};
  }
  if (use.name != "edit_file") return std::nullopt;
  return Json{{"type", "diff"},
              {"path", path},
              {"oldText", text_at(use.input, "old_text")},
              {"newText", text_at(use.input, "new_text")}};
}

std::string progress_text(const Progress& progress) {
  if (progress.message) return *progress.message;
  return progress.total ? fmt::format("{} of {}", progress.progress, *progress.total)
                        : fmt::format("{}", progress.progress);
}

Json call_update(const std::string& id, std::string_view status, Json content) {
  return {
      {"sessionUpdate", "tool_call_update"}, {"toolCallId", id}, {"status", status}, {"content", std::move(content)}};
}

// A call with what is shown of it.
Json call_json(const std::string& id, const ModelToolUse& use, const ShownCall& shown) {
  Json call{{"toolCallId", id}, {"title", shown.title}, {"name", use.name}, {"kind", shown.kind}};
  if (shown.locations.size() > 0) call["locations"] = shown.locations;
  call["rawInput"] = use.input;
  return call;
}

}  // namespace

ShownCall shown_call(const ModelToolUse& use, const std::string& catalog_name, bool only_reads,
                     const std::string& directory) {
  const bool of_server = catalog_name.starts_with("mcp__");
  const auto known = std::ranges::find(known_tools, use.name, &KnownTool::name);
  ShownCall shown{.title = use.name, .kind = only_reads ? "read" : "other"};
  if (!of_server && known != known_tools.end()) {
    shown.kind = known->kind;
    const auto about = text_at(use.input, known->about);
    if (!about.empty()) shown.title += " " + about;
    if (known->is_path && !about.empty()) {
      const auto path = absolute(about, directory);
      shown.locations.push_back({{"path", path}});
      if (auto diff = diff_of(use, path)) shown.content.push_back(std::move(*diff));
    }
  }
  shown.title = clean_excerpt(clean_line(shown.title), longest_title);
  return shown;
}

std::optional<Json> Updates::of(const AgentEvent& event) {
  // What sub-agents say is for the agent; what they do is shown.
  const bool own = event.sub_agent.empty();
  const auto id_in = [&](const std::string& id) { return own ? id : event.sub_agent + ":" + id; };
  const auto notice = [&](const std::string& text) -> std::optional<Json> {
    if (!show_notices_) return chunk("agent_thought_chunk", text_block(text + "\n"));
    return Json{{"sessionUpdate", "notice"}, {"severity", "info"}, {"title", text}};
  };
  const auto called = [&](const AgentToolCall& call) -> std::optional<Json> {
    const auto shown = shown_call(call.use, call.catalog_name, call.only_reads, directory_);
    Running running{id_in(call.use.id), shown.content, call_json(id_in(call.use.id), call.use, shown)};
    Json update{{"sessionUpdate", "tool_call"}};
    for (const auto& [key, value] : running.shown.members()) update[key] = value;
    update["status"] = "pending";
    if (shown.content.size() > 0) update["content"] = shown.content;
    if (call.call != 0) numbered_[call.call] = running.id;
    running_.insert_or_assign(running.id, std::move(running));
    return update;
  };
  const auto ended = [&](const AgentToolResult& result) -> std::optional<Json> {
    const auto id = id_in(result.id);
    auto content = Json::array();
    if (const auto running = running_.extract(id)) content = running.mapped().content;
    std::erase_if(numbered_, [&](const auto& one) { return one.second == id; });
    add_blocks(content, result.result.blocks);
    const bool worked = result.end == AgentToolResult::End::answered && !result.result.is_error;
    return call_update(id, worked ? "completed" : "failed", std::move(content));
  };
  return std::visit(
      Overloaded{[&](const AgentText& text) {
                   return own ? std::optional(chunk("agent_message_chunk", text_block(text.text))) : std::nullopt;
                 },
                 [&](const AgentThinking& text) {
                   return own ? std::optional(chunk("agent_thought_chunk", text_block(text.text))) : std::nullopt;
                 },
                 [](const AgentMessage&) { return std::optional<Json>(); },  // it came in pieces
                 called,
                 [&](const AgentToolProgress& progress) {
                   const auto id = id_in(progress.id);
                   const auto running = running_.find(id);
                   auto content = running == running_.end() ? Json::array() : running->second.content;
                   content.push_back(as_content(text_block(progress_text(progress.progress))));
                   return std::optional(call_update(id, "in_progress", std::move(content)));
                 },
                 ended,
                 [&](const AgentRetry& retry) {
                   return notice(fmt::format("The model did not answer ({}); attempt {} of {} follows.",
                                             retry.retry.reason, retry.retry.attempt, retry.retry.of));
                 },
                 [&](const AgentNotice& told) { return notice(told.text); },
                 [&](const AgentCompacted& compacted) {
                   return notice(fmt::format("The conversation was shortened from about {} to {} tokens.",
                                             compacted.tokens_before, compacted.tokens_after));
                 },
                 [](const SubAgentBegun&) { return std::optional<Json>(); },
                 [](const SubAgentEnded&) { return std::optional<Json>(); }},
      event.what);
}

std::vector<Json> Updates::history(std::span<const std::shared_ptr<const ModelMessage>> messages,
                                   const std::string& directory) {
  std::vector<Json> all;
  for (const auto& message : messages) {
    const auto* said = message->role == Role::user ? "user_message_chunk" : "agent_message_chunk";
    for (const auto& part : message->parts) {
      if (const auto* text = std::get_if<ModelText>(&part)) all.push_back(chunk(said, text_block(text->text)));
      if (const auto* image = std::get_if<ModelImage>(&part)) all.push_back(chunk(said, image_block(*image)));
      if (const auto* use = std::get_if<ModelToolUse>(&part)) {
        const auto shown = shown_call(*use, use->name, false, directory);
        Json update{{"sessionUpdate", "tool_call"}};
        const auto call = call_json(use->id, *use, shown);
        for (const auto& [key, value] : call.members()) update[key] = value;
        update["status"] = "pending";
        if (shown.content.size() > 0) update["content"] = shown.content;
        all.push_back(std::move(update));
      }
      if (const auto* outcome = std::get_if<ModelToolOutcome>(&part)) {
        auto content = Json::array();
        add_blocks(content, outcome->blocks);
        all.push_back(call_update(outcome->id, outcome->is_error ? "failed" : "completed", std::move(content)));
      }
    }
  }
  return all;
}

std::string Updates::id_of(std::uint64_t call_id) const {
  const auto id = numbered_.find(call_id);
  return id == numbered_.end() ? fmt::format("call_{}", call_id) : id->second;
}

Json Updates::call(std::uint64_t call_id) const {
  const auto id = id_of(call_id);
  const auto running = running_.find(id);
  if (running == running_.end()) return {{"toolCallId", id}};
  auto call = running->second.shown;
  call["status"] = "pending";
  if (running->second.content.size() > 0) call["content"] = running->second.content;
  return call;
}

std::string_view stop_reason(AgentAnswer::End end) noexcept {
  using End = AgentAnswer::End;
  switch (end) {
    case End::answered:
    case End::deferred:
      return "end_turn";
    case End::refused:
      return "refusal";
    case End::max_turns:
      return "max_turn_requests";
    case End::interrupted:
      return "cancelled";
  }
  return "end_turn";
}

}  // namespace patchbay::acp
