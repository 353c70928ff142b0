#include "cli/texts/form_words.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/texts/present.h"
#include "http/url.h"
#include "secrets/names.h"
#include "text/visible_text.h"

namespace patchbay::cli {
namespace {

constexpr std::size_t most_quoted = 8u << 10;
constexpr std::size_t longest_name = 80;
constexpr std::size_t longest_value = 400;
constexpr std::size_t longest_line = 400;

std::string name_of(const FormField& field) { return safe_name(field.shown(), longest_name); }

std::string choice_line(std::size_t number, const FormChoice& choice) {
  auto line = fmt::format("{:>3}  {}", number, visible_text(choice.shown()));
  if (!choice.title.empty()) line += fmt::format("  ({})", visible_text(choice.value));
  return line;
}

std::string shown_value(const Json& value) { return safe_line(visible_text(to_text(value)), longest_value); }

bool has_punycode(std::string_view host) {
  return std::ranges::any_of(split(host, '.'), [](std::string_view label) { return label.starts_with("xn--"); });
}

}  // namespace

std::string quoted(std::string_view text, std::size_t columns) {
  const auto shown = cut_utf8(text, most_quoted);
  auto out = join(wrapped("  | " + visible_message(std::string(shown)), columns, "  | "), "\n") + "\n";
  if (shown.size() < text.size()) out += fmt::format("  (of {} bytes, the first {})\n", text.size(), shown.size());
  return out;
}

std::string field_about(const FormField& field, std::size_t columns) {
  std::string out;
  if (!field.description.empty()) out += quoted(field.description, columns);
  for (std::size_t i = 0; i < field.choices.size(); ++i) {
    out += join(wrapped(choice_line(i + 1, field.choices[i]), columns, "     | "), "\n") + "\n";
  }
  if (!field.pattern.empty()) {
    out += join(wrapped("  it must match: " + visible_text(field.pattern), columns, "  | "), "\n") + "\n";
  }
  if (is_secret_name(field.name) || is_secret_name(field.title)) {
    out += "  Careful: this looks like a secret, and servers must not ask for secrets in a form.\n";
  }
  return out;
}

std::string field_prompt(const FormField& field) {
  const auto empty = field.fallback    ? fmt::format("; Enter: {}", shown_value(*field.fallback))
                     : !field.required ? std::string("; Enter: leave it out")
                                       : std::string();
  const auto how = field.has_choices() ? "; type its number or its name" : "";
  return fmt::format("{} ({}{}{}): ", name_of(field), safe_line(visible_message(expected_text(field)), longest_line),
                     how, empty);
}

std::string fault_line(std::string_view reason) { return fmt::format("  {}\n", message_line(reason, longest_line)); }

std::string review_text(const QuestionForm& form, const Json& content, std::size_t columns) {
  std::string out;
  for (std::size_t i = 0; i < form.fields.size(); ++i) {
    const auto& field = form.fields[i];
    const auto* value = content.find(field.name);
    const auto line =
        fmt::format("{:>3}  {}: {}", i + 1, name_of(field), value ? shown_value(*value) : std::string("left out"));
    out += join(wrapped(line, columns, "     | "), "\n") + "\n";
  }
  return out;
}

std::string fields_line(const QuestionForm& form) {
  std::vector<std::string> names;
  for (const auto& field : form.fields) {
    names.push_back(safe_name(field.name, longest_name) + (field.required ? " (required)" : ""));
  }
  return safe_line(join(names, ", "), longest_line);
}

Result<Visit> visit_of(const ElicitRequest& question) {
  const auto given = question.url.value_or("");
  const auto url = parse_url(given);
  if (!url) return fail(Errc::invalid_argument, "the address cannot be read: " + url.error().message());
  if (url->scheme != "https" && url->scheme != "http") {
    return fail(Errc::invalid_argument, fmt::format("an address of the kind {} is not a web page", url->scheme));
  }
  if (!url->userinfo.empty()) {
    return fail(Errc::invalid_argument, "the address has a user name before its host, which hides where it leads");
  }
  if (std::ranges::any_of(url->host, [](unsigned char c) { return c >= 0x80; })) {
    return fail(Errc::invalid_argument, "the address cannot be read: its host has characters that no host name has");
  }
  Visit out{.address = url->text(), .host = url->host, .warning = {}};
  if (has_punycode(url->host)) {
    out.warning = "Careful: the host is an international name (xn--); in a browser it may look like another one.";
  } else if (url->scheme == "http" && !is_loopback_host(url->host)) {
    out.warning = "Careful: what you do on that page is not encrypted on its way (http).";
  }
  return out;
}

}  // namespace patchbay::cli
