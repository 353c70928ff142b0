// What an HTTP server writes around an answer and reads out of a head, as far as it is text: the first lines of
// an answer, the date, the status an error stands for, whether a connection is kept. Pure; HttpServer calls it.
#pragma once

#include <chrono>
#include <initializer_list>
#include <string>
#include <string_view>

#include <patchbay/error.h>

#include "http/message.h"

namespace patchbay {

// "Sun, 06 Nov 1994 08:49:37 GMT"
std::string http_date(std::chrono::system_clock::time_point now);
// What a client is told when its request failed with this.
int status_for(const Error& error);

// What a head says of its connection; `version` is 10 or 11.
bool wants_connection_kept(unsigned version, std::string_view connection);
bool waits_for_continue(unsigned version, std::string_view expect);

struct ResponseHead {
  int status = 200;
  std::string_view date;
  unsigned version = 11;  // of the request
  bool keep = true;       // the connection
};
// Status line and fields, without the blank line. Nothing in a field can end its line.
std::string response_head(const ResponseHead& head, std::initializer_list<const HttpHeaders*> fields);

}  // namespace patchbay
