#include "catalog/search/tool_index.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <unordered_map>

#include "base/strings.h"
#include "catalog/search/terms.h"
#include "catalog/search/tool_hints.h"

namespace patchbay {
namespace {

// How much a word counts by where it is, in halves of a word of the description.
enum Weight : std::uint32_t {
  in_description = 2,
  in_parameter = 3,
  in_server = 4,
  in_title = 6,
  in_hint = 8,
  in_name = 12,
};

// The usual values of BM25, with less punishment for tools that are described at length.
constexpr double saturation = 1.2;
constexpr double length_share = 0.5;
// A word that only begins like one of the query.
constexpr double beginning_share = 0.5;
constexpr std::size_t shortest_beginning = 3;
constexpr std::size_t most_beginnings = 16;  // of one part

// The words of one tool with their weights.
class Words {
 public:
  void add(const std::vector<std::string>& terms, Weight weight) {
    for (const auto& term : terms) {
      weights_[term] += weight;
      length_ += weight;
    }
  }
  void add_parameters(const Json& schema, std::size_t depth = 0) {
    if (depth > ToolIndexBounds::depth) return;
    if (const auto* items = schema.find("items"); items && items->is_object()) add_parameters(*items, depth + 1);
    const auto* properties = schema["properties"].if_object();
    if (!properties) return;
    for (const auto& [name, property] : *properties) {
      if (left_ == 0) return;
      --left_;
      add(name_terms_of(name.substr(0, ToolIndexBounds::text)), in_parameter);
      if (property.is_object()) add_parameters(property, depth + 1);
    }
  }
  const std::unordered_map<std::string, std::uint32_t>& weights() const noexcept { return weights_; }
  std::uint32_t length() const noexcept { return length_; }

 private:
  std::unordered_map<std::string, std::uint32_t> weights_;
  std::uint32_t length_ = 0;
  std::size_t left_ = ToolIndexBounds::parameters;
};

Words words_of(const CatalogEntry& entry) {
  const auto& tool = *entry.tool;
  const auto cut = [](std::string_view text) { return text.substr(0, ToolIndexBounds::text); };
  Words words;
  words.add(name_terms_of(cut(tool.name)), in_name);
  words.add(name_terms_of(cut(entry.server)), in_server);
  if (const auto title = title_of(tool)) words.add(terms_of(cut(*title)), in_title);
  if (const auto hint = search_hint(tool)) words.add(terms_of(cut(*hint)), in_hint);
  if (tool.description) words.add(terms_of(cut(*tool.description)), in_description);
  words.add_parameters(tool.input_schema);
  return words;
}

}  // namespace

ToolIndexPart::ToolIndexPart(Fragment fragment) : fragment_(std::move(fragment)) {
  std::map<std::string, std::vector<Posting>> all;
  std::uint32_t tool = 0;
  for (const auto& entry : fragment_->entries) {
    const auto words = words_of(entry);
    for (const auto& [term, weight] : words.weights()) all[term].push_back({tool, weight});
    lengths_.push_back(words.length());
    total_length_ += words.length();
    bytes_.push_back(bytes_for_model(entry));
    ++tool;
  }
  terms_.reserve(all.size());
  for (auto& [term, postings] : all) {
    terms_.push_back({term, static_cast<std::uint32_t>(postings_.size())});
    postings_.insert(postings_.end(), postings.begin(), postings.end());
  }
}

std::size_t ToolIndexPart::first_from(std::string_view text) const noexcept {
  return static_cast<std::size_t>(
      std::ranges::lower_bound(terms_, text, {}, [](const Term& term) { return std::string_view(term.text); }) -
      terms_.begin());
}

std::span<const ToolIndexPart::Posting> ToolIndexPart::postings_of(std::size_t term) const noexcept {
  const auto end = term + 1 < terms_.size() ? terms_[term + 1].first : postings_.size();
  return std::span(postings_).subspan(terms_[term].first, end - terms_[term].first);
}

std::span<const ToolIndexPart::Posting> ToolIndexPart::postings(std::string_view term) const noexcept {
  const auto at = first_from(term);
  return at < terms_.size() && terms_[at].text == term ? postings_of(at) : std::span<const Posting>();
}

ToolIndex::ToolIndex(Parts parts) : parts_(std::move(parts)) {
  for (const auto& part : parts_) {
    tools_ += part->fragment()->entries.size();
    total_length_ += part->total_length();
  }
}

std::vector<FoundTool> ToolIndex::find(std::string_view query, std::size_t most) const {
  if (tools_ == 0) return {};
  const auto terms = query_terms_of(cut_utf8(query, ToolIndexBounds::query), ToolIndexBounds::terms);
  const double mean = std::max(1.0, static_cast<double>(total_length_) / static_cast<double>(tools_));
  std::vector<double> scores(tools_, 0.0);
  std::vector<std::size_t> first;  // of each part, in scores
  std::size_t next = 0;
  for (const auto& part : parts_) {
    first.push_back(next);
    next += part->fragment()->entries.size();
  }
  // Of each part, what is there of one term; whole words, or where nobody has one, words that begin so.
  std::vector<std::pair<std::size_t, std::span<const ToolIndexPart::Posting>>> there;
  for (const auto& term : terms) {
    there.clear();
    double share = 1;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (const auto postings = parts_[i]->postings(term); !postings.empty()) there.emplace_back(i, postings);
    }
    if (there.empty() && term.size() >= shortest_beginning) {
      share = beginning_share;
      for (std::size_t i = 0; i < parts_.size(); ++i) {
        parts_[i]->beginning_with(term, most_beginnings, [&](auto postings) { there.emplace_back(i, postings); });
      }
    }
    std::size_t having = 0;
    for (const auto& [part, postings] : there) having += postings.size();
    if (having == 0) continue;
    having = std::min(having, tools_);
    const double rarity =
        std::log(1.0 + (static_cast<double>(tools_ - having) + 0.5) / (static_cast<double>(having) + 0.5));
    for (const auto& [part, postings] : there) {
      for (const auto& posting : postings) {
        const double weight = posting.weight / static_cast<double>(in_description);
        const double length = parts_[part]->length(posting.tool) / mean;
        const double tamed =
            weight * (saturation + 1) / (weight + saturation * (1 - length_share + length_share * length));
        scores[first[part] + posting.tool] += share * rarity * tamed;
      }
    }
  }
  std::vector<FoundTool> found;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const auto& entries = parts_[i]->fragment()->entries;
    for (std::size_t n = 0; n < entries.size(); ++n) {
      if (scores[first[i] + n] > 0) found.push_back({&entries[n], scores[first[i] + n]});
    }
  }
  most = std::min({most, found.size(), ToolIndexBounds::results});
  std::ranges::partial_sort(found, found.begin() + static_cast<std::ptrdiff_t>(most),
                            [](const FoundTool& left, const FoundTool& right) {
                              return std::tie(right.score, left.entry->name) < std::tie(left.score, right.entry->name);
                            });
  found.resize(most);
  return found;
}

const ToolIndex& ToolIndexes::of(const std::shared_ptr<const Catalog>& catalog) {
  if (catalog == catalog_) return index_;
  std::unordered_map<const CatalogFragment*, std::shared_ptr<const ToolIndexPart>> before;
  for (const auto& part : index_.parts()) before.emplace(part->fragment().get(), part);
  ToolIndex::Parts parts;
  for (const auto& fragment : catalog->fragments()) {
    const auto same = before.find(fragment.get());
    if (same != before.end()) {
      parts.push_back(same->second);
    } else {
      parts.push_back(std::make_shared<const ToolIndexPart>(fragment));
      ++built_;
    }
  }
  index_ = ToolIndex(std::move(parts));
  catalog_ = catalog;
  return index_;
}

}  // namespace patchbay
