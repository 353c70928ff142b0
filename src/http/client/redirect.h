// Where an answer sends a request on, and what goes along. Pure; the HTTP client calls it
// after every head.
//
// GET and HEAD follow 301, 302, 303, 307 and 308. Other methods follow 307 and 308, which
// keep method and body; the others would turn a call into something else and are errors.
// From https nothing leads to http. To another origin only GET and HEAD go on: what a call says
// is meant for the server that somebody configured; and where the trail says so, nothing goes there at all: a
// server could have us ask any address that only we can reach. That holds for the same host with encryption too: every
// call would go out in clear first, with all that is configured. Another origin gets the fields that describe the
// message and no others: credentials, cookies, session ids and whatever somebody configured stay behind, and what a
// connection to the first one shows (a client certificate) does too.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <patchbay/error.h>

#include "http/message.h"

namespace patchbay {

struct RedirectTrail {
  int allowed = 5;
  bool same_origin = false;          // nowhere else, whatever the method
  std::vector<std::string> visited;  // URLs, in order
  std::string shown;                 // what messages have instead of the first URL; empty: that itself
  bool left_origin = false;          // of the first URL, at some point: what was for that one alone stays behind
};

// The request to send next, nothing when the answer is final, or why it cannot be followed.
// Adds to the trail.
Result<std::optional<HttpRequest>> redirected(const HttpRequest& sent, const HttpHead& answer, RedirectTrail& trail);

}  // namespace patchbay
