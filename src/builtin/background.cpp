#include "builtin/background.h"

#include <boost/asio/thread_pool.hpp>

namespace patchbay::builtin {

// Threads start on first use only.
asio::thread_pool& file_pool() {
  static asio::thread_pool pool(4);
  return pool;
}

}  // namespace patchbay::builtin
