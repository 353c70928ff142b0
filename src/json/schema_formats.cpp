#include "json/schema_formats.h"

#include <algorithm>
#include <optional>

#include "json/regex.h"
#include "json/schema_uri.h"
#include "json/utf8.h"

namespace patchbay::schema {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool hex_digit(char c) { return digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

// Takes exactly `count` digits off `text`; -1 when they are not there.
int take_number(std::string_view& text, std::size_t count) {
  if (text.size() < count || !std::ranges::all_of(text.substr(0, count), digit)) return -1;
  int value = 0;
  for (char c : text.substr(0, count)) value = value * 10 + (c - '0');
  text.remove_prefix(count);
  return value;
}
bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}
std::size_t take_digits(std::string_view& text) {
  const auto end = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(end);
  return end;
}

// ---- RFC 3339 ---------------------------------------------------------------------------

bool take_date(std::string_view& text) {
  const int year = take_number(text, 4);
  if (year < 0 || !take(text, '-')) return false;
  const int month = take_number(text, 2);
  if (month < 1 || month > 12 || !take(text, '-')) return false;
  const int day = take_number(text, 2);
  constexpr int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  const int most = days[month - 1] + (month == 2 && leap ? 1 : 0);
  return day >= 1 && day <= most;
}

bool take_time(std::string_view& text) {
  const int hour = take_number(text, 2);
  if (hour < 0 || hour > 23 || !take(text, ':')) return false;
  const int minute = take_number(text, 2);
  if (minute < 0 || minute > 59 || !take(text, ':')) return false;
  const int second = take_number(text, 2);
  if (second < 0 || second > 60) return false;
  if (take(text, '.') && take_digits(text) == 0) return false;
  int offset = 0;
  if (!take(text, 'Z') && !take(text, 'z')) {
    const bool west = text.starts_with('-');
    if (!west && !text.starts_with('+')) return false;
    text.remove_prefix(1);
    const int hours = take_number(text, 2);
    if (hours < 0 || hours > 23 || !take(text, ':')) return false;
    const int minutes = take_number(text, 2);
    if (minutes < 0 || minutes > 59) return false;
    offset = (west ? -1 : 1) * (hours * 60 + minutes);
  }
  // Leap seconds end a day of UTC.
  constexpr int day = 24 * 60;
  return second < 60 || (hour * 60 + minute - offset + 2 * day) % day == day - 1;
}

bool is_date(std::string_view text) { return take_date(text) && text.empty(); }
bool is_time(std::string_view text) { return take_time(text) && text.empty(); }
bool is_date_time(std::string_view text) {
  return take_date(text) && (take(text, 'T') || take(text, 't')) && take_time(text) && text.empty();
}

// Some of `units`, in order, each behind its number, without leaving one out in between.
bool take_units(std::string_view& text, std::string_view units) {
  bool any = false;
  while (!text.empty() && digit(text[0])) {
    take_digits(text);
    const auto found = text.empty() ? std::string_view::npos : units.find(text[0]);
    if (found == std::string_view::npos || (any && found != 0)) return false;
    units.remove_prefix(found + 1);
    text.remove_prefix(1);
    any = true;
  }
  return any;
}

bool is_duration(std::string_view text) {
  if (!take(text, 'P')) return false;
  std::string_view weeks = text;
  if (take_digits(weeks) != 0 && weeks == "W") return true;
  const bool date = !text.starts_with('T');
  if (date && !take_units(text, "YMD")) return false;
  if (take(text, 'T')) return take_units(text, "HMS") && text.empty();
  return date && text.empty();
}

// ---- names and addresses ----------------------------------------------------------------

bool is_ipv4(std::string_view text) {
  for (int part = 0; part < 4; ++part) {
    if (part > 0 && !take(text, '.')) return false;
    const std::string_view before = text;
    const auto length = take_digits(text);
    if (length == 0 || length > 3 || (length > 1 && before[0] == '0')) return false;
    std::string_view digits = before.substr(0, length);
    if (take_number(digits, length) > 255) return false;
  }
  return text.empty();
}

bool is_ipv6(std::string_view text) {
  int groups = 0;
  bool gap = false;
  if (text.starts_with("::")) {
    gap = true;
    text.remove_prefix(2);
    if (text.empty()) return true;
  }
  while (true) {
    const auto end = text.find(':');
    const std::string_view group = text.substr(0, end);
    if (end == std::string_view::npos && group.find('.') != std::string_view::npos) {
      if (!is_ipv4(group)) return false;
      groups += 2;
      break;
    }
    if (group.empty() || group.size() > 4 || !std::ranges::all_of(group, hex_digit)) return false;
    ++groups;
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
    if (take(text, ':')) {
      if (gap) return false;
      gap = true;
      if (text.empty()) break;
    }
  }
  return gap ? groups <= 7 : groups == 8;
}

bool is_host(std::string_view text, bool international) {
  if (text.empty() || text.size() > (international ? 1000u : 253u)) return false;
  while (true) {
    const auto end = text.find('.');
    const std::string_view label = text.substr(0, end);
    const auto good = [&](char c) { return letter(c) || digit(c) || c == '-' || (international && !ascii(c)); };
    if (label.empty() || label.size() > (international ? 252u : 63u) || label.starts_with('-') ||
        label.ends_with('-') || !std::ranges::all_of(label, good)) {
      return false;
    }
    if (label.size() >= 4 && label.substr(2, 2) == "--" && !label.starts_with("xn--") && international) return false;
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}
bool is_hostname(std::string_view text) { return is_host(text, false); }

bool is_idn_hostname(std::string_view text) {
  if (first_invalid_utf8(text) != all_utf8) return false;
  // The full stops of East Asian writing separate labels as well.
  std::string plain;
  for (std::size_t i = 0; i < text.size();) {
    const auto length = utf8_sequence(text, i);
    const auto point = text.substr(i, length);
    plain += point == "\u3002" || point == "\uFF0E" || point == "\uFF61" ? std::string_view(".") : point;
    i += length;
  }
  return is_host(plain, true);
}

bool is_mailbox(std::string_view text, bool international) {
  const auto at = text.rfind('@');
  if (at == std::string_view::npos || at == 0) return false;
  const std::string_view local = text.substr(0, at);
  std::string_view domain = text.substr(at + 1);
  if (local.size() >= 2 && local.starts_with('"') && local.ends_with('"')) {
    const std::string_view inner = local.substr(1, local.size() - 2);
    for (std::size_t i = 0; i < inner.size(); ++i) {
      if (inner[i] == '\\') {
        if (++i == inner.size()) return false;
      } else if (inner[i] == '"' || (ascii(inner[i]) && (inner[i] < ' ' || inner[i] == 0x7F))) {
        return false;
      }
      if (!international && !ascii(inner[i])) return false;
    }
  } else {
    const auto atom = [&](char c) {
      return letter(c) || digit(c) || std::string_view("!#$%&'*+-/=?^_`{|}~.").find(c) != std::string_view::npos ||
             (international && !ascii(c));
    };
    if (local.starts_with('.') || local.ends_with('.') || local.find("..") != std::string_view::npos ||
        !std::ranges::all_of(local, atom)) {
      return false;
    }
  }
  if (domain.starts_with('[') && domain.ends_with(']')) {
    domain = domain.substr(1, domain.size() - 2);
    return domain.starts_with("IPv6:") ? is_ipv6(domain.substr(5)) : is_ipv4(domain);
  }
  return is_host(domain, international);
}
bool is_email(std::string_view text) { return is_mailbox(text, false); }
bool is_idn_email(std::string_view text) { return first_invalid_utf8(text) == all_utf8 && is_mailbox(text, true); }

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !hex_digit(text[i])) return false;
  }
  return true;
}

// ---- URIs -------------------------------------------------------------------------------

enum class Wants : bool { reference, absolute };
enum class Letters : bool { ascii, international };

// Unreserved, percent-encoded, sub-delims and `more`.
bool all_uri_chars(std::string_view text, std::string_view more, Letters letters) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size() || !hex_digit(text[i + 1]) || !hex_digit(text[i + 2])) return false;
      i += 2;
      continue;
    }
    const bool good = letter(c) || digit(c) || std::string_view("-._~!$&'()*+,;=").find(c) != std::string_view::npos ||
                      more.find(c) != std::string_view::npos || (!ascii(c) && letters == Letters::international);
    if (!good) return false;
  }
  return true;
}

bool is_authority(std::string_view text, Letters letters) {
  if (const auto at = text.rfind('@'); at != std::string_view::npos) {
    if (!all_uri_chars(text.substr(0, at), ":", letters)) return false;
    text.remove_prefix(at + 1);
  }
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == std::string_view::npos) return false;
    const std::string_view inner = text.substr(1, close - 1);
    const bool future = inner.size() > 2 && (inner[0] == 'v' || inner[0] == 'V');
    if (future ? !all_uri_chars(inner, ":", Letters::ascii) : !is_ipv6(inner)) return false;
    text.remove_prefix(close + 1);
  } else {
    const auto colon = std::min(text.find(':'), text.size());
    if (!all_uri_chars(text.substr(0, colon), "", letters)) return false;
    text.remove_prefix(colon);
  }
  return text.empty() || (take(text, ':') && std::ranges::all_of(text, digit));
}

bool is_uri_text(std::string_view text, Wants wants, Letters letters) {
  if (letters == Letters::international && first_invalid_utf8(text) != all_utf8) return false;
  const UriParts parts = split_uri(text);
  if (wants == Wants::absolute && !parts.scheme) return false;
  if (parts.authority && !is_authority(*parts.authority, letters)) return false;
  if (!all_uri_chars(parts.path, ":@/", letters)) return false;
  // A first segment with a colon would read as a scheme.
  if (!parts.scheme && !parts.authority) {
    if (parts.path.substr(0, parts.path.find('/')).find(':') != std::string_view::npos) return false;
  }
  if (parts.query && !all_uri_chars(*parts.query, ":@/?", letters)) return false;
  return !parts.fragment || all_uri_chars(*parts.fragment, ":@/?", letters);
}

bool is_uri(std::string_view text) { return is_uri_text(text, Wants::absolute, Letters::ascii); }
bool is_uri_reference(std::string_view text) { return is_uri_text(text, Wants::reference, Letters::ascii); }
bool is_iri(std::string_view text) { return is_uri_text(text, Wants::absolute, Letters::international); }
bool is_iri_reference(std::string_view text) { return is_uri_text(text, Wants::reference, Letters::international); }

// RFC 6570: literals with {expressions} between them.
bool is_uri_template(std::string_view text) {
  while (!text.empty()) {
    const auto brace = text.find_first_of("{}");
    const std::string_view literal = text.substr(0, brace);
    for (char c : literal) {
      if (ascii(c) && (c <= ' ' || c == 0x7F || std::string_view("\"'<>\\^`|").find(c) != std::string_view::npos)) {
        return false;
      }
    }
    if (brace == std::string_view::npos) return true;
    const auto close = text.find('}');
    if (text[brace] == '}' || close == std::string_view::npos) return false;
    std::string_view expression = text.substr(brace + 1, close - brace - 1);
    text.remove_prefix(close + 1);
    if (!expression.empty() && std::string_view("+#./;?&=,!@|").find(expression[0]) != std::string_view::npos) {
      expression.remove_prefix(1);
    }
    if (expression.empty()) return false;
    while (true) {
      const auto comma = expression.find(',');
      std::string_view name = expression.substr(0, comma);
      if (name.ends_with('*')) {
        name.remove_suffix(1);
      } else if (const auto colon = name.find(':'); colon != std::string_view::npos) {
        const std::string_view length = name.substr(colon + 1);
        if (length.empty() || length.size() > 4 || length[0] == '0' || !std::ranges::all_of(length, digit))
          return false;
        name = name.substr(0, colon);
      }
      const auto good = [](char c) { return letter(c) || digit(c) || c == '_' || c == '.' || c == '%'; };
      if (name.empty() || !std::ranges::all_of(name, good)) return false;
      if (comma == std::string_view::npos) break;
      expression.remove_prefix(comma + 1);
    }
  }
  return true;
}

// ---- the rest ---------------------------------------------------------------------------

bool is_json_pointer(std::string_view text) {
  if (!text.empty() && !text.starts_with('/')) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '~' && (i + 1 == text.size() || (text[i + 1] != '0' && text[i + 1] != '1'))) return false;
  }
  return true;
}

bool is_relative_json_pointer(std::string_view text) {
  const std::string_view before = text;
  const auto length = take_digits(text);
  if (length == 0 || (length > 1 && before[0] == '0')) return false;
  return text == "#" || is_json_pointer(text);
}

bool is_regex(std::string_view text) { return Regex::compile(text).has_value(); }

struct Format {
  std::string_view name;
  FormatCheck check;
};
constexpr Format formats[] = {
    {"date", is_date},
    {"date-time", is_date_time},
    {"duration", is_duration},
    {"email", is_email},
    {"hostname", is_hostname},
    {"idn-email", is_idn_email},
    {"idn-hostname", is_idn_hostname},
    {"ipv4", is_ipv4},
    {"ipv6", is_ipv6},
    {"iri", is_iri},
    {"iri-reference", is_iri_reference},
    {"json-pointer", is_json_pointer},
    {"regex", is_regex},
    {"relative-json-pointer", is_relative_json_pointer},
    {"time", is_time},
    {"uri", is_uri},
    {"uri-reference", is_uri_reference},
    {"uri-template", is_uri_template},
    {"uuid", is_uuid},
};

}  // namespace

FormatCheck find_format(std::string_view name) noexcept {
  for (const Format& format : formats) {
    if (format.name == name) return format.check;
  }
  return nullptr;
}

}  // namespace patchbay::schema
