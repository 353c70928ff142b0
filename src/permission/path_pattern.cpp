#include "permission/path_pattern.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "settings/real_path.h"
#include "text/wildcard.h"

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

std::string path_of(const std::vector<std::string_view>& names) { return fmt::format("/{}", fmt::join(names, "/")); }

}  // namespace

bool PathPattern::looks_like_one(std::string_view text) noexcept {
  return text.find('/') != none || text.find("**") != none || text.starts_with('~') || text == "." || text == "..";
}

Result<PathPattern> PathPattern::parse(std::string_view text, std::string_view cwd, std::string_view home) {
  PathPattern out;
  if (has_control(text) || text.find('\\') != none)
    return bad("a path cannot contain a backslash or control character");
  std::string_view base;
  if (!text.empty()) out.begins_with_ = text.front();
  if (text.starts_with('~')) {
    if (text.size() > 1 && text[1] != '/') return bad("only ~/ can be used, not the home directory of another user");
    if (!home.starts_with('/')) return bad("~ is used, but the variable HOME is not set");
    text.remove_prefix(1);
    out.home_ = home;
    base = home;
  } else if (!text.starts_with('/')) {
    if (!cwd.starts_with('/')) return bad("the path is relative, but its base directory is not known");
    base = cwd;
  }
  std::vector<std::string_view> names;
  append_names(names, base);
  auto& segments = out.written_.segments;
  for (const auto name : names) segments.push_back({std::string(name), true, false});
  auto below = segments.size();  // how many are those of the base
  for (const auto part : split(text, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (segments.empty()) continue;
      if (!segments.back().literal) return bad("'..' cannot follow a wildcard");
      segments.pop_back();
      below = std::min(below, segments.size());
    } else if (part == "**") {
      if (segments.empty() || !segments.back().deep) segments.push_back({"**", false, true});
    } else {
      if (part.find("**") != none) return bad("'**' must stand alone between slashes");
      segments.push_back({std::string(part), part.find_first_of("*?") == none, false});
    }
  }
  if (!segments.empty() && segments.back().deep) {
    // What ** names lies inside a directory: at least one name more.
    out.written_.directory.emplace(segments.begin(), segments.end() - 1);
    segments.insert(segments.end() - 1, Segment{"*", false, false});
  } else if (text.size() > 1 && text.ends_with('/')) {
    segments.push_back({"**", false, true});
  }
  out.based_ = elsewhere(out.written_, below);
  const auto wild = std::ranges::find(segments, false, &Segment::literal);
  out.real_ = elsewhere(out.written_, static_cast<std::size_t>(wild - segments.begin()));
  return out;
}

std::optional<PathPattern::Form> PathPattern::elsewhere(const Form& written, std::size_t count) {
  std::string there;
  for (std::size_t i = 0; i < count; ++i) there += "/" + written.segments[i].text;
  const auto real = real_path(there);
  if (count == 0 || !real || *real == there) return std::nullopt;
  std::vector<std::string_view> names;
  append_names(names, *real);
  std::vector<Segment> front;
  for (const auto name : names) front.push_back({std::string(name), true, false});
  auto moved = [&](const std::vector<Segment>& segments) {
    auto all = front;
    all.insert(all.end(), segments.begin() + static_cast<std::ptrdiff_t>(count), segments.end());
    return all;
  };
  Form out{moved(written.segments), std::nullopt};
  if (written.directory) out.directory = moved(*written.directory);
  return out;
}

std::string PathPattern::never() const {
  if (begins_with_ == '$') return "variables are not replaced here; write the path, or ~/ for your home directory";
  std::string front;
  for (const auto& segment : written_.segments) {
    if (!segment.literal) break;
    front += "/" + segment.text;
  }
  if (is_place_of_process(front))
    return "this path is not the same file for the server as for patchbay; write the path of the file itself";
  return {};
}

bool PathPattern::fits(const Segment& segment, std::string_view name) noexcept {
  return segment.literal ? segment.text == name : matches_glob(segment.text, name);
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

PathPattern::Match PathPattern::Form::match(const std::vector<std::string_view>& names) const {
  if (matches(segments, names)) return Match::yes;
  return directory && matches(*directory, names) ? Match::unclear : Match::no;
}

PathPattern::Match PathPattern::match(std::string_view path, std::string_view cwd) const {
  if (path.empty() || has_control(path) || path.find('\\') != none || trim(path).size() != path.size()) {
    return Match::unclear;
  }
  if (path.starts_with('$') || to_lower_ascii(path.substr(0, 5)) == "file:") return Match::unclear;
  std::string whole;
  if (path.starts_with('~')) {
    // Who reads it may or may not know what ~ is; where the rule says it as well, it is meant.
    if (home_.empty() || (path.size() > 1 && path[1] != '/')) return Match::unclear;
    whole = fmt::format("{}/{}", home_, path.substr(1));
  } else if (path.starts_with('/')) {
    whole = path;
  } else {
    if (!cwd.starts_with('/')) return Match::unclear;
    whole = fmt::format("{}/{}", cwd, path);
  }
  std::vector<std::string_view> names;
  append_names(names, whole);
  const auto by_text = written_.match(names);
  if (by_text == Match::unclear) return by_text;
  // Some take `..` out of the text before they follow links, others let the kernel do both.
  for (const auto& said : {whole, path_of(names)}) {
    const auto real = shared_path(said);
    if (!real) return Match::unclear;
    std::vector<std::string_view> there;
    append_names(there, *real);
    bool same = false;
    if (by_text == Match::yes) {
      same = there == names || written_.match(there) == Match::yes || (based_ && based_->match(there) == Match::yes);
    } else {
      same = written_.match(there) == Match::no && (!real_ || real_->match(there) == Match::no);
    }
    if (!same) return Match::unclear;
  }
  return by_text;
}

}  // namespace patchbay
