// The simplest store of secrets: secrets.json beside our config.json, readable by its owner alone,
// {"version": 1, "secrets": {"NAME": "value"}}. ${secret:NAME} is looked up here. Reading only; blocking.
#pragma once

#include <string>

#include <patchbay/error.h>

namespace patchbay {

// Errc::config when the file is not there, is not the user's alone, cannot be understood, or has no such
// secret. No message has a value in it.
Result<std::string> stored_secret(const std::string& file, const std::string& name, unsigned owner);

}  // namespace patchbay
