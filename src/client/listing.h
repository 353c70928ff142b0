// Lists that come in pages: one page through the cache, and all of them within the bounds of
// limits.h. Called by the typed methods of a session, on its loop; `core` outlives the task.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <patchbay/call.h>

#include "base/as_result.h"
#include "client/session_core.h"
#include "protocol/codec.h"

namespace patchbay {

// Which list: the method and, where there are several under it, which one.
struct ListedBy {
  std::string_view method;  // one of the constants of protocol/methods.h
  std::optional<std::string> uri = {};
};

inline Task<Json> page_of(SessionCore& core, ListedBy list, std::optional<std::string> cursor) {
  Members members;
  if (list.uri) members.emplace_back("uri", Json(*list.uri));
  if (cursor) members.emplace_back("cursor", Json(*cursor));
  // The key tells the first page from the one after an empty cursor, which is legal.
  auto key = list.uri ? *list.uri + "\n" : std::string();
  if (cursor) key += *cursor + "+";
  RequestSettings settings;
  settings.total = core.runtime.limits.list;
  co_return co_await core.cached_request(list.method, std::move(members), std::move(key), std::move(settings));
}

// Follows the cursors of one list. `key` is the member of the result that holds the items.
template <class T>
Task<Listing<T>> list_all(SessionCore& core, ListedBy list, std::string_view key) {
  const auto& limits = core.runtime.limits;
  Listing<T> listing;
  std::set<std::string> seen;
  std::optional<std::string> cursor;
  bool restarted = false;
  for (std::size_t pages = 0;; ++pages) {
    if (pages == limits.pages) {
      listing.cut = fmt::format("the server sent more than {} pages", limits.pages);
      break;
    }
    auto result = co_await as_result(page_of(core, list, cursor));
    if (!result) {
      // The server may have forgotten a cursor that came out of our cache: begin again, once.
      if (!cursor || restarted || result.error().rpc_code() != rpc_code::invalid_params) {
        throw std::move(result).error();
      }
      restarted = true;
      core.cache.drop(list.method);
      listing = {};
      seen.clear();
      cursor.reset();
      continue;
    }
    auto page = value_or_throw(decode_page<T>(std::move(*result), key));
    for (auto& problem : page.problems) {
      if (listing.problems.size() == limits.items) break;
      listing.problems.push_back(std::move(problem));
    }
    for (auto& item : page.items) {
      if (listing.items.size() == limits.items) {
        listing.cut = fmt::format("the server listed more than {} items", limits.items);
        break;
      }
      listing.items.push_back(std::move(item));
    }
    if (listing.cut || !page.next_cursor) break;
    cursor = std::move(page.next_cursor);
    if (cursor->size() > limits.cursor) {
      listing.cut = fmt::format("the server sent a cursor of {} bytes", cursor->size());
      break;
    }
    if (!seen.insert(*cursor).second) {
      listing.cut = "the server repeated a cursor";
      break;
    }
  }
  if (listing.cut) {
    core.runtime.log(LogLevel::warning, "event=list_cut method={} reason=\"{}\"", list.method, *listing.cut);
  }
  co_return listing;
}

}  // namespace patchbay
