#include "base/offload.h"

namespace patchbay {

// Threads start on first use only, so a program that never offloads has one thread.
asio::thread_pool& offload_pool() {
  static asio::thread_pool pool(2);
  return pool;
}

}  // namespace patchbay
