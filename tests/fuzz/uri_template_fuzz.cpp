// URI templates: parsing, expanding and matching stay within their bounds, and a template
// recognises the URIs it makes wherever that can be promised.
// Input: the template on a line of its own, a URI on the next, then a value per line.
#include <algorithm>
#include <map>
#include <set>

#include "base/strings.h"
#include "fuzz/fuzz.h"
#include "json/schema_uri.h"
#include "protocol/uri_template.h"

using namespace patchbay;
using fuzz::require;

namespace {

using Found = std::map<std::string, std::string>;

struct Shape {
  bool plain = true;    // no modifiers, no name twice
  bool encoded = true;  // every value is written so that it cannot be mistaken for structure
  bool queries_last = true;
  bool separated = true;  // what follows a variable cannot be part of its value
  bool labels = false;    // "{.x}": a dot in a value is one more label
};

// The template is known to be well-formed.
Shape shape_of(std::string_view text) {
  Shape shape;
  std::set<std::string, std::less<>> names;
  bool query = false;
  while (!text.empty()) {
    const auto open = std::min(text.find('{'), text.size());
    if (open != 0 && query) shape.queries_last = false;
    text.remove_prefix(open);
    if (text.empty()) break;
    const auto close = text.find('}');
    auto inside = text.substr(1, close - 1);
    text.remove_prefix(close + 1);
    const char op = std::string_view("+#./;?&").find(inside.front()) != std::string_view::npos ? inside.front() : 0;
    if (op != 0) inside.remove_prefix(1);
    if (query) shape.queries_last = false;
    if (op == ';' || op == '?' || op == '&') query = true;
    if (op == '+' || op == '#') shape.encoded = false;
    if (op == '.') shape.labels = true;
    if (inside.find_first_of("*:") != std::string_view::npos) shape.plain = false;
    while (!inside.empty()) {
      const auto comma = std::min(inside.find(','), inside.size());
      if (!names.emplace(inside.substr(0, comma)).second) shape.plain = false;
      inside.remove_prefix(std::min(comma + 1, inside.size()));
    }
    if (query) continue;
    // What comes next must begin with something a value cannot hold unencoded.
    const bool ends = text.empty() || text.front() == '/' || text.front() == '?' || text.front() == '#' ||
                      text.starts_with("{/") || text.starts_with("{?") || text.starts_with("{#");
    if (!ends) shape.separated = false;
  }
  return shape;
}

void check_expansion(const UriTemplate& uri_template, const UriTemplate::Values& values, const Shape& shape) {
  const auto uri = uri_template.expand(values);
  if (!uri) {
    require(uri.error().code() == Errc::limit, "expanding failed in another way than by a bound");
    return;
  }
  require(uri->size() <= UriTemplate::max_expansion, "an expansion longer than allowed");
  require(std::ranges::all_of(*uri, [](char c) { return c > 0x20 && c < 0x7F; }), "an expansion is no URI");
  const auto found = uri_template.match(*uri);
  const auto names = uri_template.variables();
  if (found) {
    for (const auto& [name, value] : *found) {
      require(std::ranges::find(names, name) != names.end(), "a variable the template does not have");
    }
  }
  if (!shape.plain || !shape.encoded || !shape.queries_last || uri->size() > UriTemplate::max_uri) return;
  Found given;
  for (const auto& [name, value] : values) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr || text->empty() || !valid_utf8(*text)) return;
    if (shape.labels && text->find('.') != std::string::npos) return;
    given.emplace(name, *text);
  }
  if (given.size() != names.size()) return;
  require(found.has_value(), "a template does not know its own URI: " + *uri);
  require(!shape.separated || *found == given, "a template reads other values out of its own URI: " + *uri);
}

}  // namespace

FUZZ_TARGET(uri_template) {
  const auto text = fuzz::take_line(input);
  const auto uri = fuzz::take_line(input);
  const auto parsed = UriTemplate::parse(text);
  if (!parsed) {
    const auto code = parsed.error().code();
    require(code == Errc::invalid_argument || code == Errc::limit, "parsing failed in an unknown way");
    return;
  }
  require(parsed->text() == text, "the text of a template changed");
  const auto names = parsed->variables();
  require(names.size() <= UriTemplate::max_variables, "more variables than allowed");
  const Shape shape = shape_of(text);

  if (const auto found = parsed->match(uri)) {
    UriTemplate::Values values;
    for (const auto& [name, value] : *found) {
      require(std::ranges::find(names, name) != names.end(), "a variable the template does not have");
      require(valid_utf8(value) || !valid_utf8(uri), "a value that is no text out of a URI that is");
      values.emplace(name, value);
    }
    check_expansion(*parsed, values, shape);
    // What was read can be written and read again, if the URI is a proper one: bytes that are
    // no text stay encoded in a value, and where they end is anybody's guess.
    const auto decoded = schema::percent_decoded(uri);
    const bool proper = decoded && valid_utf8(*decoded);
    const auto written = parsed->expand(values);
    if (shape.plain && shape.encoded && shape.separated && shape.queries_last && !shape.labels && written && proper &&
        std::ranges::none_of(*found, [](const auto& each) { return each.second.empty(); })) {
      require(written->size() > UriTemplate::max_uri || parsed->match(*written) == found,
              "a URI written anew is read differently: " + *written);
    }
  }

  // Each variable gets the next line; the first characters make it a list or pairs.
  UriTemplate::Values values;
  for (const auto& name : names) {
    if (input.empty()) break;
    auto line = fuzz::take_line(input);
    if (line.starts_with("[]")) {
      UriTemplate::List list;
      line.remove_prefix(2);
      while (!line.empty()) {
        const auto comma = std::min(line.find(','), line.size());
        list.emplace_back(line.substr(0, comma));
        line.remove_prefix(std::min(comma + 1, line.size()));
      }
      values.emplace(name, std::move(list));
    } else if (line.starts_with("{}")) {
      const auto half = 2 + (line.size() - 2) / 2;
      values.emplace(name, UriTemplate::Pairs{{std::string(line.substr(2, half - 2)), std::string(line.substr(half))}});
    } else {
      values.emplace(name, std::string(line));
    }
  }
  check_expansion(*parsed, values, shape);
}
