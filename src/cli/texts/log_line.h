// An event of the log as one line of text: server=… event=… and its fields as name=value. Pure; the only place
// that makes such text. A value that is more than one plain word is written as a JSON text, so that nothing a
// server says can be taken for another field.
#pragma once

#include <string>

#include <patchbay/log.h>

namespace patchbay::cli {

std::string log_line(const LogEvent& event);

}  // namespace patchbay::cli
