// `patchbay doctor`: everything a person would look at when something does not work, as findings with what to do
// about each. Connects to the servers that may be started unless --offline is given; --fix repairs what is ours.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "cli/context.h"
#include "cli/declared.h"
#include "cli/sandboxes.h"
#include "cli/texts/present.h"
#include "cli/texts/remedy_words.h"
#include "cli/texts/sandbox_words.h"
#include "cli/vault.h"
#include "cli/words/channel_flags.h"
#include "cli/words/permission_flags.h"
#include "host/start/stored_secrets.h"
#include "inspect/checkup.h"
#include "inspect/lint.h"
#include "process/command_lookup.h"
#include "settings/files.h"
#include "settings/settings_layers.h"
#include "store/upkeep.h"

namespace patchbay::cli {
namespace {

struct Checkup {
  Declared declared;
  std::vector<Repair> repairs;
  std::vector<Finding> findings;
};

MachineFacts machine_of(const LoadedConfig& config) {
  MachineFacts machine;
  machine.variables = variables_of(config);
  machine.readable = [](const std::string& path) { return ::access(path.c_str(), R_OK) == 0; };
  machine.find_command = [](std::string_view command, std::string_view path, std::string_view directory) {
    return find_command(command, path, directory);
  };
  machine.secret_fault = [file = config.config_dir + "/secrets.json",
                          vault = open_vault_quietly(config.config_dir)](const std::string& name) {
    const auto secret = stored_or_old_secret(vault.get(), file, name);
    return secret ? std::string() : secret.error().message();
  };
  struct rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) machine.open_files = limit.rlim_cur;
  return machine;
}

void add(std::vector<Finding>& all, std::vector<Finding> more) { std::ranges::move(more, std::back_inserter(all)); }

// A file whose rules nobody can read denies everything, which is more than one mistake in one file.
void say_refusal(const Permissions& permissions, const LoadedConfig& config, std::vector<Finding>& findings) {
  const auto& refusal = permissions.rules().refuse_all;
  if (!refusal) return;
  const auto effect = "correct this file: until then no tool can be called, because its deny rules are unknown";
  const auto file = path_seen_from(config.cwd, refusal->file);
  const auto found = std::ranges::find_if(findings, [&](const Finding& one) {
    return one.level == FindingLevel::problem && one.subject == file &&
           (refusal->line == 0 || one.line == refusal->line);
  });
  if (found != findings.end()) {
    found->fix = Fix::changing(effect);
  } else {
    findings.push_back({FindingLevel::problem, "configuration", file, "its rules cannot be read", Fix::changing(effect),
                        refusal->line, refusal->column});
  }
}

// Whoever names servers asks about these, and about what concerns all.
bool is_asked_for(const Settings& settings, const std::string& server) {
  return settings.words.empty() || server.empty() || std::ranges::find(settings.words, server) != settings.words.end();
}

// What holds of each sandbox that somebody asked for.
std::vector<Finding> check_sandboxes(const LoadedConfig& config) {
  std::vector<Finding> out;
  Sandboxes sandboxes(config);
  for (const auto& server : config.servers) {
    if (server.standing != ServerStanding::active) continue;
    const auto state = sandboxes.of(server);
    if (state.mode == SandboxMode::off) continue;
    const auto level = state.gaps.empty()           ? FindingLevel::ok
                       : keeps_from_starting(state) ? FindingLevel::problem
                                                    : FindingLevel::note;
    Finding finding{level, "server", server.name, "sandbox: " + sandbox_words(state), {}};
    if (!state.gaps.empty()) {
      // What keeps it from starting with "auto" as well comes first.
      const bool domains = std::ranges::find(state.gaps, SandboxGap::domains) != state.gaps.end();
      finding.fix = Fix::changing(gap_text(domains ? SandboxGap::domains : state.gaps.front(), sandboxes.machine()));
    }
    out.push_back(std::move(finding));
  }
  return out;
}

// Servers that may push messages, or that somebody names in vain.
std::vector<Finding> check_channels(const LoadedConfig& config, const Settings& settings) {
  std::vector<Finding> out;
  const auto options = channel_options(settings);
  for (const auto& server : config.servers) {
    if (server.standing != ServerStanding::active) continue;
    const auto verdict = judge_channel(server, layers_of(config.settings), options);
    const auto words = channel_words(verdict);
    if (words.empty()) continue;
    out.push_back(
        {verdict.open() ? FindingLevel::ok : FindingLevel::note, "server", server.name, "channel: " + words, {}});
  }
  return out;
}

// Everything that can be seen without starting a server.
Checkup look(const Settings& settings) {
  auto declared = load_declared(settings);
  std::vector<Repair> repairs;
  if (settings.fix) {
    repairs = repair(declared.store, look_after(declared.store));
    if (!repairs.empty()) declared = load_declared(settings);
  }
  const auto& config = declared.config;
  std::vector<Finding> findings;
  const auto permissions = permissions_of(config, settings);
  for (const auto& name : settings.words) (void)all_named(config, name);
  auto problems = with_remedies_in_words(lint_config(config, permissions, process_environment()));
  std::erase_if(problems, [&](const ConfigProblem& problem) { return !is_asked_for(settings, problem.server); });
  const auto machine = machine_of(config);
  add(findings, check_configuration(config, problems));
  say_refusal(permissions, config, findings);
  add(findings, check_trust(config));
  add(findings, check_files(look_after(declared.store)));
  add(findings, check_environment(machine, config.environment));
  add(findings, check_servers(config, machine));
  add(findings, check_sandboxes(config));
  add(findings, check_channels(config, settings));
  std::erase_if(findings, [&](const Finding& finding) {
    return finding.area == "server" && !is_asked_for(settings, finding.subject);
  });
  return {std::move(declared), std::move(repairs), std::move(findings)};
}

// Those whose start would not fail for a reason that was found already.
std::vector<std::string> worth_starting(const Checkup& checkup, const Settings& settings) {
  std::vector<std::string> names;
  for (const auto& server : checkup.declared.config.servers) {
    if (server.standing != ServerStanding::active || !is_asked_for(settings, server.name)) continue;
    const bool bad = std::ranges::any_of(checkup.findings, [&](const Finding& finding) {
      return finding.level == FindingLevel::problem && finding.area == "server" && finding.subject == server.name;
    });
    if (!bad) names.push_back(server.name);
  }
  return names;
}

std::string_view mark_of(const Finding& finding) {
  switch (finding.level) {
    case FindingLevel::ok:
      // Whether a directory is trusted is neither good nor bad.
      return finding.area == "trust" ? "·" : "✔";
    case FindingLevel::note:
      return "!";
    case FindingLevel::problem:
      break;
  }
  return "✘";
}

std::string subject_of(const Declared& declared, const Finding& finding) {
  if (finding.subject.empty()) return {};
  if (finding.line > 0) return fmt::format("{}:{}:{}: ", safe_name(finding.subject, 300), finding.line, finding.column);
  return fmt::format("{}: ", safe_name(path_seen_from(declared.request.cwd, finding.subject), 300));
}

std::string findings_text(const Checkup& checkup) {
  std::string out;
  for (const auto& done : checkup.repairs) {
    out += fmt::format("{} {}: {}\n", done.error.empty() ? "fixed" : "not fixed", safe_name(done.file, 300),
                       message_line(done.error.empty() ? done.what : done.error, 500));
  }
  std::string_view area;
  for (const auto& finding : checkup.findings) {
    if (finding.area != area) out += fmt::format("{}{}\n", out.empty() ? "" : "\n", finding.area);
    area = finding.area;
    out += fmt::format("  {} {}{}\n", mark_of(finding), subject_of(checkup.declared, finding),
                       message_line(finding.message, 2000));
    if (!finding.detail.empty()) out += indented(finding.detail);
    if (const auto fix = fix_words(finding.fix); !fix.empty()) out += fmt::format("      {}\n", message_line(fix, 500));
  }
  return out;
}

Json fix_json(const Fix& fix) {
  auto words = fix_words(fix);
  return words.empty() ? Json() : Json(std::move(words));
}

Json findings_json(const Checkup& checkup, std::size_t problems, std::size_t notes) {
  Json findings = Json::array();
  for (const auto& finding : checkup.findings) {
    findings.push_back({{"level", to_string(finding.level)},
                        {"area", finding.area},
                        {"subject", finding.subject.empty() ? Json() : Json(finding.subject)},
                        {"line", finding.line},
                        {"column", finding.column},
                        {"message", finding.message},
                        {"detail", detail_json(finding.detail)},
                        {"fix", fix_json(finding.fix)}});
  }
  Json repairs = Json::array();
  for (const auto& done : checkup.repairs) {
    repairs.push_back(
        {{"file", done.file}, {"what", done.what}, {"error", done.error.empty() ? Json() : Json(done.error)}});
  }
  return {{"findings", std::move(findings)},
          {"fixed", std::move(repairs)},
          {"problems", problems},
          {"notes", notes},
          {"trusted", checkup.declared.config.project_trusted}};
}

int show(const Checkup& checkup, const Settings& settings, Io& io) {
  auto count = [&](FindingLevel level) {
    return static_cast<std::size_t>(std::ranges::count(checkup.findings, level, &Finding::level));
  };
  const auto problems = count(FindingLevel::problem);
  const auto notes = count(FindingLevel::note);
  auto number = [](std::size_t n, std::string_view what) {
    return fmt::format("{} {}{}", n == 0 ? "no" : std::to_string(n), what, n == 1 ? "" : "s");
  };
  answer(settings, io, findings_json(checkup, problems, notes),
         fmt::format("{}\n{}, {}\n", findings_text(checkup), number(problems, "problem"), number(notes, "note")));
  return problems > 0 ? 1 : 0;
}

}  // namespace

int doctor(const Settings& settings, Io& io) { return show(look(settings), settings, io); }

Task<int> doctor_checked(Context& context) {
  auto checkup = look(context.settings);
  const auto names = worth_starting(checkup, context.settings);
  if (!names.empty()) {
    context.waiting.begin(fmt::format("connecting to {} server{}", names.size(), names.size() == 1 ? "" : "s"));
    co_await context.host.start(names);
    context.waiting.end();
    std::vector<ServerStatus> statuses;
    for (auto& status : context.host.status()) {
      if (std::ranges::find(names, status.name) == names.end()) continue;
      // How to sign in is the fix of the finding.
      if (status.error && status.error->sign_in()) status.error = std::move(*status.error).without_remedy();
      status = context.secrets->without(std::move(status));
      statuses.push_back(std::move(status));
    }
    add(checkup.findings, check_connections(statuses));
    // Which tools there are is known only now, and with that which rules name none.
    for (const auto& problem : with_remedies_in_words(context.host.permission_problems())) {
      const bool told = std::ranges::any_of(checkup.findings, [&](const Finding& one) {
        return one.subject == problem.file && one.line == problem.line && one.column == problem.column;
      });
      if (told) continue;
      checkup.findings.push_back(
          {FindingLevel::note, "permissions", problem.file, problem.message, {}, problem.line, problem.column, {}});
    }
  }
  co_return show(checkup, context.settings, context.io);
}

}  // namespace patchbay::cli
