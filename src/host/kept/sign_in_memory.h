// Which servers refused the credentials they were sent, kept for 15 minutes, so that a start does not ask each of them
// again only to be refused again. A record is about one server with one credential: its key is a hash of the server's
// identity (which has the values of its headers) and of the files its secrets come from, so another credential is tried
// at once. Entries with a headersHelper or ${cmd:...} are not remembered: what those print next is not known.
// `sign-in.json` in the state directory, one of json/kept_records.h: writes are serialised by a lock. What is kept, and
// for how long, is pure; the two functions at the end look at the file. The Host writes it (host/kept/recorder) and
// looks at it before a start that nobody asked for by name.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <patchbay/config.h>
#include <patchbay/error.h>

#include "host/kept/server_key.h"

namespace patchbay {

struct KnownRefusal {
  std::chrono::sys_seconds time;
  std::string message;  // without secrets, one line
  bool operator==(const KnownRefusal&) const = default;
};
using RefusalRecords = std::map<std::string, KnownRefusal, std::less<>>;

inline constexpr std::chrono::minutes refusals_last{15};
inline constexpr std::size_t refusal_entries = 256;

// Nothing for a server whose credential cannot be told from another one.
std::optional<std::string> refusal_key(const ServerConfig& written, const ServerKey& key, std::string_view stamp);

bool is_fresh(const KnownRefusal& known, std::chrono::sys_seconds now);
RefusalRecords read_refusals(std::string_view text);
std::string write_refusals(const RefusalRecords& records);
void update_refusals(RefusalRecords& records, const std::string& key, const std::optional<KnownRefusal>& known,
                     std::chrono::sys_seconds now);

std::string refusal_file(const std::string& state_directory);
// Nothing for one that is too old.
std::optional<KnownRefusal> recall_refusal(const std::string& state_directory, const std::string& key,
                                           std::chrono::sys_seconds now);
// Sets or forgets one. Blocking; through offload().
Result<void> remember_refusal(const std::string& state_directory, const std::string& key,
                              const std::optional<KnownRefusal>& known, std::chrono::sys_seconds now);

}  // namespace patchbay
