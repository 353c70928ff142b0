// `patchbay login NAME`: the user signs in at a server with a browser, or with --no-browser by copying addresses. It
// has worked when a token is kept and the server lets us in with it. `patchbay logout NAME` forgets the token.
#include <algorithm>

#include <fmt/format.h>

#include "auth/engine/vault_sign_ins.h"
#include "base/as_result.h"
#include "base/exit_code.h"
#include "base/offload.h"
#include "base/strings.h"
#include "cli/context.h"
#include "cli/declared.h"
#include "cli/session/control.h"
#include "cli/session/use.h"
#include "cli/sign_in.h"
#include "cli/texts/present.h"
#include "cli/texts/remedy_words.h"
#include "cli/vault.h"
#include "gateway/host_view.h"
#include "settings/folders.h"
#include "text/shell_word.h"
#include "text/visible_text.h"

namespace patchbay::cli {
namespace {

constexpr std::chrono::milliseconds session_limit{30'000};

// Where the token of this sign-in is, and what protects it there.
struct KeptPlace {
  std::string name;   // "keyring" or "file"; empty: it cannot be told
  std::string words;  // for people
  std::string protection;
};

Task<KeptPlace> place_of(const std::string& config_dir, const SignInResult& signed_in) {
  auto look = [vault = open_vault_quietly(config_dir), issuer = signed_in.issuer, resource = signed_in.resource] {
    KeptPlace out;
    const auto all = kept_sign_ins(*vault);
    if (!all) return out;
    for (const auto& one : *all) {
      if (one.issuer != issuer || one.resource != resource) continue;
      out.name = to_string(one.place);
      out.words = place_words(one.place);
      if (one.place == SecretPlace::file) out.protection = protection_words(*vault);
    }
    return out;
  };
  co_return co_await offload(Pool::slow, std::move(look));
}

// The session of this directory has a connection of its own, made with what counted before.
Task<void> tell_session(Context& context, std::string server) {
  if (!flags_against_session(context.settings).empty()) co_return;
  const auto place = session_place(session_directory(), process_environment());
  if (!place) co_return;
  const Json params{{"server", server}};
  (void)co_await as_result(answer_of_session(*place, std::string(session_method::reconnect), params, session_limit));
}

// Failed before anybody was sent anywhere: a matter of usage or configuration. Afterwards it is the sign-in.
int after_page(int code, bool page_shown) { return page_shown && code == 2 ? 3 : code; }

int failed(Context& context, const Error& error, bool page_shown) {
  const auto shown = context.secrets->without(error);
  return after_page(report(shown, context.settings.json, context.io), page_shown);
}

Task<SignInResult> sign_in_through_provider(Context& context, std::string name) {
  auto first = co_await as_result(context.host.sign_in(name));
  if (first) co_return std::move(*first);
  const auto& servers = context.host.config().servers;
  const auto entry = std::ranges::find(servers, name, &ServerConfig::name);
  const bool by_provider = entry != servers.end() && entry->oauth && entry->oauth->xaa;
  if (!by_provider || first.error().code() != Errc::unauthorized || !first.error().remedy()) {
    throw std::move(first).error();
  }
  co_await context.host.sign_in_at_provider();
  co_return co_await context.host.sign_in(std::move(name));
}

std::string scopes_of(const SignInResult& result) {
  return result.granted ? safe_line(join(*result.granted, " "), 500) : std::string();
}

// What is printed when it has worked: a value, since several are one list.
// `protection`: what protects the place, to be said once.
Task<Json> signed_in(Context& context, const std::string& name, const SignInResult& done, std::string& protection) {
  const auto place = co_await place_of(context.host.config().config_dir, done);
  const auto statuses = context.statuses();
  const auto status = std::ranges::find(statuses, name, &ServerStatus::name);
  const std::size_t tools = status == statuses.end() ? 0 : status->tool_count;
  const bool connectors = means_connectors(context.host.config(), name);
  const auto listed = std::ranges::count_if(context.host.config().servers, [](const ServerConfig& server) {
    return server.origin.scope == ConfigScope::connector;
  });
  if (!connectors) co_await tell_session(context, name);
  if (!context.settings.json) {
    auto text = fmt::format("Signed in to \"{}\" at {}: {}\n", safe_name(name, 80), visible_text(done.issuer),
                            connectors ? plural(static_cast<std::size_t>(listed), "server") : plural(tools, "tool"));
    if (const auto scopes = scopes_of(done); !scopes.empty()) text += fmt::format("  scopes: {}\n", scopes);
    if (!place.words.empty()) text += fmt::format("  the token is in {}\n", place.words);
    print_lines(context.io, text);
    if (!place.protection.empty()) protection = place.protection;
    co_return Json();
  }
  Json scopes;
  if (done.granted) {
    scopes = Json::array();
    for (const auto& scope : *done.granted) scopes.push_back(scope);
  }
  co_return Json{{"name", name},
                 {"signedIn", true},
                 {"issuer", done.issuer},
                 {"resource", done.resource},
                 {"scopes", std::move(scopes)},
                 {"registered", done.registered},
                 {"keptIn", place.name.empty() ? Json() : Json(place.name)},
                 {"toolCount", tools}};
}

}  // namespace

Task<int> login(Context& context) {
  const auto names = context.settings.words;
  // A name that is wrong is said before anybody is sent to a browser.
  for (const auto& name : names) {
    if (!means_connectors(context.host.config(), name)) (void)all_named(context.host.config(), name);
  }
  const bool listed = context.settings.json && names.size() > 1;
  int code = 0;
  std::string protection;
  auto list = Json::array();
  for (const auto& name : names) {
    *context.page_shown = false;
    if (!context.settings.json && &name != &names.front()) context.io.log("\n");
    context.waiting.begin(fmt::format("signing in at {}", name));
    auto done = co_await as_result(sign_in_through_provider(context, name));
    context.waiting.end();
    if (done) {
      list.push_back(co_await signed_in(context, name, *done, protection));
      continue;
    }
    if (done.error().code() == Errc::cancelled) throw std::move(done).error();
    int ended = 0;
    if (listed) {
      const auto shown = with_remedy_in_words(context.secrets->without(done.error()));
      const auto body = error_json(shown);
      list.push_back(Json{{"name", name}, {"signedIn", false}, {"error", body["error"]}});
      ended = after_page(exit_code(shown), *context.page_shown);
    } else {
      ended = failed(context, done.error(), *context.page_shown);
    }
    if (code == 0) code = ended;
  }
  if (!protection.empty() && !context.settings.quiet) context.io.talk(protection + "\n");
  if (listed) {
    context.print_json({{"servers", std::move(list)}});
  } else if (context.settings.json && code == 0) {
    context.print_json(std::move(list.as_array().front()));
  }
  co_return code;
}

Task<int> logout(Context& context) {
  const auto name = context.settings.words.front();
  if (!means_connectors(context.host.config(), name)) (void)all_named(context.host.config(), name);
  context.waiting.begin(fmt::format("signing out of {}", name));
  auto done = co_await as_result(context.host.sign_out(name));
  context.waiting.end();
  if (!done) {
    auto error = std::move(done).error();
    if (error.code() == Errc::cancelled) throw error;
    if (error.code() == Errc::unsupported) {
      error = error.with_message(fmt::format("{}. What it knows you by is in its entry: patchbay get{}",
                                             error.message(), shell_operands({name})));
    }
    co_return failed(context, error, false);
  }
  if (done->was_signed_in && !means_connectors(context.host.config(), name)) co_await tell_session(context, name);
  if (context.settings.json) {
    context.print_json({{"name", name},
                        {"wasSignedIn", done->was_signed_in},
                        {"issuer", done->issuer.empty() ? Json() : Json(done->issuer)},
                        {"notTold", done->not_told.empty() ? Json() : Json(done->not_told)}});
    co_return 0;
  }
  const auto shown = safe_name(name, 80);
  if (!done->was_signed_in) {
    print_lines(context.io, fmt::format("You were not signed in to \"{}\".\n", shown));
    co_return 0;
  }
  print_lines(context.io, fmt::format("Signed out of \"{}\" at {}.\n", shown, visible_text(done->issuer)));
  if (!done->not_told.empty()) {
    context.io.talk(
        fmt::format("patchbay: warning: {} could not be told: {}. The token is forgotten here; there it is "
                    "valid until it expires\n",
                    visible_text(done->issuer), message_line(done->not_told, 500)));
  }
  co_return 0;
}

Task<int> xaa_login(Context& context) {
  const auto provider = identity_provider(context.host.config());
  if (!provider) {
    throw Error(Errc::config,
                "no identity provider is set; to set one: patchbay mcp xaa setup --issuer URL --client-id ID");
  }
  auto done = co_await as_result(context.host.sign_in_at_provider());
  context.waiting.end();
  if (!done) {
    if (done.error().code() == Errc::cancelled) throw std::move(done).error();
    co_return failed(context, done.error(), *context.page_shown);
  }
  if (context.settings.json) {
    context.print_json({{"issuer", provider->issuer}, {"signedIn", true}});
  } else {
    print_lines(context.io, fmt::format("Signed in at the identity provider {}. Servers with \"oauth\": {{\"xaa\": "
                                        "true}} need no sign-in of their own.\n",
                                        visible_text(provider->issuer)));
  }
  co_return 0;
}

}  // namespace patchbay::cli
