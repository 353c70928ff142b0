#include "sandbox/policy.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "sandbox/domain_rule.h"

namespace patchbay {
namespace {

using Paths = std::vector<std::string>;

void add(Paths& to, std::string path) {
  if (!path.empty() && std::ranges::find(to, path) == to.end()) to.push_back(std::move(path));
}

// What is in both: of each pair the inner one.
Paths common(const Paths& some, const Paths& others) {
  Paths out;
  for (const auto& one : some) {
    for (const auto& other : others) {
      if (is_within(one, other)) {
        add(out, one);
      } else if (is_within(other, one)) {
        add(out, other);
      }
    }
  }
  return out;
}

struct Reach {
  SandboxNetwork network = SandboxNetwork::any;
  Paths domains;
};

std::vector<DomainRule> rules_of(const Paths& domains) {
  std::vector<DomainRule> out;
  for (const auto& domain : domains) {
    if (auto rule = read_domain_rule(domain)) out.push_back(std::move(*rule));
  }
  return out;
}

// Own loopback and named domains have nothing in common.
Reach common(const Reach& one, const Reach& other) {
  if (one.network == SandboxNetwork::any) return other;
  if (other.network == SandboxNetwork::any) return one;
  if (one.network != other.network) return {SandboxNetwork::none, {}};
  if (one.network != SandboxNetwork::domains) return one;
  Reach out{SandboxNetwork::domains, {}};
  for (const auto& some : rules_of(one.domains)) {
    for (const auto& more : rules_of(other.domains)) {
      if (const auto both = common(some, more)) add(out.domains, to_text(*both));
    }
  }
  // 256 and 256 that have all in common would be many; who writes that gets the first.
  if (out.domains.size() > most_sandbox_domains) out.domains.resize(most_sandbox_domains);
  if (out.domains.empty()) out.network = SandboxNetwork::none;
  return out;
}

// Where a server would have to be allowed one more.
std::string words_for_domains(bool in_entry, bool in_settings) {
  const std::string_view entry = "\"sandbox.network\" of its entry";
  const std::string_view settings = "\"network\" in \"sandbox.default\" of the settings";
  if (!in_settings) return std::string(entry);
  return in_entry ? fmt::format("{} and to {}", entry, settings) : std::string(settings);
}

std::optional<std::uint64_t> least(std::optional<std::uint64_t> one, std::optional<std::uint64_t> other) {
  if (!one || !other) return one ? one : other;
  return std::min(*one, *other);
}

SandboxLimits least(const SandboxLimits& one, const SandboxLimits& other) {
  return {least(one.processes, other.processes), least(one.files, other.files), least(one.memory, other.memory)};
}

std::string_view last_part(std::string_view command) noexcept {
  return command.substr(command.find_last_of('/') == command.npos ? 0 : command.find_last_of('/') + 1);
}

// What package runners keep between runs, below the home. `made`: by the server itself at its first run, which it could
// not do when its folder is not there.
struct Cache {
  std::string_view path;
  std::string_view made_for;  // blank before and behind each command
};
constexpr auto caches = std::to_array<Cache>({
    {".npm", " npx npm "},
    {".cache/node", ""},
    {".cache/uv", " uvx uv "},
    {".local/share/uv", " uvx uv "},
    {".cache/pip", ""},
    {".local/share/pnpm", ""},
    {".cache/pnpm", " pnpm pnpx "},
    {".bun/install/cache", " bunx bun "},
    {".cache/deno", " deno "},
    {".cache/ms-playwright", ""},
    {".cache/puppeteer", ""},
});

// What holds where nobody says otherwise.
struct Usual {
  Paths read{"/"};
  Paths write;
  Paths make;
  Reach reach;
};

Usual usual_for(std::optional<SandboxPreset> preset, const SandboxLevels& levels, const SandboxPlaces& places,
                const ResolvePath& resolve) {
  Usual out;
  add(out.write, resolve("/tmp"));
  add(out.write, resolve(places.temporary));
  if (preset != SandboxPreset::network) add(out.write, resolve(places.directory));
  if (preset == SandboxPreset::files) out.reach.network = SandboxNetwork::none;
  if (preset != SandboxPreset::package_runner || places.home.empty()) return out;
  const auto command = std::string(" ").append(last_part(levels.command)).append(" ");
  for (const auto& cache : caches) {
    const auto path = resolve(places.home + "/" + std::string(cache.path));
    add(out.write, path);
    if (cache.made_for.find(command) != std::string_view::npos) add(out.make, path);
  }
  return out;
}

Paths resolved(const Paths& written, const ResolvePath& resolve) {
  Paths out;
  for (const auto& path : written) add(out, resolve(path));
  return out;
}

}  // namespace

bool is_within(std::string_view path, std::string_view root) noexcept {
  if (root == "/") return path.starts_with('/');
  return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
}

std::optional<SandboxPreset> preset_of_command(std::string_view command) noexcept {
  static constexpr auto runners =
      std::to_array<std::string_view>({"npx", "npm", "pnpm", "pnpx", "bunx", "bun", "uvx", "uv", "pipx", "deno"});
  if (std::ranges::find(runners, last_part(command)) == runners.end()) return std::nullopt;
  return SandboxPreset::package_runner;
}

std::vector<std::string> key_places(const std::string& home) {
  static constexpr auto below = std::to_array<std::string_view>({
      // Keys of people and machines.
      ".ssh",
      ".gnupg",
      ".aws",
      ".azure",
      ".kube",
      ".docker",
      ".oci",
      ".config/gcloud",
      ".config/gh",
      ".config/containers",
      ".config/rclone",
      ".config/op",
      ".config/hub",
      ".netrc",
      ".git-credentials",
      ".config/git/credentials",
      ".pgpass",
      ".my.cnf",
      ".pypirc",
      ".vault-token",
      ".terraform.d/credentials.tfrc.json",
      ".password-store",
      ".local/share/keyrings",
      ".local/share/kwalletd",
      // Of other agents.
      ".claude/.credentials.json",
      ".claude.json",
      ".codex",
      ".gemini",
      ".config/github-copilot",
      ".cursor",
      ".config/claude",
      ".config/Claude",
      ".local/share/opencode",
      ".config/goose",
      ".continue",
      ".aider.conf.yml",
  });
  Paths out;
  if (home.empty()) return out;
  for (const auto path : below) out.push_back(home + "/" + std::string(path));
  return out;
}

SandboxPolicy sandbox_policy(const SandboxLevels& levels, const SandboxPlaces& places, const ResolvePath& resolve) {
  SandboxPolicy out;
  const auto asking = [](const std::vector<SandboxSetting>& all) {
    std::vector<SandboxSetting> some;
    std::ranges::copy_if(all, std::back_inserter(some), [](const auto& one) { return one.mode != SandboxMode::off; });
    return some;
  };
  const auto organisation = asking(levels.organisation);
  const auto user = asking(levels.user);
  auto binding = organisation;
  binding.insert(binding.end(), user.begin(), user.end());
  auto narrowing = binding;
  std::ranges::copy(asking(levels.repository), std::back_inserter(narrowing));
  const bool entry_asks = levels.entry && levels.entry->mode != SandboxMode::off;
  for (const auto& setting : narrowing) out.mode = std::max(out.mode, setting.mode);
  if (entry_asks) out.mode = std::max(out.mode, levels.entry->mode);
  if (out.mode == SandboxMode::off) return out;

  const auto preset_in = [&](const std::vector<SandboxSetting>& settings) {
    const auto found = std::ranges::find_if(settings, [](const auto& one) { return one.preset.has_value(); });
    return found == settings.end() ? preset_of_command(levels.command) : found->preset;
  };
  const SandboxSetting entry = entry_asks ? *levels.entry : SandboxSetting();
  out.preset = entry.preset ? entry.preset : preset_in(binding);
  const auto usual = usual_for(out.preset, levels, places, resolve);
  const auto says = [](const std::vector<SandboxSetting>& settings, auto member) {
    return std::ranges::any_of(settings, [&](const auto& one) { return (one.*member).has_value(); });
  };
  // What an entry says is used in place of what is usual, and so is what settings say; who may not widen is held to it
  // below.
  const auto start = [&](auto member, const Paths& otherwise) -> Paths {
    if (entry.*member) return resolved(*(entry.*member), resolve);
    return says(binding, member) ? Paths{"/"} : otherwise;
  };
  out.read = start(&SandboxSetting::read, usual.read);
  out.write = start(&SandboxSetting::write, usual.write);
  Reach reach = usual.reach;
  if (entry.network) {
    reach = {*entry.network, entry.domains};
  } else if (says(binding, &SandboxSetting::network)) {
    reach = {};
  }
  out.limits = entry.limits;
  out.make = usual.make;
  const auto hold_to = [&](const std::vector<SandboxSetting>& settings) {
    const auto most = usual_for(preset_in(settings), levels, places, resolve);
    if (!says(settings, &SandboxSetting::read)) out.read = common(out.read, most.read);
    if (!says(settings, &SandboxSetting::write)) out.write = common(out.write, most.write);
    if (!says(settings, &SandboxSetting::network)) reach = common(reach, most.reach);
    out.limits.processes = least(out.limits.processes, usual_process_limit);
  };
  if (!organisation.empty()) hold_to(organisation);
  if (!user.empty() && !levels.entry_is_users) hold_to(binding);
  for (const auto& setting : narrowing) {
    if (setting.read) out.read = common(out.read, resolved(*setting.read, resolve));
    if (setting.write) out.write = common(out.write, resolved(*setting.write, resolve));
    if (setting.network) reach = common(reach, {*setting.network, setting.domains});
    out.limits = least(out.limits, setting.limits);
  }
  out.network = reach.network;
  out.domains = std::move(reach.domains);
  if (out.network == SandboxNetwork::domains) {
    out.domains_setting = words_for_domains(entry.network.has_value(), says(narrowing, &SandboxSetting::network));
  }
  out.asked_limits = out.limits.processes.has_value() && *out.limits.processes < usual_process_limit;
  if (!out.limits.processes) out.limits.processes = usual_process_limit;
  std::erase_if(out.make, [&](const auto& path) {
    return std::ranges::none_of(out.write, [&](const auto& root) { return is_within(path, root); });
  });
  return out;
}

}  // namespace patchbay
