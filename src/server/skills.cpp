#include "server/skills.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/crypto.h"
#include "base/limits.h"
#include "base/strings.h"
#include "protocol/skills.h"
#include "protocol/skills_frontmatter.h"

namespace patchbay {
namespace {

constexpr std::string_view scheme = "skill://";

// The names in a path, each as a URI has it. Errc::invalid_argument when one cannot be a name.
Result<std::string> as_uri_path(std::string_view path) {
  static constexpr std::string_view kept = "-._~!$&'()*+,;=";
  std::string out;
  for (const auto segment : split(path, '/')) {
    const bool odd = std::ranges::any_of(segment, [](char c) {
      const auto byte = static_cast<unsigned char>(c);
      return byte < 0x20 || byte == 0x7f || c == '\\';
    });
    if (segment.empty() || segment == "." || segment == ".." || odd || !valid_utf8(segment)) {
      return fail(Errc::invalid_argument,
                  fmt::format("\"{}\" cannot be a path in a skill: write names separated by single \"/\", without "
                              "\".\", \"..\", \"\\\" and control characters",
                              path));
    }
    if (!out.empty()) out += '/';
    out += percent_encoded(segment, kept);
  }
  return out;
}

std::string_view last_segment(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string guessed_type(std::string_view path, bool text) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 16> types{{{".md", "text/markdown"},
                                                                                        {".txt", "text/plain"},
                                                                                        {".html", "text/html"},
                                                                                        {".css", "text/css"},
                                                                                        {".csv", "text/csv"},
                                                                                        {".py", "text/x-python"},
                                                                                        {".sh", "application/x-sh"},
                                                                                        {".js", "text/javascript"},
                                                                                        {".json", "application/json"},
                                                                                        {".yaml", "application/yaml"},
                                                                                        {".yml", "application/yaml"},
                                                                                        {".xml", "application/xml"},
                                                                                        {".svg", "image/svg+xml"},
                                                                                        {".png", "image/png"},
                                                                                        {".jpg", "image/jpeg"},
                                                                                        {".pdf", "application/pdf"}}};
  const auto name = to_lower_ascii(last_segment(path));
  for (const auto& [ending, type] : types) {
    if (name.ends_with(ending)) return std::string(type);
  }
  return text ? "text/plain" : "application/octet-stream";
}

std::shared_ptr<const ServedFile> served(std::string uri, SkillFile file) {
  auto made = std::make_shared<ServedFile>();
  const bool text = valid_utf8(file.content);
  made->listed = {.uri = uri,
                  .digest = digest_of(file.content),
                  .size = static_cast<std::int64_t>(file.content.size()),
                  .extra = {}};
  made->resource.name = last_segment(file.path);
  made->resource.mime_type = file.mime_type ? std::move(file.mime_type) : guessed_type(file.path, text);
  made->resource.size = made->listed.size;
  made->resource.uri = uri;
  made->contents.uri = std::move(uri);
  made->contents.mime_type = made->resource.mime_type;
  if (text) {
    made->contents.text = std::move(file.content);
  } else {
    made->contents.blob = base64_encode(file.content);
  }
  return made;
}

// The names of SKILL.md and its resource: those of the skill.
std::shared_ptr<const ServedFile> named_by(std::shared_ptr<const ServedFile> file, const Json& frontmatter) {
  auto named = std::make_shared<ServedFile>(*file);
  named->resource.name = frontmatter["name"].as_text();
  named->resource.description = frontmatter["description"].as_text();
  return named;
}

// What a map by URI has below a directory.
template <class Map>
auto below(Map& by_uri, std::string_view directory) {
  const auto first = by_uri.lower_bound(std::string(directory) + "/");
  // '0' is what follows the slash.
  const auto last = by_uri.lower_bound(std::string(directory) + "0");
  return std::ranges::subrange(first, last);
}

Error unusable(const std::string& path, const Error& why) {
  return Error(Errc::invalid_argument, fmt::format("skill \"{}\": {}", path, why.message()));
}

}  // namespace

Result<SkillChange> SkillShelf::add(const std::string& path, std::vector<SkillFile> files) {
  auto refused = [&](std::string why) {
    return std::unexpected(unusable(path, Error(Errc::invalid_argument, std::move(why))));
  };
  auto written = as_uri_path(path);
  if (!written) return std::unexpected(unusable(path, written.error()));
  const auto root = std::string(scheme) + *written;
  const auto uri = fmt::format("{}/{}", root, skill_file_name);

  Offered offer;
  for (auto& file : files) {
    auto inside = as_uri_path(file.path);
    if (!inside) return std::unexpected(unusable(path, inside.error()));
    auto file_uri = fmt::format("{}/{}", root, *inside);
    if (offer.files.contains(file_uri)) return refused(fmt::format("the file \"{}\" occurs twice", file.path));
    if (file_uri == uri) {
      auto header = read_frontmatter(file.content, {.bytes = Limits{}.frontmatter});
      if (!header) return refused(fmt::format("{}: {}", file.path, header.error().message()));
      offer.frontmatter = std::move(*header);
      if (!valid_utf8(file.content)) return refused(fmt::format("the file \"{}\" is not valid UTF-8", file.path));
    }
    auto made = served(file_uri, std::move(file));
    offer.files.emplace(std::move(file_uri), std::move(made));
  }
  if (!offer.files.contains(uri)) return refused("it has no SKILL.md");
  auto changed = replace(uri, std::move(offer));
  if (!changed) return std::unexpected(unusable(path, changed.error()));
  return changed;
}

std::optional<SkillChange> SkillShelf::remove(std::string_view path) {
  auto written = as_uri_path(path);
  if (!written) return std::nullopt;
  const auto uri = fmt::format("{}{}/{}", scheme, *written, skill_file_name);
  if (!offered_.contains(uri)) return std::nullopt;
  auto changed = replace(uri, std::nullopt);  // less than there was fits where that did
  return changed ? std::optional(std::move(*changed)) : std::nullopt;
}

Result<SkillChange> SkillShelf::replace(const std::string& uri, std::optional<Offered> offer) {
  // Skills whose paths begin differently have nothing to do with each other.
  const auto around = uri.substr(0, uri.find('/', scheme.size()));
  const auto there = below(offered_, around);
  OfferedSkills wanted(there.begin(), there.end());
  wanted.erase(uri);
  if (offer) wanted.emplace(uri, std::move(*offer));
  auto derived = derive(wanted);
  if (!derived) return std::unexpected(std::move(derived).error());

  SkillChange change;
  const auto old = below(files_, around);
  change.before = ServedFiles(old.begin(), old.end());
  change.after = derived->files;
  files_.erase(old.begin(), old.end());
  files_.merge(derived->files);
  offered_.erase(there.begin(), there.end());
  offered_.merge(wanted);
  if (!offered_.contains(uri)) entries_.erase(uri);
  for (auto& [where, skill] : derived->entries) entries_.put(where, std::move(skill), {});
  return change;
}

Result<SkillShelf::Derived> SkillShelf::derive(const OfferedSkills& offered) {
  Derived derived;
  for (const auto& [uri, skill] : offered) {
    for (const auto& [where, file] : skill.files) {
      auto [known, added] = derived.files.emplace(where, file);
      if (!added && known->second->listed != file->listed) {
        return fail(Errc::invalid_argument,
                    fmt::format("another skill already has the file \"{}\" with different content", where));
      }
    }
  }
  for (const auto& [where, file] : derived.files) {
    if (!below(derived.files, where).empty()) {
      return fail(Errc::invalid_argument, fmt::format("\"{}\" would be both a file and a directory", where));
    }
  }
  for (const auto& [uri, skill] : offered) {
    Skill entry;
    entry.uri = uri;
    entry.frontmatter = skill.frontmatter;
    entry.resources.emplace();
    for (const auto& [where, file] : below(derived.files, skill_root(uri))) entry.resources->push_back(file->listed);
    if (auto fits = check_skill(entry, Limits{}); !fits) return std::unexpected(fits.error());
    derived.entries.emplace(uri, std::move(entry));
    auto& file = derived.files.find(uri)->second;
    file = named_by(std::move(file), skill.frontmatter);
  }
  return derived;
}

std::shared_ptr<const Skill> SkillShelf::find(std::string_view uri) const {
  auto entry = entries_.find(uri);
  return entry ? std::shared_ptr<const Skill>(entry, &entry->item) : nullptr;
}

Result<Page<Resource>> SkillShelf::directory(std::string_view uri, const std::optional<std::string>& cursor,
                                             std::size_t size) const {
  const auto inside = uri.starts_with(scheme) ? below(files_, uri) : decltype(below(files_, uri)){};
  if (inside.empty() || uri.size() == scheme.size()) {
    const auto* what = files_.contains(uri) ? "is not a directory" : "is not served here";
    return fail(Errc::invalid_argument, fmt::format("{} {}", uri, what));
  }
  // Names the directory and the child before the page, so that it stays right when others come and go.
  std::string after;
  if (cursor) {
    auto text = base64url_decode(*cursor);
    if (!text || !is_child_of(uri, *text)) {
      return fail(Errc::invalid_argument, "the cursor was not issued by this server");
    }
    after = std::move(*text);
  }
  std::map<std::string, const ServedFile*, std::less<>> children;  // null for directories
  for (const auto& [where, file] : inside) {
    const auto slash = where.find('/', uri.size() + 1);
    children.emplace(where.substr(0, slash), slash == where.npos ? file.get() : nullptr);
  }
  Page<Resource> page;
  for (auto child = children.upper_bound(after); child != children.end(); ++child) {
    if (page.items.size() == size) {
      page.next_cursor = base64url_encode(page.items.back().uri);
      break;
    }
    if (child->second) {
      page.items.push_back(child->second->resource);
      continue;
    }
    Resource directory;
    directory.uri = child->first;
    directory.name = last_segment(child->first);
    directory.mime_type = directory_mime_type;
    page.items.push_back(std::move(directory));
  }
  return page;
}

}  // namespace patchbay
