#include "builtin/background.h"

#include <boost/asio/thread_pool.hpp>

namespace patchbay::builtin {

// Threads start on first use only. Never destroyed: the end of the program would wait for a file system that does not
// answer.
asio::thread_pool& file_pool() {
  static auto* pool = new asio::thread_pool(4);
  return *pool;
}

}  // namespace patchbay::builtin
