// Task<T> is what every asynchronous function of Patchbay returns: a lazy coroutine
// that runs on the loop of whoever awaits it. run() is a loop for a whole program.
#pragma once

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 14
#error "g++ before 14 miscompiles coroutines (double free); build with clang-19, or use <patchbay/blocking.h>"
#endif

// With what a program needs to await and to start something of its own beside Patchbay.
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <patchbay/error.h>

namespace patchbay {

namespace asio = boost::asio;

template <class T = void>
using Task = asio::awaitable<T>;

// Runs `task` on a loop of its own and returns the exit code of a program: what the task returned, or 0. An Error
// that escapes is printed to stderr and becomes its exit code (docs/errors.md). Returns when the task has ended and
// nothing is left to do on the loop: it waits for coroutines that the task started beside itself (co_spawn), and for
// connections that are still being closed.
int run(Task<int> task);
int run(Task<void> task);

}  // namespace patchbay
