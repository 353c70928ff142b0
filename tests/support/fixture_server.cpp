#include "support/fixture_server.h"

#include <cstdlib>

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/waiting.h"

namespace patchbay::test {
namespace {

CallToolResult text(std::string what) {
  CallToolResult result;
  result.content.push_back(TextContent{.text = std::move(what)});
  return result;
}

Tool named(std::string name) {
  Tool tool;
  tool.name = std::move(name);
  return tool;
}

std::string described(const ElicitResult& answer) {
  return fmt::format("{} {}", to_string(answer.action), answer.content ? to_text(*answer.content) : "-");
}

ElicitRequest form(std::string message) {
  ElicitRequest request;
  request.message = std::move(message);
  request.requested_schema = Json{{"type", "object"},
                                  {"properties", Json{{"name", Json{{"type", "string"}}},
                                                      {"size", Json{{"type", "integer"}, {"default", 7}}},
                                                      {"mail", Json{{"type", "string"}, {"format", "email"}}}}}};
  return request;
}

// What outlives a call: handlers of both eras share it.
struct State {
  int hanging = 0;
  int cancelled = 0;
  Event never;
};

void add_plain_tools(Server& server) {
  server.add_tool(named("echo"), [](RequestContext&, Json arguments) -> Task<CallToolResult> {
    auto result = text(to_text(arguments));
    result.structured_content = std::move(arguments);
    co_return result;
  });
  server.add_tool(named("blocks"), [](RequestContext&, Json) -> Task<CallToolResult> {
    CallToolResult result;
    result.content.push_back(TextContent{.text = "hello"});
    result.content.push_back(ImageContent{.data = "aGk=", .mime_type = "image/png"});
    result.content.push_back(AudioContent{.data = "aGk=", .mime_type = "audio/wav"});
    result.content.push_back(ResourceLink{.uri = "file:///a", .name = "a"});
    result.content.push_back(
        EmbeddedResource{.resource = {.uri = "file:///e", .mime_type = "text/plain", .text = "inside"}});
    co_return result;
  });
  server.add_tool(named("structured_only"), [](RequestContext&, Json) -> Task<CallToolResult> {
    CallToolResult result;
    result.structured_content = Json{{"n", 1}};
    co_return result;
  });
  server.add_tool(named("fails"), [](RequestContext&, Json) -> Task<CallToolResult> {
    throw Error(Errc::internal, "it broke");
    co_return CallToolResult{};
  });
  server.add_tool(named("is_error"), [](RequestContext&, Json) -> Task<CallToolResult> {
    auto result = text("no luck");
    result.is_error = true;
    co_return result;
  });
  server.add_tool(named("refuses"), [](RequestContext&, Json) -> Task<CallToolResult> {
    throw Error::rpc(1234, "refused", R"({"why":"because"})");
    co_return CallToolResult{};
  });
  server.add_tool(named("count_up"), [](RequestContext& context, Json arguments) -> Task<CallToolResult> {
    const auto to = arguments["to"].to_int().value_or(3);
    for (std::int64_t i = 1; i <= to; ++i) {
      context.progress(static_cast<double>(i), static_cast<double>(to), fmt::format("step {}", i));
    }
    co_return text(fmt::format("counted to {}", to));
  });
  server.add_tool(named("speak"), [](RequestContext& context, Json) -> Task<CallToolResult> {
    for (auto level : {LoggingLevel::debug, LoggingLevel::info, LoggingLevel::warning, LoggingLevel::error}) {
      context.log(level, Json{{"level", to_string(level)}}, "fixture");
    }
    co_return text("spoken");
  });
  server.add_tool(named("end_process"), [](RequestContext&, Json) -> Task<CallToolResult> {
    std::_Exit(7);
    co_return CallToolResult{};
  });
  for (int i = 0; i < 20; ++i) {
    server.add_tool(named(fmt::format("filler_{:02}", i)), [i](RequestContext&, Json) -> Task<CallToolResult> {
      return [](int n) -> Task<CallToolResult> { co_return text(fmt::format("filler {}", n)); }(i);
    });
  }
}

// Tools that say exactly what they take and return; the second does not keep to it.
void add_declared_tools(Server& server) {
  Tool area = named("area");
  area.input_schema = Json{{"type", "object"},
                           {"properties", Json{{"width", Json{{"type", "integer"}, {"minimum", 1}}},
                                               {"height", Json{{"type", "integer"}, {"minimum", 1}}},
                                               {"unit", Json{{"enum", Json::array({"m", "ft"})}}}}},
                           {"required", Json::array({"width", "height"})},
                           {"additionalProperties", false}};
  area.output_schema = Json{{"type", "object"},
                            {"properties", Json{{"area", Json{{"type", "integer"}}}}},
                            {"required", Json::array({"area"})}};
  server.add_tool(area, [](RequestContext&, Json arguments) -> Task<CallToolResult> {
    CallToolResult result;
    result.structured_content = Json{{"area", arguments["width"].as_int() * arguments["height"].as_int()}};
    co_return result;
  });
  area.name = "bad_area";
  server.add_tool(area, [](RequestContext&, Json arguments) -> Task<CallToolResult> {
    auto result = text("as you wish");
    if (arguments["unit"] == Json("m")) result.structured_content = Json{{"area", "wide"}};
    result.is_error = arguments["unit"] == Json("ft");
    co_return result;
  });
}

void add_waiting_tools(Server& server) {
  auto state = std::make_shared<State>();
  server.add_tool(named("hang"), [state](RequestContext&, Json) -> Task<CallToolResult> {
    return [](std::shared_ptr<State> s) -> Task<CallToolResult> {
      ++s->hanging;
      auto waited = co_await as_result(s->never.wait());
      ++s->cancelled;
      throw waited.error();
    }(state);
  });
  server.add_tool(named("hangs"), [state](RequestContext&, Json) -> Task<CallToolResult> {
    return [](std::shared_ptr<State> s) -> Task<CallToolResult> {
      co_return text(fmt::format("{} began, {} were cancelled", s->hanging, s->cancelled));
    }(state);
  });
}

void add_asking_tools(Server& server) {
  server.add_tool(named("ask_form"), [](RequestContext& context, Json) -> Task<CallToolResult> {
    auto answer = co_await context.elicit(form("who are you?"));
    co_return text(described(answer));
  });
  server.add_tool(named("ask_url"), [](RequestContext& context, Json) -> Task<CallToolResult> {
    ElicitRequest request;
    request.mode = ElicitRequest::Mode::url;
    request.message = "sign in there";
    request.url = "https://example.com/sign-in";
    auto answer = co_await context.elicit(std::move(request));
    co_return text(described(answer));
  });
  server.add_tool(named("ask_both"), [](RequestContext& context, Json) -> Task<CallToolResult> {
    auto first = co_await context.elicit(form("first?"));
    auto second = co_await context.elicit(form("second?"));
    co_return text(described(first) + " then " + described(second));
  });
  server.add_tool(named("ask_times"), [](RequestContext& context, Json arguments) -> Task<CallToolResult> {
    const auto times = arguments["times"].as_int();
    for (std::int64_t i = 0; i < times; ++i) {
      (void)co_await context.elicit(form(fmt::format("question {}?", i + 1)));
    }
    co_return text(fmt::format("asked {} times", times));
  });
  server.add_tool(named("ask_sample"), [](RequestContext& context, Json) -> Task<CallToolResult> {
    CreateMessageRequest request;
    request.max_tokens = 10;
    request.messages.push_back(SamplingMessage{.role = Role::user, .content = {TextContent{.text = "say something"}}});
    auto answer = co_await context.sample(std::move(request));
    co_return text(fmt::format("{} said {}", answer.model, std::get<TextContent>(answer.content.at(0)).text));
  });
  server.add_tool(named("ask_roots"), [](RequestContext& context, Json) -> Task<CallToolResult> {
    auto roots = co_await context.list_roots();
    std::string list;
    for (const auto& root : roots) list += root.uri + " ";
    co_return text(list);
  });
}

Tool task_tool(std::string name, TaskSupport support) {
  auto tool = named(std::move(name));
  tool.execution = ToolExecution{.task_support = support, .extra = {}};
  return tool;
}

struct Held {
  int running = 0;
  int cancelled = 0;
  Event release;
};

CallToolResult counts_of(const Held& held) {
  return text(fmt::format("{} running, {} cancelled", held.running, held.cancelled));
}

Task<CallToolResult> hold(std::shared_ptr<Held> held, RequestContext& context) {
  context.status("waiting to be released");
  context.progress(1, 2, "half");
  ++held->running;
  auto waited = co_await as_result(held->release.wait());
  --held->running;
  if (!waited) {
    ++held->cancelled;
    throw waited.error();
  }
  context.progress(2, 2, "whole");
  co_return text("released");
}

void add_task_tools(Server& server) {
  auto held = std::make_shared<Held>();
  for (auto [name, support] :
       {std::pair("task_held", TaskSupport::required), std::pair("task_optional", TaskSupport::optional)}) {
    server.add_tool(task_tool(name, support), [held](RequestContext& context, Json) { return hold(held, context); });
  }
  server.add_tool(named("task_release"), [held](RequestContext&, Json) -> Task<CallToolResult> {
    return [](std::shared_ptr<Held> h) -> Task<CallToolResult> {
      h->release.notify_all();
      co_return counts_of(*h);
    }(held);
  });
  server.add_tool(named("task_counts"), [held](RequestContext&, Json) -> Task<CallToolResult> {
    return [](std::shared_ptr<Held> h) -> Task<CallToolResult> { co_return counts_of(*h); }(held);
  });
  server.add_tool(task_tool("task_asks", TaskSupport::required),
                  [](RequestContext& context, Json) -> Task<CallToolResult> {
                    auto first = co_await context.elicit(form("first?"));
                    context.status("asked once");
                    auto second = co_await context.elicit(form("second?"));
                    co_return text(described(first) + " then " + described(second));
                  });
  server.add_tool(task_tool("task_fails", TaskSupport::required), [](RequestContext&, Json) -> Task<CallToolResult> {
    throw Error::rpc(1234, "refused", R"({"why":"because"})");
    co_return CallToolResult{};
  });
  server.add_tool(task_tool("task_is_error", TaskSupport::required), [](RequestContext&, Json) -> Task<CallToolResult> {
    auto result = text("no luck");
    result.is_error = true;
    result.meta = Json{{"k", 1}};
    co_return result;
  });
  server.add_tool(task_tool("task_after_question", TaskSupport::required),
                  [](RequestContext& context, Json) -> Task<CallToolResult> {
                    auto answer = co_await context.elicit(form("who?"));
                    const bool task = context.start_task();
                    co_return text(fmt::format("{} {}", task ? "as a task" : "at once", described(answer)));
                  },
                  {.task_start = TaskStart::by_handler});
}

// The server's own tools that change it. It outlives its handlers' calls.
void add_changing_tools(const std::shared_ptr<Server>& server) {
  std::weak_ptr<Server> weak = server;
  auto with_server = [weak](std::function<void(Server&, const Json&)> change) {
    return [weak, change](RequestContext&, Json arguments) -> Task<CallToolResult> {
      return
          [](std::shared_ptr<Server> s, std::function<void(Server&, const Json&)> c, Json a) -> Task<CallToolResult> {
            c(*s, a);
            co_return text("done");
          }(weak.lock(), change, std::move(arguments));
    };
  };
  server->add_tool(named("add_tool"), with_server([](Server& s, const Json& arguments) {
                     s.add_tool(named(std::string(arguments["name"].as_text())),
                                [](RequestContext&, Json) -> Task<CallToolResult> { co_return text("new"); });
                   }));
  server->add_tool(named("remove_tool"),
                   with_server([](Server& s, const Json& arguments) { s.remove_tool(arguments["name"].as_text()); }));
  server->add_tool(named("touch"), with_server([](Server& s, const Json& arguments) {
                     s.resource_updated(arguments["uri"].as_text());
                   }));
}

std::vector<SkillFile> pdf_files(std::string forms) {
  std::vector<SkillFile> files{
      {.path = "SKILL.md",
       .content =
           "---\nname: pdf\ndescription: Works on PDF files.\nmetadata:\n  version: \"1.0\"\n---\nPick a template.\n"},
      {.path = "references/forms.md", .content = std::move(forms)},
      {.path = "logo.bin", .content = std::string("\x00\xff\xfe", 3)}};
  for (int i = 1; i <= 6; ++i) {
    files.push_back({.path = fmt::format("templates/{}.md", i), .content = fmt::format("template {}\n", i)});
  }
  return files;
}

void add_skills(const std::shared_ptr<Server>& server) {
  server->add_skill("office/pdf", pdf_files("All about forms.\n"));
  for (std::string name : {"changed", "longer"}) {
    auto text = fmt::format("---\nname: {}\ndescription: Not what it seems.\n---\nGood.\n", name);
    server->add_skill(name, {{.path = "SKILL.md", .content = text}, {.path = "more.md", .content = "more\n"}});
    text = text.substr(0, text.size() - 6) + (name == "changed" ? "Evil.\n" : "Good, and more.\n");
    const auto uri = fmt::format("skill://{}/SKILL.md", name);
    server->add_resource({.uri = uri, .name = name},
                         [text](RequestContext&, std::string where) -> Task<std::vector<ResourceContents>> {
                           return [](std::string u, std::string t) -> Task<std::vector<ResourceContents>> {
                             std::vector<ResourceContents> contents;
                             contents.push_back({.uri = std::move(u), .text = std::move(t)});
                             co_return contents;
                           }(std::move(where), text);
                         });
  }
  std::weak_ptr<Server> weak = server;
  server->add_tool(named("change_skill"), [weak](RequestContext&, Json arguments) -> Task<CallToolResult> {
    return [](std::shared_ptr<Server> s, Json a) -> Task<CallToolResult> {
      s->add_skill("office/pdf", pdf_files(std::string(a["text"].as_text())));
      co_return text("done");
    }(weak.lock(), std::move(arguments));
  });
}

void add_resources_and_prompts(Server& server) {
  server.add_resource({.uri = "file:///a", .name = "a", .mime_type = "text/plain"},
                      [](RequestContext&, std::string uri) -> Task<std::vector<ResourceContents>> {
                        std::vector<ResourceContents> contents;
                        contents.push_back({.uri = std::move(uri), .mime_type = "text/plain", .text = "text of a"});
                        co_return contents;
                      });
  server.add_resource({.uri = "file:///b", .name = "b"},
                      [](RequestContext&, std::string uri) -> Task<std::vector<ResourceContents>> {
                        std::vector<ResourceContents> contents;
                        contents.push_back({.uri = std::move(uri), .blob = "aGk="});
                        co_return contents;
                      });
  for (int i = 0; i < 9; ++i) {
    server.add_resource({.uri = fmt::format("file:///more/{}", i), .name = fmt::format("more {}", i)},
                        [](RequestContext&, std::string uri) -> Task<std::vector<ResourceContents>> {
                          std::vector<ResourceContents> contents;
                          contents.push_back({.uri = std::move(uri), .text = ""});
                          co_return contents;
                        });
  }
  server.add_resource_template({.uri_template = "note:///{name}", .name = "notes"},
                               [](RequestContext&, std::string uri,
                                  std::map<std::string, std::string> variables) -> Task<std::vector<ResourceContents>> {
                                 std::vector<ResourceContents> contents;
                                 contents.push_back({.uri = std::move(uri), .text = "note " + variables["name"]});
                                 co_return contents;
                               });
  server.add_prompt(
      {.name = "greet", .arguments = {{.name = "who", .required = true}, {.name = "how"}}},
      [](RequestContext&, std::map<std::string, std::string> arguments) -> Task<GetPromptResult> {
        GetPromptResult result;
        result.description = "a greeting";
        result.messages.push_back({.role = Role::user, .content = TextContent{.text = "greet " + arguments["who"]}});
        co_return result;
      });
  server.add_prompt({.name = "plain"},
                    [](RequestContext&, std::map<std::string, std::string>) -> Task<GetPromptResult> {
                      co_return GetPromptResult{};
                    });
  server.set_completion([](RequestContext&, CompleteRequest request) -> Task<CompleteResult> {
    CompleteResult result;
    result.values = {request.argument.value + "lice", request.argument.value + "nna"};
    if (request.context.contains("how")) result.values.push_back(request.context["how"]);
    result.total = 2;
    co_return result;
  });
}

}  // namespace

std::shared_ptr<Server> make_fixture_server() {
  ServerOptions options;
  options.info = {.name = "fixture", .version = "1"};
  options.instructions = "Use with care.";
  options.page_size = 4;
  options.task_poll_interval = std::chrono::milliseconds(100);
  options.cache = {.ttl_ms = 60'000, .scope = CacheScope::personal};
  auto server = std::make_shared<Server>(std::move(options));
  add_plain_tools(*server);
  add_declared_tools(*server);
  add_waiting_tools(*server);
  add_asking_tools(*server);
  add_task_tools(*server);
  add_changing_tools(server);
  add_resources_and_prompts(*server);
  add_skills(server);
  return server;
}

}  // namespace patchbay::test
