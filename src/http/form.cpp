#include "http/form.h"

#include <algorithm>

#include "base/strings.h"
#include "json/schema_uri.h"

namespace patchbay {
namespace {

constexpr std::size_t most_members = 256;

std::optional<std::string> decoded(std::string_view text) {
  std::string blanks(text);
  std::ranges::replace(blanks, '+', ' ');
  return schema::percent_decoded(blanks);
}

}  // namespace

std::string form_encoded(std::string_view text) {
  auto encoded = percent_encoded(text, "-._~* ");
  std::ranges::replace(encoded, ' ', '+');
  return encoded;
}

void append_form(std::string& form, std::string_view name, std::string_view value) {
  if (!form.empty()) form += '&';
  form += form_encoded(name);
  form += '=';
  form += form_encoded(value);
}

Result<FormMembers> read_form(std::string_view form) {
  FormMembers members;
  for (const auto member : split(form, '&')) {
    if (member.empty()) continue;
    if (members.size() == most_members) return fail(Errc::protocol, "it has too many members");
    const auto equals = std::min(member.find('='), member.size());
    auto name = decoded(member.substr(0, equals));
    auto value = decoded(member.substr(std::min(equals + 1, member.size())));
    if (!name || !value) return fail(Errc::protocol, "a percent sign is not followed by two hexadecimal digits");
    members.emplace_back(std::move(*name), std::move(*value));
  }
  return members;
}

}  // namespace patchbay
