#include "base/offload.h"

namespace patchbay {
namespace {

constexpr std::size_t quick_threads = 2;
constexpr std::size_t read_threads = 2;
constexpr std::size_t slow_threads = 8;

}  // namespace

// Threads start on first use only, so a program that never offloads has one thread.
asio::thread_pool& offload_pool(Pool pool) {
  if (pool == Pool::quick) {
    static asio::thread_pool quick(quick_threads);
    return quick;
  }
  if (pool == Pool::read) {
    static asio::thread_pool read(read_threads);
    return read;
  }
  // Never destroyed: the end of the program would wait for a file system that does not answer.
  static auto* slow = new asio::thread_pool(slow_threads);
  return *slow;
}

}  // namespace patchbay
