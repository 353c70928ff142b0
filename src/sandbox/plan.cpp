#include "sandbox/plan.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "sandbox/policy.h"

namespace patchbay {
namespace {

std::string below(const std::string& folder, const std::string& name) {
  return folder == "/" ? "/" + name : folder + "/" + name;
}

class Planner {
 public:
  Planner(const FileWish& wish, const FileView& view) : wish_(wish), view_(view) {}

  FileRules plan() {
    // What may be written may be read, so what is only read comes second and says less.
    for (const auto& path : wish_.write) allow_root(path, true);
    for (const auto& path : wish_.read) allow_root(path, false);
    return std::move(out_);
  }

 private:
  void allow_root(const std::string& path, bool write) {
    const auto denied = [&](const auto& place) { return is_within(path, place); };
    if (std::ranges::any_of(wish_.denied, denied)) {
      note(out_.refused, path);
    } else if (view_.kind(path) == PathKind::missing) {
      note(out_.missing, path);
    } else {
      allow(path, view_.kind(path), write);
    }
  }

  // `path` is not denied. The depth is that of the deepest denied place.
  void allow(const std::string& path, PathKind kind, bool write) {
    if (out_.too_large || kind == PathKind::missing) return;
    // Where a link leads is allowed or not under its own name.
    if (kind == PathKind::link) return;
    const auto inside = [&](const auto& place) { return is_within(place, path); };
    if (kind == PathKind::folder && std::ranges::any_of(wish_.denied, inside)) return open(path, write);
    if (!allowed_.emplace(path, write).second || (!write && allowed_.contains({path, true}))) return;
    if (out_.rules.size() >= most_sandbox_rules) {
      out_.too_large = path;
      return;
    }
    out_.rules.push_back({path, kind == PathKind::folder, write});
  }

  void open(const std::string& folder, bool write) {
    if (!opened_.emplace(folder, write).second) return;
    if (write) note(out_.opened, folder);
    auto found = view_.names(folder, most_sandbox_names);
    if (found.too_many) {
      out_.too_large = folder;
      return;
    }
    // /home may not be ours to list: then on along the ways that lead to what is denied.
    auto names = found.hidden ? names_towards_denied(folder) : std::move(found.names);
    std::ranges::sort(names);
    for (const auto& name : names) {
      const auto path = below(folder, name);
      const auto is_denied = [&](const auto& place) { return place == path; };
      if (!std::ranges::any_of(wish_.denied, is_denied)) allow(path, view_.kind(path), write);
    }
  }

  std::vector<std::string> names_towards_denied(const std::string& folder) const {
    std::vector<std::string> out;
    const auto begin = folder == "/" ? 1 : folder.size() + 1;
    for (const auto& place : wish_.denied) {
      if (!is_within(place, folder) || place.size() <= begin) continue;
      auto name = place.substr(begin, place.find('/', begin) - begin);
      if (std::ranges::find(out, name) == out.end()) out.push_back(std::move(name));
    }
    return out;
  }

  static void note(std::vector<std::string>& list, const std::string& path) {
    if (std::ranges::find(list, path) == list.end()) list.push_back(path);
  }

  const FileWish& wish_;
  const FileView& view_;
  FileRules out_;
  std::set<std::pair<std::string, bool>> allowed_;
  std::set<std::pair<std::string, bool>> opened_;
};

}  // namespace

FileRules plan_files(const FileWish& wish, const FileView& view) { return Planner(wish, view).plan(); }

std::vector<std::string> system_read_places() {
  return {"/usr",
          "/bin",
          "/sbin",
          "/lib",
          "/lib32",
          "/lib64",
          "/libx32",
          "/etc",
          "/opt",
          "/nix",
          "/gnu",
          "/snap",
          "/proc",
          "/sys",
          "/dev",
          "/run/resolvconf",
          "/run/systemd/resolve",
          "/run/current-system",
          "/var/lib/ca-certificates",
          "/usr/local"};
}

std::vector<std::string> system_write_places() {
  return {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/shm"};
}

}  // namespace patchbay
