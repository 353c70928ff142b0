// `patchbay skills [SERVER]` lists; `patchbay skills SERVER NAME [FILE]` prints the SKILL.md of one, or another
// file of it, when it is what the skill's entry says. Listing reads no file. `patchbay skills approve|reject SERVER
// NAME` keeps whether a model may follow it as it is now (host/model/skill_answers).
#include "protocol/skills.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/loop_clock.h"
#include "base/offload.h"
#include "base/strings.h"
#include "cli/context.h"
#include "cli/kept.h"
#include "cli/texts/present.h"
#include "host/model/skill_answers.h"
#include "protocol/codec.h"
#include "text/clean_text.h"
#include "text/shell_word.h"

namespace patchbay::cli {
namespace {

struct ServerSkills {
  std::string server;
  std::vector<Skill> skills;
  std::optional<Error> error;
};

void say_problems(Context& context, const std::string& server, const Listing<Skill>& listing) {
  for (const auto& problem : listing.problems) {
    context.io.talk(
        fmt::format("patchbay: \"{}\": one of its skills is left out: {}: {}; report it to the server's author\n",
                    safe_name(server, 60), safe_name(problem.path, 200), message_line(problem.reason, 400)));
  }
  if (listing.cut)
    context.io.talk(fmt::format("patchbay: \"{}\": {}\n", safe_name(server, 60), message_line(*listing.cut, 400)));
}

Task<std::vector<ServerSkills>> list_skills(Context& context, std::vector<std::string> servers, std::string only) {
  std::vector<ServerSkills> all;
  for (const auto& name : servers) {
    auto session = co_await session_to_list(context, name, only);
    if (!session || !declares_skills(session->server().capabilities)) continue;
    ServerSkills one;
    one.server = name;
    auto listed = co_await as_result(session->list_skills());
    if (listed) {
      say_problems(context, name, *listed);
      one.skills = std::move(listed->items);
    } else {
      one.error = listed.error();
    }
    all.push_back(std::move(one));
  }
  co_return all;
}

// Nothing of one that nobody has answered about.
std::string_view approval_words(SkillApproval approval) {
  switch (approval) {
    case SkillApproval::pending:
      return "";
    case SkillApproval::changed:
      return " (changed since you approved it)";
    case SkillApproval::approved:
      return " (approved)";
    case SkillApproval::rejected:
      return " (rejected)";
  }
  return "";
}

std::string_view name_of(const Skill& skill) { return skill.frontmatter["name"].as_text(); }

// A name is a label: two skills of one server may have the same.
Skill find_skill(const std::string& server, const std::vector<Skill>& skills, const std::string& name) {
  std::vector<const Skill*> found;
  std::vector<std::string> names;
  for (const auto& skill : skills) {
    if (name_of(skill) == name) found.push_back(&skill);
    names.emplace_back(name_of(skill));
  }
  if (found.size() == 1) return *found.front();
  if (found.empty()) {
    const auto meant = nearest(name, names);
    const auto hint = meant.empty()
                          ? fmt::format("; run `patchbay skills{}` to list its skills", shell_operands({server}))
                          : fmt::format("; did you mean \"{}\"?", meant);
    throw Error(Errc::invalid_argument, fmt::format("\"{}\" has no skill called \"{}\"{}", server, name, hint));
  }
  std::vector<std::string> uris;
  for (const auto* skill : found) uris.push_back(skill->uri);
  throw Error(Errc::invalid_argument, fmt::format("\"{}\" has several skills called \"{}\": {}; name one by its URI",
                                                  server, name, fmt::join(uris, ", ")));
}

// One by its name or URI, as its server lists it now.
Task<Skill> skill_called(Context& context, Session session, std::string server, std::string name) {
  if (name.contains("://")) co_return co_await session.get_skill(name, context.call_options());
  auto listing = co_await session.list_skills();
  context.waiting.pause();
  say_problems(context, server, listing);
  co_return find_skill(server, listing.items, name);
}

std::string key_of(const Context& context, const std::string& server, const Skill& skill) {
  const auto& servers = context.host.config().servers;
  const auto entry = std::ranges::find(servers, server, &ServerConfig::name);
  return skill_key(server, entry == servers.end() ? nullptr : &*entry, skill.uri);
}

Task<int> answer(Context& context, bool approve, std::string server, std::string name) {
  context.waiting.begin(fmt::format("asking {}", server));
  auto session = co_await context.host.session(server);
  const auto skill = co_await skill_called(context, session, server, name);
  const auto shown = safe_name(name_of(skill), 80);
  if (approve && !is_fixed(skill)) {
    throw Error(Errc::unsupported,
                fmt::format("\"{}\" cannot be approved for good: its server makes it on request, so nobody could tell "
                            "whether it has changed",
                            shown));
  }
  const auto file = skill_answers_file(state_directory());
  if (file.empty()) throw Error(Errc::config, "there is no directory to keep the answer in: set HOME");
  const auto executor = co_await asio::this_coro::executor;
  const auto now = std::chrono::floor<std::chrono::seconds>(loop_clock(executor).wall());
  const SkillAnswer said{now, skill_digest(skill), approve};
  value_or_throw(co_await offload(Pool::quick, [file, key = key_of(context, server, skill), said, now] {
    return remember_skill_answer(file, key, said, now);
  }));
  context.waiting.end();
  if (context.settings.json) {
    context.print_json({{"server", server},
                        {"skill", encode(skill)},
                        {"approval", to_string(approve ? SkillApproval::approved : SkillApproval::rejected)}});
    co_return 0;
  }
  if (!context.settings.quiet) {
    context.io.talk(fmt::format("{} the skill \"{}\" of \"{}\"{}. Undo: patchbay skills {}{}\n",
                                approve ? "Approved" : "Rejected", shown, safe_name(server, 80),
                                approve ? "; you will be asked again if its content changes" : "",
                                approve ? "reject" : "approve", shell_operands({server, name})));
  }
  co_return 0;
}

Task<int> show(Context& context, std::string server, std::string name, std::string file) {
  context.waiting.begin(fmt::format("reading {}", name));
  auto session = co_await context.host.session(server);
  const auto skill = co_await skill_called(context, session, server, name);
  auto contents = co_await session.read_skill(skill, file, context.call_options());
  context.waiting.end();
  if (context.settings.json) {
    context.print_json({{"server", server}, {"skill", encode(skill)}, {"contents", encode(contents)}});
  } else {
    print_contents(context, contents);
  }
  co_return 0;
}

}  // namespace

Task<int> skills(Context& context) {
  const auto& words = context.settings.words;
  const bool answers = words.size() > 2 && (words[0] == "approve" || words[0] == "reject");
  // A server may be called so as well.
  if (answers && std::ranges::none_of(context.statuses(), [&](const auto& one) { return one.name == words[0]; })) {
    co_return co_await answer(context, words[0] == "approve", words[1], words[2]);
  }
  if (words.size() > 1) {
    co_return co_await show(context, words[0], words[1], words.size() > 2 ? words[2] : std::string(skill_file_name));
  }
  const auto only = words.empty() ? std::string() : words.front();
  auto connected = co_await start_servers(context, only);
  auto all = co_await list_skills(context, connected, only);
  const auto said = read_skill_answers(skill_answers_file(state_directory()));
  const auto standing = [&](const std::string& server, const Skill& skill) {
    const auto found = said.find(key_of(context, server, skill));
    return approval_of(skill, found == said.end() ? std::nullopt : std::optional(found->second));
  };
  int failed = 0;
  for (const auto& one : all) {
    if (one.error) failed = say_list_failure(context, one.server, *one.error);
  }
  if (context.settings.json) {
    Json list = Json::array();
    for (const auto& one : all) {
      for (const auto& skill : one.skills) {
        auto item = with_server(one.server, encode(skill));
        item["approval"] = to_string(standing(one.server, skill));
        list.push_back(std::move(item));
      }
    }
    context.print_json({{"servers", servers_json(context, only)}, {"skills", std::move(list)}});
  } else {
    for (const auto& one : all) {
      context.io.out(fmt::format("{}\n", safe_name(one.server, 60)));
      for (const auto& skill : one.skills) {
        print_lines(
            context.io,
            fmt::format("  {}  {}{}{}\n", safe_name(name_of(skill), 80),
                        safe_line(skill.frontmatter["description"].as_text(), description_room(context.io)),
                        skill.resources ? "" : " (the server makes it on request, so its content cannot be checked)",
                        approval_words(standing(one.server, skill))));
      }
    }
    if (all.empty()) context.io.talk(none_text(only, connected, "skills"));
  }
  const int code = listing_exit_code(context, only);
  co_return code != 0 || all.size() != 1 ? code : failed;
}

}  // namespace patchbay::cli
