#include "protocol/skills.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "base/crypto.h"
#include "base/strings.h"
#include "protocol/skills_frontmatter.h"

namespace patchbay {
namespace {

constexpr std::string_view digest_prefix = "sha256:";

bool is_digest(std::string_view text) noexcept {
  if (!text.starts_with(digest_prefix) || text.size() != digest_prefix.size() + 64) return false;
  return std::ranges::all_of(text.substr(digest_prefix.size()),
                             [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// With %41 as A, and a percent sign that begins no such thing as itself.
std::string decoded_leniently(std::string_view segment) {
  std::string out;
  for (std::size_t i = 0; i < segment.size(); ++i) {
    const int high = segment[i] == '%' && i + 2 < segment.size() ? hex_digit(segment[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(segment[i + 2]) : -1;
    if (low >= 0) {
      out += static_cast<char>(high << 4 | low);
      i += 2;
    } else {
      out += segment[i];
    }
  }
  return out;
}

// A name in a directory, as it may be in a URI. Servers that write file names as they are,
// blanks and all, are understood; what could be taken for more than a name is not one.
bool is_plain_segment(std::string_view segment) {
  const auto name = decoded_leniently(segment);
  if (name.empty() || name == "." || name == "..") return false;
  if (segment.find_first_of("?#") != segment.npos) return false;
  return std::ranges::none_of(name, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f || c == '/' || c == '\\';
  });
}

bool are_plain_segments(std::string_view path) { return std::ranges::all_of(split(path, '/'), is_plain_segment); }

// What follows "scheme://"; empty when the URI has no such beginning.
std::string_view behind_scheme(std::string_view uri) noexcept {
  const auto mark = uri.find("://");
  if (mark == uri.npos || mark == 0) return {};
  const auto scheme = uri.substr(0, mark);
  const bool letter = (scheme[0] | 0x20) >= 'a' && (scheme[0] | 0x20) <= 'z';
  const bool rest = std::ranges::all_of(scheme, [](char c) {
    const char lower = static_cast<char>(c | 0x20);
    return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
  });
  return letter && rest ? uri.substr(mark + 3) : std::string_view();
}

const SkillResource* find_listed(const Skill& skill, std::string_view uri) {
  if (!skill.resources) return nullptr;
  auto found = std::ranges::find(*skill.resources, uri, &SkillResource::uri);
  return found == skill.resources->end() ? nullptr : &*found;
}

// "a/./b/../c" as a file system reads it; nothing when it leads above where it began.
std::optional<std::string> normalised(std::string_view path) {
  std::vector<std::string> kept;
  for (const auto segment : split(path, '/')) {
    if (segment == ".") continue;
    if (segment == "..") {
      if (kept.empty()) return std::nullopt;
      kept.pop_back();
    } else {
      kept.emplace_back(segment);
    }
  }
  return join(kept, "/");
}

std::unexpected<Error> refused(std::string what) { return fail(Errc::protocol, std::move(what)); }

std::unexpected<Error> differs(std::string_view uri, std::string_view what) {
  return fail(
      Errc::protocol,
      fmt::format("{} is not what the server's list of skills says: {}; if the skill changed, list the skills again",
                  uri, what));
}

// The first member that is not the same in both, named for a person.
std::string first_difference(const Json& file, const Json& entry) {
  for (const auto& [key, value] : file.as_object()) {
    const Json* other = entry.find(key);
    if (!other) return fmt::format("its header has \"{}\", and the list has not", cut_utf8(key, 80));
    if (*other != value) return fmt::format("\"{}\" in its header is different in the list", cut_utf8(key, 80));
  }
  for (const auto& [key, value] : entry.as_object()) {
    if (!file.find(key)) return fmt::format("the list has \"{}\", and its header has not", cut_utf8(key, 80));
  }
  return {};
}

}  // namespace

bool declares_skills(const ServerCapabilities& server) {
  const auto found = server.extensions.find(std::string(skills_extension));
  return found != server.extensions.end() && found->second.is_object();
}

bool declares_directories(const ServerCapabilities& server) {
  if (!declares_skills(server)) return false;
  const Json& settings = server.extensions.find(std::string(skills_extension))->second;
  return settings["directoryRead"] == Json(true);
}

Json skills_settings() { return Json{{"directoryRead", true}}; }

bool is_skill_name(std::string_view name) noexcept {
  if (name.empty() || name.size() > 64 || name.starts_with('-') || name.ends_with('-')) return false;
  if (name.find("--") != name.npos) return false;
  return std::ranges::all_of(name, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

std::string_view skill_root(std::string_view skill_uri) {
  const auto path = behind_scheme(skill_uri);
  const auto slash = path.rfind('/');
  if (slash == path.npos || path.substr(slash + 1) != skill_file_name) return {};
  auto root = path.substr(0, slash);
  // file:///a/SKILL.md has no authority.
  if (root.starts_with('/')) root.remove_prefix(1);
  if (!are_plain_segments(root)) return {};
  return skill_uri.substr(0, skill_uri.size() - skill_file_name.size() - 1);
}

bool lies_below(std::string_view directory, std::string_view uri) {
  if (directory.empty() || !uri.starts_with(directory)) return false;
  const auto rest = uri.substr(directory.size());
  return rest.starts_with('/') && are_plain_segments(rest.substr(1));
}

bool is_child_of(std::string_view directory, std::string_view uri) {
  return lies_below(directory, uri) && uri.rfind('/') == directory.size();
}

std::string digest_of(std::string_view bytes) { return std::string(digest_prefix) + sha256_hex(bytes); }

Result<void> check_skill(const Skill& skill, const Limits& limits) {
  const auto root = skill_root(skill.uri);
  if (root.empty()) return refused(fmt::format("{} is not the URI of a SKILL.md in a directory", skill.uri));
  const auto name = skill.frontmatter["name"].text();
  const auto description = skill.frontmatter["description"].text();
  if (!name || !is_skill_name(*name)) return refused("frontmatter.name is not a valid name of a skill");
  if (!description || trim(*description).empty()) return refused("frontmatter.description is missing or empty");
  if (root.substr(root.rfind('/') + 1) != *name) {
    return refused(
        fmt::format("the directory of {} is not called {}, which is the name of the skill", skill.uri, *name));
  }
  if (!skill.resources) return {};
  if (skill.resources->size() > limits.skill_files) {
    return fail(Errc::limit, fmt::format("{} has {} files, more than {}, which is the limit", skill.uri,
                                         skill.resources->size(), limits.skill_files));
  }
  std::set<std::string_view> seen;
  std::uint64_t total = 0;
  for (const auto& file : *skill.resources) {
    if (!lies_below(root, file.uri)) return refused(fmt::format("{} is not inside {}", file.uri, root));
    if (!seen.insert(file.uri).second) return refused(fmt::format("{} is listed twice", file.uri));
    if (!is_digest(file.digest))
      return refused(
          fmt::format("the digest of {} is not \"sha256:\" and 64 hexadecimal digits in lower case", file.uri));
    if (file.size < 0) return refused(fmt::format("the size of {} is negative", file.uri));
    // Each addend is below 2^63 and the sum never goes far beyond the limit.
    total += static_cast<std::uint64_t>(file.size);
    if (total > limits.skill_bytes) {
      return fail(Errc::limit, fmt::format("the files of {} are larger than {} bytes, which is the limit", skill.uri,
                                           limits.skill_bytes));
    }
  }
  if (!seen.contains(skill.uri))
    return refused(fmt::format("the files that are listed for {0} do not include {0} itself", skill.uri));
  return {};
}

Result<std::string> resolve_skill_file(const Skill& skill, std::string_view file) {
  const auto root = skill_root(skill.uri);
  std::string uri(file);
  if (file.find("://") == file.npos) {
    auto path = normalised(file);
    if (!path || path->empty() || !valid_utf8(*path)) {
      return fail(Errc::invalid_argument, fmt::format("\"{}\" is not a file of the skill {}", file, root));
    }
    uri = fmt::format("{}/{}", root, *path);
    // A link is a URI already; a path that somebody typed becomes one.
    const auto written = fmt::format("{}/{}", root, percent_encoded(*path, "-._~!$&'()*+,;=:@/"));
    const bool typed = path->find('%') == path->npos && written.size() > uri.size();
    if (!find_listed(skill, uri) && (typed || find_listed(skill, written))) uri = written;
  }
  if (!lies_below(root, uri)) {
    return fail(Errc::invalid_argument, fmt::format("\"{}\" is outside the skill {}", file, root));
  }
  if (skill.resources && !find_listed(skill, uri)) return differs(uri, "it is not listed there");
  return uri;
}

Result<ResourceContents> verify_skill_file(const Skill& skill, std::string_view uri, ReadResourceResult read,
                                           const Limits& limits) {
  if (read.contents.size() != 1 || read.contents.front().uri != uri) {
    return refused(fmt::format("the server did not answer with exactly {}", uri));
  }
  auto& contents = read.contents.front();
  if (contents.text.has_value() == contents.blob.has_value()) {
    return refused(fmt::format("{} is neither text nor bytes", uri));
  }
  std::string decoded;
  if (contents.blob) {
    auto bytes = base64_decode(*contents.blob);
    if (!bytes) return refused(fmt::format("{} contains bytes that are not valid base64", uri));
    decoded = std::move(*bytes);
  }
  const std::string_view bytes = contents.text ? std::string_view(*contents.text) : std::string_view(decoded);
  if (const auto* listed = find_listed(skill, uri)) {
    if (bytes.size() != static_cast<std::uint64_t>(listed->size)) {
      return differs(uri, fmt::format("it has {} bytes instead of {}", bytes.size(), listed->size));
    }
    if (digest_of(bytes) != listed->digest) return differs(uri, "its digest is different");
  } else if (skill.resources) {
    return differs(uri, "it is not listed there");
  } else if (bytes.size() > limits.skill_bytes) {
    return fail(Errc::limit, fmt::format("{} is larger than {} bytes, which is the limit", uri, limits.skill_bytes));
  }
  if (uri != skill.uri) return std::move(contents);

  auto header = read_frontmatter(bytes, {.bytes = limits.frontmatter});
  if (!header) return std::unexpected(header.error().within(uri));
  if (*header != skill.frontmatter) return differs(uri, first_difference(*header, skill.frontmatter));
  return std::move(contents);
}

}  // namespace patchbay
