// What makes two entries the same. Pure.
//
// entry_hash: the entry as it was written, for approvals: a changed command asks again, a moved
// or reformatted one does not. content_signature: what would be started or reached, to find the same
// server under two names. connection_identity: what a running connection was made from.
#pragma once

#include <string>

#include <patchbay/config.h>

namespace patchbay {

// The entry in one spelling: aliases resolved, keys sorted, without name, scope and where it is.
// What a reader sees as absent is absent.
Json canonical_entry(const ServerConfig& server);

// "sha256:" and 64 digits, of the unexpanded entry.
std::string entry_hash(const ServerConfig& server);

// "stdio:" and the JSON of argv and of the sorted environment, or "url:" and the URL, from an expanded
// entry. Empty when there is nothing to start or reach.
std::string content_signature(const ServerConfig& expanded);

// Name, entry and expanded values: two entries with the same identity can share a connection.
std::string connection_identity(const ServerConfig& written, const ServerConfig& expanded);

}  // namespace patchbay
