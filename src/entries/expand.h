// ${...} in the texts of an entry. Pure: where values come from is a function, and what must be fetched (files,
// secrets, the output of commands) is fetched by somebody else in between.
//
//   ${VAR}, ${VAR:-default}   a variable; set counts, even to nothing. Unset without default stays as written.
//   ${env:VAR}                the same variable, but a server is not started without it
//   ${file:PATH}              what is in a file, without the line break at its end
//   ${secret:NAME}            from our store
//   ${cmd:COMMAND}            what a command prints, without the line break at its end
//
// A value is inserted as it is and not looked at again, so no variable can smuggle in another. $VAR and the
// other forms of a shell (${v%x}, ${#v}) are left alone.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <patchbay/config.h>

namespace patchbay {

enum class SecretKind : std::uint8_t { environment, file, stored, command };
std::string_view to_string(SecretKind kind) noexcept;  // "env", "file", "secret", "cmd"

struct SecretReference {
  SecretKind kind = SecretKind::environment;
  std::string argument;
  std::string place;  // where in the entry: "env.TOKEN"
  auto operator<=>(const SecretReference&) const = default;
};

// What each reference came to, by kind and argument.
using SecretValues = std::map<std::pair<SecretKind, std::string>, std::string>;

struct Expanded {
  std::string text;
  std::vector<std::string> missing;  // variables left in the text: not set, no default
  bool operator==(const Expanded&) const = default;
};

// References whose value is not in `secrets` stay as written.
Expanded expand(std::string_view text, const VariableLookup& lookup, const SecretValues& secrets = {});

// Variables the text uses without a default, each once.
std::vector<std::string> variables_in(std::string_view text);

// Whether any text of the entry has a reference: a variable with or without default, or a secret.
bool has_references(const ServerConfig& server);

// Whether a "${" is never closed.
bool has_open_reference(std::string_view text) noexcept;

// All secret references of the text, in order.
std::vector<SecretReference> secret_references(std::string_view text, const std::string& place);
// Of the whole entry, each kind and argument once.
std::vector<SecretReference> secret_references(const ServerConfig& server);

// Whether it may have come with a repository: some files of those count as local.
bool came_with_repository(const ConfigOrigin& origin) noexcept;

// Whether the user or an organisation wrote it: such an entry may use what else they have. One that came along with a
// project, a plugin or a connector may not, approved or not.
bool is_users_own(const ConfigOrigin& origin) noexcept;

// Why an entry from there may not use such a reference; empty when it may. What a repository, a plugin or a
// connector declares reads nothing of the user's, and commands run for the user and the organisation alone.
std::string reference_fault(const SecretReference& reference, const ConfigOrigin& origin);

// What a name means in this entry: its own variables override those of `lookup`.
std::optional<std::string> variable_of(const ServerConfig& server, std::string_view name, const VariableLookup& lookup);
// "the variable X used in "env.A" is not set, ..."; `required`: it was written ${env:X}.
std::string unset_text(std::string_view variable, std::string_view place, bool required = false);
// What an entry asks for that nobody gave: variables without a value and a default, and what only other clients
// know, such as ${input:id}. As a person would name them, each once.
struct MissingValues {
  std::vector<std::string> variables;   // "TOKEN"
  std::vector<std::string> references;  // "${config:a.b}"
  bool empty() const noexcept { return variables.empty() && references.empty(); }
};
MissingValues missing_values(const ServerConfig& server, const VariableLookup& lookup);
// "TOKEN, which it needs, is not set"; empty when nothing is missing.
std::string missing_text(const MissingValues& missing);

// expand_server of the public header with secrets put in as well.
ServerConfig expand_server(ServerConfig server, const VariableLookup& lookup, const SecretValues& secrets);

}  // namespace patchbay
