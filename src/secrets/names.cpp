#include "secrets/names.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "base/strings.h"

namespace patchbay {
namespace {

enum class Match : std::uint8_t {
  anywhere,  // in the name
  word,      // a part of it between '_', '-', '.' and blanks
  end,       // its last characters
  whole,     // all of it
};
struct SecretWord {
  std::string_view text;  // lower case
  Match match;
};

// In every name.
constexpr auto in_names = std::to_array<SecretWord>({
    {"token", Match::anywhere},
    {"secret", Match::anywhere},
    {"password", Match::anywhere},
    {"passwd", Match::anywhere},
    {"passphrase", Match::anywhere},
    {"apikey", Match::anywhere},
    {"api_key", Match::anywhere},
    {"api-key", Match::anywhere},
    {"credential", Match::anywhere},
    {"cookie", Match::anywhere},
    {"authorization", Match::anywhere},
    {"privatekey", Match::anywhere},
    {"private_key", Match::anywhere},
    {"private-key", Match::anywhere},
    {"accesskey", Match::anywhere},
    {"access_key", Match::anywhere},
    {"access-key", Match::anywhere},
});
// Of variables also, the last ones without a word that says so.
constexpr auto in_variables = std::to_array<SecretWord>({
    {"key", Match::word},
    {"keys", Match::word},
    {"auth", Match::word},
    {"pat", Match::word},
    {"dsn", Match::word},
    {"anthropic_custom_headers", Match::whole},
    {"azure_client_certificate_path", Match::whole},
    {"database_url", Match::whole},
    {"mongodb_uri", Match::whole},
    {"mysql_pwd", Match::whole},
    {"pgpassfile", Match::whole},
    {"redis_url", Match::whole},
    {"ssh_agent_pid", Match::whole},
});
// Of parameters also: short names, what sign-in uses, what signed links carry.
constexpr auto in_parameters = std::to_array<SecretWord>({
    {"key", Match::end},
    {"signature", Match::end},
    {"sig", Match::whole},
    {"auth", Match::whole},
    {"code", Match::whole},
    {"state", Match::whole},
    {"nonce", Match::whole},
    {"jwt", Match::whole},
    {"pwd", Match::whole},
    {"session", Match::whole},
});
// Of flags also, which are often written as one word.
constexpr auto in_flags = std::to_array<SecretWord>({{"key", Match::anywhere}, {"auth", Match::anywhere}});
// Words that only look like one of these.
constexpr auto never_in_flags = std::to_array<std::string_view>(
    {"keyboard", "keyword", "keyspace", "keymap", "keyring", "hotkey", "monkey", "author"});
// A counter or a handle of the protocol, not a secret.
constexpr auto never_in_names = std::to_array<std::string_view>({"progresstoken", "maxtokens"});
// These variables name what another one holds.
constexpr std::string_view never_in_variables = "git_config_key_";

bool has_word(std::string_view lower, std::string_view word) {
  constexpr std::string_view between = "_-. ";
  for (auto at = lower.find(word); at != std::string_view::npos; at = lower.find(word, at + 1)) {
    const auto end = at + word.size();
    if ((at == 0 || between.contains(lower[at - 1])) && (end == lower.size() || between.contains(lower[end])))
      return true;
  }
  return false;
}

bool says_so(std::string_view lower, std::span<const SecretWord> words) {
  return std::ranges::any_of(words, [&](const SecretWord& word) {
    switch (word.match) {
      case Match::anywhere:
        return lower.contains(word.text);
      case Match::word:
        return has_word(lower, word.text);
      case Match::end:
        return lower.ends_with(word.text);
      case Match::whole:
        return lower == word.text;
    }
    return false;
  });
}

bool in_any_name(std::string_view lower) {
  return std::ranges::find(never_in_names, lower) == never_in_names.end() && says_so(lower, in_names);
}

// How tokens of well-known services begin.
constexpr auto token_beginnings = std::to_array<std::string_view>(
    {"sk-",         "sk_",    "pk_live", "rk_live", "ghp_",  "gho_",  "ghu_",     "ghs_", "ghr_",
     "github_pat_", "glpat-", "xoxb-",   "xoxp-",   "xoxa-", "xapp-", "AKIA",     "ASIA", "AIza",
     "ya29.",       "eyJ",    "npm_",    "pypi-",   "hf_",   "tvly-", "lin_api_", "ntn_"});
constexpr std::size_t shortest_token = 12;

}  // namespace

bool is_secret_name(std::string_view name) { return in_any_name(to_lower_ascii(name)); }

bool is_secret_variable(std::string_view name) {
  const auto lower = to_lower_ascii(name);
  if (lower.starts_with(never_in_variables)) return false;
  return in_any_name(lower) || says_so(lower, in_variables);
}

bool is_secret_flag(std::string_view name) {
  if (is_secret_variable(name)) return true;
  const auto lower = to_lower_ascii(name);
  if (std::ranges::any_of(never_in_flags, [&](std::string_view word) { return lower.contains(word); })) return false;
  return says_so(lower, in_flags);
}

bool is_secret_parameter(std::string_view name) {
  const auto lower = to_lower_ascii(name);
  return in_any_name(lower) || says_so(lower, in_parameters);
}

bool looks_like_token(std::string_view text) noexcept {
  return text.size() >= shortest_token &&
         std::ranges::any_of(token_beginnings, [&](std::string_view beginning) { return text.starts_with(beginning); });
}

std::string_view credential_scheme(std::string_view value) {
  const auto blank = value.find(' ');
  if (blank == std::string_view::npos) return {};
  const auto scheme = to_lower_ascii(value.substr(0, blank));
  return scheme == "bearer" || scheme == "basic" || scheme == "token" ? value.substr(0, blank + 1) : std::string_view();
}

}  // namespace patchbay
