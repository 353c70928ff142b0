// Permissions: whether a call may be made, from rules that were collected before. Host::call asks it for
// every call, the catalog for what not to show, `why` for the reason. Pure; made once for a
// configuration, indexed by name, so that a decision costs about the same with five hundred rules as
// with five. It asks nobody: `ask` is an answer like the others.
//
// The order: deny rules, what cannot be read, ask rules, tools that want the user each time, allow rules, then the
// mode. What a server says of its tools is a claim: that a tool is destructive makes it ask unless an allow rule names
// it in full, and that it only reads counts in the mode acceptReads alone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <patchbay/catalog.h>
#include <patchbay/config.h>
#include <patchbay/permission.h>

#include "permission/rules.h"

namespace patchbay {

class Permissions {
 public:
  Permissions() = default;
  explicit Permissions(RuleSet rules);

  // Every server there is, connected or not: a name that several of them could mean allows none of them. Until
  // it is called, only the server of the tool itself is known.
  void know_servers(std::span<const std::string> names);

  // `cwd` is what a relative path among the arguments is relative to, or one of `also`; null arguments: none.
  PermissionDecision decide(const CatalogEntry& tool, const Json& arguments, std::string_view cwd,
                            std::span<const std::string> also = {}) const;
  // Set when the tool is denied whatever its arguments are, and need not be shown.
  std::optional<PermissionDecision> denied_by_name(const CatalogEntry& tool) const;

  // Set when every tool that the server has or could have is denied, or when it is not known what is: then nothing else
  // it offers is for anybody either, neither resources nor prompts nor skills.
  std::optional<PermissionDecision> denied_server(std::string_view server) const;
  // Errc::denied, with the rule, for such a server.
  void require_server(std::string_view server) const;

  // Whether any rule looks at arguments: if not, they need not be parsed.
  bool look_at_arguments() const noexcept { return look_at_arguments_; }

  // Deny rules that are about no server of this list, nor about a tool in the catalog: a typo there
  // protects nothing.
  std::vector<ConfigProblem> unknown_names(std::span<const std::string> servers, const Catalog& catalog) const;

  // Every rule that names the tool, whatever it asks of arguments, in the order they are looked at.
  std::vector<PermissionRule> about(const CatalogEntry& tool) const;

  PermissionMode mode() const noexcept { return rules_.mode; }
  const RuleSet& rules() const noexcept { return rules_; }
  const std::vector<ConfigProblem>& problems() const noexcept { return rules_.problems; }

 private:
  // How a rule names a tool.
  enum class Naming : std::uint8_t { none, wide, precise };
  struct Names;

  Naming naming(const PermissionRule& rule, const Names& names) const;
  // Whether what an allow rule says can mean the server of this tool and no other.
  bool means_server(const PermissionRule& rule, const Names& names) const;
  // Positions in rules_.rules, in order, of those that may name it.
  std::vector<std::uint32_t> candidates(const Names& names) const;

  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>()(text); }
  };
  template <class T>
  using Index = std::unordered_map<std::string, std::vector<T>, TextHash, std::equal_to<>>;
  struct Wild {
    std::uint32_t rule = 0;
    std::string tail;  // what comes after the last *: most names are told apart by it
  };

  RuleSet rules_;
  Index<std::uint32_t> exact_;        // by the whole pattern
  Index<Wild> prefixed_;              // by what comes before the first *
  std::vector<std::size_t> lengths_;  // of the keys of prefixed_, ascending
  bool look_at_arguments_ = false;
  struct KnownServer {
    std::string name, plain;  // as configured, and as a model sees it
  };
  std::vector<KnownServer> servers_;
};

// Whether the server wants the user to be asked about every call of this tool, whatever rules allow.
bool requires_question(const Tool& tool);

// What a rule sees of arguments. Errc::invalid_argument when they are no JSON, or have a key twice: who
// reads them might take the other one.
Json argument_value(const Payload& arguments);
// What a relative path in an argument is relative to: the server's directory, else `cwd`; empty when that
// cannot be known, as for servers that run elsewhere.
std::string argument_directory(const ServerConfig& server, const std::string& cwd, const VariableLookup& variables);
// Directories that the entry names in its arguments and variables: many servers take relative paths to be below one.
// Looks at the file system. An empty one at the end says that there are more than are worth looking at.
std::vector<std::string> argument_roots(const ServerConfig& server, const std::string& cwd,
                                        const VariableLookup& variables);

// Why a call is refused: the rule, its file and line, and what to do.
Error denial(std::string_view tool, const PermissionDecision& decision);

}  // namespace patchbay
