#include "host/channels/channel_message.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/crypto.h"
#include "base/strings.h"
#include "json/kind_text.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

constexpr std::size_t longest_digest = 32;  // letters of it that are kept

void add_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
}

void add_attribute(std::string& out, std::string_view key, std::string_view value) {
  out += fmt::format(" {}=\"", key);
  add_escaped(out, value);
  out += '"';
}

// ASCII, whatever the locale is. "source" is ours.
bool is_key(std::string_view key, const ChannelTextLimits& limits) {
  return !key.empty() && key.size() <= limits.key && key != "source" && std::ranges::all_of(key, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace

Result<ChannelText> channel_text(std::string_view server, const Json& params, const ChannelTextLimits& limits) {
  const auto content = params["content"].text();
  if (!content) {
    return fail(Errc::protocol,
                fmt::format("\"content\" of a message must be a text, found {}", kind_with_article(params["content"])));
  }
  const auto& meta = params["meta"];
  if (!meta.is_null() && !meta.is_object()) {
    return fail(Errc::protocol,
                fmt::format("\"meta\" of a message must be an object, found {}", kind_with_article(meta)));
  }
  ChannelText out;
  out.text = "<channel";
  add_attribute(out.text, "source", clean_line(server));
  std::vector<std::string> taken;
  bool says_which = false;
  if (const auto* members = meta.if_object()) {
    for (const auto& [key, value] : *members) {
      const bool fits = is_key(key, limits) && taken.size() < limits.members &&
                        std::ranges::find(taken, key) == taken.end() &&
                        (value.is_string() || value.is_number() || value.is_bool());
      if (!fits) {
        ++out.dropped;
        continue;
      }
      taken.emplace_back(key);
      says_which |= key == "message_id" || key == "id";
      const auto text = value.text();
      add_attribute(out.text, key, clean_line(cut_utf8(text ? std::string_view(*text) : to_text(value), limits.value)));
    }
  }
  out.text += '>';
  const auto kept = cut_utf8(*content, limits.content);
  add_escaped(out.text, clean_for_display(kept));
  if (kept.size() < content->size()) {
    out.text += fmt::format("\n[{} more bytes of this message were left out]", content->size() - kept.size());
  }
  out.text += "</channel>";
  if (says_which) out.digest = sha256_hex(out.text).substr(0, longest_digest);
  return out;
}

}  // namespace patchbay
