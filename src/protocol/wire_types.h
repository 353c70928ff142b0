// What only travels on the wire: parameters of requests and notifications, and what a call asks for before it can
// answer. Nobody outside needs them; the calls of the public headers take their parts. See types.h for what the
// members `meta` and `extra` mean. Values only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <patchbay/questions.h>
#include <patchbay/types.h>

namespace patchbay {

// Correlates progress with a request; keeps its JSON type.
using ProgressToken = std::variant<std::int64_t, std::string>;

struct ListRequest {
  std::optional<std::string> cursor;
  Json meta;
  Json extra;
  bool operator==(const ListRequest&) const = default;
};

struct CallToolRequest {
  std::string name;
  Json arguments;  // an object; null is sent as absent
  Json meta;
  Json extra;
  bool operator==(const CallToolRequest&) const = default;
};

struct ReadResourceRequest {
  std::string uri;
  Json meta;
  Json extra;
  bool operator==(const ReadResourceRequest&) const = default;
};

// Subscribing to, unsubscribing from and hearing about one resource.
struct ResourceUri {
  std::string uri;
  Json meta;
  Json extra;
  bool operator==(const ResourceUri&) const = default;
};

struct GetPromptRequest {
  std::string name;
  std::map<std::string, std::string> arguments;
  Json meta;
  Json extra;
  bool operator==(const GetPromptRequest&) const = default;
};

struct SetLevelRequest {
  LoggingLevel level = LoggingLevel::info;
  Json meta;
  Json extra;
  bool operator==(const SetLevelRequest&) const = default;
};

struct ProgressNotification {
  ProgressToken token;
  Progress progress;
  Json meta;
  Json extra;
  bool operator==(const ProgressNotification&) const = default;
};

struct CancelledNotification {
  std::optional<ProgressToken> request_id;  // the same shape as a token: string or integer
  std::optional<std::string> reason;
  Json meta;
  Json extra;
  bool operator==(const CancelledNotification&) const = default;
};

struct ElicitationComplete {
  std::string elicitation_id;
  Json meta;
  Json extra;
  bool operator==(const ElicitationComplete&) const = default;
};

struct ListRootsRequest {
  Json meta;
  Json extra;
  bool operator==(const ListRootsRequest&) const = default;
};

struct ListRootsResult {
  std::vector<Root> roots;
  Json meta;
  Json extra;
  bool operator==(const ListRootsResult&) const = default;
};

// What a call may ask for before it can answer, and the answers to carry back.
using InputRequest = std::variant<ElicitRequest, CreateMessageRequest, ListRootsRequest>;
using InputResponse = std::variant<ElicitResult, CreateMessageResult, ListRootsResult>;

struct InputRequired {
  std::vector<std::pair<std::string, InputRequest>> requests;  // by key, in the order sent
  std::optional<std::string> state;                            // opaque, carried back byte for byte
  Json meta;
  Json extra;
  bool operator==(const InputRequired&) const = default;
};

}  // namespace patchbay
