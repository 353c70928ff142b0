#include "config/path_pattern.h"

#include <algorithm>

#include "base/strings.h"

namespace patchbay {
namespace {

constexpr auto none = std::string_view::npos;

std::unexpected<Error> bad(std::string_view why) { return fail(Errc::invalid_argument, std::string(why)); }

bool has_control(std::string_view text) noexcept {
  return std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

// The names of an absolute path, `.` and `..` taken out.
void append_names(std::vector<std::string_view>& names, std::string_view path) {
  for (const auto part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (!names.empty()) names.pop_back();
    } else {
      names.push_back(part);
    }
  }
}

// `*` and `?` within one name, greedy with one point to return to.
bool matches_name(std::string_view pattern, std::string_view name) noexcept {
  std::size_t p = 0, t = 0;
  std::size_t star = none, resume = 0;
  while (t < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[t])) {
      ++p;
      ++t;
    } else if (star != none) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace

bool PathPattern::looks_like_one(std::string_view text) noexcept {
  return text.find('/') != none || text.find("**") != none || text.starts_with('~') || text == "." || text == "..";
}

Result<PathPattern> PathPattern::parse(std::string_view text, std::string_view cwd, std::string_view home) {
  PathPattern out;
  if (has_control(text) || text.find('\\') != none)
    return bad("a path cannot contain a backslash or control character");
  std::string_view base;
  if (text.starts_with('~')) {
    if (text.size() > 1 && text[1] != '/') return bad("only ~/ is known, not the home of another person");
    if (!home.starts_with('/')) return bad("~ is used, but the variable HOME is not set");
    text.remove_prefix(1);
    out.home_ = home;
    base = home;
  } else if (!text.starts_with('/')) {
    if (!cwd.starts_with('/')) return bad("the path is relative, but to what is not known");
    base = cwd;
  }
  std::vector<std::string_view> names;
  append_names(names, base);
  for (const auto name : names) out.segments_.push_back({std::string(name), true, false});
  for (const auto part : split(text, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (out.segments_.empty()) continue;
      if (!out.segments_.back().literal) return bad("'..' cannot stand behind a wildcard");
      out.segments_.pop_back();
    } else if (part == "**") {
      if (out.segments_.empty() || !out.segments_.back().deep) out.segments_.push_back({"**", false, true});
    } else {
      if (part.find("**") != none) return bad("'**' must stand alone between slashes");
      out.segments_.push_back({std::string(part), part.find_first_of("*?") == none, false});
    }
  }
  if (!out.segments_.empty() && out.segments_.back().deep) {
    // What ** names lies inside a directory: at least one name more.
    out.directory_.emplace(out.segments_.begin(), out.segments_.end() - 1);
    out.segments_.insert(out.segments_.end() - 1, Segment{"*", false, false});
  } else if (text.size() > 1 && text.ends_with('/')) {
    out.segments_.push_back({"**", false, true});
  }
  return out;
}

bool PathPattern::fits(const Segment& segment, std::string_view name) noexcept {
  return segment.literal ? segment.text == name : matches_name(segment.text, name);
}

// As with names: one ** to return to is enough.
bool PathPattern::matches(const std::vector<Segment>& segments, const std::vector<std::string_view>& names) {
  std::size_t s = 0, n = 0;
  std::size_t deep = none, resume = 0;
  while (n < names.size()) {
    if (s < segments.size() && segments[s].deep) {
      deep = s++;
      resume = n;
    } else if (s < segments.size() && fits(segments[s], names[n])) {
      ++s;
      ++n;
    } else if (deep != none) {
      s = deep + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (s < segments.size() && segments[s].deep) ++s;
  return s == segments.size();
}

PathPattern::Match PathPattern::match(std::string_view path, std::string_view cwd) const {
  if (path.empty() || has_control(path) || path.find('\\') != none || trim(path).size() != path.size()) {
    return Match::unclear;
  }
  if (path.starts_with('$') || to_lower_ascii(path.substr(0, 5)) == "file:") return Match::unclear;
  std::vector<std::string_view> names;
  if (path.starts_with('~')) {
    // Who reads it may or may not know what ~ is; where the rule says it as well, it is meant.
    if (home_.empty() || (path.size() > 1 && path[1] != '/')) return Match::unclear;
    append_names(names, home_);
    path.remove_prefix(1);
  } else if (!path.starts_with('/')) {
    if (!cwd.starts_with('/')) return Match::unclear;
    append_names(names, cwd);
  }
  append_names(names, path);
  if (matches(segments_, names)) return Match::yes;
  return directory_ && matches(*directory_, names) ? Match::unclear : Match::no;
}

}  // namespace patchbay
