// The library without coroutines: the same calls, each returning when it is done. It owns a
// thread that runs the loop; every function here may be called from any thread but that one
// and throws patchbay::Error. Compiles with any C++23 compiler, g++ 12 included.
//
// Callbacks run on a helper thread of the library, never on the loop, so they may block and
// may call back into the library.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <patchbay/call.h>
#include <patchbay/catalog.h>
#include <patchbay/config.h>
#include <patchbay/error.h>
#include <patchbay/json.h>
#include <patchbay/questions.h>
#include <patchbay/status.h>
#include <patchbay/types.h>

namespace patchbay::blocking {

// What a server may ask of us, and what we want to hear. Unset: not offered.
struct Callbacks {
  std::function<ElicitResult(const ElicitRequest&)> elicit;
  bool elicit_by_url = false;
  std::function<CreateMessageResult(const CreateMessageRequest&)> sample;
  std::function<std::vector<Root>()> roots;
  std::function<void(const LogMessage&)> on_log;
  std::function<void(const Change&)> on_change;
};

struct Options {
  Implementation info{.name = "patchbay", .version = "0"};
  Callbacks callbacks;
  std::string protocol = "auto";
  // For Host: which servers; unset: those a command line in the current directory would see.
  std::optional<LoadedConfig> config;
  bool trust_project = false;
};

class Loop;

// One connected server. A handle; copies share the connection.
class Session {
 public:
  ServerDescription server() const;
  Listing<Tool> list_tools();
  Listing<Resource> list_resources();
  Listing<ResourceTemplate> list_resource_templates();
  Listing<Prompt> list_prompts();
  // A stop request cancels the call; the server is told.
  CallToolResult call_tool(std::string name, Json arguments = {}, CallOptions options = {}, std::stop_token stop = {});
  ReadResourceResult read_resource(std::string uri, CallOptions options = {}, std::stop_token stop = {});
  Listing<Skill> list_skills();
  Skill get_skill(std::string uri, CallOptions options = {}, std::stop_token stop = {});
  ResourceContents read_skill(Skill skill, std::string file = "SKILL.md", CallOptions options = {},
                              std::stop_token stop = {});
  Listing<Resource> read_directory(std::string uri);
  GetPromptResult get_prompt(std::string name, std::map<std::string, std::string> arguments = {},
                             CallOptions options = {}, std::stop_token stop = {});
  CompleteResult complete(CompleteRequest request, CallOptions options = {});
  void set_log_level(LoggingLevel level);
  void ping(CallOptions options = {});
  void close();

 private:
  friend class Host;
  friend Session connect(StdioOptions, Options);
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// Starts the server and returns a working session.
Session connect(StdioOptions server, Options options = {});

class Host {
 public:
  explicit Host(Options options = {});
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  // Stops what runs, within a bounded time. Not on the library's own threads.
  ~Host();

  void start();
  std::shared_ptr<const Catalog> catalog() const;
  std::vector<ServerStatus> status() const;
  CallToolResult call(std::string tool, Json arguments = {}, CallOptions options = {}, std::stop_token stop = {});
  Session session(std::string server);
  void stop();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace patchbay::blocking
