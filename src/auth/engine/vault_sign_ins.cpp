#include "auth/engine/vault_sign_ins.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "auth/kept_token.h"
#include "base/as_result.h"
#include "base/crypto.h"
#include "base/loop_clock.h"
#include "base/offload.h"
#include "base/timeout.h"
#include "json/kept_records.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;

constexpr auto between_tries = 50ms;
constexpr auto lock_wait = 60s;            // a renewal of somebody else: two requests of 30 s at most
constexpr auto marks_wait = 5s;            // somebody else writes a few files, or is asked to unlock them
constexpr std::size_t most_servers = 200;  // that share a token

struct FailureFormat : TimedRecord<SignInFailure> {
  static constexpr std::size_t largest_file = 1u << 20;
  static constexpr std::size_t most_records = 256;
  static bool is_fresh(const SignInFailure& failure, std::chrono::sys_seconds now) {
    return now - failure.time < 30 * 24h;
  }
  static std::optional<SignInFailure> read(const Json& entry, std::chrono::sys_seconds time) {
    const auto name = entry["step"].text();
    const auto message = entry["message"].text();
    const auto step = name ? sign_in_step_called(*name) : std::nullopt;
    if (!step || !message) return std::nullopt;
    return SignInFailure{*step, std::string(*message), time};
  }
  static Json write(const SignInFailure& failure, std::int64_t seconds) {
    return Json{{"time", seconds}, {"step", to_string(failure.step)}, {"message", failure.message}};
  }
};

struct KeptNeed {
  SignInNeed need;
  std::chrono::sys_seconds time{};
  bool operator==(const KeptNeed&) const = default;
};

struct NeedFormat : TimedRecord<KeptNeed> {
  static constexpr std::size_t largest_file = 1u << 20;
  static constexpr std::size_t most_records = 256;
  static bool is_fresh(const KeptNeed& kept, std::chrono::sys_seconds now) { return now - kept.time < 24h; }
  static std::optional<KeptNeed> read(const Json& entry, std::chrono::sys_seconds time) {
    const auto scope = entry["scope"].text();
    const auto metadata = entry["resourceMetadata"].text();
    if (!scope || !metadata) return std::nullopt;
    return KeptNeed{{.resource_metadata = std::string(*metadata),
                     .scope = std::string(*scope),
                     .more_scope = entry["more"] != Json(false),
                     .proof = entry["proof"] == Json(true)},
                    time};
  }
  static Json write(const KeptNeed& kept, std::int64_t seconds) {
    return Json{{"time", seconds},
                {"scope", kept.need.scope},
                {"resourceMetadata", kept.need.resource_metadata},
                {"more", kept.need.more_scope},
                {"proof", kept.need.proof}};
  }
};

std::string need_file(const std::string& state_directory) { return state_directory + "/sign-in-needs.json"; }

std::chrono::sys_seconds now_by_the_wall() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

std::string failure_file(const std::string& state_directory) { return state_directory + "/sign-in-failures.json"; }

std::vector<std::string> texts_in(const Json& list) {
  std::vector<std::string> out;
  if (const auto* items = list.if_array()) {
    for (const auto& item : *items) {
      if (const auto text = item.text()) out.emplace_back(*text);
    }
  }
  return out;
}

// Runs on a helper thread; throws what it returns as an Error.
template <class Work>
auto in_vault(std::shared_ptr<SecretVault> vault, Work work)
    -> Task<typename std::invoke_result_t<Work, SecretVault&>::value_type> {
  auto done = co_await offload(Pool::slow, [vault, work = std::move(work)]() mutable { return work(*vault); });
  co_return value_or_throw(std::move(done));
}

Result<std::optional<TokenSet>> read_token(SecretVault& vault, const std::string& name) {
  auto text = vault.read(name);
  if (!text) return std::unexpected(text.error());
  if (!*text) return std::nullopt;
  auto tokens = read_token_set(**text);
  if (!tokens) return std::unexpected(tokens.error());
  return std::optional(std::move(*tokens));
}

Json marks_of(const std::vector<std::string>& servers) {
  Json marks = Json::array();
  for (const auto& server : servers) marks.push_back(Json(server));
  return marks;
}

// Held while a server goes from one token to another. Whoever waits for it may hold the lock of a token; whoever holds
// it waits for no other.
constexpr std::string_view marks_lock = "servers of tokens";

// A server has another token now; others may still share this one, and one of them may be renewing it, or come to it
// meanwhile.
Result<void> leave(SecretVault& vault, const KeptSecret& kept, const std::string& mark) {
  auto changed = vault.change_note(kept.name, [&](Json& note) {
    auto servers = texts_in(note["servers"]);
    std::erase(servers, mark);
    note["servers"] = marks_of(servers);
  });
  if (changed && *changed) {
    changed = vault.remove_if(kept.name, [](const Json& note) { return texts_in(note["servers"]).empty(); });
  }
  return changed ? Result<void>() : std::unexpected(changed.error());
}

Result<void> leave_all_but(SecretVault& vault, const std::vector<KeptSecret>& all, const std::string& name,
                           const std::string& mark) {
  for (const auto& one : all) {
    const auto known = texts_in(one.note["servers"]);
    if (one.name == name || std::ranges::find(known, mark) == known.end()) continue;
    if (auto left = leave(vault, one, mark); !left) return left;
  }
  return {};
}

// The token, with the mark among those that are there then.
Result<void> write_token(SecretVault& vault, const TokenSet& tokens, const std::string& mark) {
  auto kept = vault.update(token_name(tokens.issuer, tokens.resource), write_token_set(tokens), [&](Json& note) {
    std::vector<std::string> servers{mark};
    auto known = texts_in(note["servers"]);
    std::erase(known, mark);
    std::ranges::move(known, std::back_inserter(servers));
    if (servers.size() > most_servers) servers.resize(most_servers);
    note = token_note(tokens);
    note["servers"] = marks_of(servers);
  });
  return kept ? Result<void>() : std::unexpected(kept.error());
}

// With the lock of the marks.
Result<void> keep_in(SecretVault& vault, const TokenSet& tokens, const std::string& mark) {
  if (auto written = write_token(vault, tokens, mark); !written) return written;
  const auto all = vault.list();
  if (!all) return std::unexpected(all.error());
  // The server is at one token, not at that of the authorization server it had before.
  return leave_all_but(vault, *all, token_name(tokens.issuer, tokens.resource), mark);
}

std::optional<std::chrono::sys_seconds> time_in(const Json& value) {
  const auto seconds = value.to_int();
  return seconds ? std::optional(std::chrono::sys_seconds(std::chrono::seconds(*seconds))) : std::nullopt;
}

std::chrono::sys_seconds written_at(const Json& note) {
  const auto obtained = time_in(note["obtained"]).value_or(std::chrono::sys_seconds());
  return std::max(obtained, time_in(note["refreshed"]).value_or(obtained));
}

class VaultSignIns final : public SignInStore {
 public:
  VaultSignIns(std::shared_ptr<SecretVault> vault, std::string state_directory)
      : vault_(std::move(vault)), state_directory_(std::move(state_directory)) {}

  Task<std::optional<TokenSet>> token_of_server(std::string server_url) override {
    return in_vault(vault_, [mark = server_mark(server_url)](SecretVault& vault) -> Result<std::optional<TokenSet>> {
      auto all = vault.list();
      if (!all) return std::unexpected(all.error());
      // Usually at one; where the marks could not be put in order, the newest is its own.
      const KeptSecret* newest = nullptr;
      for (const auto& one : *all) {
        const auto servers = texts_in(one.note["servers"]);
        if (std::ranges::find(servers, mark) == servers.end()) continue;
        if (newest == nullptr || written_at(one.note) > written_at(newest->note)) newest = &one;
      }
      return newest == nullptr ? Result<std::optional<TokenSet>>(std::nullopt) : read_token(vault, newest->name);
    });
  }

  Task<std::optional<TokenSet>> token(std::string issuer, std::string resource) override {
    return in_vault(vault_,
                    [name = token_name(issuer, resource)](SecretVault& vault) { return read_token(vault, name); });
  }

  Task<void> keep_token(TokenSet tokens, std::string server_url) override {
    return keep(vault_, std::move(tokens), server_mark(server_url));
  }

  Task<void> forget_token(std::string issuer, std::string resource) override {
    return remove(token_name(issuer, resource));
  }

  Task<void> leave_tokens(std::string server_url) override {
    return in_vault(vault_, [mark = server_mark(server_url)](SecretVault& vault) -> Result<void> {
      const auto all = vault.list();
      if (!all) return std::unexpected(all.error());
      return leave_all_but(vault, *all, {}, mark);
    });
  }

  Task<std::optional<OAuthClient>> client(std::string issuer) override {
    return in_vault(vault_, [name = client_name(issuer)](SecretVault& vault) -> Result<std::optional<OAuthClient>> {
      auto text = vault.read(name);
      if (!text) return std::unexpected(text.error());
      if (!*text) return std::nullopt;
      auto client = read_client(**text);
      if (!client) return std::unexpected(client.error());
      return std::optional(std::move(*client));
    });
  }
  Task<void> keep_client(OAuthClient client) override {
    return write(client_name(client.issuer), write_client(client), Json{{"kind", "client"}, {"clientId", client.id}});
  }
  Task<void> forget_client(std::string issuer) override { return remove(client_name(issuer)); }

  Task<std::optional<Secret>> secret(std::string name) override {
    return in_vault(vault_, [name](SecretVault& vault) { return vault.read(name); });
  }
  Task<void> keep_secret(std::string name, Secret value, Json note) override {
    return write(std::move(name), std::move(value), std::move(note));
  }
  Task<void> forget_secret(std::string name) override { return remove(std::move(name)); }

  Task<std::optional<SignInNeed>> need(std::string server_url) override {
    auto read = [file = need_file(state_directory_), key = server_mark(server_url)] {
      return recall_record<NeedFormat>(file, key);
    };
    auto kept = co_await offload(Pool::quick, std::move(read));
    if (!kept || !NeedFormat::is_fresh(*kept, now_by_the_wall())) co_return std::nullopt;
    co_return std::move(kept->need);
  }
  Task<void> keep_need(std::string server_url, std::optional<SignInNeed> need) override {
    std::optional<KeptNeed> kept;
    if (need) kept = KeptNeed{std::move(*need), now_by_the_wall()};
    auto write = [file = need_file(state_directory_), key = server_mark(server_url), kept] {
      const auto before = recall_record<NeedFormat>(file, key);
      // A refusal like the last one is not written down again.
      const bool known = kept && before && before->need == kept->need && NeedFormat::is_fresh(*before, kept->time);
      if (known || (!kept && !before)) return Result<void>();
      return remember_record<NeedFormat>(file, key, kept, now_by_the_wall());
    };
    (void)co_await offload(Pool::quick, std::move(write));
  }

  Task<void> note_failure(std::string server_url, std::optional<SignInFailure> failure) override {
    const auto now = now_by_the_wall();
    auto write = [file = failure_file(state_directory_), key = server_mark(server_url), failure, now] {
      return remember_record<FailureFormat>(file, key, failure, now);
    };
    (void)co_await offload(Pool::quick, std::move(write));
  }

  Task<std::unique_ptr<Lock>> lock(std::string name) override { return take(vault_, std::move(name)); }

 private:
  struct Held final : Lock {
    explicit Held(VaultLock l) : lock(std::move(l)) {}
    VaultLock lock;
  };
  // Waits on the loop: whoever holds it needs a helper thread to go on, and many may wait.
  static Task<std::unique_ptr<Lock>> take(std::shared_ptr<SecretVault> vault, std::string name,
                                          std::chrono::milliseconds wait = lock_wait) {
    const auto executor = co_await asio::this_coro::executor;
    const auto& clock = loop_clock(executor);
    const auto end = time_after(clock.now(), wait);
    for (;;) {
      auto held = co_await as_result(in_vault(vault, [name](SecretVault& of) { return of.lock(name, 0ms); }));
      if (held) co_return std::make_unique<Held>(std::move(*held));
      if (held.error().code() != Errc::timeout || clock.now() >= end) throw std::move(held).error();
      co_await sleep_for(between_tries);
    }
  }

  static Task<void> keep(std::shared_ptr<SecretVault> vault, TokenSet tokens, std::string mark) {
    // The token is worth more than the order of the marks: the one that it replaces may be valid no longer, and the
    // next renewal puts them in order.
    const auto lock = co_await as_result(take(vault, std::string(marks_lock), marks_wait));
    if (!lock && lock.error().code() != Errc::timeout) throw lock.error();
    co_await in_vault(vault,
                      [tokens = std::move(tokens), mark = std::move(mark), held = lock.has_value()](SecretVault& of) {
                        return held ? keep_in(of, tokens, mark) : write_token(of, tokens, mark);
                      });
  }

  Task<void> write(std::string name, Secret value, Json note) {
    return in_vault(vault_,
                    [name, value = std::move(value), note = std::move(note)](SecretVault& vault) -> Result<void> {
                      auto kept = vault.write(name, value, note);
                      return kept ? Result<void>() : std::unexpected(kept.error());
                    });
  }
  Task<void> remove(std::string name) {
    return in_vault(vault_, [name](SecretVault& vault) -> Result<void> {
      auto removed = vault.remove(name);
      return removed ? Result<void>() : std::unexpected(removed.error());
    });
  }

  std::shared_ptr<SecretVault> vault_;
  std::string state_directory_;
};

}  // namespace

std::string server_mark(const std::string& server_url) { return sha256_hex(server_url); }

std::shared_ptr<SignInStore> vault_sign_ins(std::shared_ptr<SecretVault> vault, std::string state_directory) {
  return std::make_shared<VaultSignIns>(std::move(vault), std::move(state_directory));
}

Result<std::vector<KeptSignIn>> kept_sign_ins(SecretVault& vault) {
  auto all = vault.list();
  if (!all) return std::unexpected(all.error());
  std::vector<KeptSignIn> out;
  for (const auto& one : *all) {
    if (one.note["servers"].if_array() == nullptr) continue;
    KeptSignIn kept;
    kept.issuer = one.note["issuer"].text().value_or("");
    kept.resource = one.note["resource"].text().value_or("");
    kept.client_id = one.note["clientId"].text().value_or("");
    kept.scopes = texts_in(one.note["scopes"]);
    kept.expires = time_in(one.note["expires"]);
    kept.obtained = time_in(one.note["obtained"]);
    kept.refreshed = time_in(one.note["refreshed"]);
    kept.can_refresh = one.note["refreshable"] == Json(true);
    kept.place = one.place;
    kept.servers = texts_in(one.note["servers"]);
    out.push_back(std::move(kept));
  }
  return out;
}

std::optional<SignInFailure> kept_failure(const std::string& state_directory, const std::string& server_url) {
  return recall_record<FailureFormat>(failure_file(state_directory), server_mark(server_url));
}

}  // namespace patchbay
