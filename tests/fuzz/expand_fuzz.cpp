// A text with references of any kind: what is put in is put in once and not looked at again, what is not known
// stays as it was written, and everything that would be fetched is named.
#include "entries/expand.h"
#include "fuzz/fuzz.h"

using namespace patchbay;
using fuzz::require;

namespace {

std::optional<std::string> variable(std::string_view name) {
  if (name == "HOME") return "/home/me";
  if (name == "EMPTY") return "";
  if (name == "NESTED") return "${HOME}${cmd:x}";
  return std::nullopt;
}
std::optional<std::string> unset(std::string_view) { return std::nullopt; }

}  // namespace

FUZZ_TARGET(expand) {
  const auto expanded = expand(input, variable);
  require(expanded.text.size() <= input.size() * 3 + 16, "expanding made too much of it");
  for (const auto& name : expanded.missing) {
    require(expanded.text.find("${" + name + "}") != std::string::npos, "a missing variable is not in the text");
  }
  const auto bare = expand(input, unset);
  if (input.find(":-") == std::string_view::npos) require(bare.text == input, "changed without any variable set");
  require(bare.missing.size() >= expanded.missing.size(), "more is missing with variables than without");
  require(variables_in(input) == bare.missing, "two ways to list variables differ");

  // Every secret is named, and once all are known nothing of its reference is left.
  const auto references = secret_references(input, "k");
  SecretValues values;
  for (const auto& reference : references) {
    require(!reference.argument.empty(), "a reference to nothing");
    const auto written = "${" + std::string(to_string(reference.kind)) + ":" + reference.argument + "}";
    require(input.find(written) != std::string_view::npos, "a reference that is not in the text");
    values[{reference.kind, reference.argument}] = "";
  }
  const auto filled = expand(input, unset, values);
  require(filled.text.size() <= input.size(), "empty secrets made it longer");
  if (!references.empty()) require(filled.text.size() < input.size(), "a known secret was not put in");

  ServerConfig server;
  server.command = input;
  server.args = {std::string(input)};
  server.env = {{"A", std::string(input)}};
  server.url = input;
  server.headers = {{"H", std::string(input)}};
  server.origin.scope = ConfigScope::project;
  server.origin.trust = ConfigTrust::needs_approval;
  for (const auto& reference : secret_references(server)) {
    require(reference.kind == SecretKind::environment || !reference_fault(reference, server.origin).empty(),
            "a repository may read what it likes");
  }
  const auto ready = expand_server(server, variable);
  require(ready.command == expanded.text && ready.url == expanded.text && ready.env[0].second == expanded.text,
          "an entry is expanded in another way than its texts");
}
