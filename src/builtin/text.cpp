#include "builtin/text.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "json/utf8.h"

namespace patchbay::builtin {

using namespace std::string_view_literals;

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

}  // namespace

std::string_view image_type(std::string_view beginning) noexcept {
  if (beginning.starts_with("\x89PNG\r\n\x1A\n")) return "image/png";
  if (beginning.starts_with("\xFF\xD8\xFF")) return "image/jpeg";
  if (beginning.starts_with("GIF87a") || beginning.starts_with("GIF89a")) return "image/gif";
  if (beginning.starts_with("RIFF") && beginning.size() >= 12 && beginning.substr(8, 4) == "WEBP") return "image/webp";
  return {};
}

std::string_view binary_kind(std::string_view beginning) noexcept {
  beginning = beginning.substr(0, sniffed_bytes);
  struct Magic {
    std::string_view bytes, kind;
  };
  static constexpr Magic magics[] = {
      {"\xFF\xFE"sv, "UTF-16 text"},
      {"\xFE\xFF"sv, "UTF-16 text"},
      {"%PDF-"sv, "a PDF document"},
      {"PK\x03\x04"sv, "a ZIP archive"},
      {"\x1F\x8B"sv, "a gzip file"},
      {"\x7F"
       "ELF"sv,
       "an ELF program"},
  };
  for (const auto& [bytes, kind] : magics) {
    if (beginning.starts_with(bytes)) return kind;
  }
  return beginning.contains('\0') ? "binary data" : "";
}

Repaired repair_utf8(std::string_view bytes) {
  Repaired out;
  for (;;) {
    const auto bad = first_invalid_utf8(bytes);
    if (bad == all_utf8) {
      out.text += bytes;
      return out;
    }
    out.text += bytes.substr(0, bad);
    out.text += replacement;
    ++out.replaced;
    bytes.remove_prefix(bad + 1);
  }
}

std::string printable_name(std::string_view name) {
  std::string out;
  for (const char c : repair_utf8(name).text) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out;
}

std::string size_text(std::size_t bytes) {
  if (bytes < 10'000) return plural(bytes, "byte");
  const double kib = static_cast<double>(bytes) / 1024;
  if (kib < 1024) return fmt::format("{:.1f} KiB", kib);
  if (kib < 1024 * 1024) return fmt::format("{:.1f} MiB", kib / 1024);
  return fmt::format("{:.1f} GiB", kib / 1024 / 1024);
}

bool Lines::next(std::string_view& line) noexcept {
  if (rest_.empty()) return false;
  const auto end = rest_.find('\n');
  line = rest_.substr(0, end);
  rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  if (end != std::string_view::npos && line.ends_with('\r')) line.remove_suffix(1);
  return true;
}

std::string cut_line(std::string_view line, std::size_t bytes, std::size_t around) {
  if (line.size() <= bytes) return repair_utf8(line).text;
  // Most of the room goes behind the place to see, which is where a match reads on.
  std::size_t from = around > bytes / 4 ? around - bytes / 4 : 0;
  from = std::min(from, line.size() - bytes);
  while (from > 0 && (static_cast<unsigned char>(line[from]) & 0xC0) == 0x80) --from;
  const auto part = cut_utf8(line.substr(from), bytes);
  return fmt::format("{}{}{}", from > 0 ? "…" : "", repair_utf8(part).text,
                     from + part.size() < line.size() ? "…" : "");
}

}  // namespace patchbay::builtin
