#include "agent/report.h"

#include <algorithm>
#include <utility>

namespace patchbay {
namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};

Json image_json(const ModelImage& image) {
  return {{"type", "image"},
          {"source", Json{{"type", "base64"}, {"media_type", image.mime_type}, {"data", image.data}}}};
}

Json block_json(const ModelBlock& block) {
  return std::visit(Overloaded{[](const ModelText& text) { return Json{{"type", "text"}, {"text", text.text}}; },
                               [](const ModelImage& image) { return image_json(image); }},
                    block);
}

Json blocks_json(const std::vector<ModelBlock>& blocks) {
  auto all = Json::array();
  for (const auto& block : blocks) all.push_back(block_json(block));
  return all;
}

Json use_json(const ModelToolUse& use) {
  Json json{{"type", "tool_use"}, {"id", use.id}, {"name", use.name}, {"input", use.input}};
  // What is not JSON is no input, and all the same what the model wrote.
  if (!use.broken.empty()) json["broken_input"] = use.broken;
  return json;
}

Json outcome_json(const std::string& id, const std::vector<ModelBlock>& blocks, bool is_error) {
  return {{"type", "tool_result"}, {"tool_use_id", id}, {"content", blocks_json(blocks)}, {"is_error", is_error}};
}

Json part_json(const ModelPart& part) {
  return std::visit(Overloaded{[](const ModelText& text) { return Json{{"type", "text"}, {"text", text.text}}; },
                               [](const ModelImage& image) { return image_json(image); },
                               [](const ModelToolUse& use) { return use_json(use); },
                               [](const ModelToolOutcome& outcome) {
                                 return outcome_json(outcome.id, outcome.blocks, outcome.is_error);
                               },
                               [](const ProviderBlock& block) { return block.value; },
                               [](const ModelNews& news) { return Json{{"type", "text"}, {"text", news.text}}; }},
                    part);
}

Json content_json(const ModelMessage& message) {
  auto all = Json::array();
  for (const auto& part : message.parts) all.push_back(part_json(part));
  return all;
}

std::string_view end_word(AgentToolResult::End end) {
  using End = AgentToolResult::End;
  switch (end) {
    case End::answered:
      return "answered";
    case End::failed:
      return "failed";
    case End::denied:
      return "denied";
    case End::deferred:
      return "deferred";
    case End::interrupted:
      return "interrupted";
  }
  return "failed";
}

// The members that every line has, behind its own. A sub-agent's lines carry its id.
Json line(Json json, const AgentEvent& event, const ReportRun& run) {
  if (!event.sub_agent.empty()) json["agent_id"] = event.sub_agent;
  json["session_id"] = run.session_id;
  return json;
}

Json system_line(std::string_view subtype) { return {{"type", "system"}, {"subtype", subtype}}; }

Json message_json(const AgentMessage& message, const ReportRun& run) {
  return {{"type", "assistant"},
          {"message", Json{{"type", "message"},
                           {"role", "assistant"},
                           {"model", run.model},
                           {"content", message.message ? content_json(*message.message) : Json::array()},
                           {"stop_reason", to_string(message.stop)},
                           {"usage", usage_json(message.usage)}}}};
}

Json result_json(const AgentToolResult& result) {
  auto content = Json::array();
  content.push_back(outcome_json(result.id, result.result.blocks, result.result.is_error));
  Json json{{"type", "user"},
            {"message", Json{{"role", "user"}, {"content", std::move(content)}}},
            {"tool_name", result.name},
            {"outcome", end_word(result.end)},
            {"duration_ms", result.took.count()}};
  if (!result.reason.empty()) json["reason"] = result.reason;
  return json;
}

Json progress_json(const AgentToolProgress& progress) {
  Json json{{"type", "tool_progress"}, {"tool_use_id", progress.id}, {"progress", progress.progress.progress}};
  if (progress.progress.total) json["total"] = *progress.progress.total;
  if (progress.progress.message) json["message"] = *progress.progress.message;
  return json;
}

Json retry_json(const ModelRetry& retry) {
  auto json = system_line("api_retry");
  json["attempt"] = retry.attempt;
  json["max_retries"] = retry.of;
  json["retry_delay_ms"] = retry.pause.count();
  json["error"] = retry.reason;
  return json;
}

Json compacted_json(const AgentCompacted& compacted) {
  auto json = system_line("compact_boundary");
  json["compact_metadata"] = Json{{"pre_tokens", compacted.tokens_before}, {"post_tokens", compacted.tokens_after}};
  return json;
}

struct EndWords {
  std::string_view subtype;
  std::string_view stop_reason;
};

EndWords end_words(AgentAnswer::End end) {
  using End = AgentAnswer::End;
  switch (end) {
    case End::answered:
      return {"success", "end_turn"};
    case End::refused:
      return {"error_refusal", "refusal"};
    case End::max_turns:
      return {"error_max_turns", "max_turns"};
    case End::interrupted:
      return {"error_interrupted", "interrupted"};
    case End::deferred:
      return {"success", "tool_deferred"};
  }
  return {"error_during_execution", "error"};
}

Json end_json(EndWords words, bool is_error, const AgentAnswer& answer, const ReportEnd& end, const ReportRun& run) {
  auto denials = Json::array();
  for (const auto& denied : answer.denied) {
    denials.push_back({{"tool_name", denied.use.name},
                       {"tool_use_id", denied.use.id},
                       {"tool_input", denied.use.input},
                       {"reason", denied.reason}});
  }
  Json json{{"type", "result"},
            {"subtype", words.subtype},
            {"is_error", is_error},
            {"duration_ms", end.took.count()},
            {"num_turns", answer.turns},
            {"result", answer.text},
            {"stop_reason", words.stop_reason},
            {"session_id", run.session_id},
            {"model", run.model},
            {"usage", usage_json(answer.usage)},
            {"permission_denials", std::move(denials)}};
  if (answer.structured) json["structured_output"] = *answer.structured;
  if (end.for_servers) json["usage_for_servers"] = usage_json(*end.for_servers);
  if (!end.deferred.empty()) {
    // Readers know one; a model can want several at once.
    const auto wanted = [](const ModelToolUse& use) {
      return Json{{"id", use.id}, {"name", use.name}, {"input", use.input}};
    };
    auto all = Json::array();
    for (const auto& use : end.deferred) all.push_back(wanted(use));
    json["deferred_tool_use"] = wanted(end.deferred.front());
    json["deferred_tool_uses"] = std::move(all);
  }
  return json;
}

}  // namespace

Json usage_json(const ModelUsage& usage) {
  return {{"input_tokens", usage.input},
          {"cache_creation_input_tokens", usage.cache_written},
          {"cache_read_input_tokens", usage.cache_read},
          {"output_tokens", usage.output}};
}

Json begin_json(const ReportBegin& begin) {
  auto tools = Json::array();
  for (const auto& tool : begin.tools) tools.push_back(tool);
  auto servers = Json::array();
  for (const auto& status : begin.servers) {
    Json server{{"name", status.name}, {"status", to_string(status.state)}};
    if (const auto reason = reason_text(status); !reason.empty()) server["reason"] = reason;
    if (status.error) server["error"] = status.error->message();
    servers.push_back(std::move(server));
  }
  auto errors = Json::array();
  for (const auto& problem : begin.problems) {
    if (problem.server.empty() || problem.severity != Severity::error) continue;
    errors.push_back({{"name", problem.server}, {"type", "invalid_config"}, {"message", problem.text()}});
  }
  auto json = system_line("init");
  json["cwd"] = begin.directory;
  json["session_id"] = begin.session_id;
  json["tools"] = std::move(tools);
  json["mcp_servers"] = std::move(servers);
  json["mcp_server_errors"] = std::move(errors);
  json["model"] = begin.model;
  json["permissionMode"] = begin.permission_mode;
  return json;
}

std::optional<Json> event_json(const AgentEvent& event, const ReportRun& run) {
  auto said =
      std::visit(Overloaded{[](const AgentText&) { return std::optional<Json>(); },
                            [](const AgentThinking&) { return std::optional<Json>(); },
                            // It is in the message.
                            [](const AgentToolCall&) { return std::optional<Json>(); },
                            [&](const AgentMessage& message) { return std::optional(message_json(message, run)); },
                            [](const AgentToolProgress& progress) { return std::optional(progress_json(progress)); },
                            [](const AgentToolResult& result) { return std::optional(result_json(result)); },
                            [](const AgentRetry& retry) { return std::optional(retry_json(retry.retry)); },
                            [](const AgentNotice& notice) {
                              auto json = system_line("notice");
                              json["text"] = notice.text;
                              return std::optional(std::move(json));
                            },
                            [](const AgentCompacted& compacted) { return std::optional(compacted_json(compacted)); },
                            [](const SubAgentBegun& begun) {
                              auto json = system_line("agent_started");
                              json["name"] = begun.name;
                              json["task"] = begun.task;
                              return std::optional(std::move(json));
                            },
                            [](const SubAgentEnded& ended) {
                              auto json = system_line("agent_ended");
                              json["is_error"] = ended.failed;
                              return std::optional(std::move(json));
                            }},
                 event.what);
  if (!said) return std::nullopt;
  return line(std::move(*said), event, run);
}

Json answer_json(const AgentAnswer& answer, const ReportEnd& end, const ReportRun& run) {
  const bool is_error = answer.end != AgentAnswer::End::answered && answer.end != AgentAnswer::End::deferred;
  return end_json(end_words(answer.end), is_error, answer, end, run);
}

Json failure_json(const Error& error, const AgentAnswer& so_far, const ReportEnd& end, const ReportRun& run) {
  const bool interrupted = error.code() == Errc::cancelled;
  auto json =
      end_json(interrupted ? end_words(AgentAnswer::End::interrupted) : EndWords{"error_during_execution", "error"},
               true, so_far, end, run);
  auto errors = Json::array();
  errors.push_back(error.message());
  json["errors"] = std::move(errors);
  return json;
}

}  // namespace patchbay
