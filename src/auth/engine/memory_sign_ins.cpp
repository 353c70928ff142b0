#include <map>
#include <utility>

#include "auth/engine/sign_in_store.h"
#include "auth/kept_token.h"
#include "base/semaphore.h"

namespace patchbay {
namespace {

class MemorySignIns final : public SignInStore {
 public:
  Task<std::optional<TokenSet>> token_of_server(std::string server_url) override {
    const auto found = servers_.find(server_url);
    if (found == servers_.end()) co_return std::nullopt;
    co_return find(tokens_, found->second);
  }
  Task<std::optional<TokenSet>> token(std::string issuer, std::string resource) override {
    co_return find(tokens_, token_name(issuer, resource));
  }
  Task<void> keep_token(TokenSet tokens, std::string server_url) override {
    auto name = token_name(tokens.issuer, tokens.resource);
    servers_[std::move(server_url)] = name;
    tokens_[std::move(name)] = std::move(tokens);
    co_return;
  }
  Task<void> forget_token(std::string issuer, std::string resource) override {
    tokens_.erase(token_name(issuer, resource));
    co_return;
  }
  Task<void> leave_tokens(std::string server_url) override {
    servers_.erase(server_url);
    co_return;
  }
  Task<std::optional<OAuthClient>> client(std::string issuer) override { co_return find(clients_, issuer); }
  Task<void> keep_client(OAuthClient client) override {
    auto issuer = client.issuer;
    clients_[std::move(issuer)] = std::move(client);
    co_return;
  }
  Task<void> forget_client(std::string issuer) override {
    clients_.erase(issuer);
    co_return;
  }
  Task<std::optional<Secret>> secret(std::string name) override { co_return find(secrets_, name); }
  Task<void> keep_secret(std::string name, Secret value, Json /*note*/) override {
    secrets_[std::move(name)] = std::move(value);
    co_return;
  }
  Task<void> forget_secret(std::string name) override {
    secrets_.erase(name);
    co_return;
  }
  Task<std::optional<SignInNeed>> need(std::string server_url) override { co_return find(needs_, server_url); }
  Task<void> keep_need(std::string server_url, std::optional<SignInNeed> need) override {
    if (need) {
      needs_[std::move(server_url)] = std::move(*need);
    } else {
      needs_.erase(server_url);
    }
    co_return;
  }
  Task<void> note_failure(std::string /*server_url*/, std::optional<SignInFailure> /*failure*/) override { co_return; }
  Task<std::unique_ptr<Lock>> lock(std::string name) override {
    struct Held final : Lock {
      explicit Held(Semaphore::Permit p) : permit(std::move(p)) {}
      Semaphore::Permit permit;
    };
    auto& turn = locks_.try_emplace(std::move(name), 1).first->second;
    auto permit = co_await turn.acquire();
    co_return std::make_unique<Held>(std::move(permit));
  }

 private:
  template <class Map>
  static std::optional<typename Map::mapped_type> find(const Map& map, const std::string& name) {
    const auto found = map.find(name);
    return found == map.end() ? std::nullopt : std::optional(found->second);
  }

  std::map<std::string, TokenSet> tokens_;
  std::map<std::string, std::string> servers_;
  std::map<std::string, OAuthClient> clients_;
  std::map<std::string, Secret> secrets_;
  std::map<std::string, SignInNeed> needs_;
  std::map<std::string, Semaphore> locks_;
};

}  // namespace

std::shared_ptr<SignInStore> memory_sign_ins() { return std::make_shared<MemorySignIns>(); }

}  // namespace patchbay
