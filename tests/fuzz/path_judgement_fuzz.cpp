// Rules about paths: a path that is denied in its normal spelling stays so, and one that is not allowed is not allowed,
// however many "./", "//", "x/../" and slashes are put into it; and what a process sees of itself is never clear. A
// path that is written with "x/.." may be denied ("*." fits "x/..") or not allowed (".*" does not) for that spelling
// alone, so nothing follows from it: what counts is the normal spelling.
//
// Input: what a rule asks of the argument, the path on the next line, then a byte for each piece that is put into it:
// where and which.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"
#include "fuzz/fuzz.h"
#include "permission/rules.h"
#include "permission/spellings.h"

using namespace patchbay;
using fuzz::require;

namespace {

// Links that every machine has lie outside: /bin, /dev/fd, /proc/self.
const RulePlaces places{"/usr/share", "/root"};

struct Judged {
  bool allowed = false;
  bool denied = false;
};

struct Rules {
  PermissionRule allow, deny;

  Judged judge(const std::string& path) const {
    const Json arguments{{"x", path}};
    const CallFacts call{&arguments, nullptr, places.cwd};
    return {allow.fits(call), deny.fits(call)};
  }
};

// Exact texts and URLs are not paths, and neither are expressions: two slashes say that it is none.
std::optional<Rules> rules_of(std::string_view value) {
  value = trim(value);
  if (value.starts_with('"') || value.contains("://")) return std::nullopt;
  const auto text = fmt::format("mcp__s__t(x: {}{})", value.starts_with('/') ? "/" : "", value);
  auto allow = read_rule(text, RuleList::allow, places);
  auto deny = read_rule(text, RuleList::deny, places);
  if (!allow.rule || !deny.rule || allow.rule->conditions.size() != 1) return std::nullopt;
  return Rules{std::move(*allow.rule), std::move(*deny.rule)};
}

// Whether the characters in front or at the end say that it is something else than a path, so that what is put there
// would make another thing of it.
bool is_plain(std::string_view path) {
  return !path.empty() && trim(path).size() == path.size() && path.find_first_of("~$") != 0 &&
         to_lower_ascii(path.substr(0, 5)) != "file:" && valid_utf8(path);
}

std::string with_piece(std::string path, unsigned char byte) {
  std::vector<std::size_t> places_between;
  if (!path.starts_with('/')) places_between.push_back(0);
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '/') places_between.push_back(i + 1);
  }
  if (byte % 4 == 3) return path + "/";
  const auto at = places_between[(byte / 4) % places_between.size()];
  const bool behind_slash = at > 0;
  constexpr std::string_view pieces[] = {"./", "no-such-name/../", "/"};
  auto piece = pieces[byte % 4];
  if (piece == "/" && !behind_slash) piece = "./";  // in front it would be the root
  return path.insert(at, piece);
}

}  // namespace

FUZZ_TARGET(path_judgement) {
  const auto rules = rules_of(fuzz::take_line(input));
  const std::string path(fuzz::take_line(input));
  if (!rules || !is_plain(path)) return;
  const auto before = rules->judge(path);
  require(!before.allowed || before.denied, "surely and not possibly");

  std::string written = path;
  for (const char byte : input.substr(0, 16))
    written = with_piece(std::move(written), static_cast<unsigned char>(byte));
  const auto after = rules->judge(written);
  require(!after.allowed || after.denied, "surely and not possibly");
  const auto said = path + " and " + written;
  require(before.allowed || rules->judge(normal_spelling(path)).allowed || !after.allowed,
          "allowed by another spelling: " + said);
  require(!before.denied || path != normal_spelling(path) || after.denied,
          "no longer denied by another spelling: " + said);

  for (const auto* own : {"/proc/self/cwd/", "/proc/thread-self/root/", "/proc/1/cwd/", "/dev/fd/3/", "/dev/stdin/"}) {
    const auto judged = rules->judge(own + written);
    require(judged.denied, "a place of the process is not denied: " + written);
  }
}
