// Finding tools by words: BM25 over what their servers say of them. A ToolIndexPart is made of one fragment of a
// catalog and never changes; a ToolIndex is the parts of one catalog together, so that one server's new list costs
// the words of that server and nothing else (ToolIndexes keeps the parts from one catalog to the next). What is found
// depends on the tools alone: not on the order of the servers, nor on what the catalog was before.
// Pure: asks no server, knows no rules: it finds what is in the catalog it is given. A part is immutable and safe to
// read from any thread; ToolIndexes belongs to one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/catalog.h>

#include "catalog/fragment.h"

namespace patchbay {

// Bounds of what is read of one tool and of one query; what is beyond them is not found by.
struct ToolIndexBounds {
  static constexpr std::size_t text = 4096;       // bytes of a description, a hint
  static constexpr std::size_t parameters = 256;  // names, of all levels
  static constexpr std::size_t depth = 4;         // of objects in a schema
  static constexpr std::size_t query = 1024;      // bytes
  static constexpr std::size_t terms = 16;        // of a query
  static constexpr std::size_t results = 100;
};

class ToolIndexPart {
 public:
  explicit ToolIndexPart(Fragment fragment);

  struct Posting {
    std::uint32_t tool = 0;    // its position in the fragment
    std::uint32_t weight = 0;  // how often the term is there, times the weight of where it is
  };
  const Fragment& fragment() const noexcept { return fragment_; }
  std::span<const Posting> postings(std::string_view term) const noexcept;
  // Calls `use` with the postings of at most `most` terms that begin so.
  template <class Use>
  void beginning_with(std::string_view start, std::size_t most, Use use) const {
    for (auto i = first_from(start); i < terms_.size() && most > 0 && terms_[i].text.starts_with(start); ++i, --most) {
      use(postings_of(i));
    }
  }
  std::uint32_t length(std::size_t tool) const noexcept { return lengths_[tool]; }  // in weights
  std::uint64_t total_length() const noexcept { return total_length_; }
  // What a model is charged for its description and schema: a count of bytes.
  std::size_t bytes(std::size_t tool) const noexcept { return bytes_[tool]; }

 private:
  struct Term {
    std::string text;
    std::uint32_t first = 0;  // in postings_
  };
  std::size_t first_from(std::string_view text) const noexcept;
  std::span<const Posting> postings_of(std::size_t term) const noexcept;

  Fragment fragment_;
  std::vector<Term> terms_;  // sorted
  std::vector<Posting> postings_;
  std::vector<std::uint32_t> lengths_;
  std::vector<std::size_t> bytes_;
  std::uint64_t total_length_ = 0;
};

struct FoundTool {
  const CatalogEntry* entry = nullptr;  // of the catalog that was searched
  double score = 0;
};

class ToolIndex {
 public:
  using Parts = std::vector<std::shared_ptr<const ToolIndexPart>>;

  ToolIndex() = default;
  explicit ToolIndex(Parts parts);

  // The best first; equal ones in the order of their names. None that has no word of the query.
  std::vector<FoundTool> find(std::string_view query, std::size_t most) const;
  const Parts& parts() const noexcept { return parts_; }
  std::size_t size() const noexcept { return tools_; }

 private:
  Parts parts_;
  std::size_t tools_ = 0;
  std::uint64_t total_length_ = 0;
};

class ToolIndexes {
 public:
  // Of this catalog; the very same object while it is the same catalog.
  const ToolIndex& of(const std::shared_ptr<const Catalog>& catalog);
  std::size_t built() const noexcept { return built_; }  // parts that were made

 private:
  std::shared_ptr<const Catalog> catalog_;
  ToolIndex index_;
  std::size_t built_ = 0;
};

}  // namespace patchbay
