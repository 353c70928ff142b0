// Skills: what servers list, and what a person says about it.
#include "protocol/skills.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/loop_clock.h"
#include "base/offload.h"
#include "base/strings.h"
#include "host/model/model_tools_impl.h"
#include "host/server_error.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

std::string_view name_of_skill(const Skill& skill) { return skill.frontmatter["name"].as_text(); }

bool has_file(const Skill& skill, std::string_view uri) {
  if (skill.uri == uri || lies_below(skill_root(skill.uri), uri)) return true;
  return skill.resources && std::ranges::any_of(*skill.resources, [&](const auto& one) { return one.uri == uri; });
}

}  // namespace

Task<std::shared_ptr<const ModelTools::Impl::Listed>> ModelTools::Impl::list_skills(Self self, std::string server,
                                                                                    Session session) {
  if (const auto known = self->listed_skills_.find(server); known != self->listed_skills_.end())
    co_return known->second;
  auto listing = co_await session.list_skills();
  auto listed = std::make_shared<const Listed>(Listed{std::move(listing.items)});
  // A server that does not tell of changes is asked each time.
  const auto capabilities = session.server().capabilities;
  const bool tells = self->hearing_ && capabilities.resources && capabilities.resources->list_changed;
  if (tells && !session.closed() && !self->stopped_) self->listed_skills_.insert_or_assign(server, listed);
  co_return listed;
}

Task<std::optional<Skill>> ModelTools::Impl::skill_of(Self self, std::string server, Session session, std::string uri) {
  const bool looks_like_one = uri.starts_with("skill://") || uri.ends_with("/" + std::string(skill_file_name));
  auto listed = co_await as_result(list_skills(self, server, session));
  if (!listed) {
    // Where nobody can tell, what looks like a skill is not read; the ordinary resources of the server are.
    if (looks_like_one || listed.error().code() == Errc::cancelled) throw std::move(listed).error();
    co_return std::nullopt;
  }
  for (const auto& skill : (*listed)->skills) {
    if (has_file(skill, uri)) co_return skill;
  }
  // A list need not name every skill.
  if (!uri.ends_with("/" + std::string(skill_file_name))) co_return std::nullopt;
  auto unlisted = co_await as_result(session.get_skill(uri));
  if (unlisted) co_return std::move(*unlisted);
  if (unlisted.error().code() == Errc::rpc) co_return std::nullopt;
  throw std::move(unlisted).error();
}

std::string ModelTools::Impl::key_of(const std::string& server, const Skill& skill) const {
  const auto& servers = host_.config().servers;
  const auto entry = std::ranges::find(servers, server, &ServerConfig::name);
  return skill_key(server, entry == servers.end() ? nullptr : &*entry, skill.uri);
}

Task<void> ModelTools::Impl::read_answers(Self self) {
  if (self->answers_) co_return;
  auto read = co_await offload(
      Pool::quick, [file = skill_answers_file(self->options_.state_directory)] { return read_skill_answers(file); });
  if (!self->answers_) self->answers_ = std::move(read);
}

Task<SkillApproval> ModelTools::Impl::approval(Self self, std::string server, Skill skill) {
  co_await read_answers(self);
  const auto found = self->answers_->find(self->key_of(server, skill));
  co_return approval_of(skill, found == self->answers_->end() ? std::nullopt : std::optional(found->second));
}

// No answer: not now, for as long as this lives.
Task<void> ModelTools::Impl::answer_skill(Self self, std::string server, Skill skill, std::optional<bool> approve) {
  co_await read_answers(self);
  const auto key = self->key_of(server, skill);
  if (!approve) {
    self->declined_.insert(key + skill_digest(skill));
    co_return;
  }
  const auto executor = co_await asio::this_coro::executor;
  const auto now = std::chrono::floor<std::chrono::seconds>(loop_clock(executor).wall());
  const SkillAnswer answer{now, skill_digest(skill), *approve};
  self->answers_->insert_or_assign(key, answer);
  self->declined_.erase(key + answer.digest);
  const auto file = skill_answers_file(self->options_.state_directory);
  // What cannot be compared is approved for this run; a rejection holds for good all the same.
  if (file.empty() || (*approve && !is_fixed(skill))) co_return;
  value_or_throw(co_await offload(Pool::quick,
                                  [file, key, answer, now] { return remember_skill_answer(file, key, answer, now); }));
}

Task<void> ModelTools::Impl::require_approved(Self self, std::string server, Skill skill) {
  const auto named =
      fmt::format("the skill \"{}\" of \"{}\"", clean_excerpt(name_of_skill(skill), 80), clean_excerpt(server, 80));
  auto turn = Semaphore::Permit();
  for (bool asked = false;; asked = true) {
    const auto standing = co_await approval(self, server, skill);
    if (standing == SkillApproval::approved) co_return;
    if (standing == SkillApproval::rejected) throw Error(Errc::denied, named + " was rejected");
    const bool declined = self->declined_.contains(self->key_of(server, skill) + skill_digest(skill));
    if (declined || !self->options_.approve_skill) {
      throw Error(Errc::denied, standing == SkillApproval::changed
                                    ? named + " has changed since it was approved, and awaits approval again"
                                    : named + " awaits approval");
    }
    // One question at a time; who waited looks again at what was answered meanwhile.
    if (!asked) {
      turn = co_await self->asking_.acquire();
      continue;
    }
    const bool yes = co_await self->options_.approve_skill({server, skill, standing == SkillApproval::changed});
    co_await answer_skill(self, server, skill, yes ? std::optional(true) : std::nullopt);
  }
}

Task<Skill> ModelTools::Impl::find_skill(Self self, std::string server, Session session, std::string name) {
  if (name.contains("://")) co_return co_await session.get_skill(name);
  const auto listed = co_await list_skills(self, server, session);
  const Skill* found = nullptr;
  std::vector<std::string> names;
  for (const auto& skill : listed->skills) {
    names.emplace_back(name_of_skill(skill));
    if (name_of_skill(skill) != name) continue;
    if (found) {
      throw Error(Errc::invalid_argument, fmt::format("\"{}\" has several skills called \"{}\"; name one by its URI",
                                                      clean_excerpt(server, 80), clean_excerpt(name, 80)));
    }
    found = &skill;
  }
  if (found) co_return *found;
  const auto meant = nearest(name, names);
  throw Error(
      Errc::invalid_argument,
      fmt::format("\"{}\" has no skill called \"{}\"{}", clean_excerpt(server, 80), clean_excerpt(name, 80),
                  meant.empty() ? std::string() : fmt::format("; did you mean \"{}\"?", clean_excerpt(meant, 80))));
}

Task<std::vector<ServerSkill>> ModelTools::Impl::skills(Self self, std::string only) {
  for (const auto& status : self->host_.status()) self->note(status);
  auto servers = self->connected_with(self->with_skills_);
  if (!only.empty()) servers = {only};
  std::vector<ServerSkill> out;
  for (const auto& server : servers) {
    auto session = co_await as_result(self->host_.session(server));
    if (!session) {
      if (!only.empty() || session.error().code() == Errc::cancelled) throw std::move(session).error();
      continue;
    }
    if (!declares_skills(session->server().capabilities)) continue;
    auto listed = co_await as_result(list_skills(self, server, *session));
    if (!listed) {
      if (!only.empty() || listed.error().code() == Errc::cancelled) throw error_of_server(server, listed.error());
      continue;
    }
    for (const auto& skill : (*listed)->skills) {
      const auto standing = co_await approval(self, server, skill);
      out.push_back({server, skill, standing});
    }
  }
  co_return out;
}

Task<ResourceContents> ModelTools::Impl::read_skill(Self self, std::string server, std::string name, std::string file,
                                                    CallOptions options) {
  auto session = co_await self->host_.session(server);
  if (!declares_skills(session.server().capabilities)) {
    throw Error(Errc::unsupported, fmt::format("\"{}\" has no skills", clean_excerpt(server, 80)));
  }
  auto skill = co_await find_skill(self, server, session, std::move(name));
  co_await require_approved(self, server, skill);
  co_return co_await session.read_skill(std::move(skill), std::move(file), std::move(options));
}

}  // namespace patchbay
