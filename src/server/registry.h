// Registry: the things of one kind a server offers (tools, resources, templates or
// prompts) with their handlers, in the order they were added. Owned by the server's core.
//
// An entry is shared and immutable: a request in progress keeps the handler it runs even
// when the entry is replaced or removed meanwhile. Cursors name a place in the order of
// addition, so paging stays right while entries come and go between two pages.
#pragma once

#include <charconv>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <patchbay/types.h>

namespace patchbay {

// Opaque to clients: the list it belongs to and the place after which the next page begins.
std::string encode_cursor(std::string_view list, std::uint64_t place);
Result<std::uint64_t> decode_cursor(std::string_view list, std::string_view cursor);

template <class Item, class Handler>
class Registry {
 public:
  struct Entry {
    std::uint64_t place;
    Item item;
    Handler handler;
  };
  using EntryPtr = std::shared_ptr<const Entry>;

  explicit Registry(std::string_view list) : list_(list) {}

  // What has the same name is replaced where it stands.
  void put(const std::string& name, Item item, Handler handler) {
    auto found = by_name_.find(name);
    const std::uint64_t place = found == by_name_.end() ? ++last_place_ : found->second->place;
    auto entry = std::make_shared<const Entry>(place, std::move(item), std::move(handler));
    by_name_.insert_or_assign(name, entry);
    in_order_.insert_or_assign(place, std::move(entry));
  }

  bool erase(std::string_view name) {
    auto found = by_name_.find(name);
    if (found == by_name_.end()) return false;
    in_order_.erase(found->second->place);
    by_name_.erase(found);
    return true;
  }

  EntryPtr find(std::string_view name) const {
    auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
  }

  // A kind that was once offered stays declared: clients were told of it.
  bool ever_used() const noexcept { return last_place_ > 0; }
  const std::map<std::uint64_t, EntryPtr>& in_order() const noexcept { return in_order_; }

  Result<Page<Item>> page(const std::optional<std::string>& cursor, std::size_t size) const {
    std::uint64_t after = 0;
    if (cursor) {
      auto place = decode_cursor(list_, *cursor);
      if (!place) return std::unexpected(std::move(place).error());
      if (*place > last_place_) return fail(Errc::invalid_argument, "the cursor was not issued by this server");
      after = *place;
    }
    Page<Item> page;
    auto next = in_order_.upper_bound(after);
    for (; next != in_order_.end() && page.items.size() < size; ++next) {
      page.items.push_back(next->second->item);
      after = next->first;
    }
    if (next != in_order_.end()) page.next_cursor = encode_cursor(list_, after);
    return page;
  }

 private:
  std::string_view list_;  // its name in results, a literal
  std::uint64_t last_place_ = 0;
  std::map<std::string, EntryPtr, std::less<>> by_name_;
  std::map<std::uint64_t, EntryPtr> in_order_;
};

}  // namespace patchbay
