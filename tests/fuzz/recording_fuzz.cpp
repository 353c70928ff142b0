// Reading a recording of any origin: it never fails but with an error, stays within its bounds, what was read is
// written as something that reads as the same, and whatever is in it can be made into a script that answers.
#include "fuzz/fuzz.h"
#include "recording/recording.h"
#include "recording/script.h"

using namespace patchbay;
using fuzz::require;

FUZZ_TARGET(recording) {
  const auto read = read_recording(input);
  if (!read) {
    require(read.error().message().size() < 300, "an error that quotes");
    return;
  }
  require(read->frames.size() <= most_recorded_frames, "too many frames");
  require(read->warnings.size() <= most_recording_warnings + 2, "too many warnings");
  const auto again = read_recording(write_recording(read->header, read->frames));
  require(again.has_value() && again->warnings.empty(), "what was written cannot be read");
  require(again->frames == read->frames && again->header == read->header, "a frame changed on its way");
  const auto script = script_of(*read);
  Matcher matcher(script);
  for (const auto& exchange : script.exchanges) {
    if (!exchange.params) continue;
    require(matcher.match(exchange.method, *exchange.params).has_value(), "a recorded request is not found");
  }
  require(matcher.no_match("x").message.size() < 4000, "an error that is too long");
}
