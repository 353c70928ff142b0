// An MCP server of the session era that behaves well except in one chosen way:
//   mode-server MODE [ARGUMENT]
// "good" has the tools echo (text back), add (two integers), fail (isError), boom (JSON-RPC
// error), slow (answers after progress), raw (text with terminal controls), and one
// resource and one prompt; "wordy" has a tool and a prompt with much to say. Every other mode is named after what it
// does wrong, "asks" asks the user for a name and has one tool, which answers with it, and "pushes" is a channel:
// behind the answer to a call of echo it pushes the same text as a message. The methods it is asked are appended to the
// file MODE_SERVER_LOG names.
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include <patchbay/json.h>

using patchbay::Json;

namespace {

std::string mode;
std::string argument;

void put(const std::string& line) { std::cout << line << "\n" << std::flush; }
void put(const Json& message) { put(patchbay::to_text(message)); }

Json tool(const std::string& name, Json properties, Json required = Json::array()) {
  return {
      {"name", name},
      {"description", "The " + name + " tool"},
      {"inputSchema", {{"type", "object"}, {"properties", std::move(properties)}, {"required", std::move(required)}}}};
}

Json text_result(const std::string& text, bool is_error = false) {
  return {{"content", Json::array({Json{{"type", "text"}, {"text", text}}})}, {"isError", is_error}};
}

Json wordy_tool();

// Of the mode "asks": what the user answered, and the call that waits for it.
std::string said;
Json waiting_call;
std::string other;  // a pipe with what another one was answered, to be waited for and added

std::string name_of_argument() { return argument.substr(argument.rfind('/') + 1); }

Json tools() {
  Json list = Json::array();
  if (mode == "asks") {
    list.push_back(tool("said_" + name_of_argument(), Json::object()));
    return list;
  }
  list.push_back(tool("echo", {{"text", {{"type", "string"}}}}, Json::array({"text"})));
  if (mode == "one-tool") return list;
  if (mode == "wordy") list.push_back(wordy_tool());
  list.push_back(tool("add", {{"a", {{"type", "integer"}}}, {"b", {{"type", "integer"}}}}, Json::array({"a", "b"})));
  list.push_back(tool("fail", Json::object()));
  list.push_back(tool("boom", Json::object()));
  list.push_back(tool("slow", Json::object()));
  list.push_back(tool("raw", Json::object()));
  if (mode == "null-schema") {
    Json odd{{"name", "odd"}, {"inputSchema", nullptr}};
    list.push_back(std::move(odd));
    list.push_back(Json{{"description", "a tool without a name"}});
  }
  return list;
}

// A tool with many arguments of many types.
Json wordy_tool() {
  auto one =
      tool("plan",
           {{"first_argument", {{"type", "string"}}},
            {"second_argument", {{"anyOf", Json::array({Json{{"type", "string"}}, Json{{"type", "number"}}})}}},
            {"third_argument", {{"type", "array"}, {"items", {{"enum", Json::array({"red", "green"})}}}}},
            {"fourth_argument", {{"oneOf", Json::array({Json{{"$ref", "#/$defs/Point"}}, Json{{"type", "null"}}})}}}},
           Json::array({"first_argument", "second_argument"}));
  one["inputSchema"]["$defs"] = Json{{"Point", {{"const", "Point"}}}};
  one["description"] = "Makes a plan of many words, more of them than one line of a usual terminal has room for";
  one["annotations"] = Json{{"readOnlyHint", false}, {"destructiveHint", true}};
  return one;
}

Json list_tools(const Json& params) {
  static int page = 0;
  ++page;
  if (mode == "pages") {
    return {{"tools", Json::array({tool("page-" + std::to_string(page), Json::object())})},
            {"nextCursor", std::to_string(page)}};
  }
  if (mode == "repeated-cursor") {
    return {{"tools", Json::array({tool("t" + std::to_string(page), Json::object())})}, {"nextCursor", "again"}};
  }
  if (mode == "huge-cursor") return {{"tools", tools()}, {"nextCursor", std::string(70'000, 'c')}};
  (void)params;
  return {{"tools", tools()}};
}

// Null: no answer is sent.
Json call(const Json& params) {
  const std::string name(params["name"].as_text());
  const auto& arguments = params["arguments"];
  if (mode == "exits-on-call") {
    std::cerr << "cannot go on\nlast words\n" << std::flush;
    std::_Exit(7);
  }
  if (mode == "closes-on-call") {
    ::close(1);
    std::string line;
    while (std::getline(std::cin, line)) {
    }
    std::_Exit(0);
  }
  if (mode == "silent-on-call") return nullptr;
  if (mode == "pictures") {
    const Json one{{"type", "image"}, {"data", "Zmlyc3Q="}, {"mimeType", "image/png"}};
    const Json two{{"type", "audio"}, {"data", "c2Vjb25k"}, {"mimeType", "audio/wav"}};
    return {{"content", Json::array({Json{{"type", "text"}, {"text", "two files"}}, one, two})}};
  }
  if (name == "echo")
    return text_result(arguments["text"].text() ? std::string(arguments["text"].as_text()) : to_text(arguments));
  if (name == "add") return text_result(std::to_string(arguments["a"].as_int() + arguments["b"].as_int()));
  if (name == "fail") return text_result("the tool failed", true);
  if (name == "raw")
    return text_result(
        "plain \033[31mred\033[0m \xE2\x80\xAE"
        "desrever");
  if (name == "slow") {
    const Json* token = params["_meta"].find("progressToken");
    for (int step = 1; token && step <= 3; ++step) {
      put(Json{{"jsonrpc", "2.0"},
               {"method", "notifications/progress"},
               {"params", {{"progressToken", *token}, {"progress", step}, {"total", 3}}}});
    }
    return text_result("done");
  }
  return text_result("?");
}

// Asks the user for a name when the connection is ready, and writes the answer into the file ARGUMENT.
void ask_for_name() {
  put(Json{{"jsonrpc", "2.0"},
           {"id", "question"},
           {"method", "elicitation/create"},
           {"params",
            {{"message", "a name for " + name_of_argument()},
             {"requestedSchema",
              {{"type", "object"},
               {"properties", {{"name", {{"type", "string"}}}}},
               {"required", Json::array({"name"})}}}}}});
}

void answer_when_said() {
  if (said.empty() || waiting_call.is_null()) return;
  if (std::string line; !other.empty() && std::getline(std::ifstream(other), line)) said += " " + line;
  put(Json{{"jsonrpc", "2.0"}, {"id", waiting_call}, {"result", text_result(said)}});
  waiting_call = Json();
}

void keep_answer(const Json& result) {
  const auto name = result["content"]["name"].text();
  said = name ? std::string(*name) : std::string(result["action"].as_text());
  std::ofstream(argument) << said << "\n";
  answer_when_said();
}

void answer(const Json& request) {
  const std::string method(request["method"].as_text());
  const Json id = request["id"];
  Json reply{{"jsonrpc", "2.0"}, {"id", id}};
  const Json& params = request["params"];
  if (method == "initialize") {
    reply["result"] =
        Json{{"protocolVersion", params["protocolVersion"]},
             {"capabilities", {{"tools", Json::object()}, {"resources", Json::object()}, {"prompts", Json::object()}}},
             {"serverInfo", {{"name", "mode-server"}, {"version", "1.0"}}}};
    if (mode == "pushes") reply["result"]["capabilities"]["experimental"] = Json{{"claude/channel", Json::object()}};
  } else if (method == "tools/list" && mode == "fails-tools-list") {
    reply["error"] = Json{{"code", -32603}, {"message", "the shelf is empty"}};
  } else if (method == "prompts/list" && mode == "silent-on-prompts") {
    return;
  } else if (method == "tools/list") {
    reply["result"] = list_tools(params);
  } else if (method == "tools/call") {
    if (mode == "asks") {
      waiting_call = id;
      answer_when_said();
      return;
    }
    if (params["name"] == Json("boom")) {
      reply["error"] = Json{{"code", -32050}, {"message", "boom"}, {"data", {{"why", "asked to"}}}};
    } else {
      reply["result"] = call(params);
      if (reply["result"].is_null()) return;
    }
  } else if (method == "resources/list") {
    reply["result"] = Json{{"resources", Json::array({Json{{"uri", "mode://one"}, {"name", "one"}}})}};
  } else if (method == "resources/templates/list") {
    reply["result"] = Json{{"resourceTemplates", Json::array()}};
  } else if (method == "resources/read") {
    const auto text = mode == "pictures" ? std::string(params["uri"].as_text()) : std::string("first line\n");
    reply["result"] = Json{{"contents", Json::array({Json{{"uri", params["uri"]}, {"text", text}}})}};
  } else if (method == "prompts/list" && mode == "wordy") {
    std::string text = "A prompt whose description";
    for (int i = 0; i < 20; ++i) text += " goes on and on";
    reply["result"] =
        Json{{"prompts", Json::array({Json{{"name", "long-prompt"}, {"description", text + ". The end of it."}}})}};
  } else if (method == "prompts/list") {
    reply["result"] =
        Json{{"prompts", Json::array({Json{{"name", "greet"}, {"arguments", Json::array({Json{{"name", "who"}}})}}})}};
  } else if (method == "prompts/get") {
    reply["result"] =
        Json{{"messages",
              Json::array({Json{
                  {"role", "user"},
                  {"content",
                   {{"type", "text"}, {"text", "Hello " + std::string(params["arguments"]["who"].as_text())}}}}})}};
  } else if (method == "ping") {
    reply["result"] = Json::object();
  } else {
    reply["error"] = Json{{"code", -32601}, {"message", "no such method"}};
  }
  if (mode == "string-ids") reply["id"] = patchbay::to_text(id);
  if (mode == "error-on-call" && method == "tools/call") {
    put(Json{{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", -32001}, {"message", "quota"}}}});
    return;
  }
  if (mode == "garbage-on-call" && method == "tools/call") {
    put("{\"jsonrpc\":\"2.0\",\"id\":" + patchbay::to_text(id) + ",\"result\":{\"content\":[}}");
    return;
  }
  if (mode == "bad-utf8-on-call" && method == "tools/call") {
    put("{\"jsonrpc\":\"2.0\",\"id\":" + patchbay::to_text(id) +
        ",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"\xFF\xFE\"}]}}");
    return;
  }
  put(reply);
  if (mode == "answers-twice") put(reply);
  if (mode == "pushes" && method == "tools/call") {
    put(Json{{"jsonrpc", "2.0"},
             {"method", "notifications/claude/channel"},
             {"params", {{"content", params["arguments"]["text"]}}}});
  }
}

}  // namespace

int main(int argc, char** argv) {
  mode = argc > 1 ? argv[1] : "good";
  argument = argc > 2 ? argv[2] : "";
  other = argc > 3 ? argv[3] : "";
  // Says that it was started, for tests of what is started when.
  if (!argument.empty() && mode != "asks") std::ofstream(argument, std::ios::app) << ::getpid() << "\n";
  if (mode == "exits-at-once") {
    std::cerr << "configuration missing: set API_KEY\n" << std::flush;
    return 3;
  }
  if (mode == "junk") {
    put(std::string("Server starting on stdio..."));
    put(std::string("{\"level\":\"info\",\"msg\":\"json, but not JSON-RPC\"}"));
    std::cout << std::string(3 << 20, 'x') << "\n" << std::flush;
  }
  std::string line;
  while (std::getline(std::cin, line)) {
    if (mode == "never-answers") continue;
    if (mode == "garbage") {
      put(std::string("<html>not this</html>"));
      continue;
    }
    auto request = patchbay::parse_json(line);
    if (const char* log = std::getenv("MODE_SERVER_LOG"); log && request) {
      std::ofstream(log, std::ios::app) << (*request)["method"].as_text() << "\n";
    }
    if (request && mode == "asks" && std::as_const(*request)["method"] == Json("notifications/initialized"))
      ask_for_name();
    if (request && mode == "asks" && request->find("result")) keep_answer((*request)["result"]);
    if (request && request->find("id") && request->find("method")) answer(*request);
  }
  return 0;
}
