// What Tab offers in a conversation.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/offload.h"
#include "base/strings.h"
#include "base/timeout.h"
#include "catalog/mention.h"
#include "catalog/naming.h"
#include "cli/chat/chat.h"
#include "cli/chat/input.h"
#include "cli/texts/present.h"
#include "text/clean_text.h"

namespace patchbay::cli {
namespace {

constexpr auto patience = std::chrono::seconds(5);
constexpr std::size_t most_candidates = 100;

bool can_be_shown(std::string_view text) { return clean_line(text) == text; }

}  // namespace

Task<void> Chat::complete() {
  const auto wanted = stage_.editor.wanted();
  const auto what = completing_at(wanted.text, wanted.cursor);
  auto found = co_await as_result(
      with_timeout(candidates(what, wanted.text.substr(0, wanted.cursor)), patience, "nothing was found in time"));
  if (!found) co_return;
  if (found->size() > most_candidates) found->resize(most_candidates);
  stage_.editor.offer(wanted.number, what.begin, std::move(*found));
  stage_.update();
}

Task<std::vector<terminal::Candidate>> Chat::candidates(Completing what, std::string text) {
  using What = Completing::What;
  std::vector<terminal::Candidate> out;
  auto& host = house_->host;
  switch (what.what) {
    case What::nothing:
    case What::conversation:
      break;
    case What::command:
      if (what.word.starts_with("/mcp_")) co_return co_await prompt_candidates(what.word);
      out = slash_candidates(what.word);
      break;
    case What::mention: {
      out = co_await offload(Pool::slow, [word = what.word, directory = agent_directory(settings_)] {
        return file_candidates(word, directory);
      });
      auto resources = co_await tools().complete_mention(what.word);
      for (auto& one : resources) out.push_back({std::move(one), "resource"});
      // Servers that are not there yet may have some.
      for (const auto& status : host.status()) {
        const auto name = "@" + status.name + ":";
        const bool may_be_started = status.state == ServerState::pending && status.reason == ServerReason::not_started;
        if (!may_be_started || !name.starts_with(what.word) || !can_be_shown(name)) continue;
        if (status.origin.scope != ConfigScope::embedded) out.push_back({name, "server"});
      }
      break;
    }
    case What::server_word: {
      co_await host.prepare();
      const auto before = trim(std::string_view(text).substr(0, what.begin));
      if (before == "/mcp") out = mcp_candidates(what.word);
      for (const auto& status : host.status()) {
        if (status.name.starts_with(what.word) && can_be_shown(status.name)) {
          out.push_back({status.name, std::string(to_string(status.state))});
        }
      }
      break;
    }
    case What::tool: {
      co_await host.prepare();
      const auto catalog = host.catalog();
      for (const auto& entry : catalog->tools()) {
        const auto path = entry.prefix == NamePrefix::none ? entry.name : entry.server + "/" + entry.tool->name;
        const auto& shown = entry.name.starts_with(what.word) ? entry.name : path;
        if (!shown.starts_with(what.word) || !can_be_shown(shown)) continue;
        out.push_back({shown + " ", safe_line(entry.tool->description.value_or(""), 100)});
      }
      break;
    }
    case What::prompt_argument:
      co_return co_await prompt_argument_candidates(std::move(text), what.word);
  }
  co_return out;
}

Task<std::vector<terminal::Candidate>> Chat::prompt_candidates(std::string word) {
  std::vector<terminal::Candidate> out;
  auto& host = house_->host;
  co_await host.prepare();
  for (const auto& status : host.status()) {
    const auto all = "/" + normalised_full_name({status.name, ""});
    if (!all.starts_with(word) && !word.starts_with(all)) continue;
    const auto listed = co_await as_result(host.prompts(status.name));
    if (!listed) continue;
    for (const auto& prompt : *listed->items) {
      const auto name = "/" + normalised_full_name({status.name, prompt.name});
      if (name.starts_with(word)) out.push_back({name + " ", safe_line(prompt.description.value_or(""), 100)});
    }
  }
  co_return out;
}

// The server knows the values: of name=value the one that is named, else the first argument that is left.
Task<std::vector<terminal::Candidate>> Chat::prompt_argument_candidates(std::string text, std::string word) {
  std::vector<terminal::Candidate> out;
  auto& host = house_->host;
  const auto line = parse_prompt_line(text);
  if (!line) co_return out;
  for (const auto& status : host.status()) {
    if (!line->name.starts_with(normalised_full_name({status.name, ""}))) continue;
    const auto listed = co_await as_result(host.prompts(status.name));
    if (!listed) continue;
    for (const auto& prompt : *listed->items) {
      if (normalised_full_name({status.name, prompt.name}) != line->name) continue;
      CompleteRequest request;
      request.ref.kind = CompletionReference::Kind::prompt;
      request.ref.name = prompt.name;
      std::string before;
      std::size_t words = line->words.size();
      if (!word.empty() && words > 0) --words;
      const auto equals = word.find('=');
      if (equals != std::string::npos) {
        before = word.substr(0, equals + 1);
        request.argument = {.name = word.substr(0, equals), .value = word.substr(equals + 1)};
      } else if (words < prompt.arguments.size()) {
        request.argument = {.name = prompt.arguments[words].name, .value = word};
      } else {
        continue;
      }
      for (std::size_t i = 0; i < words && i < prompt.arguments.size(); ++i) {
        request.context[prompt.arguments[i].name] = line->words[i].text;
      }
      auto session = co_await as_result(host.session(status.name));
      if (!session || !session->server().capabilities.completions) continue;
      const auto about = request.argument.name;
      const auto completed = co_await as_result(session->complete(std::move(request)));
      if (!completed) continue;
      for (const auto& value : completed->values) {
        if (!can_be_shown(value)) continue;
        const bool quoted = value.find_first_of(" '\"\\") != std::string::npos;
        if (quoted && value.find('"') != std::string::npos) continue;
        out.push_back({before + (quoted ? "\"" + value + "\"" : value) + " ", safe_name(about, 60)});
      }
    }
  }
  co_return out;
}

}  // namespace patchbay::cli
