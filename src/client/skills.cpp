#include "client/skills.h"

#include <algorithm>

#include "base/offload.h"
#include "client/listing.h"
#include "client/session_owner.h"
#include "protocol/codec.h"
#include "protocol/methods.h"
#include "protocol/skills.h"

namespace patchbay {
namespace {

// Hashing this much takes about a millisecond; more is done beside the loop.
constexpr std::size_t hashed_here = 1u << 20;

void require_skills(SessionOwner& session) {
  if (!declares_skills(session.server()->capabilities)) throw Error(Errc::unsupported, "the server has no skills");
}

bool is_large(const ReadResourceResult& read) {
  return std::ranges::any_of(read.contents, [](const ResourceContents& contents) {
    return contents.text.value_or("").size() > hashed_here || contents.blob.value_or("").size() > hashed_here;
  });
}

Task<Result<ResourceContents>> verified(const Skill& skill, const std::string& uri, ReadResourceResult read,
                                        const Limits& limits) {
  if (!is_large(read)) co_return verify_skill_file(skill, uri, std::move(read), limits);
  co_return co_await offload(Pool::quick, [skill, uri, read = std::move(read), limits]() mutable {
    return verify_skill_file(skill, uri, std::move(read), limits);
  });
}

}  // namespace

Task<Listing<Skill>> list_skills(SessionOwner& session, CallOptions options) {
  require_skills(session);
  auto listing = co_await list_all<Skill>(session, {method::list_skills}, "skills", std::move(options));
  std::erase_if(listing.items, [&](const Skill& skill) {
    auto fits = check_skill(skill, session.runtime().limits);
    if (!fits) listing.problems.push_back({fmt::format("skill \"{}\"", skill.uri), fits.error().message()});
    return !fits;
  });
  co_return listing;
}

Task<Skill> get_skill(SessionOwner& session, std::string uri, CallOptions options) {
  require_skills(session);
  Members members;
  members.emplace_back("uri", Json(uri));
  auto settings = settings_for(options, session.runtime().limits.request);
  const Tagged tagged(session, settings, method::get_skill, {}, options);
  // Never from the cache: who asks for one entry wants to know whether it is still the same.
  Json result = co_await request(session, method::get_skill, std::move(members), std::move(settings));
  auto skill = decoded_or_throw(method::get_skill, decode<Skill>(std::move(result["skill"]), "skill"));
  if (skill.uri != uri) {
    throw Error(
        Errc::protocol,
        fmt::format(
            "the server was asked for the skill \"{}\" but answered with \"{}\"; report it to the server's author", uri,
            skill.uri));
  }
  value_or_throw(check_skill(skill, session.runtime().limits));
  co_return skill;
}

Task<ResourceContents> read_skill(SessionOwner& session, Skill skill, std::string file, CallOptions options) {
  require_skills(session);
  const auto limits = session.runtime().limits;
  value_or_throw(check_skill(skill, limits));  // it may have been kept somewhere meanwhile
  const auto uri = value_or_throw(resolve_skill_file(skill, file));
  for (;;) {
    Members members;
    members.emplace_back("uri", Json(uri));
    const bool cached = session.lists().cache().find(method::read_resource, uri) != nullptr;
    auto settings = settings_for(options, limits.request);
    const Tagged tagged(session, settings, method::read_resource, {}, options);
    auto result = co_await cached_request(session, method::read_resource, std::move(members), uri, std::move(settings));
    auto read = decoded_or_throw(method::read_resource, decode<ReadResourceResult>(std::move(result).take()));
    auto contents = co_await verified(skill, uri, std::move(read), limits);
    if (contents) co_return std::move(*contents);
    session.lists().cache().drop(method::read_resource, uri);
    if (cached) continue;  // what was kept is older than the entry
    // Or the entry is older than the file: the next listing shall tell.
    session.lists().cache().drop(method::list_skills);
    throw std::move(contents).error();
  }
}

Task<Listing<Resource>> read_directory(SessionOwner& session, std::string uri, CallOptions options) {
  if (!declares_directories(session.server()->capabilities)) {
    throw Error(Errc::unsupported, "the server cannot list the content of a directory");
  }
  auto listing = co_await list_all<Resource>(session, {method::read_directory, uri}, "resources", std::move(options));
  std::erase_if(listing.items, [&](const Resource& child) {
    if (is_child_of(uri, child.uri)) return false;
    listing.problems.push_back(
        {fmt::format("resource \"{}\"", child.uri), fmt::format("it is not in the directory \"{}\"", uri)});
    return true;
  });
  co_return listing;
}

}  // namespace patchbay
