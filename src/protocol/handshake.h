// How a legacy connection begins: the parameters and result of `initialize`. Seen by
// whoever negotiates, client or server; the rest of Patchbay sees the ServerDescription
// made of it.
#pragma once

#include <string>

#include <patchbay/types.h>

namespace patchbay {

struct InitializeRequest {
  std::string protocol_version;
  ClientCapabilities capabilities;
  Implementation client_info;
  Json meta;
  Json extra;
  bool operator==(const InitializeRequest&) const = default;
};

struct InitializeResult {
  std::string protocol_version;
  ServerCapabilities capabilities;
  Implementation server_info;
  std::optional<std::string> instructions;
  Json meta;
  Json extra;
  bool operator==(const InitializeResult&) const = default;
};

}  // namespace patchbay
