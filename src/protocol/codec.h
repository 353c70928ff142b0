// decode and encode: the model of types.h and questions.h, and wire_types.h, from and to JSON values. One description
// per type (fields.h) serves both directions. Called by the wire codecs; pure.
//
// Reading is as tolerant as real servers need: unknown members and optional members of
// the wrong type survive in `extra`, null counts as absent, a bad item of a list does not
// hide the others, and a content block that cannot be read is kept as UnknownContent.
// It knows nothing of envelopes: the caller removes what belongs to its revision first.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <patchbay/questions.h>
#include <patchbay/types.h>

#include "protocol/handshake.h"
#include "protocol/wire_types.h"

namespace patchbay {

// Errc::protocol with the path in front: "messages[2].role: expected a string, found null".
// `path` names the value itself in such messages; empty for the root. The value is taken
// apart; move it in where it is not needed afterwards.
template <class T>
Result<T> decode(Json value, std::string_view path = {});

template <class T>
Json encode(const T& value);

template <class T>
struct DecodedList {
  std::vector<T> items;
  std::vector<DecodeProblem> problems;
  bool operator==(const DecodedList&) const = default;
};

// The items that can be read and, for each of the others, where and why not. Null is an
// empty list; anything else that is not an array is one problem.
template <class T>
DecodedList<T> decode_list(Json array, std::string_view path);

// A result whose member `key` is the list: {"tools": [...], "nextCursor": ...}. An error
// only when there is no list at all.
template <class T>
Result<Page<T>> decode_page(Json result, std::string_view key);

template <class T>
Json encode_page(const Page<T>& page, std::string_view key);

}  // namespace patchbay
