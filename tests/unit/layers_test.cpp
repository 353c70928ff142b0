// Reads every #include under src/ and include/patchbay/ and holds it against the order of
// the layers in docs/architecture.md, keeps third-party headers behind the files that wrap
// them, keeps the words of one protocol era where eras are told apart, time in base, and the
// commands and flags of the program in cli.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/places.h"

namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// What each folder may include besides itself.
const std::map<std::string, std::set<std::string>, std::less<>>& allowed_layers() {
  static const auto table = [] {
    auto with = [](std::set<std::string> base, std::initializer_list<std::string> more) {
      base.insert(more);
      return base;
    };
    const std::set<std::string> to_secrets{"base", "json", "text", "secrets"};
    const auto to_protocol = with(to_secrets, {"protocol"});
    const auto to_net = with(to_protocol, {"rpc", "process", "http", "ws", "sandbox"});
    const auto to_transport = with(to_net, {"transport", "auth"});
    const auto to_entries = with(to_protocol, {"http", "entries", "sandbox"});
    const auto to_settings = with(to_entries, {"pins", "settings"});
    const auto to_permission = with(to_settings, {"catalog", "permission"});
    const auto to_hooks = with(to_permission, {"hooks"});
    const auto declared = with(to_hooks, {"servers", "store", "import"});
    auto below_host = with(to_transport, {"client", "server", "builtin", "recording", "results"});
    below_host.insert(declared.begin(), declared.end());
    const auto to_host = with(below_host, {"host"});
    return std::map<std::string, std::set<std::string>, std::less<>>{
        {"base", {}},
        {"json", {"base"}},
        {"text", {"base", "json"}},
        {"secrets", {"base", "json", "text"}},
        {"protocol", to_secrets},
        {"rpc", to_protocol},
        {"sandbox", with(to_protocol, {"http"})},
        {"recording", with(to_protocol, {"rpc"})},
        {"process", with(to_protocol, {"sandbox"})},
        {"http", to_protocol},
        {"ws", with(to_protocol, {"http"})},
        {"transport", to_net},
        {"auth", to_net},
        {"client", to_transport},
        {"server", to_transport},
        {"builtin", with(to_transport, {"server"})},
        {"catalog", to_entries},
        {"results", to_protocol},
        {"entries", with(to_protocol, {"http", "sandbox"})},
        {"pins", to_protocol},
        {"settings", with(to_entries, {"pins"})},
        {"permission", with(to_settings, {"catalog"})},
        {"hooks", to_permission},
        {"servers", to_permission},
        {"store", to_settings},
        {"import", to_entries},
        {"host", below_host},
        {"inspect", to_host},
        {"blocking", to_host},
        {"agent", to_host},
        {"terminal", {"base", "json", "text"}},
        {"images", {}},
        {"acp", with(to_host, {"agent"})},
        {"gateway", to_host},
        {"console", to_host},
        {"cli", with(to_host, {"inspect", "blocking", "terminal", "agent", "acp", "gateway", "console"})},
    };
  }();
  return table;
}

// The layer whose promise each public header states.
const std::map<std::string, std::string, std::less<>> public_headers{
    {"error.h", "base"},
    {"task.h", "base"},
    {"version.h", "base"},
    {"fwd.h", "base"},
    {"json.h", "json"},
    {"types.h", "protocol"},
    {"questions.h", "protocol"},
    {"asking.h", "host"},
    {"auth.h", "auth"},
    {"transport.h", "rpc"},
    {"client.h", "client"},
    {"session.h", "client"},
    {"server.h", "server"},
    {"server_http.h", "server"},
    {"server_types.h", "server"},
    {"config.h", "entries"},
    {"permission.h", "settings"},
    {"host.h", "host"},
    {"catalog.h", "catalog"},
    {"status.h", "host"},
    {"call.h", "protocol"},
    {"blocking.h", "blocking"},
    {"patchbay.h", "blocking"},
    {"problem.h", "text"},
    {"log.h", "base"},
    {"compiler.h", "base"},
    {"tools.h", "protocol"},
    {"host_types.h", "permission"},
    {"background_call.h", "host"},
    {"failure.h", "host"},
    {"model_view.h", "catalog"},
    {"model_tools.h", "host"},
    {"events.h", "host"},
    {"channels.h", "host"},
    {"results.h", "protocol"},
    {"sign_in.h", "base"},
    {"model.h", "host"},
    {"agent.h", "agent"},
};

struct Wrapped {
  std::string_view library;
  std::vector<std::string_view> prefixes;  // of the included path
  std::set<std::string_view> files;        // the only ones that may include it; headers are prefixes as well
};
const std::vector<Wrapped> wrapped_libraries{
    {"libcurl",
     {"curl/", "http/client/curl_library.h", "http/client/curl_loop.h"},
     {"src/http/client/curl_library.h", "src/http/client/curl_library.cpp", "src/http/client/curl_loop.h",
      "src/http/client/curl_loop.cpp", "src/http/client/curl_outcome.cpp", "src/http/client/curl_transfer.cpp"}},
    {"Beast", {"boost/beast"}, {"src/http/server/http_server.cpp"}},
    {"OpenSSL", {"openssl/"}, {"src/base/crypto.cpp", "src/auth/jose.cpp"}},
    {"simdjson", {"simdjson"}, {"src/json/utf8.cpp"}},
    {"RE2", {"re2/"}, {"src/builtin/grep.cpp", "src/hooks/hook_matcher.cpp", "src/results/read_part.cpp"}},
    {"PCRE2", {"pcre2"}, {"src/json/regex.cpp"}},
    {"libyaml", {"yaml.h"}, {"src/text/yaml.cpp"}},
    {"libsecret",
     {"libsecret/", "glib", "gio/"},
     {}},  // loaded at run time: auth/store/keyring.cpp declares what it uses
    {"libraries of images", {"png.h", "jpeglib.h", "webp/"}, {"src/images/images.c"}},
    {"libzstd", {"zstd"}, {}},  // loaded at run time: host/results/zstd.cpp declares what it uses
    {"md4c", {"md4c"}, {}},     // loaded at run time: terminal/markdown.cpp declares what it uses
    {"spdlog", {"spdlog/"}, {"src/cli/logging.cpp"}},
};

// Folders of pure decisions: no Asio, not even through a header of ours.
const std::set<std::string_view> pure_folders{"json",  "text",     "secrets",    "protocol", "catalog", "entries",
                                              "pins",  "settings", "permission", "servers",  "store",   "import",
                                              "hooks", "sandbox",  "results",    "terminal"};

// Words that belong to one protocol era.
const std::vector<std::string_view> era_words{"2024-11-05", "2025-03-26", "2025-06-18",   "2025-11-25",
                                              "2026-07-28", "resultType", "inputRequests"};

struct Include {
  std::string path;
  bool quoted = false;
};

// The text without comments; string literals stay.
std::string without_comments(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  enum { code, string, character, line_comment, block_comment } state = code;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    switch (state) {
      case code:
        if (c == '/' && next == '/') {
          state = line_comment;
        } else if (c == '/' && next == '*') {
          state = block_comment;
        } else {
          // 1'000 is a number, not the beginning of a character.
          const bool digit_before = i > 0 && std::isalnum(static_cast<unsigned char>(text[i - 1])) != 0;
          if (c == '"') state = string;
          if (c == '\'' && !digit_before) state = character;
          out += c;
        }
        break;
      case string:
      case character:
        out += c;
        if (c == '\\' && next != '\0') {
          out += next;
          ++i;
        } else if (c == (state == string ? '"' : '\'') || c == '\n') {
          state = code;
        }
        break;
      case line_comment:
        if (c == '\n') {
          state = code;
          out += c;
        }
        break;
      case block_comment:
        if (c == '*' && next == '/') {
          state = code;
          ++i;
        } else if (c == '\n') {
          out += c;
        }
        break;
    }
  }
  return out;
}

std::vector<Include> includes_of(std::string_view code) {
  std::vector<Include> out;
  std::istringstream lines{std::string(code)};
  for (std::string line; std::getline(lines, line);) {
    std::string_view rest = line;
    auto skip_blanks = [&] { rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size())); };
    skip_blanks();
    if (!rest.starts_with('#')) continue;
    rest.remove_prefix(1);
    skip_blanks();
    if (!rest.starts_with("include")) continue;
    rest.remove_prefix(7);
    skip_blanks();
    if (rest.empty() || (rest[0] != '"' && rest[0] != '<')) continue;
    const bool quoted = rest[0] == '"';
    const auto end = rest.find(quoted ? '"' : '>', 1);
    if (end == std::string_view::npos) continue;
    out.push_back({.path = std::string(rest.substr(1, end - 1)), .quoted = quoted});
  }
  return out;
}

// The layer of a file given by its path from the top of the tree; empty when it has none.
std::string layer_of(std::string_view file) {
  if (file.starts_with("include/patchbay/")) {
    const auto found = public_headers.find(file.substr(17));
    return found == public_headers.end() ? std::string() : found->second;
  }
  if (!file.starts_with("src/")) return {};
  file.remove_prefix(4);
  const auto slash = file.find('/');
  return slash == std::string_view::npos ? std::string() : std::string(file.substr(0, slash));
}

// Where an include of ours points to, from the top of the tree; empty for others' headers.
std::string target_of(std::string_view file, const Include& include) {
  if (include.path.starts_with("patchbay/")) return "include/" + include.path;
  if (!include.quoted) return {};
  if (include.path.find('/') == std::string::npos) {
    return std::string(file.substr(0, file.rfind('/') + 1)) + include.path;
  }
  return "src/" + include.path;
}

bool may_know_eras(std::string_view file) {
  for (std::string_view prefix : {"src/protocol/wire_", "src/client/negotiate", "src/client/probe"}) {
    if (file.starts_with(prefix)) return true;
  }
  return file.starts_with("src/server/") && file.find("front", 11) != std::string_view::npos;
}

// Who may ask which era a peer speaks: those above, the doors of the server that choose a front, and who shows it.
bool may_ask_for_eras(std::string_view file) {
  for (std::string_view prefix :
       {"src/protocol/wire", "src/server/http_checks", "src/server/http_door", "src/client/session.cpp",
        "src/host/connection.cpp", "src/cli/session/use.cpp", "include/patchbay/session.h"}) {
    if (file.starts_with(prefix)) return true;
  }
  return may_know_eras(file);
}

// Ways to make a timer. What waits follows the clock of its loop, so there is one place that makes them: base.
const std::vector<std::string_view> timers{"steady_timer", "system_timer", "high_resolution_timer",
                                           "deadline_timer.hpp", "timerfd_create"};

// The library says what would help as a value (Remedy, Fix); what to type is known to src/cli alone. A command of ours
// or a flag inside a string literal outside of it, if any. No file of the library may know our commands.
std::optional<std::string> typed_words_in(std::string_view file, const std::string& code) {
  // Flags of other programs: docker run, bubblewrap.
  static const std::set<std::string, std::less<>> others{
      R"("--rm")",          R"("--bind")",        R"("--dev-bind")",        R"("--proc")",
      R"("--unshare-pid")", R"("--unshare-net")", R"("--die-with-parent")", R"("--cap-drop")",
      R"("--version")",     R"("--tmpfs")"};
  static const std::regex literal(R"("(?:[^"\\\n]|\\.)*")");
  static const std::regex command(
      R"(\bpatchbay (?:add|approve|call|completion|disable|doctor|enable|get|import|lint|)"
      R"(list|logs|man|mcp|prompts?|read|reconnect|reject|remove|reset|resources|secret|serve|session|skills|)"
      R"(status|tools|trust|why|--?[a-z]|\{))");
  static const std::regex flag(R"((?:^"|[ `'(])--[a-z])");
  if (file.starts_with("src/cli/")) return std::nullopt;
  for (std::sregex_iterator it(code.begin(), code.end(), literal), end; it != end; ++it) {
    const auto text = it->str();
    if (others.contains(text)) continue;
    if (std::regex_search(text, command) || std::regex_search(text, flag)) return text;
  }
  return std::nullopt;
}

// Who asks the system what time it is, and not the clock of the loop (base/loop_clock.h).
const std::vector<std::string_view> real_times{"steady_clock::now", "high_resolution_clock::now", "CLOCK_MONOTONIC"};
bool may_ask_for_real_time(std::string_view file) {
  static const std::set<std::string_view> files{
      "src/http/client/curl_transfer.cpp",  // libcurl measures its transfers by the system's clock
      "src/process/process.cpp",            // waits on its thread for a process that starts or dies
      "src/process/warden/warden.c",        // another program, which has no loop
      "src/cli/waiting.cpp",                // shows the user how long it has taken
  };
  return layer_of(file) == "base" || files.contains(file);
}

// Everything wrong in one file, one line each.
std::vector<std::string> problems_in(std::string_view file, std::string_view text) {
  std::vector<std::string> problems;
  auto report = [&](const std::string& what) { problems.push_back(std::string(file) + ": " + what); };
  const std::string layer = layer_of(file);
  const auto allowed = allowed_layers().find(layer);
  if (allowed == allowed_layers().end()) {
    report("belongs to no layer; add its folder or header to the table in this test and to docs/architecture.md");
    return problems;
  }
  const std::string code = without_comments(text);
  for (const Include& include : includes_of(code)) {
    for (const Wrapped& wrapped : wrapped_libraries) {
      const bool matches = std::ranges::any_of(
          wrapped.prefixes, [&](std::string_view prefix) { return include.path.starts_with(prefix); });
      if (matches && !wrapped.files.contains(file)) {
        report("includes " + include.path + ", but " + std::string(wrapped.library) +
               " stays behind the files this test names");
      }
    }
    if (pure_folders.contains(layer) && include.path.starts_with("boost/asio")) {
      report("includes " + include.path + ", but " + layer + " is pure");
    }
    const std::string target = target_of(file, include);
    // The last one is not there on purpose: it stops a compiler that is too old.
    if (target.empty() || target == "include/patchbay/needs-c++23") continue;
    const std::string target_layer = layer_of(target);
    if (!allowed_layers().contains(target_layer)) {
      report("includes " + include.path + ", which belongs to no layer");
    } else if (target_layer != layer && !allowed->second.contains(target_layer)) {
      report("includes " + include.path + ", but " + layer + " may not use " + target_layer);
    }
  }
  if (!may_know_eras(file)) {
    for (std::string_view word : era_words) {
      if (code.find(word) != std::string::npos) {
        report("says " + std::string(word) + ", which belongs to one protocol era");
      }
    }
  }
  if (!may_ask_for_eras(file)) {
    for (std::string_view word : {"Era::", ".era()", "->era()", "is_legacy()"}) {
      if (code.find(word) != std::string::npos) report("asks which era it is (" + std::string(word) + ")");
    }
  }
  if (const auto typed = typed_words_in(file, code)) {
    report("says " + *typed + ", but only cli knows what is typed: Remedy, Fix");
  }
  if (layer != "base") {
    for (std::string_view timer : timers) {
      if (code.find(timer) != std::string::npos) {
        report("makes a timer (" + std::string(timer) + "), which only base does: base/timer.h, base/timeout.h");
      }
    }
  }
  if (!may_ask_for_real_time(file)) {
    for (std::string_view time : real_times) {
      if (code.find(time) != std::string::npos) {
        report("asks the system for the time (" + std::string(time) + ") and not its loop: base/loop_clock.h");
      }
    }
  }
  return problems;
}

using Tree = std::map<std::string, std::string, std::less<>>;  // path from the top → text

Tree source_tree() {
  Tree tree;
  const fs::path top = patchbay::test::in_sources();
  for (const char* folder : {"src", "include/patchbay"}) {
    for (const auto& entry : fs::recursive_directory_iterator(top / folder)) {
      const auto extension = entry.path().extension();
      if (!entry.is_regular_file() || (extension != ".h" && extension != ".cpp" && extension != ".c")) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      std::ostringstream text;
      text << file.rdbuf();
      tree.emplace(entry.path().lexically_relative(top).generic_string(), text.str());
    }
  }
  return tree;
}

// The chain of our own headers by which a file of a pure folder reaches Asio, if any.
std::vector<std::string> hidden_asio(const Tree& tree) {
  std::vector<std::string> problems;
  for (const auto& [file, text] : tree) {
    if (!pure_folders.contains(layer_of(file))) continue;
    std::vector<std::pair<std::string, std::string>> open{{file, file}};  // file, chain that led there
    std::set<std::string> seen{file};
    while (!open.empty()) {
      auto [current, chain] = open.back();
      open.pop_back();
      const auto found = tree.find(current);
      if (found == tree.end()) continue;
      for (const Include& include : includes_of(without_comments(found->second))) {
        if (include.path.starts_with("boost/asio") && current != file) {
          problems.push_back(chain + " → " + include.path);
          continue;
        }
        std::string target = target_of(current, include);
        if (!target.empty() && seen.insert(target).second) open.emplace_back(target, chain + " → " + target);
      }
    }
  }
  return problems;
}

// Two files that define a type of the same full name: no compiler and no linker sees it, and
// either definition may be used for both. Types of an unnamed namespace are nobody else's.
std::vector<std::string> types_defined_twice(const Tree& tree) {
  static const std::regex type(R"(^(?:class|struct|union|enum class|enum)\s+(\w+)(?:\s+final)?\s*(?::[^:;]*)?\{.*)");
  std::vector<std::string> problems;
  std::map<std::string, std::string> defined;  // full name → file
  for (const auto& [file, text] : tree) {
    std::vector<std::string> scopes;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("namespace ") && line.ends_with("{")) {
        scopes.push_back(line.substr(10, line.size() - 11));
      } else if (line.starts_with("}  // namespace") && !scopes.empty()) {
        scopes.pop_back();
      }
      std::smatch match;
      if (std::ranges::count(scopes, std::string()) > 0 || !std::regex_match(line, match, type)) continue;
      std::string name;
      for (const auto& scope : scopes) name += scope.substr(0, scope.find(' ')) + "::";
      name += match[1].str();
      const auto [found, fresh] = defined.emplace(name, file);
      if (!fresh && found->second != file) problems.push_back(name + ": " + found->second + " and " + file);
    }
  }
  return problems;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const auto& line : lines) out += line + "\n";
  return out;
}

TEST(Layers, EveryFile_IncludesOnlyWhatItsLayerMay) {
  const Tree tree = source_tree();
  ASSERT_GT(tree.size(), 10u) << "no sources found under " << patchbay::test::in_sources();
  std::vector<std::string> problems;
  for (const auto& [file, text] : tree) {
    for (auto& problem : problems_in(file, text)) problems.push_back(std::move(problem));
  }
  EXPECT_THAT(problems, IsEmpty()) << joined(problems);
}

TEST(Layers, PureFolders_ReachNoAsioThroughOurHeaders) {
  const auto problems = hidden_asio(source_tree());
  EXPECT_THAT(problems, IsEmpty()) << joined(problems);
}

TEST(Layers, EveryType_IsDefinedInOneFile) {
  const auto problems = types_defined_twice(source_tree());
  EXPECT_THAT(problems, IsEmpty()) << joined(problems);
}

TEST(Layers, TypesDefinedTwice_AreReportedUnlessTheyAreLocal) {
  const Tree tree{
      {"src/a/x.h", "namespace patchbay {\nclass X final : public Y {\n};\nclass Z;\n}  // namespace patchbay\n"},
      {"src/b/x.h", "namespace patchbay {\nclass X {\n};\nclass Z {\n};\n}  // namespace patchbay\n"},
      {"src/b/y.cpp", "namespace patchbay {\nnamespace {\nstruct Z {\n};\n}  // namespace\n}  // namespace patchbay\n"},
      {"src/c/y.h", "namespace patchbay::cli {\nstruct Z {\n};\n}  // namespace patchbay::cli\n"}};
  EXPECT_THAT(types_defined_twice(tree), ElementsAre("patchbay::X: src/a/x.h and src/b/x.h"));
}

TEST(Layers, BadFiles_AreReported) {
  struct Case {
    const char* file;
    const char* text;
    const char* problem;
  };
  const Case cases[] = {
      {"src/json/x.cpp", "#include \"rpc/peer.h\"\n", "json may not use rpc"},
      {"src/rpc/x.cpp", "#include \"process/process.h\"\n", "rpc may not use process"},
      {"src/http/x.cpp", "#include \"rpc/peer.h\"\n", "http may not use rpc"},
      {"src/transport/x.cpp", "#include \"auth/token.h\"\n", "transport may not use auth"},
      {"src/auth/x.cpp", "#include \"transport/http.h\"\n", "auth may not use transport"},
      {"src/client/x.cpp", "#include \"server/server.h\"\n", "client may not use server"},
      {"src/server/x.h", "#include <patchbay/session.h>\n", "server may not use client"},
      {"src/builtin/x.cpp", "#include \"client/session.h\"\n", "builtin may not use client"},
      {"src/host/x.cpp", "#include \"cli/io.h\"\n", "host may not use cli"},
      {"src/agent/x.cpp", "#  include  \"gateway/gateway.h\"\n", "agent may not use gateway"},
      {"include/patchbay/types.h", "#include <patchbay/client.h>\n", "protocol may not use client"},
      {"include/patchbay/novel.h", "", "belongs to no layer"},
      {"src/novel/x.cpp", "", "belongs to no layer"},
      {"src/base/x.cpp", "#include \"novel/y.h\"\n", "belongs to no layer"},
      {"src/base/log.h", "#include <spdlog/spdlog.h>\n", "spdlog stays behind"},
      {"src/client/x.cpp", "#include <simdjson.h>\n", "simdjson stays behind"},
      {"src/http/x.h", "#include <boost/beast/http.hpp>\n", "Beast stays behind"},
      {"src/cli/x.cpp", "#include <curl/curl.h>\n", "libcurl stays behind"},
      {"src/entries/x.cpp", "#include <boost/asio/post.hpp>\n", "entries is pure"},
      {"src/host/x.cpp", "if (version == \"2026-07-28\") {}\n", "2026-07-28"},
      {"src/client/session.cpp", "json[\"resultType\"];\n", "resultType"},
      {"src/client/exchange.cpp", "if (wire.era() == modern) {}\n", "asks which era"},
      {"src/host/host.cpp", "if (session.is_legacy()) {}\n", "asks which era"},
      {"src/servers/x.cpp", "return \"run `patchbay approve x`\";\n", "only cli knows"},
      {"src/servers/x.cpp", "format(\"to enable it: patchbay {}\", x);\n", "only cli knows"},
      {"src/entries/x.cpp", "origin{\"--mcp-server\", 0};\n", "only cli knows"},
      {"src/permission/x.cpp", "\"choose it with --permission-mode\"", "only cli knows"},
      {"src/rpc/x.h", "asio::steady_timer timer_;\n", "makes a timer"},
      {"src/transport/x.cpp", "#include <boost/asio/steady_timer.hpp>\n", "makes a timer"},
      {"src/transport/x.cpp", "auto now = std::chrono::steady_clock::now();\n", "asks the system for the time"},
      {"src/process/x.cpp", "::clock_gettime(CLOCK_MONOTONIC, &now);\n", "asks the system for the time"},
  };
  for (const Case& item : cases) {
    EXPECT_THAT(problems_in(item.file, item.text), ElementsAre(HasSubstr(item.problem)))
        << item.file << ": " << item.text;
  }
}

TEST(Layers, GoodFiles_AreNotReported) {
  struct Case {
    const char* file;
    const char* text;
  };
  const Case cases[] = {
      {"src/client/x.cpp", "#include \"client/x.h\"\n#include <vector>\n#include \"rpc/peer.h\"\n"},
      {"src/builtin/x.cpp", "#include <patchbay/server.h>\n#include \"server/server.h\"\n"},
      {"src/host/x.cpp", "#include \"builtin/files.h\"\n#include \"servers/load.h\"\n"},
      {"src/cli/x.cpp", "#include <patchbay/patchbay.h>\n#include <boost/asio/signal_set.hpp>\n"},
      {"src/json/x.cpp", "// #include \"rpc/peer.h\"\n/* #include \"cli/io.h\" 2026-07-28 */\nint n = 1'000'000;\n"},
      {"src/protocol/wire_modern.cpp", "\"2026-07-28\" \"resultType\""},
      {"src/client/probe.cpp", "\"2025-11-25\""},
      {"src/server/legacy_front.cpp", "\"2025-11-25\""},
      {"src/server/http_door.cpp", "if (era_of(headers, params) == Era::legacy) {}\n"},
      {"src/base/timeout.h", "asio::steady_timer timer(executor, limit);\n"},
      {"src/servers/x.cpp",
       "// `patchbay approve` does it.\nnamespace patchbay {\nreturn \"this patchbay knows only\";\n"},
      {"src/cli/x.cpp", "\"patchbay approve --all\""},
      {"src/base/x.cpp", "auto now = std::chrono::steady_clock::now();\n"},
      {"src/process/process.cpp", "auto now = std::chrono::steady_clock::now();\n"},
      {"src/process/warden/warden.c", "#include \"warden.h\"\n"},
  };
  for (const Case& item : cases) {
    EXPECT_THAT(problems_in(item.file, item.text), IsEmpty()) << item.file << ": " << item.text;
  }
}

TEST(Layers, HiddenAsio_IsFoundThroughTwoHeaders) {
  const Tree tree{{"src/entries/x.cpp", "#include \"base/a.h\"\n"},
                  {"src/base/a.h", "#include <patchbay/task.h>\n"},
                  {"include/patchbay/task.h", "#include <boost/asio/awaitable.hpp>\n"}};
  EXPECT_THAT(hidden_asio(tree), ElementsAre("src/entries/x.cpp → src/base/a.h → include/patchbay/task.h → "
                                             "boost/asio/awaitable.hpp"));
}

}  // namespace
