// A model API for tests: real HTTP on loopback that answers requests with the replies of a script and keeps what it
// was asked. It knows no provider; what replies look like is in builders beside this (anthropic_replies.h). The program
// model-api is the same for tests that start processes. Connections are served by threads of their own; any thread may
// ask what came.
//
//   ModelApi api({anthropic_reply({.text = "Hello."})});
//   ... a model with the base address api.url() ...
//   EXPECT_EQ(api.requests()[0].json()["model"], "claude");
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <patchbay/error.h>
#include <patchbay/json.h>

namespace patchbay::test {

struct ModelApiReply {
  int status = 200;  // 0: no head; with `cut` the connection ends, with `hang` nothing comes at all
  std::map<std::string, std::string> headers = {};  // Content-Type is that of event streams where it is not here
  std::vector<std::string> chunks = {};             // each a chunk of HTTP
  bool cut = false;                                 // the connection ends behind the chunks, without an end of the body
  bool hang = false;                                // nothing more comes behind the chunks
  bool repeat = false;                              // stays, for every later request that it fits
  std::string path = {};                            // only for requests of this path; its query does not count
  std::string when = {};                            // only for requests whose body has this text
};

struct ModelApiRequest {
  std::string method = {};
  std::string path = {};                            // with its query
  std::map<std::string, std::string> headers = {};  // names in lower case
  std::string body = {};

  Json json() const;  // the body; null when it is not JSON
  std::string header(std::string_view name) const;
};
// With the body as JSON where it is.
Json to_json(const ModelApiRequest& request);

// {"replies": [{"status", "headers", "chunks", "cut", "hang", "repeat", "path", "when"}]}, every member optional. A
// chunk that is no text is sent as the text of its JSON, and "data" for "chunks" is one of them.
Result<std::vector<ModelApiReply>> read_model_api_script(std::string_view text);

class ModelApi {
 public:
  using Told = std::function<void(const ModelApiRequest&)>;
  // Each request gets the first reply that is left and fits; 400 when there is none. `told` hears of a request before
  // it is answered, on the thread of its connection.
  explicit ModelApi(std::vector<ModelApiReply> replies, Told told = {});
  // What it answers is decided with each request, on the thread of its connection, one at a time.
  using Answering = std::function<ModelApiReply(const ModelApiRequest&)>;
  template <std::invocable<const ModelApiRequest&> Function>
  explicit ModelApi(Function answering) : ModelApi({}, {}, Answering(std::move(answering))) {}
  ModelApi(const ModelApi&) = delete;
  ModelApi& operator=(const ModelApi&) = delete;
  ~ModelApi();

  std::uint16_t port() const noexcept;
  std::string url() const;  // "http://127.0.0.1:1234", without a slash behind it
  std::vector<ModelApiRequest> requests() const;
  std::size_t replies_left() const;

 private:
  ModelApi(std::vector<ModelApiReply> replies, Told told, Answering answering);
  struct State;
  std::unique_ptr<State> state_;
};

// "event: NAME\ndata: JSON\n\n"; without the first line where the name is empty.
std::string sse_event(std::string_view name, const Json& data);

}  // namespace patchbay::test
