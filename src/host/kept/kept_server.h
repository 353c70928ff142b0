// What is kept of one server from run to run: how it was last, what it said of itself and what it listed. A value, its
// text on the disk, and the decision whether it may still be used; pure. host/kept/server_files reads and writes the
// files, host/kept/recorder fills them. What a server listed is as untrusted here as it was on the wire.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/config.h>
#include <patchbay/status.h>

namespace patchbay {

inline constexpr std::int64_t kept_server_version = 1;
inline constexpr std::size_t largest_kept_server = 4u << 20;

struct KeptState {
  ServerState state = ServerState::pending;
  std::string reason;  // as to_string(ServerReason) words it
  std::string error;   // without secrets; empty: none
  std::chrono::sys_seconds time;
  bool operator==(const KeptState&) const = default;
};

struct KeptDescription {
  ServerDescription server;
  std::string era;  // as to_string(Era) words it; empty: not known
  bool operator==(const KeptDescription&) const = default;
};

template <class T>
struct KeptList {
  std::chrono::sys_seconds time;
  std::vector<T> items;
  bool operator==(const KeptList&) const = default;
};

struct KeptServer {
  std::string name;
  std::string stamp;  // of the files it was made of when it was started: stamp_of()
  std::optional<KeptState> state;
  std::optional<KeptDescription> description;
  // Absent: never listed.
  std::optional<KeptList<std::shared_ptr<const Tool>>> tools;
  std::optional<KeptList<Prompt>> prompts;
  std::optional<KeptList<Resource>> resources;
  std::optional<KeptList<ResourceTemplate>> templates;
  bool cut = false;  // lists are missing because they had no room
};

// Why what is kept can be used, or not.
enum class KeptUse : std::uint8_t {
  usable,
  switched_off,     // MCP_DISCOVERY_CACHE=0
  missing,          // nothing is kept of this entry with these values
  unreadable,       // the file cannot be read
  newer,            // a newer program wrote it
  not_listed,       // the server is known, and this was never asked of it
  no_room,          // the list was too large to keep
  expired,          // older than MCP_DISCOVERY_CACHE_TTL_S
  from_future,      // the clock was wrong, then or now
  program_changed,  // the files it is made of are not the same
};
std::string_view to_string(KeptUse use) noexcept;  // "is too old"

struct KeptPolicy {
  bool on = true;
  std::chrono::seconds lasts{900};
  bool operator==(const KeptPolicy&) const = default;
};
// MCP_DISCOVERY_CACHE and MCP_DISCOVERY_CACHE_TTL_S. What is not a number counts as not set.
KeptPolicy kept_policy(const VariableLookup& variables);

// One text of the disk. `use` is usable, unreadable (also what cannot be understood) or newer.
struct ReadKept {
  KeptUse use = KeptUse::missing;
  std::optional<KeptServer> server;
};
ReadKept read_kept_server(std::string_view text);
// At most largest_kept_server bytes: lists that have no room are left out, tools last.
std::string write_kept_server(const KeptServer& server);

// About a list made at `listed`; nothing when there is none.
KeptUse judge_kept(const KeptServer& kept, std::optional<std::chrono::sys_seconds> listed, std::string_view stamp_now,
                   std::chrono::sys_seconds now, const KeptPolicy& policy);

// What is on the disk, with what is known now put over it. Lists of another program are dropped.
KeptServer merged_kept(std::optional<KeptServer> before, KeptServer now);

}  // namespace patchbay
