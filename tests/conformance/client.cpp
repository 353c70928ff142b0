// The client that the official conformance suite puts in front of its servers: which calls each
// scenario waits for, made with the public interface alone. `patchbay-conformance-client URL`
// learns the scenario, its revision and its extra words from MCP_CONFORMANCE_* variables.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <boost/asio/experimental/awaitable_operators.hpp>

#include <patchbay/client.h>
#include <patchbay/json.h>

namespace {

namespace pb = patchbay;
using pb::Json;
using pb::Session;
using pb::Task;
using boost::asio::experimental::awaitable_operators::operator&&;

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Says yes to every form without filling anything in, so that what arrives are its defaults.
Task<pb::ElicitResult> agree(pb::ElicitRequest /*request*/, pb::CallContext /*context*/) {
  pb::ElicitResult result;
  result.action = pb::ElicitResult::Action::accept;
  co_return result;
}
Task<pb::CreateMessageResult> make_up(pb::CreateMessageRequest /*request*/, pb::CallContext /*context*/) {
  pb::CreateMessageResult result;
  result.model = "conformance";
  pb::TextContent words;
  words.text = "Yes.";
  result.content.push_back(words);
  co_return result;
}
Task<std::vector<pb::Root>> no_folders(pb::CallContext /*context*/) { co_return std::vector<pb::Root>{}; }

Task<pb::CallToolResult> call(Session session, std::string tool, Json arguments, bool check = true) {
  pb::CallOptions options;
  options.check_arguments = check;
  co_return co_await session.call_tool(std::move(tool), pb::Payload(std::move(arguments)), options);
}

// ---- what the scenarios want to see ----------------------------------------------------

Task<void> look_around(Session session, Json /*context*/) {
  (void)co_await session.list_tools();
  co_await session.ping();
}

Task<void> add_numbers(Session session, Json /*context*/) {
  (void)co_await session.list_tools();
  (void)co_await call(session, "add_numbers", {{"a", 5}, {"b", 3}});
}

// Each listed tool once; none of them needs more than one text.
Task<void> call_every_tool(Session session, Json /*context*/) {
  const auto tools = co_await session.list_tools();
  for (const auto& tool : tools.items) {
    Json arguments = Json::object();
    if (const auto* required = tool.input_schema["required"].if_array()) {
      for (const auto& name : *required) arguments[name.as_text()] = "us-west1";
    }
    (void)co_await call(session, tool.name, std::move(arguments));
  }
}

Task<void> use_everything(Session session, Json context) {
  co_await call_every_tool(session, std::move(context));
  const auto resources = co_await session.list_resources();
  for (const auto& resource : resources.items) (void)co_await session.read_resource(resource.uri);
  const auto prompts = co_await session.list_prompts();
  for (const auto& prompt : prompts.items) (void)co_await session.get_prompt(prompt.name, {});
}

// The calls that the suite names. They hold a null where the schema says boolean, on purpose.
Task<void> call_as_told(Session session, Json context) {
  (void)co_await session.list_tools();
  for (const auto& told : context["toolCalls"].as_array()) {
    (void)co_await call(session, std::string(told["name"].as_text()), told["arguments"], false);
  }
}

// Two questions at once, and a call beside them that nobody asks about.
Task<void> answer_questions(Session session, Json /*context*/) {
  (void)co_await session.list_tools();
  (void)co_await (call(session, "test_mrtr_echo_state", Json::object()) &&
                  call(session, "test_mrtr_unrelated", Json::object()) &&
                  call(session, "test_mrtr_no_state", Json::object()));
  (void)co_await call(session, "test_mrtr_no_result_type", Json::object());
}

// The server lists a tool and has none; the call is made because it uses the schema.
Task<void> use_schema_with_reference(Session session, Json /*context*/) {
  const auto tools = co_await session.list_tools();
  for (const auto& tool : tools.items) {
    try {
      (void)co_await call(session, tool.name, {{"id", "someone"}, {"profile", Json::object()}});
    } catch (const pb::Error& error) {
      if (error.code() != pb::Errc::rpc) throw;
    }
  }
}

Task<void> send_schema_back(Session session, Json /*context*/) {
  const auto tools = co_await session.list_tools();
  for (const auto& tool : tools.items) {
    if (tool.name == "json_schema_echo") continue;
    (void)co_await call(session, "json_schema_echo", {{"schema", tool.input_schema}});
  }
}

// A registry is made of entries alone.
Task<void> list_skills(Session session, Json /*context*/) { (void)co_await session.list_skills(); }

// Loads every skill and reads the rest of what it brings. A skill that is not what its entry says is
// left at once.
Task<void> load_skills(Session session, Json /*context*/) {
  const auto skills = co_await session.list_skills();
  for (const auto& skill : skills.items) {
    try {
      (void)co_await session.read_skill(skill);
      if (!skill.resources) continue;
      for (const auto& file : *skill.resources) (void)co_await session.read_skill(skill, file.uri);
    } catch (const pb::Error& error) {
      if (error.code() != pb::Errc::protocol) throw;
      std::fprintf(stderr, "not loaded: %s\n", error.what());
    }
  }
}

struct Scenario {
  std::string_view name;
  Task<void> (*play)(Session, Json);
};
constexpr Scenario scenarios[] = {
    {"initialize", look_around},
    {"tools_call", add_numbers},
    {"elicitation-sep1034-client-defaults", call_every_tool},
    {"sse-retry", call_every_tool},
    {"request-metadata", look_around},
    {"sep-2322-client-request-state", answer_questions},
    {"http-standard-headers", use_everything},
    {"http-custom-headers", call_as_told},
    {"http-invalid-tool-headers", call_every_tool},
    {"json-schema-ref-no-deref", use_schema_with_reference},
    {"json-schema-2020-12-preservation", send_schema_back},
    {"sep-2640-client-no-prefetch", list_skills},
    {"sep-2640-client-verify-digest", load_skills},
    {"sep-2640-client-verify-size", load_skills},
    {"sep-2640-client-verify-frontmatter", load_skills},
};

Task<int> play(const Scenario* scenario, std::string url, std::string protocol, Json context) {
  pb::ClientOptions options;
  options.info = {.name = "patchbay-conformance-client", .version = "1"};
  options.elicit = agree;
  options.sample = make_up;
  options.roots = no_folders;
  if (!protocol.empty()) options.protocol = std::move(protocol);
  pb::HttpOptions server;
  server.url = std::move(url);
  const pb::Client client(std::move(options));
  auto session = co_await client.connect(pb::http_transport(std::move(server)));
  co_await scenario->play(session, std::move(context));
  co_await session.close();
  co_return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: patchbay-conformance-client URL\n", stderr);
    return 2;
  }
  const auto name = from_environment("MCP_CONFORMANCE_SCENARIO");
  const Scenario* chosen = nullptr;
  for (const auto& scenario : scenarios) {
    if (scenario.name == name) chosen = &scenario;
  }
  if (!chosen) {
    std::fprintf(stderr, "no scenario '%s'\n", name.c_str());
    return 2;
  }
  const auto words = from_environment("MCP_CONFORMANCE_CONTEXT");
  auto context = pb::parse_json(words.empty() ? "{}" : words);
  if (!context) {
    std::fprintf(stderr, "MCP_CONFORMANCE_CONTEXT: %s\n", context.error().what());
    return 2;
  }
  return pb::run(play(chosen, argv[1], from_environment("MCP_CONFORMANCE_PROTOCOL_VERSION"), std::move(*context)));
}
