// What a server that did not start was refused by its sandbox, as far as its stderr tells: the rule that would allow
// it. What a server writes is a claim, so it is only ever a hint for a person. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sandbox/confinement.h"

namespace patchbay {

struct SandboxRefusal {
  enum class Kind : std::uint8_t {
    read,
    write,
    keys,
    network,
    domain,  // our proxy refused it
    proxy,   // perhaps it knows of no proxy
  };
  Kind kind = Kind::read;
  std::string path;  // not for network and proxy; for a domain what the proxy said
  bool operator==(const SandboxRefusal&) const = default;
};

// `proxy_refused`: what our proxy says that it refused; a line of stderr that says so alone is the server's. `keys`:
// what nobody may read.
std::optional<SandboxRefusal> refusal_in(std::string_view stderr_text, std::string_view proxy_refused,
                                         const SandboxPolicy& policy, const SandboxState& state,
                                         const std::vector<std::string>& keys);

// For the end of an error: "its sandbox refused …; to allow it, …".
std::string refusal_text(const std::optional<SandboxRefusal>& refusal);

}  // namespace patchbay
