// Catalog: the tools of all servers under the names a model sees, as one immutable
// snapshot. The host builds a new one whenever a server's list changes and replaces the
// shared pointer whole; whoever holds the old one keeps a consistent view. A call is
// routed by the entry found here, never by splitting a name.
// Safe to read from any thread; it holds no connection and knows no permissions.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <patchbay/types.h>

namespace patchbay {

// `none` is for servers an embedder registers in-process under their tools' own names.
enum class NamePrefix : std::uint8_t { server, none };

struct ToolId {
  std::string server;
  std::string tool;
  NamePrefix prefix = NamePrefix::server;

  auto operator<=>(const ToolId&) const = default;
};

// What one server offers. Tools are shared, so rebuilding copies none of them.
struct ServerTools {
  std::string server;
  std::vector<std::shared_ptr<const Tool>> tools;
  NamePrefix prefix = NamePrefix::server;
};

struct CatalogEntry {
  std::string name;                  // shown to the model, unique
  std::string server;                // as configured
  std::shared_ptr<const Tool> tool;  // as the server declared it; tool->name goes on the wire
  NamePrefix prefix = NamePrefix::server;
};

class Catalog {
 public:
  Catalog() = default;
  // The same servers and tools give the same catalog whatever their order. A tool that a
  // server lists twice is taken once, the first time, and noted in repeated().
  explicit Catalog(std::span<const ServerTools> servers);
  static std::shared_ptr<const Catalog> build(std::span<const ServerTools> servers);
  // What is left without these entries, by their names; the others keep theirs.
  Catalog without(const std::vector<std::string>& names) const;

  // Sorted bytewise by name.
  const std::vector<CatalogEntry>& tools() const noexcept { return entries_; }
  std::size_t size() const noexcept { return entries_.size(); }
  bool empty() const noexcept { return entries_.empty(); }
  const std::vector<ToolId>& repeated() const noexcept { return repeated_; }

  // Only the name the model sees; null when there is none.
  const CatalogEntry* at(std::string_view name) const noexcept;

  struct Ambiguous {
    std::vector<std::string> candidates;  // server/tool, sorted
    bool operator==(const Ambiguous&) const = default;
  };
  struct Unknown {
    std::string suggestion;  // a spelling find() would accept, or empty
    bool operator==(const Unknown&) const = default;
  };
  using Found = std::variant<const CatalogEntry*, Ambiguous, Unknown>;

  // Accepts server/tool and a bare tool name beside the full one, the most direct one first. The pointer lives as
  // long as the catalog.
  Found find(std::string_view text) const;
  // The same as an error that names what was meant: Errc::invalid_argument.
  Result<const CatalogEntry*> require(std::string_view text) const;

 private:
  std::vector<CatalogEntry> entries_;
  std::vector<ToolId> ids_;         // parallel to entries_
  std::vector<std::string> names_;  // parallel to entries_
  std::vector<ToolId> repeated_;
};

}  // namespace patchbay
