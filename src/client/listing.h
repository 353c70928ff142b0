// Lists that come in pages: one page through the cache, and all of them within the bounds of
// limits.h. Called by the typed methods of a session, on its loop; `session` outlives the task.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <patchbay/call.h>

#include "base/as_result.h"
#include "client/exchange.h"
#include "client/session_owner.h"
#include "protocol/codec.h"

namespace patchbay {

// Which list: the method and, where there are several under it, which one.
struct ListedBy {
  std::string_view method;  // one of the constants of protocol/methods.h
  std::optional<std::string> uri = {};
};

inline Task<Fetched> page_of(SessionOwner& session, ListedBy list, std::optional<std::string> cursor,
                             RequestSettings settings) {
  Members members;
  if (list.uri) members.emplace_back("uri", Json(*list.uri));
  if (cursor) members.emplace_back("cursor", Json(*cursor));
  // The key tells the first page from the one after an empty cursor, which is legal.
  auto key = list.uri ? *list.uri + "\n" : std::string();
  if (cursor) key += *cursor + "+";
  co_return co_await cached_request(session, list.method, std::move(members), std::move(key), std::move(settings));
}

// Follows the cursors of one list, once. `key` is the member of the result that holds the items, `generation` the one
// of the cache in which the first page was asked for.
template <class T>
Task<Listing<T>> list_once(SessionOwner& session, ListedBy list, std::string_view key, RequestSettings settings,
                           std::uint64_t& generation) {
  const auto& limits = session.runtime().limits;
  generation = session.lists().cache().generation(list.method);
  Listing<T> listing;
  std::set<std::string> seen;
  std::optional<std::string> cursor;
  bool restarted = false;
  std::size_t bytes = 0;
  auto cut = [&](std::string_view why) {
    listing.cut = fmt::format("the answer to {} is not complete: {}", list.method, why);
  };
  for (std::size_t pages = 0;; ++pages) {
    if (pages == limits.pages) {
      cut(fmt::format("the server sent more than {} pages", limits.pages));
      break;
    }
    if (pages > 0 && settings.clock->left() == Duration::zero()) throw timed_out(list.method, settings.total);
    auto result = co_await as_result(page_of(session, list, cursor, settings));
    if (!result) {
      // The server may have forgotten a cursor that came out of our cache: begin again, once.
      if (!cursor || restarted || result.error().rpc_code() != rpc_code::invalid_params) {
        throw std::move(result).error();
      }
      restarted = true;
      session.lists().cache().drop(list.method);
      generation = session.lists().cache().generation(list.method);
      listing = {};
      seen.clear();
      cursor.reset();
      bytes = 0;
      continue;
    }
    bytes += result->bytes;
    if (bytes > limits.list_bytes) {
      cut(fmt::format("the server listed more than {} bytes", limits.list_bytes));
      break;
    }
    auto page = decoded_or_throw(list.method, decode_page<T>(std::move(*result).take(), key));
    for (auto& problem : page.problems) {
      if (listing.problems.size() == limits.items) break;
      listing.problems.push_back(std::move(problem));
    }
    for (auto& item : page.items) {
      if (listing.items.size() == limits.items) {
        cut(fmt::format("the server listed more than {} items", limits.items));
        break;
      }
      listing.items.push_back(std::move(item));
    }
    if (listing.cut || !page.next_cursor) break;
    cursor = std::move(page.next_cursor);
    if (cursor->size() > limits.cursor) {
      cut(fmt::format("the server sent a cursor of {} bytes; the limit is {}", cursor->size(), limits.cursor));
      break;
    }
    if (!seen.insert(*cursor).second) {
      cut("the server repeated a cursor, so its list has no end; report it to the server's author");
      break;
    }
  }
  co_return listing;
}

template <class T>
struct ListedWhole {
  Listing<T> listing;
  std::uint64_t generation = 0;  // of the cache; an older one than now: the list has changed since
};

// The list as a whole, within one time limit. A change that is announced while it is fetched leads to one more fetch;
// one that comes then is for whoever hears of changes.
template <class T>
Task<ListedWhole<T>> list_whole(SessionOwner& session, ListedBy list, std::string_view key, CallOptions options = {}) {
  auto settings = settings_for(options, session.runtime().limits.list);
  const Tagged tagged(session, settings, list.method, {}, options);
  ListedWhole<T> whole;
  auto& listing = whole.listing;
  for (bool again : {false, true}) {
    listing = co_await list_once<T>(session, list, key, settings, whole.generation);
    if (again || session.lists().cache().generation(list.method) == whole.generation) break;
    session.runtime().log(LogLevel::debug, "list_changed_meanwhile", "method", list.method);
  }
  if (listing.cut) {
    session.runtime().log(LogLevel::warning, "list_cut", "method", list.method, "reason", *listing.cut);
  }
  co_return whole;
}

template <class T>
Task<Listing<T>> list_all(SessionOwner& session, ListedBy list, std::string_view key, CallOptions options) {
  auto whole = co_await list_whole<T>(session, std::move(list), key, std::move(options));
  co_return std::move(whole.listing);
}

}  // namespace patchbay
