// Events of a text/event-stream as they are written. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "http/message.h"

namespace patchbay {

// `data` is one line, which compact JSON always is.
inline std::string sse_message(std::string_view id, std::string_view data) {
  std::string text = "event: message\n";
  text.reserve(data.size() + id.size() + 32);
  if (!id.empty()) {
    text += "id: ";
    text += id;
    text += '\n';
  }
  text += "data: ";
  text += data;
  text += "\n\n";
  return text;
}

// An event without data: it only names a place to resume from.
inline std::string sse_place(std::string_view id, std::chrono::milliseconds retry) {
  return "id: " + std::string(id) + "\nretry: " + std::to_string(retry.count()) + "\ndata: \n\n";
}

inline std::string sse_retry(std::chrono::milliseconds retry) {
  return "retry: " + std::to_string(retry.count()) + "\n\n";
}

inline constexpr std::string_view sse_sign_of_life = ": \n\n";

// The head of an event stream; proxies are asked not to hold it back.
inline HttpHeaders sse_headers() {
  return {{"Content-Type", "text/event-stream"}, {"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}};
}

}  // namespace patchbay
