// What an agent does, as JSON for the program that reads it. G1 N10.
#include "agent/report.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

using namespace std::chrono_literals;

const ReportRun run{.session_id = "k3v7q2xa", .model = "script:demo"};

Json json(std::string_view text) {
  auto value = parse_json(text);
  EXPECT_TRUE(value) << text;
  return value ? std::move(*value) : Json();
}

std::shared_ptr<const ModelMessage> message_of(std::vector<ModelPart> parts) {
  return std::make_shared<const ModelMessage>(ModelMessage{Role::assistant, std::move(parts)});
}

struct Told {
  AgentEvent event;
  const char* as;  // null: nothing is told
};

TEST(Report, AnEventIsALine) {
  const Told cases[] = {
      {{"", AgentText{"Hel"}}, nullptr},
      {{"", AgentThinking{"hm"}}, nullptr},
      {{"", AgentToolCall{.call = 1, .use = {.id = "t1", .name = "read_file"}}}, nullptr},
      {{"", AgentMessage{message_of({ModelText{"I look."},
                                     ModelToolUse{.id = "t1", .name = "read_file", .input = {{"path", "a"}}},
                                     ModelToolUse{.id = "t2", .name = "glob", .broken = "{\"p"}}),
                         ModelStop::tool_use,
                         {.input = 5, .cache_read = 7, .cache_written = 2, .output = 3}}},
       R"({"type":"assistant","message":{"type":"message","role":"assistant","model":"script:demo","content":[
             {"type":"text","text":"I look."},
             {"type":"tool_use","id":"t1","name":"read_file","input":{"path":"a"}},
             {"type":"tool_use","id":"t2","name":"glob","input":{},"broken_input":"{\"p"}],
             "stop_reason":"tool_use","usage":{"input_tokens":5,"cache_creation_input_tokens":2,
             "cache_read_input_tokens":7,"output_tokens":3}},"session_id":"k3v7q2xa"})"},
      // A block of one provider is what that provider sent.
      {{"a1", AgentMessage{message_of({ProviderBlock{"script", {{"type", "thinking"}, {"thinking", "hm"}}}}),
                           ModelStop::end_turn,
                           {}}},
       R"({"type":"assistant","message":{"type":"message","role":"assistant","model":"script:demo",
             "content":[{"type":"thinking","thinking":"hm"}],"stop_reason":"end_turn",
             "usage":{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}},
             "agent_id":"a1","session_id":"k3v7q2xa"})"},
      {{"", AgentToolProgress{"t1", {.progress = 1, .total = 4, .message = "half"}}},
       R"({"type":"tool_progress","tool_use_id":"t1","progress":1,"total":4,"message":"half","session_id":"k3v7q2xa"})"},
      {{"", AgentToolResult{.id = "t1",
                            .name = "shot",
                            .result = {.blocks = {ModelText{"here"}, ModelImage{"aGk=", "image/png", 1, 1}}},
                            .took = 12ms}},
       R"({"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[
             {"type":"text","text":"here"},
             {"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}],"is_error":false}]},
             "tool_name":"shot","outcome":"answered","duration_ms":12,"session_id":"k3v7q2xa"})"},
      {{"", AgentToolResult{.id = "t2",
                            .name = "run_command",
                            .result = {.blocks = {ModelText{"refused"}}, .is_error = true},
                            .end = AgentToolResult::End::denied,
                            .reason = "no rule allows it"}},
       R"({"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","content":[
             {"type":"text","text":"refused"}],"is_error":true}]},"tool_name":"run_command","outcome":"denied",
             "duration_ms":0,"reason":"no rule allows it","session_id":"k3v7q2xa"})"},
      {{"", AgentRetry{{.attempt = 2, .of = 4, .pause = 1500ms, .reason = "overloaded"}}},
       R"({"type":"system","subtype":"api_retry","attempt":2,"max_retries":4,"retry_delay_ms":1500,
             "error":"overloaded","session_id":"k3v7q2xa"})"},
      {{"", AgentNotice{"late"}}, R"({"type":"system","subtype":"notice","text":"late","session_id":"k3v7q2xa"})"},
      {{"", AgentCompacted{9000, 100}},
       R"({"type":"system","subtype":"compact_boundary","compact_metadata":{"pre_tokens":9000,"post_tokens":100},
             "session_id":"k3v7q2xa"})"},
      {{"a1", SubAgentBegun{"reviewer", "look"}},
       R"({"type":"system","subtype":"agent_started","name":"reviewer","task":"look","agent_id":"a1",
             "session_id":"k3v7q2xa"})"},
      {{"a1", SubAgentEnded{true}},
       R"({"type":"system","subtype":"agent_ended","is_error":true,"agent_id":"a1","session_id":"k3v7q2xa"})"},
  };
  for (const auto& c : cases) {
    const auto told = event_json(c.event, run);
    ASSERT_EQ(told.has_value(), c.as != nullptr) << (c.as ? c.as : to_text(*told));
    if (c.as) EXPECT_EQ(to_text(*told), to_text(json(c.as)));
  }
}

TEST(Report, BeginsWithWhatThereIsToWorkWith) {
  ServerStatus up{.name = "docs", .state = ServerState::connected, .reason = ServerReason::none};
  ServerStatus down{.name = "db",
                    .state = ServerState::failed,
                    .reason = ServerReason::connect_failed,
                    .error = Error(Errc::connect, "refused")};
  const ConfigProblem about_a_server{
      .file = ".mcp.json", .line = 3, .column = 5, .message = "no command", .server = "x"};
  const ConfigProblem hint{.file = ".mcp.json", .message = "a blank", .server = "docs", .severity = Severity::warning};
  const auto begun = begin_json({.session_id = "k3v7q2xa",
                                 .directory = "/work",
                                 .model = "script:demo",
                                 .permission_mode = "default",
                                 .tools = {"read_file", "mcp__docs__find"},
                                 .servers = {up, down},
                                 .problems = {about_a_server, hint, {.file = "settings.json", .message = "torn"}}});
  EXPECT_EQ(to_text(begun), to_text(json(R"({"type":"system","subtype":"init","cwd":"/work","session_id":"k3v7q2xa",
      "tools":["read_file","mcp__docs__find"],
      "mcp_servers":[{"name":"docs","status":"connected"},
                     {"name":"db","status":"failed","reason":"connect failed","error":"refused"}],
      "mcp_server_errors":[{"name":"x","type":"invalid_config","message":".mcp.json:3:5: no command"}],
      "model":"script:demo","permissionMode":"default"})")));
}

TEST(Report, EndsWithTheAnswer) {
  AgentAnswer answer{.text = "Done.", .usage = {.input = 1, .output = 2}, .turns = 3};
  answer.denied = {{{.id = "t2", .name = "run_command", .input = {{"command", "ls"}}}, "no rule allows it"}};
  answer.structured = Json{{"ok", true}};
  EXPECT_EQ(to_text(answer_json(answer, {.took = 40ms}, run)),
            to_text(json(R"({"type":"result","subtype":"success","is_error":false,"duration_ms":40,"num_turns":3,
      "result":"Done.","stop_reason":"end_turn","session_id":"k3v7q2xa","model":"script:demo",
      "usage":{"input_tokens":1,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":2},
      "permission_denials":[{"tool_name":"run_command","tool_use_id":"t2","tool_input":{"command":"ls"},
                             "reason":"no rule allows it"}],
      "structured_output":{"ok":true}})")));
}

TEST(Report, EndsAreToldApart) {
  using End = AgentAnswer::End;
  struct Ended {
    End end;
    const char* subtype;
    const char* stop_reason;
    bool is_error;
  };
  for (const auto& c : {Ended{End::answered, "success", "end_turn", false},
                        {End::refused, "error_refusal", "refusal", true},
                        {End::max_turns, "error_max_turns", "max_turns", true},
                        {End::interrupted, "error_interrupted", "interrupted", true},
                        {End::deferred, "success", "tool_deferred", false}}) {
    const auto told = answer_json({.end = c.end}, {}, run);
    EXPECT_EQ(told["subtype"], Json(c.subtype));
    EXPECT_EQ(told["stop_reason"], Json(c.stop_reason));
    EXPECT_EQ(told["is_error"], Json(c.is_error));
  }
  const auto later = answer_json({.end = End::deferred}, {.deferred = {{.id = "t1", .name = "pay"}}}, run);
  EXPECT_EQ(later["deferred_tool_use"], json(R"({"id":"t1","name":"pay","input":{}})"));
  EXPECT_EQ(later["deferred_tool_uses"], json(R"([{"id":"t1","name":"pay","input":{}}])"));

  const auto failed = failure_json(Error(Errc::connect, "nobody is there"), {.turns = 1}, {}, run);
  EXPECT_EQ(failed["subtype"], Json("error_during_execution"));
  EXPECT_EQ(failed["is_error"], Json(true));
  EXPECT_EQ(failed["errors"], json(R"(["nobody is there"])"));
  EXPECT_EQ(failed["num_turns"], Json(1));
  EXPECT_EQ(failure_json(Error(Errc::cancelled, "cancelled"), {}, {}, run)["subtype"], Json("error_interrupted"));
}

}  // namespace
}  // namespace patchbay
