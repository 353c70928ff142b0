// The server that the official conformance suite talks to: what each of its scenarios wants to
// find, written with the public interface alone. `patchbay-conformance-server [--port N]` prints
// its URL and serves until it is interrupted.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <patchbay/json.h>
#include <patchbay/server.h>

namespace {

namespace pb = patchbay;
namespace asio = boost::asio;
using namespace std::chrono_literals;
using pb::Json;
using pb::RequestContext;
using pb::Task;
using asio::experimental::awaitable_operators::operator&&;

// One red pixel, and an eighth of a second of silence.
constexpr auto png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
constexpr auto wav = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

pb::Content text(std::string words) {
  pb::TextContent block;
  block.text = std::move(words);
  return block;
}
pb::Content image() {
  pb::ImageContent block;
  block.data = png;
  block.mime_type = "image/png";
  return block;
}
pb::Content audio() {
  pb::AudioContent block;
  block.data = wav;
  block.mime_type = "audio/wav";
  return block;
}
pb::PromptMessage from_user(pb::Content content) {
  pb::PromptMessage message;
  message.content = std::move(content);
  return message;
}
pb::Content embedded(std::string uri, std::string mime, std::string words) {
  pb::EmbeddedResource resource;
  resource.resource.uri = std::move(uri);
  resource.resource.mime_type = std::move(mime);
  resource.resource.text = std::move(words);
  return resource;
}
pb::CallToolResult said(std::string words) {
  pb::CallToolResult result;
  result.content.push_back(text(std::move(words)));
  return result;
}

Task<void> pause(std::chrono::milliseconds time) {
  asio::steady_timer timer(co_await asio::this_coro::executor, time);
  co_await timer.async_wait(asio::use_awaitable);
}

Json schema(Json properties, Json required = Json::array()) {
  Json result{{"type", "object"}, {"properties", std::move(properties)}};
  if (required.size() > 0) result["required"] = std::move(required);
  return result;
}
Json no_arguments() { return Json{{"type", "object"}, {"additionalProperties", false}}; }
Json string_property(std::string_view name) { return Json{{std::string(name), Json{{"type", "string"}}}}; }

pb::ElicitRequest form(std::string message, Json wanted) {
  pb::ElicitRequest request;
  request.message = std::move(message);
  request.requested_schema = std::move(wanted);
  return request;
}
pb::ElicitRequest ask_for(std::string message, std::string_view field) {
  return form(std::move(message), schema(string_property(field), Json::array({Json(field)})));
}
pb::CreateMessageRequest prompt_model(std::string words, int tokens) {
  pb::CreateMessageRequest request;
  pb::SamplingMessage message;
  message.role = pb::Role::user;
  message.content.push_back(text(std::move(words)));
  request.messages.push_back(std::move(message));
  request.max_tokens = tokens;
  return request;
}
std::string words_of(const pb::CreateMessageResult& result) {
  for (const auto& block : result.content) {
    if (const auto* words = std::get_if<pb::TextContent>(&block)) return words->text;
  }
  return "nothing";
}
std::string name_of(pb::ElicitResult::Action action) {
  switch (action) {
    case pb::ElicitResult::Action::accept:
      return "accept";
    case pb::ElicitResult::Action::decline:
      return "decline";
    default:
      return "cancel";
  }
}
std::string outcome_of(const pb::ElicitResult& result) {
  return "action=" + name_of(result.action) + ", content=" + (result.content ? pb::to_text(*result.content) : "{}");
}

void add(pb::Server& server, std::string name, std::string description, pb::ToolHandler handler,
         Json input = no_arguments()) {
  pb::Tool tool;
  tool.name = std::move(name);
  tool.description = std::move(description);
  tool.input_schema = std::move(input);
  server.add_tool(std::move(tool), std::move(handler));
}

void add_content_tools(pb::Server& server) {
  add(server, "test_simple_text", "Answers with text.", [](RequestContext&, Json) -> Task<pb::CallToolResult> {
    co_return said("This is a simple text response for testing.");
  });
  add(server, "test_image_content", "Answers with an image.", [](RequestContext&, Json) -> Task<pb::CallToolResult> {
    pb::CallToolResult result;
    result.content.push_back(image());
    co_return result;
  });
  add(server, "test_audio_content", "Answers with audio.", [](RequestContext&, Json) -> Task<pb::CallToolResult> {
    pb::CallToolResult result;
    result.content.push_back(audio());
    co_return result;
  });
  add(server, "test_embedded_resource", "Answers with a resource.",
      [](RequestContext&, Json) -> Task<pb::CallToolResult> {
        pb::CallToolResult result;
        result.content.push_back(
            embedded("test://embedded-resource", "text/plain", "This is an embedded resource content."));
        co_return result;
      });
  add(server, "test_multiple_content_types", "Answers with several kinds of content.",
      [](RequestContext&, Json) -> Task<pb::CallToolResult> {
        pb::CallToolResult result;
        result.content.push_back(text("Multiple content types test:"));
        result.content.push_back(image());
        result.content.push_back(
            embedded("test://mixed-content-resource", "application/json", R"({"test":"data","value":123})"));
        co_return result;
      });
  add(server, "test_error_handling", "Always fails.", [](RequestContext&, Json) -> Task<pb::CallToolResult> {
    throw pb::Error(pb::Errc::internal, "This tool intentionally returns an error for testing");
    co_return pb::CallToolResult();
  });
  const auto preserved = pb::parse_json(R"({
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object",
      "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
      "contactMethod": {"type": "string", "enum": ["phone", "email"]},
      "phone": {"type": "string"}, "email": {"type": "string"}},
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]}, "else": {"required": ["email"]},
    "additionalProperties": false})");
  add(
      server, "json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features",
      [](RequestContext&, Json arguments) -> Task<pb::CallToolResult> { co_return said(pb::to_text(arguments)); },
      *preserved);
  add(
      server, "test_custom_header", "Has an argument that HTTP clients repeat in a header.",
      [](RequestContext&, Json arguments) -> Task<pb::CallToolResult> { co_return said(pb::to_text(arguments)); },
      schema(Json{{"region", Json{{"type", "string"}, {"x-mcp-header", "Region"}}}}, Json::array({Json("region")})));
}

void add_talking_tools(pb::Server& server) {
  const auto log = [](RequestContext& context, Json) -> Task<pb::CallToolResult> {
    context.log(pb::LoggingLevel::info, "Tool execution started");
    co_await pause(50ms);
    context.log(pb::LoggingLevel::info, "Tool processing data");
    co_await pause(50ms);
    context.log(pb::LoggingLevel::info, "Tool execution completed");
    co_return said("logged three times");
  };
  add(server, "test_tool_with_logging", "Logs while it works.", log);
  add(server, "test_logging_tool", "Logs while it works.", log);
  add(server, "test_tool_with_progress", "Reports progress.",
      [](RequestContext& context, Json) -> Task<pb::CallToolResult> {
        context.progress(0, 100);
        co_await pause(50ms);
        context.progress(50, 100);
        co_await pause(50ms);
        context.progress(100, 100);
        co_return said("went all the way");
      });
  add(server, "test_reconnection", "Lets its connection go before it answers.",
      [](RequestContext& context, Json) -> Task<pb::CallToolResult> {
        context.release_stream(200ms);
        co_await pause(100ms);
        co_return said("Reconnected and received the rest");
      });
  add(
      server, "test_sampling", "Asks the client's model.",
      [](RequestContext& context, Json arguments) -> Task<pb::CallToolResult> {
        auto answer = co_await context.sample(prompt_model(std::string(arguments["prompt"].as_text()), 100));
        co_return said("LLM response: " + words_of(answer));
      },
      schema(string_property("prompt"), Json::array({Json("prompt")})));
  add(
      server, "test_elicitation", "Asks the person.",
      [](RequestContext& context, Json arguments) -> Task<pb::CallToolResult> {
        auto answer = co_await context.elicit(
            form(std::string(arguments["message"].as_text()),
                 schema(Json{{"username", Json{{"type", "string"}, {"description", "User's response"}}},
                             {"email", Json{{"type", "string"}, {"description", "User's email address"}}}},
                        Json::array({Json("username"), Json("email")}))));
        co_return said("User response: " + outcome_of(answer));
      },
      schema(string_property("message"), Json::array({Json("message")})));
  add(server, "test_elicitation_sep1034_defaults", "Asks with defaults.",
      [](RequestContext& context, Json) -> Task<pb::CallToolResult> {
        auto wanted = pb::parse_json(R"({"type":"object","properties":{
          "name":{"type":"string","default":"John Doe"},
          "age":{"type":"integer","default":30},
          "score":{"type":"number","default":95.5},
          "status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},
          "verified":{"type":"boolean","default":true}},"required":[]})");
        auto answer = co_await context.elicit(form("Please review your details", *wanted));
        co_return said("Elicitation completed: " + outcome_of(answer));
      });
  add(server, "test_elicitation_sep1330_enums", "Asks with choices.",
      [](RequestContext& context, Json) -> Task<pb::CallToolResult> {
        auto wanted = pb::parse_json(R"({"type":"object","properties":{
          "untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
          "titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},
            {"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
          "legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],
            "enumNames":["Option One","Option Two","Option Three"]},
          "untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
          "titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},
            {"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}},"required":[]})");
        auto answer = co_await context.elicit(form("Please choose", *wanted));
        co_return said("Elicitation completed: " + outcome_of(answer));
      });
  add(server, "test_missing_capability", "Needs a model on the client's side.",
      [](RequestContext& context, Json) -> Task<pb::CallToolResult> {
        co_return said(words_of(co_await context.sample(prompt_model("Anything", 10))));
      });
  add(server, "test_streaming_elicitation", "Asks the person after some progress.",
      [](RequestContext& context, Json) -> Task<pb::CallToolResult> {
        context.progress(1, 2);
        auto answer = co_await context.elicit(ask_for("Go on?", "answer"));
        co_return said(outcome_of(answer));
      });
}

Task<pb::CallToolResult> ask_everything(RequestContext& context) {
  auto name = pb::ElicitResult();
  auto greeting = pb::CreateMessageResult();
  auto roots = std::vector<pb::Root>();
  std::tie(name, greeting, roots) = co_await (context.elicit(ask_for("What is your name?", "name"), "user_name") &&
                                              context.sample(prompt_model("Generate a greeting", 50), "greeting") &&
                                              context.list_roots("client_roots"));
  co_return said(words_of(greeting) + " " + outcome_of(name) + " " + std::to_string(roots.size()) + " roots");
}

void add_asking_tools(pb::Server& server) {
  add(server, "test_input_required_result_elicitation", "Asks for a name.",
      [](RequestContext& context, Json) -> Task<pb::CallToolResult> {
        auto answer = co_await context.elicit(ask_for("What is your name?", "name"), "user_name");
        const Json* name = answer.content ? answer.content->find("name") : nullptr;
        co_return said("Hello, " + (name && name->is_string() ? std::string(name->as_text()) : "stranger") + "!");
      });
  add(server, "test_input_required_result_sampling", "Asks the model.",
      [](RequestContext& context, Json) -> Task<pb::CallToolResult> {
        auto answer = co_await context.sample(prompt_model("What is the capital of France?", 100), "capital_question");
        co_return said(words_of(answer));
      });
  add(server, "test_input_required_result_list_roots", "Asks for the roots.",
      [](RequestContext& context, Json) -> Task<pb::CallToolResult> {
        std::string list;
        for (const auto& root : co_await context.list_roots("client_roots")) list += root.uri + "\n";
        co_return said("Roots: " + list);
      });
  add(server, "test_input_required_result_request_state", "Asks and keeps a state.",
      [](RequestContext& context, Json) -> Task<pb::CallToolResult> {
        auto wanted = schema(Json{{"ok", Json{{"type", "boolean"}}}}, Json::array({Json("ok")}));
        auto answer = co_await context.elicit(form("Please confirm", std::move(wanted)), "confirm");
        co_return said("state-ok: " + outcome_of(answer));
      });
  add(server, "test_input_required_result_tampered_state", "Asks and guards its state.",
      [](RequestContext& context, Json) -> Task<pb::CallToolResult> {
        auto answer = co_await context.elicit(ask_for("Please confirm", "ok"), "confirm");
        co_return said("state-ok: " + outcome_of(answer));
      });
  add(server, "test_input_required_result_multiple_inputs", "Asks three things at once.",
      [](RequestContext& context, Json) -> Task<pb::CallToolResult> { return ask_everything(context); });
  add(server, "test_input_required_result_multi_round", "Asks twice.",
      [](RequestContext& context, Json) -> Task<pb::CallToolResult> {
        auto name = co_await context.elicit(ask_for("Step 1: What is your name?", "name"), "step1");
        auto color = co_await context.elicit(ask_for("Step 2: What is your favorite color?", "color"), "step2");
        co_return said(outcome_of(name) + "; " + outcome_of(color));
      });
  add(server, "test_input_required_result_capabilities", "Asks only what the client can answer.",
      [](RequestContext& context, Json) -> Task<pb::CallToolResult> {
        const auto& can = context.client_capabilities();
        if (can.sampling) co_return said(words_of(co_await context.sample(prompt_model("Say something", 20), "model")));
        if (can.elicitation) {
          auto answer = co_await context.elicit(ask_for("Say something", "words"), "person");
          co_return said(outcome_of(answer));
        }
        co_return said("this client can be asked nothing");
      });
  pb::Prompt prompt;
  prompt.name = "test_input_required_result_prompt";
  prompt.description = "Asks for its context.";
  server.add_prompt(
      prompt, [](RequestContext& context, std::map<std::string, std::string>) -> Task<pb::GetPromptResult> {
        auto answer =
            co_await context.elicit(ask_for("What context should the prompt use?", "context"), "user_context");
        pb::GetPromptResult result;
        result.messages.push_back(from_user(text(outcome_of(answer))));
        co_return result;
      });
}

// Tools and prompts that come and go.
// A tool that may or must run as a task. `start` says when it becomes one.
void add_task(pb::Server& server, std::string name, pb::TaskSupport support, pb::ToolHandler handler,
              Json input = no_arguments(), pb::TaskStart start = pb::TaskStart::at_once) {
  pb::Tool tool;
  tool.name = std::move(name);
  tool.description = "Runs as a task.";
  tool.input_schema = std::move(input);
  tool.execution.emplace().task_support = support;
  pb::ToolOptions options;
  options.task_start = start;
  server.add_tool(std::move(tool), std::move(handler), options);
}

void add_task_tools(pb::Server& server) {
  using enum pb::TaskSupport;
  add(
      server, "greet", "Greets.",
      [](RequestContext&, Json arguments) -> Task<pb::CallToolResult> {
        co_return said("Hello, " + std::string(arguments["name"].as_text()) + "!");
      },
      schema(string_property("name"), Json::array({"name"})));
  add_task(
      server, "slow_compute", optional,
      [](RequestContext& context, Json arguments) -> Task<pb::CallToolResult> {
        context.status("computing");
        co_await pause(1000ms * arguments["seconds"].to_int().value_or(0));
        co_return said("computed " + pb::to_text(arguments["label"]));
      },
      schema(Json{{"seconds", Json{{"type", "number"}}}, {"label", Json{{"type", "string"}}}}));
  add_task(server, "failing_job", required, [](RequestContext&, Json) -> Task<pb::CallToolResult> {
    co_await pause(1s);
    throw pb::Error(pb::Errc::internal, "the job failed");
  });
  add_task(server, "protocol_error_job", required, [](RequestContext&, Json) -> Task<pb::CallToolResult> {
    throw pb::Error::rpc(-32603, "the job broke");
    co_return pb::CallToolResult{};
  });
  add_task(
      server, "confirm_delete", required,
      [](RequestContext& context, Json arguments) -> Task<pb::CallToolResult> {
        auto wanted = schema(Json{{"confirm", Json{{"type", "boolean"}}}}, Json::array({"confirm"}));
        auto answer =
            co_await context.elicit(form("Delete " + std::string(arguments["filename"].as_text()) + "?", wanted));
        const bool yes = answer.content && (*answer.content)["confirm"] == Json(true);
        co_return said(yes ? "deleted" : "kept");
      },
      schema(string_property("filename"), Json::array({"filename"})));
  add_task(server, "multi_input", required, [](RequestContext& context, Json) -> Task<pb::CallToolResult> {
    auto [first, second] =
        co_await (context.elicit(ask_for("First name?", "name")) && context.elicit(ask_for("Second name?", "name")));
    co_return said(outcome_of(first) + "; " + outcome_of(second));
  });
  add_task(
      server, "test_tool_with_task", required,
      [](RequestContext& context, Json) -> Task<pb::CallToolResult> {
        auto answer = co_await context.elicit(ask_for("What is your name?", "name"), "user_name");
        context.start_task();
        co_return said("Hello, " + (answer.content ? std::string((*answer.content)["name"].as_text()) : "stranger") +
                       "!");
      },
      no_arguments(), pb::TaskStart::by_handler);
}

void add_changing_tools(pb::Server& server) {
  add(server, "test_trigger_tool_change", "Changes the list of tools.",
      [&server](RequestContext&, Json) -> Task<pb::CallToolResult> {
        return [](pb::Server& changed) -> Task<pb::CallToolResult> {
          if (!changed.remove_tool("test_passing_tool")) {
            add(changed, "test_passing_tool", "Was not here before.",
                [](RequestContext&, Json) -> Task<pb::CallToolResult> { co_return said("here"); });
          }
          co_return said("changed");
        }(server);
      });
  add(server, "test_trigger_prompt_change", "Changes the list of prompts.",
      [&server](RequestContext&, Json) -> Task<pb::CallToolResult> {
        return [](pb::Server& changed) -> Task<pb::CallToolResult> {
          if (!changed.remove_prompt("test_passing_prompt")) {
            pb::Prompt prompt;
            prompt.name = "test_passing_prompt";
            prompt.description = "Was not here before.";
            changed.add_prompt(prompt,
                               [](RequestContext&, std::map<std::string, std::string>) -> Task<pb::GetPromptResult> {
                                 pb::GetPromptResult result;
                                 result.messages.push_back(from_user(text("here")));
                                 co_return result;
                               });
          }
          co_return said("changed");
        }(server);
      });
}

void add_resources(pb::Server& server) {
  auto add_one = [&](std::string uri, std::string name, std::string mime, pb::ResourceContents contents) {
    pb::Resource resource;
    resource.uri = uri;
    resource.name = std::move(name);
    resource.description = "For conformance.";
    resource.mime_type = mime;
    contents.uri = std::move(uri);
    contents.mime_type = std::move(mime);
    server.add_resource(std::move(resource),
                        [contents](RequestContext&, std::string) -> Task<std::vector<pb::ResourceContents>> {
                          return [](pb::ResourceContents copy) -> Task<std::vector<pb::ResourceContents>> {
                            std::vector<pb::ResourceContents> all;
                            all.push_back(std::move(copy));
                            co_return all;
                          }(contents);
                        });
  };
  pb::ResourceContents words;
  words.text = "This is the content of the static text resource.";
  add_one("test://static-text", "static-text", "text/plain", words);
  pb::ResourceContents picture;
  picture.blob = png;
  add_one("test://static-binary", "static-binary", "image/png", picture);
  words.text = "Watched.";
  add_one("test://watched-resource", "watched-resource", "text/plain", words);

  pb::ResourceTemplate pattern;
  pattern.uri_template = "test://template/{id}/data";
  pattern.name = "template";
  pattern.description = "For conformance.";
  pattern.mime_type = "application/json";
  server.add_resource_template(
      pattern,
      [](RequestContext&, std::string uri,
         std::map<std::string, std::string> variables) -> Task<std::vector<pb::ResourceContents>> {
        const auto& id = variables["id"];
        pb::ResourceContents contents;
        contents.uri = uri;
        contents.mime_type = "application/json";
        contents.text = pb::to_text(Json{{"id", id}, {"templateTest", true}, {"data", "Data for ID: " + id}});
        std::vector<pb::ResourceContents> all;
        all.push_back(std::move(contents));
        co_return all;
      });
}

void add_skills(pb::Server& server) {
  const auto file = [](std::string path, std::string content) {
    pb::SkillFile made;
    made.path = std::move(path);
    made.content = std::move(content);
    return made;
  };
  server.add_skill(
      "pdf-processing",
      {file("SKILL.md",
            "---\n"
            "name: pdf-processing\n"
            "description: >-\n"
            "  Extract, fill and assemble PDF documents. Use it whenever\n"
            "  a PDF file is to be read or made.\n"
            "license: Apache-2.0\n"
            "metadata:\n"
            "  version: \"2.1\"\n"
            "---\n\n"
            "# PDF processing\n\nPick a template from `templates/`.\n"),
       file("references/FORMS.md", "# Forms\n"), file("scripts/extract.py", "print('text')\n"),
       file("templates/invoice.md", "# Invoice\n"), file("templates/regional/eu-invoice.md", "# Invoice with VAT\n")});
  server.add_skill("team/git-workflow", {file("SKILL.md",
                                              "---\nname: git-workflow\ndescription: Branches and commits.\n---\n"
                                              "Branch, commit, ask for review.\n")});
}

void add_prompts(pb::Server& server) {
  using Arguments = std::map<std::string, std::string>;
  auto prompt = [](std::string name, std::vector<std::string> arguments) {
    pb::Prompt result;
    result.name = std::move(name);
    result.description = "For conformance.";
    for (auto& argument : arguments) {
      pb::PromptArgument one;
      one.name = std::move(argument);
      one.description = "For conformance.";
      one.required = true;
      result.arguments.push_back(std::move(one));
    }
    return result;
  };
  server.add_prompt(prompt("test_simple_prompt", {}), [](RequestContext&, Arguments) -> Task<pb::GetPromptResult> {
    pb::GetPromptResult result;
    result.messages.push_back(from_user(text("This is a simple prompt for testing.")));
    co_return result;
  });
  server.add_prompt(prompt("test_prompt_with_arguments", {"arg1", "arg2"}),
                    [](RequestContext&, Arguments given) -> Task<pb::GetPromptResult> {
                      pb::GetPromptResult result;
                      auto words = "Prompt with arguments: arg1='" + given["arg1"] + "', arg2='" + given["arg2"] + "'";
                      result.messages.push_back(from_user(text(std::move(words))));
                      co_return result;
                    });
  server.add_prompt(prompt("test_prompt_with_embedded_resource", {"resourceUri"}),
                    [](RequestContext&, Arguments given) -> Task<pb::GetPromptResult> {
                      pb::GetPromptResult result;
                      auto resource =
                          embedded(given["resourceUri"], "text/plain", "Embedded resource content for testing.");
                      result.messages.push_back(from_user(std::move(resource)));
                      result.messages.push_back(from_user(text("Please process the embedded resource above.")));
                      co_return result;
                    });
  server.add_prompt(prompt("test_prompt_with_image", {}), [](RequestContext&, Arguments) -> Task<pb::GetPromptResult> {
    pb::GetPromptResult result;
    result.messages.push_back(from_user(image()));
    result.messages.push_back(from_user(text("Please analyze the image above.")));
    co_return result;
  });
  server.set_completion([](RequestContext&, pb::CompleteRequest) -> Task<pb::CompleteResult> {
    pb::CompleteResult result;
    result.values = {"test", "testing", "tested"};
    result.total = 3;
    result.has_more = false;
    co_return result;
  });
}

}  // namespace

int main(int argc, char** argv) {
  pb::ServerHttpOptions options;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--port") == 0) options.port = static_cast<std::uint16_t>(std::atoi(argv[i + 1]));
  }
  options.grace = 500ms;
  options.on_listening = [](const std::string& url) {
    std::printf("%s\n", url.c_str());
    std::fflush(stdout);
  };
  pb::ServerOptions about;
  about.info.name = "patchbay-conformance-server";
  about.info.version = "1.0.0";
  pb::Server server(about);
  add_content_tools(server);
  add_talking_tools(server);
  add_asking_tools(server);
  add_task_tools(server);
  add_changing_tools(server);
  add_resources(server);
  add_skills(server);
  add_prompts(server);

  asio::io_context loop(1);
  asio::signal_set signals(loop, SIGINT, SIGTERM);
  asio::cancellation_signal stop;
  int code = 0;
  asio::co_spawn(loop, server.serve_http(options),
                 asio::bind_cancellation_slot(stop.slot(), [&](std::exception_ptr failed) {
                   signals.cancel();
                   if (!failed) return;
                   try {
                     std::rethrow_exception(failed);
                   } catch (const std::exception& error) {
                     std::fprintf(stderr, "%s\n", error.what());
                     code = 1;
                   }
                 }));
  signals.async_wait([&](boost::system::error_code error, int) {
    if (!error) stop.emit(asio::cancellation_type::all);
  });
  loop.run();
  return code;
}
