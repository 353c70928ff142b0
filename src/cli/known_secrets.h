// What we handed to servers and hold ourselves, taken out of every text of theirs that leaves the program: errors and
// their details, states, the log and the trace. Results of tools are what was asked for and stay as they are.
// The values are gathered at the first text that is looked at, and again when the files they are in have changed. Loop
// thread only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/host.h>

#include "entries/text_secrets.h"

namespace patchbay::cli {

class KnownSecrets {
 public:
  // Those of the process.
  KnownSecrets() = default;
  // And those of the entries: what they say, what their variables, stored secrets and files hold. What a command or
  // a headersHelper prints is not known here.
  explicit KnownSecrets(const LoadedConfig& config);
  // For a program that follows its files: those of the entries as they are now, and those that were known before, whose
  // servers may still be ending. A stored secret or a file that is another one meanwhile is noticed by itself.
  void follow(const LoadedConfig& config);

  // As it is shown: its remedy is in the message, in our words.
  Error without(const Error& error) const;
  ServerStatus without(ServerStatus status) const;
  // A line of the log.
  std::string line(std::string_view text) const;
  // A message of the trace, as JSON text.
  std::string message(std::string_view json) const;

 private:
  const TextSecrets& known() const;
  std::vector<std::string> files_of(const ServerConfig& server) const;
  void add(TextSecrets& to, const ServerConfig& server) const;

  std::vector<ServerConfig> servers_;
  NamedTexts settings_env_;
  VariableLookup variables_ = process_environment();
  std::string cwd_, config_dir_;
  mutable std::optional<TextSecrets> known_;
  mutable std::optional<std::string> stamp_;  // of the files when they were read; unset: they are to be read
  mutable std::vector<std::string> files_;
  mutable std::size_t gathered_ = 0;  // since the oldest of the known ones
};

}  // namespace patchbay::cli
