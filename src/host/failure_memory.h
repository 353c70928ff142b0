// The last failure of each server, kept from one run to the next so that `patchbay why` can tell of it.
// What is remembered and for how long is pure; the two functions at the end look at the file, which is one
// of json/kept_records.h. The Host writes it when a program asked for that (HostOptions::failure_memory); nothing
// in it decides anything.
//
// An entry is known by its name, its hash and the file it is in, so what happened to another one, or to
// this one before it was changed, is not told of it. The file holds no name of a server but in the texts, and
// texts are cleaned, cut and freed of the secrets of the entry before they are kept.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <patchbay/config.h>
#include <patchbay/error.h>

#include "entries/child_env.h"

namespace patchbay {

struct KnownFailure {
  std::chrono::sys_seconds time;
  std::string message;  // one line
  std::string detail;   // the last lines of what the server wrote; empty: nothing, or it is not kept
  std::string during;   // what the program was doing: "call"; empty: it did not say
  bool operator==(const KnownFailure&) const = default;
};

using FailureRecords = std::map<std::string, KnownFailure, std::less<>>;

inline constexpr std::chrono::days failures_last{30};
inline constexpr std::size_t failure_entries = 256;

std::string failure_key(const ServerConfig& written);

// Whether such an error says something about the server, and not about who asked for what.
bool is_failure_of_server(Errc code) noexcept;

// `lookup` and `environment`: what its variables and ours are set to, for values that are secret must not be kept.
// Of an entry whose secrets are fetched only words of our own are.
KnownFailure failure_of(const ServerConfig& written, const VariableLookup& lookup, const Environment& environment,
                        const Error& error, std::string_view during, std::chrono::sys_seconds now);

// What cannot be understood is not there.
FailureRecords read_failure_records(std::string_view text);
std::string write_failure_records(const FailureRecords& records);

// Sets or forgets one, drops what is old and, beyond the bound, the oldest.
void update_failure_records(FailureRecords& records, const std::string& key, const std::optional<KnownFailure>& known,
                            std::chrono::sys_seconds now);

std::optional<KnownFailure> recall_failure(const std::string& path, const std::string& key);
// Blocking; through offload().
Result<void> remember_failure(const std::string& path, const std::string& key, const std::optional<KnownFailure>& known,
                              std::chrono::sys_seconds now);

}  // namespace patchbay
