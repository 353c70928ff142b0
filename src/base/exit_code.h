// The exit code of a program that ends with this error; the table is docs/errors.md.
#pragma once

#include <patchbay/error.h>

namespace patchbay {

int exit_code(const Error& error) noexcept;

}  // namespace patchbay
