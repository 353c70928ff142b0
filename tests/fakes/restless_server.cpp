// A server whose life goes wrong over several starts, for tests of what a host makes of that:
//   restless-server MODE FOLDER [NUMBER]
// Its tools are `count` (arguments {"n": number}; answers with the number) and `large` (5 MB of text). It writes a line
// into FOLDER/starts when it is started, and the number into FOLDER/calls for each call of `count`.
//   good           does nothing wrong
//   flaps          dies NUMBER milliseconds after it was started
//   differs        every list of tools is another one, and it says at once that the list has changed
//   grows          every list is longer, never has a last page, and has changed at once
//   dies-after     writes NUMBER bytes, then ends in the middle of what it writes
//   never-answers  reads, and says nothing
//   one-answer     ends after each answer to a call
//   other-era      speaks the older protocol when started for the first time, the newer one the second time, and so
//                  on; ends after each answer to a call
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include <patchbay/json.h>

using patchbay::Json;

namespace {

std::string mode, folder;
long number = 0;
long written = 0;
int started = 0;
int lists = 0;

bool modern() { return mode == "other-era" ? started % 2 == 0 : false; }

void put(std::string line) {
  line += "\n";
  const auto left = number - written;
  const bool ends = mode == "dies-after" && static_cast<long>(line.size()) > left;
  if (ends) line.resize(static_cast<std::size_t>(std::max(left, 0L)));
  written += static_cast<long>(line.size());
  std::cout << line << std::flush;
  if (ends) {
    std::cerr << "out of bytes\n" << std::flush;
    std::_Exit(9);
  }
}
void put(const Json& message) { put(patchbay::to_text(message)); }

Json tool(const std::string& name) { return {{"name", name}, {"inputSchema", {{"type", "object"}}}}; }

Json tools() {
  ++lists;
  Json list = Json::array({tool("count"), tool("large")});
  if (mode == "differs") list.push_back(tool("only-in-" + std::to_string(lists)));
  if (mode == "grows") {
    for (int i = 0; i < lists; ++i) list.push_back(tool("more-" + std::to_string(lists) + "-" + std::to_string(i)));
  }
  Json result{{"tools", std::move(list)}};
  if (mode == "grows") result["nextCursor"] = std::to_string(lists);
  return result;
}

Json call(const Json& params) {
  std::string text;
  if (params["name"] == Json("large")) {
    text.assign(5'000'000, 'x');
  } else {
    text = std::to_string(params["arguments"]["n"].as_int());
    std::ofstream(folder + "/calls", std::ios::app) << text << "\n";
  }
  return {{"content", Json::array({Json{{"type", "text"}, {"text", text}}})}};
}

void answer(const Json& request) {
  const std::string method(request["method"].as_text());
  Json reply{{"jsonrpc", "2.0"}, {"id", request["id"]}};
  const Json capabilities{{"tools", {{"listChanged", mode == "differs" || mode == "grows"}}}};
  if (method == "initialize" && !modern()) {
    reply["result"] = Json{{"protocolVersion", request["params"]["protocolVersion"]},
                           {"capabilities", capabilities},
                           {"serverInfo", {{"name", "restless-server"}, {"version", "1.0"}}}};
  } else if (method == "server/discover" && modern()) {
    reply["result"] = Json{{"supportedVersions", Json::array({"2026-07-28"})}, {"capabilities", capabilities}};
  } else if (method == "tools/list") {
    reply["result"] = tools();
  } else if (method == "tools/call") {
    reply["result"] = call(request["params"]);
  } else if (method == "ping") {
    reply["result"] = Json::object();
  } else {
    reply["error"] = Json{{"code", -32601}, {"message", "no such method"}};
  }
  if (modern() && reply.find("result")) reply["result"]["resultType"] = "complete";
  put(reply);
  if (method == "tools/list" && (mode == "differs" || mode == "grows")) {
    put(Json{{"jsonrpc", "2.0"}, {"method", "notifications/tools/list_changed"}});
  }
  if (method == "tools/call" && (mode == "one-answer" || mode == "other-era")) std::_Exit(0);
}

int count_start() {
  std::ofstream(folder + "/starts", std::ios::app) << ::getpid() << "\n";
  std::ifstream file(folder + "/starts");
  int count = 0;
  for (std::string line; std::getline(file, line);) ++count;
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 64;
  mode = argv[1];
  folder = argv[2];
  number = argc > 3 ? std::atol(argv[3]) : 0;
  started = count_start();
  if (mode == "flaps") {
    // The default of SIGALRM ends the process.
    const itimerval when{{0, 0}, {number / 1000, (number % 1000) * 1000}};
    ::setitimer(ITIMER_REAL, &when, nullptr);
  }
  std::string line;
  while (std::getline(std::cin, line)) {
    if (mode == "never-answers") continue;
    auto request = patchbay::parse_json(line);
    if (request && request->find("id") && request->find("method")) answer(*request);
  }
  return 0;
}
