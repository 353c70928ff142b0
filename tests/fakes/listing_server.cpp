// A server that lists whatever a file says at the moment, for tests of what a host makes of a server that changes:
//   listing-server FILE
// FILE is JSON: {"tools": [...], "prompts": [...], "instructions": "...", "version": "..."}; all but the tools may be
// missing. It is read anew for each list. A call answers with the name of the tool.
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include <patchbay/json.h>

using patchbay::Json;

namespace {

Json said(const char* path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return patchbay::parse_json(text.str()).value_or(Json::object());
}

Json result_of(const std::string& method, const Json& params, const Json& now) {
  if (method == "initialize") {
    Json capabilities{{"tools", Json::object()}};
    if (!now["prompts"].is_null()) capabilities.as_object().set("prompts", Json::object());
    Json result{
        {"protocolVersion", params["protocolVersion"]},
        {"capabilities", std::move(capabilities)},
        {"serverInfo", {{"name", "listing-server"}, {"version", std::string(now["version"].text().value_or("1.0"))}}}};
    if (!now["instructions"].is_null()) result.as_object().set("instructions", now["instructions"]);
    return result;
  }
  if (method == "tools/list") return {{"tools", now["tools"]}};
  if (method == "prompts/list") return {{"prompts", now["prompts"]}};
  if (method == "ping") return Json::object();
  if (method == "tools/call") {
    return {{"content",
             Json::array({Json{{"type", "text"}, {"text", "called " + std::string(params["name"].as_text())}}})}};
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 64;
  std::string line;
  while (std::getline(std::cin, line)) {
    const auto request = patchbay::parse_json(line);
    if (!request || !request->find("id") || !request->find("method")) continue;
    Json reply{{"jsonrpc", "2.0"}, {"id", (*request)["id"]}};
    auto result = result_of(std::string((*request)["method"].as_text()), (*request)["params"], said(argv[1]));
    if (result.is_null()) {
      reply.as_object().set("error", Json{{"code", -32601}, {"message", "no such method"}});
    } else {
      reply.as_object().set("result", std::move(result));
    }
    std::cout << patchbay::to_text(reply) + "\n" << std::flush;
  }
  return 0;
}
