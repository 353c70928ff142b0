#include "cli/texts/sandbox_words.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace patchbay::cli {
namespace {

std::string gap_words(const SandboxState& state, SandboxGap gap) {
  switch (gap) {
    case SandboxGap::files:
      return fmt::format("kernel {} cannot limit files", state.kernel);
    case SandboxGap::files_too_large:
      return "a folder with credentials in it has too many files to go around them";
    case SandboxGap::network:
      return fmt::format("kernel {} cannot filter system calls", state.kernel);
    case SandboxGap::loopback:
      return "a loopback of its own needs bubblewrap, which is not there or does not work";
    case SandboxGap::domains:
      return "a network of single domains needs bubblewrap, which is not there or does not work";
    case SandboxGap::processes:
      return "the processes of root cannot be limited";
  }
  return {};
}

// The first of many.
std::string shown_domains(std::vector<std::string> domains) {
  constexpr std::size_t most = 5;
  const auto more = domains.size() > most ? domains.size() - most : 0;
  if (more > 0) domains.resize(most);
  return join(domains, " and ") + (more > 0 ? fmt::format(" and {} more", more) : "");
}

}  // namespace

std::string sandbox_words(const SandboxState& state) {
  if (state.mode == SandboxMode::off) return "off";
  std::vector<std::string> parts;
  switch (state.files) {
    case FilesHold::open:
      parts.emplace_back("files open");
      break;
    case FilesHold::writes:
      parts.emplace_back("writes limited, credentials out of reach");
      break;
    case FilesHold::reads_writes:
      parts.emplace_back("reads and writes limited");
      break;
  }
  switch (state.network) {
    case NetworkHold::open:
      parts.emplace_back("network open");
      break;
    case NetworkHold::own_loopback:
      parts.emplace_back("a loopback of its own");
      break;
    case NetworkHold::domains:
      parts.push_back((std::ranges::find(state.gaps, SandboxGap::domains) != state.gaps.end())
                          ? "not started"
                          : fmt::format("network only to {}", shown_domains(state.domains)));
      break;
    case NetworkHold::closed:
      parts.emplace_back("no network");
      break;
  }
  if (state.own_processes) parts.emplace_back("sees no processes but its own");
  std::vector<std::string> reasons;
  for (const auto gap : state.gaps) reasons.push_back(gap_words(state, gap));
  return join(parts, ", ") + (reasons.empty() ? "" : ": ") + join(reasons, "; ");
}

Json sandbox_json(const SandboxState& state) {
  if (state.mode == SandboxMode::off) return {};
  Json gaps = Json::array();
  for (const auto gap : state.gaps) gaps.push_back(to_string(gap));
  Json out{
      {"mode", to_string(state.mode)},       {"files", to_string(state.files)}, {"network", to_string(state.network)},
      {"ownProcesses", state.own_processes}, {"gaps", std::move(gaps)},         {"kernel", state.kernel}};
  if (state.network == NetworkHold::domains) {
    Json domains = Json::array();
    for (const auto& domain : state.domains) domains.push_back(domain);
    out["domains"] = std::move(domains);
  }
  return out;
}

}  // namespace patchbay::cli
