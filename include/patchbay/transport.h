// Transport: a recipe for reaching one server. open() makes a live connection and can be
// called again, so probing and reconnecting just open anew. The kinds an embedder can
// make are the functions below.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <patchbay/task.h>

namespace patchbay {

class Channel;
class Server;
struct Runtime;

class Transport {
 public:
  enum class Kind { stdio, http, sse, websocket, memory };
  virtual ~Transport() = default;
  virtual Kind kind() const noexcept = 0;
  // For messages: the command line or URL, secrets redacted.
  virtual std::string describe() const = 0;
  virtual Task<std::unique_ptr<Channel>> open(const Runtime& runtime) = 0;
};

// A child process that speaks MCP on stdin and stdout. The command is looked up along the
// PATH of `env` overlaid on the parent's environment; no shell is involved.
struct StdioOptions {
  std::string command;
  std::vector<std::string> args;
  std::map<std::string, std::string> env;  // overlays the environment; nothing is removed
  std::string cwd;                         // empty: the current directory
};
std::unique_ptr<Transport> stdio_transport(StdioOptions options);

// A server in this process. The server must outlive every channel opened to it.
std::unique_ptr<Transport> memory_transport(std::shared_ptr<Server> server);

}  // namespace patchbay
