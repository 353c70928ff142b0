// Says which compilers can use Patchbay. Every other public header begins with it, by way of another one or
// directly, so that a program built without C++23 gets this message and no other.
#pragma once

#include <version>

// clang before 19 has no std::expected with the library of g++, whatever -std says.
#if __cplusplus < 202100L || !defined(__cpp_lib_expected)
// clang-format off
#error "Patchbay needs C++23: compile with -std=c++23 and clang 19 or g++ 14; g++ 12 is enough for <patchbay/blocking.h>"
// clang-format on
#include <patchbay/needs-c++23>  // stops the compiler: what follows would only hide the message
#endif
