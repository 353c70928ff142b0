// Catalog: the tools of all servers under the names a model sees, as one immutable
// snapshot. The host makes a new one whenever a server's list changes and replaces the
// shared pointer whole; whoever holds the old one keeps a consistent view. A call is
// routed by the entry found here, never by splitting a name.
// Safe to read from any thread; it holds no connection and knows no permissions.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
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

struct CatalogFragment;  // what one server contributes; shared by all catalogs it is in

// The entries of a catalog: a range with random access. How they are stored is not promised.
class CatalogTools {
 public:
  using value_type = CatalogEntry;
  using reference = const CatalogEntry&;
  using const_reference = const CatalogEntry&;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;

  class iterator {
   public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = CatalogEntry;
    using reference = const CatalogEntry&;
    using pointer = const CatalogEntry*;
    using difference_type = std::ptrdiff_t;

    iterator() = default;
    reference operator*() const noexcept { return **at_; }
    pointer operator->() const noexcept { return *at_; }
    reference operator[](difference_type by) const noexcept { return *at_[by]; }
    iterator& operator++() noexcept { return ++at_, *this; }
    iterator& operator--() noexcept { return --at_, *this; }
    iterator operator++(int) noexcept { return iterator(at_++); }
    iterator operator--(int) noexcept { return iterator(at_--); }
    iterator& operator+=(difference_type by) noexcept { return at_ += by, *this; }
    iterator& operator-=(difference_type by) noexcept { return at_ -= by, *this; }
    friend iterator operator+(iterator it, difference_type by) noexcept { return it += by; }
    friend iterator operator+(difference_type by, iterator it) noexcept { return it += by; }
    friend iterator operator-(iterator it, difference_type by) noexcept { return it -= by; }
    friend difference_type operator-(iterator a, iterator b) noexcept { return a.at_ - b.at_; }
    bool operator==(const iterator&) const = default;
    auto operator<=>(const iterator&) const = default;

   private:
    friend class CatalogTools;
    explicit iterator(const CatalogEntry* const* at) noexcept : at_(at) {}
    const CatalogEntry* const* at_ = nullptr;
  };
  using const_iterator = iterator;

  iterator begin() const noexcept { return iterator(entries_.data()); }
  iterator end() const noexcept { return iterator(entries_.data() + entries_.size()); }
  std::size_t size() const noexcept { return entries_.size(); }
  bool empty() const noexcept { return entries_.empty(); }
  const CatalogEntry& operator[](std::size_t at) const noexcept { return *entries_[at]; }
  const CatalogEntry& front() const noexcept { return *entries_.front(); }
  const CatalogEntry& back() const noexcept { return *entries_.back(); }

 private:
  friend class Catalog;
  std::vector<const CatalogEntry*> entries_;
};

class Catalog {
 public:
  Catalog() = default;
  // The same servers and tools give the same catalog whatever their order. A tool that a
  // server lists twice is taken once, the first time, and noted in repeated().
  explicit Catalog(std::span<const ServerTools> servers);
  static std::shared_ptr<const Catalog> build(std::span<const ServerTools> servers);

  // Sorted bytewise by name.
  const CatalogTools& tools() const noexcept { return tools_; }
  std::size_t size() const noexcept { return tools_.size(); }
  bool empty() const noexcept { return tools_.empty(); }
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

#ifdef PATCHBAY_INSIDE
  // Of fragments whose names are settled among them, see catalog/fragment.h.
  using Fragments = std::vector<std::shared_ptr<const CatalogFragment>>;
  explicit Catalog(Fragments fragments);
  const Fragments& fragments() const noexcept { return fragments_; }
#endif

 private:
  std::vector<std::shared_ptr<const CatalogFragment>> fragments_;  // keep alive what the list points to
  CatalogTools tools_;
  std::vector<ToolId> repeated_;
};

}  // namespace patchbay
