#include "http/server/text.h"

#include <array>
#include <ctime>

#include <fmt/format.h>

#include "http/reasons.h"

namespace patchbay {
namespace {

bool is_safe(char c) { return static_cast<unsigned char>(c) >= 0x20 || c == '\t'; }

// Nothing that could end the line it stands in.
void append_safe(std::string& out, std::string_view text) {
  bool safe = true;
  for (char c : text) safe &= is_safe(c);
  if (safe) {
    out += text;
    return;
  }
  for (char c : text) {
    if (is_safe(c)) out.push_back(c);
  }
}

bool has_token(std::string_view list, std::string_view token) {
  while (!list.empty()) {
    const auto comma = list.find(',');
    auto item = list.substr(0, comma);
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
    while (!item.empty() && (item.front() == ' ' || item.front() == '\t')) item.remove_prefix(1);
    while (!item.empty() && (item.back() == ' ' || item.back() == '\t')) item.remove_suffix(1);
    if (HttpHeaders::same_name(item, token)) return true;
  }
  return false;
}

}  // namespace

std::string http_date(std::chrono::system_clock::time_point now) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  static constexpr std::array days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  // Not strftime: the program's locale would name the days.
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", days[static_cast<std::size_t>(parts.tm_wday)],
                     parts.tm_mday, months[static_cast<std::size_t>(parts.tm_mon)], parts.tm_year + 1900, parts.tm_hour,
                     parts.tm_min, parts.tm_sec);
}

int status_for(const Error& error) {
  switch (error.code()) {
    case Errc::limit:
      return 413;
    case Errc::timeout:
      return 408;
    case Errc::protocol:
    case Errc::invalid_argument:
      return 400;
    default:
      return 500;
  }
}

bool wants_connection_kept(unsigned version, std::string_view connection) {
  return version >= 11 ? !has_token(connection, "close") : has_token(connection, "keep-alive");
}

bool waits_for_continue(unsigned version, std::string_view expect) {
  return version >= 11 && HttpHeaders::same_name(expect, "100-continue");
}

std::string response_head(const ResponseHead& head, std::initializer_list<const HttpHeaders*> fields) {
  constexpr std::string_view line_end = "\r\n";
  const auto reason = reason_phrase(head.status);
  std::string text;
  text.reserve(256);  // with what its caller adds
  text += "HTTP/1.1 ";
  text += fmt::format_int(head.status).c_str();
  text += ' ';
  text += reason.empty() ? "Status" : reason;
  text += "\r\nDate: ";
  text += head.date;
  text += line_end;
  for (const auto* list : fields) {
    for (const auto& field : *list) {
      append_safe(text, field.name);
      text += ": ";
      append_safe(text, field.value);
      text += line_end;
    }
  }
  if (!head.keep) {
    text += "Connection: close\r\n";
  } else if (head.version < 11) {
    text += "Connection: keep-alive\r\n";
  }
  return text;
}

}  // namespace patchbay
