// The shape of a value in one short line: {items:[{id:number,name?:string}]}. What differs between the items of an
// array is put together: "?" marks a member that some lack, "|" joins types. Pure, bounded whatever the value is; any
// thread.
#pragma once

#include <cstddef>
#include <string>

#include <patchbay/json.h>
#include <patchbay/types.h>

namespace patchbay {

struct OutlineLimits {
  std::size_t bytes = 1000;  // of the line, about
  std::size_t depth = 6;
  std::size_t members = 24;  // of one object; one with more, all of one kind, is {[name]:…}
  std::size_t items = 200;   // of one array that are looked at: the first ones
  std::size_t nodes = 10'000;
};

std::string outline_of(const Json& value, const OutlineLimits& limits = {});
// Of the value of a result (result_value.h), of which nothing is copied here; empty when that is a text.
std::string outline_of(const CallToolResult& result, const OutlineLimits& limits = {});

}  // namespace patchbay
