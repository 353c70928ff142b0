#include "entries/consent_text.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"
#include "entries/child_env.h"
#include "entries/signature.h"
#include "secrets/names.h"
#include "secrets/redact.h"
#include "text/utf8.h"
#include "text/visible_text.h"

namespace patchbay {
namespace {

// ---- names

// Compared in capitals. First what shells, interpreters, loaders and tools take code, options and whole directories of
// programs from: it is pointed out.
constexpr auto running_names = std::to_array<std::string_view>({"PATH",
                                                                "HOME",
                                                                "SHELL",
                                                                "ENV",
                                                                "IFS",
                                                                "EDITOR",
                                                                "VISUAL",
                                                                "PAGER",
                                                                "MANPAGER",
                                                                "BROWSER",
                                                                "LESSOPEN",
                                                                "LESSCLOSE",
                                                                "PS1",
                                                                "PS2",
                                                                "PS4",
                                                                "ZDOTDIR",
                                                                "INPUTRC",
                                                                "FCEDIT",
                                                                "SHELLOPTS",
                                                                "BASHOPTS",
                                                                "CLASSPATH",
                                                                "GCONV_PATH",
                                                                "LOCPATH",
                                                                "TERMINFO",
                                                                "RUSTFLAGS",
                                                                "MAKEFLAGS",
                                                                "GOFLAGS",
                                                                "GOPROXY",
                                                                "CC",
                                                                "CXX",
                                                                "PHPRC",
                                                                "R_PROFILE",
                                                                "R_ENVIRON",
                                                                "SSL_CERT_FILE",
                                                                "SSL_CERT_DIR",
                                                                "MALLOC_CONF",
                                                                "CURL_CA_BUNDLE",
                                                                "REQUESTS_CA_BUNDLE",
                                                                "NODE_OPTIONS",
                                                                "NODE_PATH",
                                                                "NODE_EXTRA_CA_CERTS",
                                                                "NODE_TLS_REJECT_UNAUTHORIZED",
                                                                "NODE_REPL_EXTERNAL_MODULE"});
constexpr auto running_beginnings = std::to_array<std::string_view>(
    {"LD_",     "DYLD_",     "BASH_",  "GIT_",   "SSH_ASKPASS", "PYTHON",   "PERL5",    "PERLLIB", "RUBY",
     "GEM_",    "BUNDLE_",   "UV_",    "PIP_",   "NPM_CONFIG_", "YARN_",    "PNPM_",    "BUN_",    "DENO_",
     "JAVA_",   "JDK_JAVA_", "_JAVA_", "MAVEN_", "GRADLE_",     "DOTNET_",  "CORECLR_", "COR_",    "LUA_",
     "PHP_INI", "CARGO_",    "RUSTC_", "XDG_",   "DOCKER_",     "OPENSSL_", "GUILE_",   "ERL_",    "ELECTRON_"});
constexpr auto running_ends =
    std::to_array<std::string_view>({"_HOME", "_OPTIONS", "_COMMAND", "_CMD", "_PRELOAD", "_ASKPASS", "_HELPER",
                                     "_EDITOR", "_PAGER", "_BROWSER", "_SHELL", "_WRAPPER", "_STARTUP"});
// Then what names files, programs, places and other machines to whoever reads it: nothing to point out in itself, and
// nothing to hide.
constexpr auto naming_ends = std::to_array<std::string_view>(
    {"_ENV",     "_OPTS",    "_OPT",     "_ARGS",      "_FLAGS",    "_EXEC",       "_EXECUTABLE", "_PROGRAM",
     "_BIN",     "_BINARY",  "_PROCESS", "_HOOK",      "_HOOKS",    "_PLUGIN",     "_PLUGINS",    "_MODULE",
     "_MODULES", "_REQUIRE", "_IMPORT",  "_LOADER",    "_SCRIPT",   "_INIT",       "_RUNNER",     "_CONFIG",
     "_CONF",    "_RC",      "_PROFILE", "_FILE",      "_PATH",     "_DIR",        "_FOLDER",     "_ROOT",
     "_PREFIX",  "_LIB",     "_LIBRARY", "_HOST",      "_URL",      "_URI",        "_ENDPOINT",   "_SERVER",
     "_ADDR",    "_ADDRESS", "_SOCKET",  "_SOCK",      "_REGISTRY", "_MIRROR",     "_INDEX",      "_BUNDLE",
     "_CERT",    "_CERTS",   "_CA",      "_DIRECTORY", "FILE",      "CREDENTIALS", "KEYRING"});

std::string in_capitals(std::string_view name) {
  std::string out(name);
  for (char& c : out) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return out;
}

bool names_what_is_used(std::string_view variable) {
  const auto name = in_capitals(variable);
  return decides_what_runs(variable) || std::ranges::any_of(naming_ends, [&](auto end) { return name.ends_with(end); });
}

// ---- values

constexpr std::string_view secret_characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_.-";

// What begins like a flag is one for somebody.
bool is_plain(std::string_view value) {
  return !value.starts_with('-') && value.find_first_not_of(secret_characters) == std::string_view::npos;
}

std::string hidden(std::string_view value) { return fmt::format("(hidden, {})", plural(value.size(), "character")); }

// A value in two parts: what is shown as it is, and what is hidden. Text and JSON show the same.
struct Shown {
  std::string open;
  std::string mark;  // "(hidden, 40 characters)"; empty: nothing is hidden
};

Shown hidden_behind_scheme(std::string_view value) {
  const auto scheme = credential_scheme(value);
  return {std::string(scheme), hidden(value.substr(scheme.size()))};
}

// ${NAME} says where a secret comes from and is none; a default behind :- may be one.
std::optional<std::string> reference_at(std::string_view text) {
  if (!text.starts_with("${")) return std::nullopt;
  const auto close = text.find('}');
  if (close == std::string_view::npos) return std::nullopt;
  return std::string(text.substr(0, close + 1));
}

std::string shown_reference(const std::string& reference) {
  const auto dash = reference.find(":-");
  if (dash == std::string::npos || dash + 3 >= reference.size()) return reference;
  const auto fallback = std::string_view(reference).substr(dash + 2, reference.size() - dash - 3);
  return fmt::format("{}{}}}", reference.substr(0, dash + 2), hidden(fallback));
}

// A value of the user: nothing of it is shown but variables and the scheme of a credential.
std::string masked(std::string_view value) {
  if (value.empty()) return {};
  std::string out(credential_scheme(value));
  value.remove_prefix(out.size());
  while (!value.empty()) {
    if (auto reference = reference_at(value)) {
      out += shown_reference(*reference);
      value.remove_prefix(reference->size());
      continue;
    }
    auto next = std::min(value.find("${", 1), value.size());
    // One that is not closed is not a reference.
    while (next < value.size() && !reference_at(value.substr(next)))
      next = std::min(value.find("${", next + 1), value.size());
    out += hidden(value.substr(0, next));
    value.remove_prefix(next);
  }
  return out;
}

// ---- URLs

// Where the authority of a URL stands; nothing when the text is no URL that every reader reads alike.
struct Authority {
  std::size_t begin = 0;
  std::size_t end = 0;
};
std::optional<Authority> authority_in(std::string_view url) {
  const auto sign = url.find("://");
  if (sign == std::string_view::npos || sign == 0 || url.find('\\') != std::string_view::npos) return std::nullopt;
  const auto begin = sign + 3;
  return Authority{begin, std::min(url.find_first_of("/?#", begin), url.size())};
}

// The letters of other alphabets look like ours, and an address is judged by its letters.
std::string in_ascii(std::string_view visible) {
  std::string out;
  for (std::size_t at = 0; at < visible.size();) {
    const auto c = decode_utf8(visible, at);
    if (c.value < 0x80) {
      out.push_back(visible[at]);
    } else {
      out += c.value <= 0xFFFF ? fmt::format("\\u{:04x}", static_cast<unsigned>(c.value))
                               : fmt::format("\\U{:08x}", static_cast<unsigned>(c.value));
    }
    at += c.length;
  }
  return out;
}

// The password (or a token in the place of the user) and secrets in the query, a stranger's only if they are plain; all
// else as it is.
std::string shown_url(EntryAuthor author, std::string_view url) {
  const auto place = authority_in(url);
  if (!place) return std::string(url);
  const auto hides = [&](std::string_view value) {
    return !value.empty() && !value.starts_with("${") && (author == EntryAuthor::person || is_plain(value));
  };
  std::string out(url.substr(0, place->begin));
  const auto authority = url.substr(place->begin, place->end - place->begin);
  const auto at = authority.rfind('@');
  if (at == std::string_view::npos) {
    out += authority;
  } else {
    const auto person = authority.substr(0, at);
    const auto colon = std::min(person.find(':'), person.size());
    const auto user = person.substr(0, colon);
    const auto password = person.substr(std::min(colon + 1, person.size()));
    out += hides(user) && looks_like_token(user) ? hidden(user) : std::string(user);
    if (colon < person.size()) out += ":";
    out += hides(password) ? hidden(password) : std::string(password);
    out += authority.substr(at);
  }
  auto rest = url.substr(place->end);
  const auto question = std::min(rest.find('?'), rest.find('#'));
  out += rest.substr(0, question);
  if (question == std::string_view::npos || rest[question] == '#') {
    return out + std::string(question == std::string_view::npos ? std::string_view() : rest.substr(question));
  }
  rest.remove_prefix(question + 1);
  const auto fragment = std::min(rest.find('#'), rest.size());
  std::string_view sign = "?";
  for (const auto member : split(rest.substr(0, fragment), '&')) {
    const auto equals = member.find('=');
    const auto name = member.substr(0, equals);
    const auto value = equals == std::string_view::npos ? std::string_view() : member.substr(equals + 1);
    const bool secret = is_secret_variable(name) || is_secret_parameter(name);
    out += sign;
    out += secret && hides(value) ? fmt::format("{}={}", name, hidden(value)) : std::string(member);
    sign = "&";
  }
  return out + std::string(rest.substr(fragment));
}

// ---- arguments of the user

// Where a value ends and a command of a shell may follow, for hiding that would hide what runs. One that `=` gives is
// a word, perhaps in quotes; one behind a colon may have blanks, as headers have. What a shell would run is not a
// value.
std::size_t end_of_value(std::string_view text, char sign) {
  auto end = text.size();
  const char first = text.empty() ? ' ' : text.front();
  if (first == '\'' || first == '"') {
    const auto close = text.find(first, 1);
    end = close == std::string_view::npos ? text.size() : close + 1;
  } else {
    for (std::string_view stop : {"; ", "| ", "& ", "\n"}) end = std::min(end, text.find(stop));
    if (sign == '=') end = std::min(end, text.find(' '));
  }
  const auto value = text.substr(0, end);
  return value.find("$(") == std::string_view::npos && value.find('`') == std::string_view::npos ? end : 0;
}

// --api-key VALUE, --api-key=VALUE, API_KEY=VALUE, Authorization: VALUE, and URLs with a password.
std::vector<std::string> own_args(const std::vector<std::string>& args) {
  std::vector<std::string> out;
  bool secret_follows = false;
  for (const auto& arg : args) {
    const bool flag = arg.starts_with('-');
    if (secret_follows && !flag) {
      out.push_back(masked(arg));
      secret_follows = false;
      continue;
    }
    secret_follows = false;
    // A reference has signs of its own: ${secret:NAME}.
    const auto sign = arg.find_first_of("=:", reference_at(arg).value_or("").size());
    if (sign != std::string::npos && is_secret_flag(std::string_view(arg).substr(0, sign))) {
      auto value = std::string_view(arg).substr(sign + 1);
      const auto blanks = std::min(value.find_first_not_of(' '), value.size());
      value.remove_prefix(blanks);
      const auto end = end_of_value(value, arg[sign]);
      out.push_back(arg.substr(0, sign + 1 + blanks) + (end == 0 ? std::string() : masked(value.substr(0, end))) +
                    std::string(value.substr(end)));
    } else if (arg.find("://") != std::string::npos) {
      out.push_back(shown_url(EntryAuthor::person, arg));
    } else {
      secret_follows = flag && sign == std::string::npos && is_secret_flag(arg);
      out.push_back(redacted(Json(arg)).as_text());
    }
  }
  return out;
}

// ---- an entry

// One value with a name, in two parts.
Shown shown_value(EntryAuthor author, std::string_view name, std::string_view value) {
  if (author == EntryAuthor::stranger) {
    return may_hide(name, value) ? hidden_behind_scheme(value) : Shown{std::string(value), {}};
  }
  auto text = decides_what_runs(name) ? shown_url(author, value) : masked(value);
  return text == value ? Shown{std::string(value), {}} : Shown{{}, std::move(text)};
}

// No program takes from a header what to run.
Shown shown_header(EntryAuthor author, std::string_view name, std::string_view value) {
  if (author == EntryAuthor::person) return Shown{{}, masked(value)};
  const auto scheme = credential_scheme(value);
  const auto token = std::string_view(value).substr(scheme.size());
  return is_secret_variable(name) && !token.empty() && is_plain(token) ? hidden_behind_scheme(value)
                                                                       : Shown{std::string(value), {}};
}

std::vector<std::string> args_shown(const ServerConfig& server) {
  return author_of(server) == EntryAuthor::stranger ? server.args : own_args(server.args);
}

bool is_used_whole(std::string_view key) {
  return key == "command" || key == "args" || key == "cwd" || key == "envFile" || key == "headersHelper";
}

// Other members: what is under a secret name, however deep.
Json shown_member(EntryAuthor author, std::string_view name, const Json& value) {
  if (author == EntryAuthor::person) return redacted(Json{{std::string(name), value}})[name];
  if (const auto* object = value.if_object()) {
    Json::Object out;
    for (const auto& [key, member] : *object) {
      // The files of a certificate are loaded; only what opens its key is a secret.
      const bool open = is_used_whole(key) || (name == "tls" && key != "passphrase");
      out.append(key,
                 open ? member : shown_member(author, is_secret_variable(name) ? name : std::string_view(key), member));
    }
    return out;
  }
  if (const auto* array = value.if_array()) {
    Json out = Json::array();
    for (const auto& item : *array) out.push_back(shown_member(author, name, item));
    return out;
  }
  if (!value.is_string()) return value;
  const auto shown = shown_value(author, name, value.as_text());
  return shown.open + shown.mark;
}

// Quoted as a word, but for the mark: what is hidden cannot be taken for a value that only says so.
std::string quoted(const Shown& shown) {
  if (shown.mark.empty()) return visible_word(shown.open);
  return visible_text(shown.open) + visible_message(shown.mark);
}

std::string variable_line(EntryAuthor author, const std::string& name, const std::string& value) {
  return fmt::format("sets {}={}{}", visible_word(name), quoted(shown_value(author, name, value)),
                     decides_what_runs(name) ? "  (decides which code runs)" : "");
}

constexpr std::size_t many_lines = 12;

}  // namespace

EntryAuthor author_of(const ServerConfig& server) noexcept {
  return server.origin.trust == ConfigTrust::needs_approval ? EntryAuthor::stranger : EntryAuthor::person;
}

bool decides_what_runs(std::string_view variable) {
  const auto name = in_capitals(variable);
  return std::ranges::find(running_names, name) != running_names.end() || name.contains("PROXY") ||
         std::ranges::any_of(running_beginnings, [&](auto beginning) { return name.starts_with(beginning); }) ||
         std::ranges::any_of(running_ends, [&](auto end) { return name.ends_with(end); });
}

bool may_hide(std::string_view name, std::string_view value) {
  if (!is_secret_variable(name) || names_what_is_used(name)) return false;
  value.remove_prefix(credential_scheme(value).size());
  // A path is what programs load.
  if (value.starts_with('/') || value.starts_with("./") || value.starts_with("../")) return false;
  return !value.empty() && is_plain(value);
}

std::string consent_target(const ServerConfig& server) {
  if (server.kind != ServerKind::stdio) return in_ascii(visible_word(shown_url(author_of(server), server.url)));
  const auto args = consent_args(server);
  return visible_word(server.command) + (args.empty() ? "" : " ") + args;
}

std::string consent_args(const ServerConfig& server) {
  std::string out;
  for (const auto& arg : args_shown(server)) out += (out.empty() ? "" : " ") + visible_word(arg);
  return out;
}

ConsentText consent_text(const ServerConfig& server) {
  const auto author = author_of(server);
  const auto entry = shown_entry(server);
  ConsentText out;
  std::vector<std::string> last;
  for (const auto& [key, value] : entry.as_object()) {
    if (key == "type" || key == "command" || key == "args" || key == "url" || key == "env" || key == "headers")
      continue;
    if (key == "envFile") {
      last.push_back(fmt::format("sets the variables in the file {}", visible_word(value.as_text())));
    } else if (key == "cwd") {
      last.push_back(fmt::format("in the directory {}", visible_word(value.as_text())));
    } else if (key == "headersHelper") {
      last.push_back(fmt::format("runs a command for more headers: {}", visible_word(value.as_text())));
    } else {
      out.details.push_back(
          fmt::format("{}: {}", visible_word(key),
                      value.is_string() ? visible_word(value.as_text()) : visible_text(to_text(value))));
    }
  }
  const bool local = server.kind == ServerKind::stdio;
  for (const auto& [name, value] : local ? server.env : NamedTexts()) {
    auto line = variable_line(author, name, value);
    (decides_what_runs(name) ? last : out.details).push_back(std::move(line));
  }
  for (const auto& [name, value] : local ? NamedTexts() : server.headers) {
    out.details.push_back(
        fmt::format("sends the header {}: {}", visible_word(name), quoted(shown_header(author, name, value))));
  }
  std::ranges::move(last, std::back_inserter(out.details));
  out.target = fmt::format("{}: {}", local ? "runs" : "connects to", consent_target(server));
  return out;
}

std::string consent_block(const ServerConfig& server, std::string_view indent, std::size_t columns) {
  const auto text = consent_text(server);
  const auto room = columns > indent.size() ? columns - indent.size() : columns;
  std::string out;
  auto add = [&](std::string_view line) {
    const auto lines = wrapped(line, room, "  | ");
    for (const auto& one : lines) out += fmt::format("{}{}\n", indent, one);
    return lines.size();
  };
  std::size_t count = 0, size = text.target.size();
  for (const auto& line : text.details) {
    count += add(line);
    size += line.size();
  }
  count += add(text.target);
  if (count > many_lines) {
    out += fmt::format("{}(that was {} in {}: read it from the first line)\n", indent, plural(size, "character"),
                       plural(count, "line"));
  }
  return out;
}

Json shown_entry(const ServerConfig& server) {
  const auto author = author_of(server);
  Json::Object out;
  const auto entry = canonical_entry(server);
  for (const auto& [key, value] : entry.as_object()) {
    if (key == "args") {
      Json args = Json::array();
      for (auto& arg : args_shown(server)) args.push_back(std::move(arg));
      out.append(key, std::move(args));
    } else if (key == "url") {
      out.append(key, shown_url(author, server.url));
    } else if ((key == "env" || key == "headers") && value.is_object()) {
      Json::Object members;
      for (const auto& [name, text] : value.as_object()) {
        const auto shown =
            key == "headers" ? shown_header(author, name, text.as_text()) : shown_value(author, name, text.as_text());
        members.append(name, shown.open + shown.mark);
      }
      out.append(key, std::move(members));
    } else if (author == EntryAuthor::stranger && is_used_whole(key)) {
      out.append(key, value);
    } else {
      out.append(key, shown_member(author, key, value));
    }
  }
  return out;
}

}  // namespace patchbay
