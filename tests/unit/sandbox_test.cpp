// The sandbox of a local server, as far as it is decided without a machine: what an entry and settings say, what that
// comes to together, which files are allowed around those that are denied, what the kernel is told. N5.
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/json.h>

#include "cli/texts/sandbox_words.h"
#include "entries/consent_text.h"
#include "entries/parse.h"
#include "entries/signature.h"
#include "host/start/sandbox_start.h"
#include "sandbox/confinement.h"
#include "sandbox/plan.h"
#include "sandbox/policy.h"
#include "sandbox/refusal.h"
#include "sandbox/setting.h"
#include "settings/settings_file.h"

namespace patchbay {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;
using Paths = std::vector<std::string>;

Json json(std::string_view text) { return parse_json(text).value(); }
SandboxSetting setting(std::string_view text) { return read_sandbox(json(text)).value(); }

// ---- what is written

TEST(SandboxSettingTest, ReadsWordsAndObjects) {
  EXPECT_EQ(setting(R"("off")").mode, SandboxMode::off);
  EXPECT_EQ(setting(R"("auto")").mode, SandboxMode::automatic);
  EXPECT_EQ(setting(R"("required")").mode, SandboxMode::required);
  const auto whole = setting(R"({"mode": "required", "read": ["/a"], "write": ["~/b", "c"], "network": "loopback",
                                 "preset": "package-runner", "limits": {"processes": 20, "files": 64, "memory": 1}})");
  EXPECT_EQ(whole.mode, SandboxMode::required);
  EXPECT_EQ(whole.read, Paths{"/a"});
  EXPECT_EQ(whole.write, (Paths{"~/b", "c"}));
  EXPECT_EQ(whole.network, SandboxNetwork::loopback);
  EXPECT_EQ(whole.preset, SandboxPreset::package_runner);
  EXPECT_EQ(whole.limits, (SandboxLimits{20, 64, 1}));
  // Who writes what a server may do wants a sandbox.
  EXPECT_EQ(setting("{}").mode, SandboxMode::automatic);
  EXPECT_EQ(setting(R"({"network": ["a.example", "*.b.example"]})").network, SandboxNetwork::domains);
  EXPECT_EQ(setting(R"({"network": []})").network, SandboxNetwork::none);
}

TEST(SandboxSettingTest, SaysWhatIsWrongAndGuessesNothing) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {R"("requierd")", R"("sandbox" must be "off", "auto", "required" or an object, found "requierd")"},
      {"true", "\"sandbox\" must be"},
      {R"({"mode": 1})", "\"sandbox.mode\" must be"},
      {R"({"write": "/a"})", "\"sandbox.write\" must be an array of paths"},
      {R"({"read": [1]})", "\"sandbox.read\" must be an array of paths"},
      {R"({"read": [""]})", "\"sandbox.read\" must be an array of paths"},
      {R"({"network": "domains"})", "\"sandbox.network\" must be"},
      {R"({"network": ["a b"]})", "\"a b\" in \"sandbox.network\" is not a domain"},
      {R"({"network": ["bücher.example"]})", "write an international name as xn--"},
      {R"({"network": [1]})", "\"sandbox.network\" must be"},
      {R"({"preset": "all"})", "\"sandbox.preset\" must be"},
      {R"({"limits": {"cpu": 1}})", "unknown key \"cpu\" in \"sandbox.limits\""},
      {R"({"limits": {"files": 3}})", "a whole number from 16"},
      {R"({"limits": {"memory": -1}})", "a whole number from 1"},
      {R"({"writes": []})", "unknown key \"writes\" in \"sandbox\""},
  };
  for (const auto& [text, expected] : cases) {
    const auto read = read_sandbox(json(text));
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error(), HasSubstr(expected));
  }
  Json many = Json::array();
  for (std::size_t i = 0; i <= most_sandbox_paths; ++i) many.push_back("/a");
  EXPECT_THAT(read_sandbox(Json{{"read", many}}).error(), HasSubstr("256 are the most"));
}

ServerConfig entry_of(std::string_view sandbox, ConfigScope scope = ConfigScope::user) {
  const auto text = R"({"mcpServers": {"s": {"command": "srv")" +
                    (sandbox.empty() ? std::string() : R"(, "sandbox": )" + std::string(sandbox)) + "}}}";
  auto parsed = parse_servers(text, {.file = "/f", .scope = scope, .trust = trust_of(scope)});
  EXPECT_EQ(parsed.servers.size(), 1u) << text;
  return parsed.servers.empty() ? ServerConfig() : parsed.servers.front();
}

TEST(SandboxEntryTest, AnEntryKeepsItsSandboxAndOneThatCannotBeReadIsNotUsed) {
  EXPECT_THAT(entry_of(R"({"write": ["/a"]})").warnings, IsEmpty());
  const auto broken = parse_servers(R"({"mcpServers": {"s": {"command": "srv", "sandbox": "on"}}})", {.file = "/f"});
  EXPECT_THAT(broken.servers, IsEmpty());
  ASSERT_EQ(broken.broken.size(), 1u);
  EXPECT_THAT(broken.broken.front().reason, HasSubstr("\"sandbox\" must be"));
  const auto remote = parse_servers(R"({"mcpServers": {"s": {"type": "http", "url": "https://a", "sandbox": "auto"}}})",
                                    {.file = "/f"});
  ASSERT_EQ(remote.servers.size(), 1u);
  EXPECT_THAT(remote.servers.front().warnings, ElementsAre(HasSubstr("\"sandbox\" is not used")));
}

// C11: what somebody agreed to changes with the sandbox, and entries without one are what they were.
TEST(SandboxEntryTest, TheHashOfAnEntryHasItsSandboxInIt) {
  const auto without = entry_hash(entry_of(""));
  EXPECT_EQ(without, "sha256:4bf6799e3caf02ef52c38bcc84a07cdd2e9d9e543a7f9058b7fdbad26e6b4ff7");
  EXPECT_EQ(canonical_entry(entry_of("")), json(R"({"command": "srv", "type": "stdio"})"));
  EXPECT_NE(entry_hash(entry_of(R"("auto")")), without);
  EXPECT_NE(entry_hash(entry_of(R"("auto")")), entry_hash(entry_of(R"("required")")));
  EXPECT_NE(entry_hash(entry_of(R"({"write": ["/a"]})")), entry_hash(entry_of(R"({"write": ["/b"]})")));
}

TEST(SandboxEntryTest, WhoIsAskedToApproveItSeesWhatItWouldReach) {
  const auto server = entry_of(R"({"network": ["api.example", "127.0.0.1:22"]})", ConfigScope::project);
  EXPECT_THAT(consent_text(server).details,
              Contains(AllOf(HasSubstr("sandbox"), HasSubstr("api.example"), HasSubstr("127.0.0.1:22"))));
}

TEST(SandboxSettingsFileTest, ADefaultThatCannotBeReadCountsAsTheStrictest) {
  const auto layer = parse_settings(R"({"sandbox": {"default": "requierd"}})", SettingsSource::user, "/s");
  ASSERT_TRUE(layer.sandbox);
  EXPECT_EQ(layer.sandbox->mode, SandboxMode::required);
  ASSERT_EQ(layer.problems.size(), 1u);
  EXPECT_THAT(layer.problems.front().message, HasSubstr("counts as \"required\""));
  // The rest of this object is another program's.
  const auto foreign = parse_settings(R"({"sandbox": {"enabled": true}})", SettingsSource::user, "/s");
  EXPECT_FALSE(foreign.sandbox);
  EXPECT_THAT(foreign.problems, IsEmpty());
}

TEST(SandboxSettingsFileTest, EachFileSpeaksForWhoItBelongsTo) {
  std::vector<SettingsLayer> layers;
  for (const auto source : {SettingsSource::enterprise, SettingsSource::user, SettingsSource::project}) {
    layers.push_back(parse_settings(R"({"sandbox": {"default": "auto"}})", source, "/s"));
  }
  const auto levels = sandbox_levels(entry_of(R"("required")", ConfigScope::project), layers);
  EXPECT_EQ(levels.organisation.size(), 1u);
  EXPECT_EQ(levels.user.size(), 1u);
  EXPECT_EQ(levels.repository.size(), 1u);
  EXPECT_FALSE(levels.entry_is_users);
  EXPECT_EQ(levels.entry->mode, SandboxMode::required);
  EXPECT_TRUE(sandbox_levels(entry_of(""), {}).entry_is_users);
  EXPECT_FALSE(wants_sandbox(sandbox_levels(entry_of(R"("off")"), {})));
}

// ---- all of it together

const SandboxPlaces places{.home = "/home/u", .directory = "/work", .temporary = "/tmp", .keys = key_places("/home/u")};

// Nothing is on the disk but one link.
std::string resolve(const std::string& text) {
  if (text == "link") return "/etc";
  if (text.starts_with("~/")) return "/home/u" + text.substr(1);
  return text.starts_with('/') ? text : "/work/" + text;
}

SandboxPolicy policy(const SandboxLevels& levels) { return sandbox_policy(levels, places, resolve); }

TEST(SandboxPolicyTest, NothingIsLimitedWhereNobodyAsks) {
  EXPECT_EQ(policy({}), SandboxPolicy());
  EXPECT_EQ(policy({.user = {setting(R"("off")")}, .entry = setting(R"({"mode": "off", "write": ["/a"]})")}),
            SandboxPolicy());
}

TEST(SandboxPolicyTest, TheStrictestModeCounts) {
  const auto mode = [](std::string_view organisation, std::string_view user, std::string_view entry) {
    return policy({.organisation = {setting(organisation)}, .user = {setting(user)}, .entry = setting(entry)}).mode;
  };
  EXPECT_EQ(mode(R"("off")", R"("off")", R"("auto")"), SandboxMode::automatic);
  EXPECT_EQ(mode(R"("required")", R"("off")", R"("auto")"), SandboxMode::required);
  EXPECT_EQ(mode(R"("auto")", R"("required")", R"("off")"), SandboxMode::required);
  EXPECT_EQ(policy({.repository = {setting(R"("required")")}}).mode, SandboxMode::required);
}

struct Reach {
  SandboxLevels levels;
  Paths write;
  SandboxNetwork network;
};

TEST(SandboxPolicyTest, WhoMayWriteWhere) {
  const auto automatic = setting(R"("auto")");
  const auto wide = setting(R"({"write": ["/"], "network": "any"})");
  const auto notes = setting(R"({"write": ["~/notes"], "network": "none"})");
  const Paths usual{"/tmp", "/work"};
  const std::pair<std::string_view, Reach> cases[] = {
      {"the usual", {{.user = {automatic}}, usual, SandboxNetwork::any}},
      {"the user's own entry widens it",
       {{.user = {automatic}, .entry = wide, .entry_is_users = true}, {"/"}, SandboxNetwork::any}},
      {"an entry of a repository does not", {{.user = {automatic}, .entry = wide}, usual, SandboxNetwork::any}},
      {"it can narrow it",
       {{.user = {automatic}, .entry = setting(R"({"write": ["/work/out", "/elsewhere"], "network": "none"})")},
        {"/work/out"},
        SandboxNetwork::none}},
      {"a link out of its folder does not help",
       {{.user = {automatic}, .entry = setting(R"({"write": ["link"]})")}, {}, SandboxNetwork::any}},
      {"where nobody else asks, it is what the entry says", {{.entry = wide}, {"/"}, SandboxNetwork::any}},
      {"lists of settings are used in place of the usual",
       {{.user = {notes}}, {"/home/u/notes"}, SandboxNetwork::none}},
      {"and bind the user's own entry",
       {{.user = {notes},
         .entry = setting(R"({"write": ["~/notes/a", "/b"], "network": "any"})"),
         .entry_is_users = true},
        {"/home/u/notes/a"},
        SandboxNetwork::none}},
      {"settings of a repository cannot widen what the user's ask for",
       {{.user = {automatic}, .repository = {wide}}, usual, SandboxNetwork::any}},
      {"they can narrow it", {{.user = {wide}, .repository = {notes}}, {"/home/u/notes"}, SandboxNetwork::none}},
      {"nobody widens what an organisation asks for",
       {{.organisation = {automatic}, .user = {wide}, .entry = wide, .entry_is_users = true},
        usual,
        SandboxNetwork::any}},
      {"but its own list does",
       {{.organisation = {wide}, .entry = setting(R"({"write": ["/b"]})"), .entry_is_users = true},
        {"/b"},
        SandboxNetwork::any}},
      {"files", {{.entry = setting(R"({"preset": "files"})")}, usual, SandboxNetwork::none}},
      {"network", {{.entry = setting(R"({"preset": "network"})")}, {"/tmp"}, SandboxNetwork::any}},
      {"an entry of a repository cannot choose a wider preset",
       {{.user = {automatic}, .entry = setting(R"({"preset": "package-runner"})")}, usual, SandboxNetwork::any}},
      {"a list of domains and a loopback have nothing in common",
       {{.user = {setting(R"({"network": ["a.example"]})")}, .entry = setting(R"({"network": "loopback"})")},
        usual,
        SandboxNetwork::none}},
  };
  for (const auto& [name, one] : cases) {
    const auto found = policy(one.levels);
    EXPECT_EQ(found.write, one.write) << name;
    EXPECT_EQ(found.network, one.network) << name;
  }
}

TEST(SandboxPolicyTest, WhoMayReachWhichDomains) {
  const auto a = setting(R"({"network": ["a.example", "127.0.0.1"]})");
  const auto below = setting(R"({"network": ["*.example", "b.other:443"]})");
  const auto any = setting(R"({"network": "any"})");
  struct Case {
    std::string_view name;
    SandboxLevels levels;
    SandboxNetwork network;
    Paths domains;
    std::string_view setting;
  };
  using Network = SandboxNetwork;
  const std::string_view of_entry = "\"sandbox.network\" of its entry";
  const std::string_view of_settings = "\"network\" in \"sandbox.default\" of the settings";
  const Case cases[] = {
      {"an entry's own", {.entry = a}, Network::domains, {"a.example", "127.0.0.1"}, of_entry},
      {"an entry of a repository, with what the user's settings allow",
       {.user = {below}, .entry = a},
       Network::domains,
       {"a.example"},
       "\"sandbox.network\" of its entry and to \"network\" in \"sandbox.default\" of the settings"},
      {"the user's entry is held to the user's list as well",
       {.user = {below}, .entry = a, .entry_is_users = true},
       Network::domains,
       {"a.example"},
       "\"sandbox.network\" of its entry and to \"network\" in \"sandbox.default\" of the settings"},
      {"nobody widens a list of settings by \"any\"",
       {.user = {below}, .entry = any, .entry_is_users = true},
       Network::domains,
       {"*.example", "b.other:443"},
       "\"sandbox.network\" of its entry and to \"network\" in \"sandbox.default\" of the settings"},
      {"settings alone", {.user = {below}}, Network::domains, {"*.example", "b.other:443"}, of_settings},
      {"settings of a repository take away",
       {.user = {below}, .repository = {a}},
       Network::domains,
       {"a.example"},
       of_settings},
      {"and give nothing",
       {.user = {setting(R"({"network": "none"})")}, .repository = {a}, .entry = a},
       Network::none,
       {},
       ""},
      {"an entry cannot bring back what an organisation takes away",
       {.organisation = {setting(R"({"network": "none"})")}, .entry = a, .entry_is_users = true},
       Network::none,
       {},
       ""},
      {"nothing in common",
       {.user = {setting(R"({"network": ["c.example"]})")}, .entry = setting(R"({"network": ["d.example"]})")},
       Network::none,
       {},
       ""},
  };
  for (const auto& one : cases) {
    const auto found = policy(one.levels);
    EXPECT_EQ(found.network, one.network) << one.name;
    EXPECT_EQ(found.domains, one.domains) << one.name;
    EXPECT_EQ(found.domains_setting, one.setting) << one.name;
  }
}

TEST(SandboxPolicyTest, ARunnerOfPackagesMayWriteItsCaches) {
  const auto npx = policy({.user = {setting(R"("auto")")}, .command = "/usr/bin/npx"});
  EXPECT_EQ(npx.preset, SandboxPreset::package_runner);
  EXPECT_THAT(npx.write, AllOf(Contains("/home/u/.npm"), Contains("/home/u/.cache/uv"), Contains("/work")));
  EXPECT_THAT(npx.make, ElementsAre("/home/u/.npm"));
  EXPECT_EQ(npx.network, SandboxNetwork::any);
  EXPECT_THAT(policy({.user = {setting(R"("auto")")}, .command = "uvx"}).make,
              ElementsAre("/home/u/.cache/uv", "/home/u/.local/share/uv"));
  // What may not be written is not made.
  EXPECT_THAT(policy({.user = {setting(R"({"write": ["/work"]})")}, .command = "npx"}).make, IsEmpty());
  EXPECT_EQ(policy({.user = {setting(R"("auto")")}, .command = "node"}).preset, std::nullopt);
}

TEST(SandboxPolicyTest, TheSmallerLimitCounts) {
  const auto found = policy({.user = {setting(R"({"limits": {"processes": 50, "memory": 100}})")},
                             .entry = setting(R"({"limits": {"processes": 60, "files": 32}})")});
  EXPECT_EQ(found.limits, (SandboxLimits{50, 32, 100}));
  EXPECT_EQ(policy({.entry = setting("{}")}).limits.processes, usual_process_limit);
}

// ---- files

// A disk of names: a folder ends with a slash, a link with an @.
class Disk {
 public:
  Disk(std::initializer_list<std::string> names) {
    add("/", PathKind::folder);
    for (auto name : names) {
      const auto kind = name.ends_with('/') ? PathKind::folder : name.ends_with('@') ? PathKind::link : PathKind::file;
      if (kind != PathKind::file) name.pop_back();
      for (std::size_t at = name.find('/', 1); at != name.npos; at = name.find('/', at + 1)) {
        add(name.substr(0, at), PathKind::folder);
      }
      add(name, kind);
    }
  }
  void hide(const std::string& folder) { hidden_.push_back(folder); }
  FileView view() const {
    return {[this](const std::string& path) {
              const auto found = kinds_.find(path);
              return found == kinds_.end() ? PathKind::missing : found->second;
            },
            [this](const std::string& folder, std::size_t most) {
              FolderNames out;
              out.hidden = std::ranges::find(hidden_, folder) != hidden_.end();
              const auto begin = folder == "/" ? folder : folder + "/";
              for (const auto& [path, kind] : kinds_) {
                if (path.size() <= begin.size() || !path.starts_with(begin)) continue;
                if (path.find('/', begin.size()) == path.npos && !out.hidden)
                  out.names.push_back(path.substr(begin.size()));
              }
              out.too_many = out.names.size() > most;
              return out;
            }};
  }

 private:
  void add(const std::string& path, PathKind kind) { kinds_.emplace(path, kind); }
  std::map<std::string, PathKind> kinds_;
  std::vector<std::string> hidden_;
};

Paths paths_of(const FileRules& rules, bool write) {
  Paths out;
  for (const auto& rule : rules.rules) {
    if (rule.write == write) out.push_back(rule.path);
  }
  return out;
}

const Disk machine_disk{"/usr/bin/",
                        "/etc/passwd",
                        "/bin@",
                        "/tmp/",
                        "/home/u/.ssh/id",
                        "/home/u/.bashrc",
                        "/home/u/.config/gh/",
                        "/home/u/.config/other/",
                        "/home/u/docs@",
                        "/home/u/project/src/",
                        "/home/v/"};

TEST(SandboxPlanTest, AllowsEverythingAroundWhatIsDenied) {
  const auto rules =
      plan_files({.read = {"/"}, .write = {"/home/u/project"}, .denied = key_places("/home/u")}, machine_disk.view());
  EXPECT_THAT(paths_of(rules, false),
              UnorderedElementsAre("/usr", "/etc", "/tmp", "/home/v", "/home/u/.bashrc", "/home/u/.config/other"));
  EXPECT_THAT(paths_of(rules, true), ElementsAre("/home/u/project"));
  EXPECT_THAT(rules.opened, IsEmpty());
  EXPECT_FALSE(rules.too_large);
}

TEST(SandboxPlanTest, DeniesWhatIsMadeLater) {
  // There is no ~/.aws, and whoever makes one is not read by servers that run already.
  const auto rules = plan_files({.read = {"/home/u"}, .denied = {"/home/u/.aws"}}, machine_disk.view());
  EXPECT_THAT(paths_of(rules, false), Not(Contains("/home/u")));
  EXPECT_THAT(paths_of(rules, false), Contains("/home/u/.ssh"));
}

struct PlanCase {
  std::string_view name;
  FileWish wish;
  Paths read;
  Paths write;
  Paths refused;
  Paths missing;
  Paths opened;
};

TEST(SandboxPlanTest, Cases) {
  const Paths ssh{"/home/u/.ssh"};
  const PlanCase cases[] = {
      {"a file", {{"/etc/passwd"}, {}, ssh}, {"/etc/passwd"}, {}, {}, {}, {}},
      {"what is not there", {{"/srv"}, {"/data"}, ssh}, {}, {}, {}, {"/data", "/srv"}, {}},
      {"inside of what is denied",
       {{"/home/u/.ssh/id"}, {"/home/u/.ssh"}, ssh},
       {},
       {},
       {"/home/u/.ssh", "/home/u/.ssh/id"},
       {},
       {}},
      {"a name that only begins like it", {{"/home/u/.sshrc"}, {}, ssh}, {}, {}, {}, {"/home/u/.sshrc"}, {}},
      {"the home inside of the project",
       {{}, {"/home"}, ssh},
       {},
       {"/home/u/.bashrc", "/home/u/.config", "/home/u/project", "/home/v"},
       {},
       {},
       {"/home", "/home/u"}},
      {"read and write the same", {{"/tmp"}, {"/tmp"}, {}}, {}, {"/tmp"}, {}, {}, {}},
      {"a link leads where it leads", {{"/home/u/docs"}, {}, ssh}, {}, {}, {}, {}, {}},
      {"everything, with nothing denied", {{"/"}, {}, {}}, {"/"}, {}, {}, {}, {}},
  };
  for (const auto& one : cases) {
    const auto rules = plan_files(one.wish, machine_disk.view());
    EXPECT_EQ(paths_of(rules, false), one.read) << one.name;
    EXPECT_EQ(paths_of(rules, true), one.write) << one.name;
    EXPECT_EQ(rules.refused, one.refused) << one.name;
    EXPECT_EQ(rules.missing, one.missing) << one.name;
    EXPECT_EQ(rules.opened, one.opened) << one.name;
  }
}

TEST(SandboxPlanTest, GoesThroughAFolderThatItMayNotList) {
  auto disk = machine_disk;
  disk.hide("/home");
  const auto rules = plan_files({.read = {"/"}, .denied = {"/home/u/.ssh"}}, disk.view());
  EXPECT_THAT(paths_of(rules, false), AllOf(Contains("/home/u/project"), Not(Contains("/home/v"))));
}

TEST(SandboxPlanTest, GivesUpOnAFolderThatIsTooLarge) {
  auto view = machine_disk.view();
  view.names = [](const std::string&, std::size_t most) {
    FolderNames out;
    out.names.assign(most, "x");
    out.too_many = true;
    return out;
  };
  const auto rules = plan_files({.read = {"/"}, .denied = {"/home/u/.ssh"}}, view);
  EXPECT_EQ(rules.too_large, "/");
}

// ---- the machine

const SandboxMachine able{.landlock = 7, .filters = true, .bubblewrap = "/usr/bin/bwrap", .kernel = "6.18"};

SandboxMachine with(SandboxMachine machine, auto change) {
  change(machine);
  return machine;
}

TEST(SandboxStateTest, SaysWhatHoldsAndWhatDoesNot) {
  const auto none = setting(R"({"network": "none"})");
  const auto loopback = setting(R"({"network": "loopback"})");
  const auto domains = setting(R"({"network": ["a.example"]})");
  const auto restricted = setting(R"({"read": ["/a"]})");
  const auto without_landlock = with(able, [](auto& m) {
    m.landlock = 0;
    m.kernel = "5.10";
    m.bubblewrap.clear();
  });
  const auto bare = with(able, [](auto& m) { m.bubblewrap.clear(); });
  struct Case {
    SandboxSetting entry;
    SandboxMachine machine;
    std::string_view words;
  };
  const Case cases[] = {
      {setting(R"("auto")"), able,
       "writes limited, credentials out of reach, network open, sees no processes but its own"},
      {none, bare, "writes limited, credentials out of reach, no network"},
      {restricted, bare, "reads and writes limited, network open"},
      {none, without_landlock, "files open, no network: kernel 5.10 cannot limit files"},
      {none, with(without_landlock, [](auto& m) { m.filters = false; }),
       "files open, network open: kernel 5.10 cannot limit files; kernel 5.10 cannot filter system calls"},
      {none, with(able, [](auto& m) { m.native_calls = false; }),
       "writes limited, credentials out of reach, no network, sees no processes but its own"},
      {loopback, able,
       "writes limited, credentials out of reach, a loopback of its own, sees no processes but its own"},
      {loopback, bare,
       "writes limited, credentials out of reach, network open: a loopback of its own needs bubblewrap, which is not "
       "there or does not work"},
      {domains, able,
       "writes limited, credentials out of reach, network only to a.example, sees no processes but its own"},
      {domains, bare,
       "writes limited, credentials out of reach, not started: a network of single domains needs bubblewrap, which is "
       "not there or does not work"},
      // Landlock of 6.1 does not see that a file is emptied; a filter does.
      {none,
       with(bare,
            [](auto& m) {
              m.landlock = 2;
              m.kernel = "6.1";
            }),
       "writes limited, credentials out of reach, no network"},
      {none,
       with(bare,
            [](auto& m) {
              m.landlock = 2;
              m.kernel = "6.1";
              m.filters = false;
            }),
       "files open, network open: kernel 6.1 cannot limit files; kernel 6.1 cannot filter system calls"},
      {setting(R"({"limits": {"processes": 9}})"), with(bare, [](auto& m) { m.root = true; }),
       "writes limited, credentials out of reach, network open: the processes of root cannot be limited"},
  };
  for (const auto& one : cases) {
    const auto state = sandbox_state(policy({.entry = one.entry}), one.machine);
    EXPECT_EQ(cli::sandbox_words(state), one.words);
    for (const auto gap : state.gaps) EXPECT_THAT(gap_text(gap, one.machine), Not(IsEmpty()));
  }
  EXPECT_EQ(cli::sandbox_words(sandbox_state({}, able)), "off");
  EXPECT_TRUE(cli::sandbox_json(sandbox_state({}, able)).is_null());
}

// A list of domains is a promise: where it cannot be kept, "auto" starts nothing either.
TEST(SandboxStateTest, KeepsFromStartingWhatIsRequiredAndWhatWouldReachMoreThanItsDomains) {
  const auto bare = with(able, [](auto& m) { m.bubblewrap.clear(); });
  const auto keeps = [](std::string_view entry, const SandboxMachine& machine) {
    return keeps_from_starting(sandbox_state(policy({.entry = setting(entry)}), machine));
  };
  EXPECT_FALSE(keeps(R"({"network": ["a.example"]})", able));
  EXPECT_TRUE(keeps(R"({"network": ["a.example"]})", bare));
  EXPECT_TRUE(keeps(R"({"network": "loopback", "mode": "required"})", bare));
  EXPECT_FALSE(keeps(R"({"network": "loopback"})", bare));
  EXPECT_FALSE(keeps_from_starting(sandbox_state({}, bare)));
  const auto shown =
      cli::sandbox_json(sandbox_state(policy({.entry = setting(R"({"network": ["A.example"]})")}), able));
  EXPECT_EQ(shown["network"], Json("domains"));
  EXPECT_EQ(shown["domains"], Json::array({"a.example"}));
}

TEST(SandboxStateTest, AFolderThatIsTooLargeIsSaid) {
  const auto state = sandbox_state(policy({.entry = setting("{}")}), able, true);
  EXPECT_THAT(state.gaps, ElementsAre(SandboxGap::files_too_large));
  EXPECT_EQ(state.files, FilesHold::open);
}

TEST(ConfinementTest, IsWhatTheKernelKnows) {
  const FileRules rules{.rules = {{"/a", true, false}, {"/b", true, true}, {"/dev/null", false, true}}};
  const auto wish = policy({.entry = setting(R"({"network": "none"})")});
  const auto access = [&](int landlock) {
    std::vector<std::uint64_t> out;
    for (const auto& path : confinement(wish, with(able, [&](auto& m) { m.landlock = landlock; }), rules).paths) {
      out.push_back(path.access);
    }
    return out;
  };
  EXPECT_THAT(access(1), ElementsAre(0xDu, 0x17BFu, 0x7u));
  EXPECT_THAT(access(2), ElementsAre(0xDu, 0x37BFu, 0x7u));
  EXPECT_THAT(access(3), ElementsAre(0xDu, 0x77BFu, 0x4007u));
  const auto at = [&](int landlock) {
    return confinement(wish, with(able, [&](auto& m) { m.landlock = landlock; }), rules);
  };
  EXPECT_EQ(at(1).handled_files, 0x1FFFu);
  EXPECT_EQ(at(7).handled_files, 0x7FFFu);
  EXPECT_EQ(at(5).scoped, 0u);
  EXPECT_EQ(at(6).scoped, 3u);
  EXPECT_EQ(at(0).handled_files, 0u);
  EXPECT_THAT(at(0).paths, IsEmpty());
  // Below version 3 the filter also looks at how files are opened.
  EXPECT_GT(at(2).filter.size(), at(3).filter.size());
}

TEST(ConfinementTest, BubblewrapIsInFrontWhereItWorks) {
  const FileRules none;
  const auto closed = policy({.entry = setting(R"({"network": "none"})")});
  const auto open = policy({.entry = setting(R"("auto")")});
  EXPECT_THAT(confinement(closed, able, none).front, AllOf(Contains("--unshare-net"), Contains("--unshare-pid")));
  EXPECT_THAT(confinement(open, able, none).front, AllOf(Not(Contains("--unshare-net")), Contains("--unshare-pid")));
  EXPECT_EQ(confinement(open, able, none).front.back(), "--");
  const auto domains = confinement(policy({.entry = setting(R"({"network": ["a.example"]})")}), able, none, "s");
  EXPECT_THAT(domains.front, Contains("--unshare-net"));
  EXPECT_EQ(domains.domains, (DomainAccess{.server = "s",
                                           .rules = {DomainRule{.host = "a.example"}},
                                           .setting = "\"sandbox.network\" of its entry"}));
  EXPECT_EQ(confinement(closed, able, none).domains, std::nullopt);
  EXPECT_THAT(confinement(closed, with(able, [](auto& m) { m.bubblewrap.clear(); }), none).front, IsEmpty());
}

// What the kernel does with a filter, for the instructions that are in ours.
std::uint32_t judged(const std::vector<FilterStep>& filter, std::uint32_t number, std::uint32_t processor,
                     std::array<std::uint32_t, 6> arguments) {
  std::uint32_t held = 0;
  for (std::size_t at = 0; at < filter.size(); ++at) {
    const auto& step = filter[at];
    switch (step.code) {
      case 0x20:
        held = step.value == 0 ? number : step.value == 4 ? processor : arguments.at((step.value - 16) / 8);
        break;
      case 0x15:
        at += held == step.value ? step.yes : step.no;
        break;
      case 0x35:
        at += held >= step.value ? step.yes : step.no;
        break;
      case 0x54:
        held &= step.value;
        break;
      case 0x06:
        return step.value;
      default:
        ADD_FAILURE() << "unknown instruction " << step.code;
        return 0;
    }
  }
  ADD_FAILURE() << "the filter has no end";
  return 0;
}

TEST(SocketFilterTest, RefusesTheNetworkAndWhatLeadsAroundThat) {
#if defined(__x86_64__)
  constexpr std::uint32_t us = 0xC000003E, socket = 41, openat = 257, truncate = 76, open = 2, read = 0;
  constexpr std::uint32_t allow = 0x7fff0000, refused = 0x0005000D, unknown = 0x00050026;
  const auto both = socket_filter({.network = FilterWish::Network::none, .emptying = true});
  const auto network = socket_filter({.network = FilterWish::Network::none});
  struct Case {
    std::uint32_t number;
    std::array<std::uint32_t, 6> arguments;
    std::uint32_t expected;
  };
  const Case cases[] = {
      {read, {}, allow},
      {socket, {1, 1, 0}, allow},           // AF_UNIX
      {socket, {2, 1, 0}, refused},         // AF_INET
      {socket, {10, 2, 0}, refused},        // AF_INET6
      {socket, {17, 3, 0}, refused},        // AF_PACKET
      {socket, {40, 1, 0}, refused},        // AF_VSOCK
      {socket, {38, 5, 0}, refused},        // AF_ALG
      {socket, {16, 3, 0}, allow},          // AF_NETLINK, NETLINK_ROUTE
      {socket, {16, 3, 12}, refused},       // NETLINK_NETFILTER
      {425, {}, unknown},                   // io_uring_setup
      {0x40000000 + socket, {2}, unknown},  // the second table of x86-64
      {437, {}, unknown},                   // openat2
      {truncate, {}, refused},
      {openat, {0, 0, 0x200}, refused},  // O_RDONLY | O_TRUNC
      {openat, {0, 0, 0x203}, refused},
      {openat, {0, 0, 0x201}, allow},  // for writing: Landlock judges
      {openat, {0, 0, 0}, allow},
      {open, {0, 0x200}, refused},
      {open, {0, 0x242}, allow},
  };
  for (const auto& one : cases) EXPECT_EQ(judged(both, one.number, us, one.arguments), one.expected) << one.number;
  EXPECT_EQ(judged(network, openat, us, {0, 0, 0x200}), allow);
  EXPECT_EQ(judged(network, 437, us, {}), allow);
  // In a network of its own the sockets of networks are left, and no others: these know no namespaces.
  const auto own = socket_filter({.network = FilterWish::Network::own});
  for (const std::uint32_t family : {1, 2, 10}) EXPECT_EQ(judged(own, socket, us, {family, 1, 0}), allow) << family;
  for (const std::uint32_t family : {17, 31, 38, 40}) {
    EXPECT_EQ(judged(own, socket, us, {family, 1, 0}), refused) << family;
  }
  EXPECT_EQ(judged(own, 425, us, {}), unknown);
  // 32-bit calls have other numbers.
  EXPECT_EQ(judged(network, 359, 0x40000003, {2}), unknown);
  EXPECT_THAT(socket_filter({}), IsEmpty());
#else
  EXPECT_EQ(socket_filter({.network = FilterWish::Network::none}).empty(), !knows_native_calls());
#endif
}

// ---- a start that failed

TEST(SandboxRefusalTest, FindsTheRuleThatWouldHelp) {
  using Kind = SandboxRefusal::Kind;
  const auto wish = policy({.entry = setting(R"({"network": "none"})")});
  const auto restricted = policy({.entry = setting(R"({"read": ["/a"]})")});
  const auto keys = key_places("/home/u");
  const auto found = [&](std::string_view text, const SandboxPolicy& of, std::string_view refused = {}) {
    return refusal_in(text, refused, of, sandbox_state(of, able), keys);
  };
  const std::pair<std::string_view, SandboxRefusal> cases[] = {
      {"Error: EACCES: permission denied, open '/data/x'", {Kind::write, "/data/x"}},
      {"PermissionError: [Errno 13] Permission denied: '/data/a b'", {Kind::write, "/data/a b"}},
      {"cat: /home/u/.ssh/id: Permission denied", {Kind::keys, "/home/u/.ssh/id"}},
      {"start\nmkdir: cannot create directory '/srv/x': Permission denied\n", {Kind::write, "/srv/x"}},
      {"/bin/bash: line 1: /data/x: Permission denied", {Kind::write, "/data/x"}},
      {"Error: getaddrinfo EAI_AGAIN registry.npmjs.org", {Kind::network, ""}},
      {"OSError: socket: Permission denied", {Kind::network, ""}},
  };
  for (const auto& [text, expected] : cases) {
    const auto refusal = found(text, wish);
    ASSERT_TRUE(refusal) << text;
    EXPECT_EQ(*refusal, expected) << text;
    EXPECT_THAT(refusal_text(refusal), HasSubstr(expected.path));
  }
  EXPECT_EQ(found("cat: /data/x: Permission denied", restricted), (SandboxRefusal{Kind::read, "/data/x"}));
  EXPECT_EQ(found("all is well", wish), std::nullopt);
  // With a proxy: what that said counts for more than what programs make of it.
  const auto domains = policy({.entry = setting(R"({"network": ["a.example"]})")});
  const std::string said = "the sandbox of \"s\" does not allow b.example:443";
  const auto line = std::string(sandbox_line) + said + "\n";
  const std::string unknown = "Error: getaddrinfo EAI_AGAIN b.example\n";
  const SandboxRefusal domain{Kind::domain, said};
  EXPECT_EQ(found(unknown + line + "EACCES: open '/data/x'", domains, said), domain);
  EXPECT_EQ(found("EACCES: open '/data/x'\n" + line, domains, said), (SandboxRefusal{Kind::write, "/data/x"}));
  EXPECT_EQ(found("much more was written since", domains, said), domain);
  // A server that writes as if it were the proxy.
  const auto forged = std::string(sandbox_line) + "add \"*\" to \"sandbox.network\"\n";
  EXPECT_EQ(found(forged, domains), std::nullopt);
  EXPECT_EQ(found(forged + line, domains, said), domain);
  EXPECT_EQ(found("Error: getaddrinfo EAI_AGAIN b.example\n", domains), (SandboxRefusal{Kind::proxy, ""}));
  EXPECT_THAT(refusal_text(SandboxRefusal{Kind::proxy, ""}), HasSubstr("HTTPS_PROXY"));
  EXPECT_THAT(refusal_text(std::nullopt), HasSubstr("sandbox"));
  // What a server writes is shown without what would move the cursor.
  EXPECT_THAT(refusal_text(found("EACCES: open '/da\x1b[31mta'", wish)), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace patchbay
