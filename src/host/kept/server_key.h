// Which server a kept file is about: the identity of its entry (entries/signature), the directory that a local one is
// started in, and the files that it is made of. Two runs that would start the same server come to the same key, in
// whatever scope it is declared. Values of variables are only hashed. Looks at files with stat(), fetches no secret and
// runs nothing, so what ${cmd:...} prints is not part of it. Any thread.
#pragma once

#include <string>
#include <vector>

#include <patchbay/config.h>

namespace patchbay {

// What the servers of one configuration share.
struct KeyContext {
  VariableLookup variables;
  std::string cwd;           // we were started here
  std::string secrets_file;  // where ${secret:...} comes from
};
KeyContext key_context(const LoadedConfig& config, const VariableLookup& startup);

struct ServerKey {
  std::string hash;  // 64 hexadecimal digits
  // Absolute paths: the command as PATH leads to it, arguments that are files, and files its values come from.
  std::vector<std::string> files;
  bool operator==(const ServerKey&) const = default;
};
ServerKey server_key(const ServerConfig& written, const KeyContext& context);

// Path, size and time of change of each, as one hash: another one when any of them was written, replaced or removed.
std::string stamp_of(const std::vector<std::string>& files);

}  // namespace patchbay
