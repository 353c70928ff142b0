// The tokens of several answers together. Pure.
#pragma once

#include <patchbay/model.h>

namespace patchbay {

// The newest reason why a cache was missed is kept.
inline void add(ModelUsage& sum, const ModelUsage& one) {
  sum.input += one.input;
  sum.cache_read += one.cache_read;
  sum.cache_written += one.cache_written;
  sum.output += one.output;
  if (!one.cache_miss.empty()) sum.cache_miss = one.cache_miss;
}

}  // namespace patchbay
