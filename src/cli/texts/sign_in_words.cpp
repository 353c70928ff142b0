#include "cli/texts/sign_in_words.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "auth/authorization.h"
#include "auth/engine/sign_in_step.h"
#include "base/limit_text.h"
#include "base/strings.h"
#include "cli/texts/present.h"
#include "cli/texts/state_words.h"
#include "http/url.h"
#include "text/shell_word.h"
#include "text/visible_text.h"

namespace patchbay::cli {
namespace {

using std::chrono::sys_seconds;

std::string port_of(const SignInPage& page) {
  const auto url = parse_url(page.redirect_uri);
  return url ? std::to_string(url->effective_port()) : std::string("PORT");
}

std::string time_text(sys_seconds time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

Json time_json(const std::optional<sys_seconds>& time) { return time ? Json(time_text(*time)) : Json(); }

bool is_renewal(const SignInStatus& status) { return status.failed_step == to_string(SignInStep::renewal); }

std::string expiry_text(const SignInStatus& status, sys_seconds now) {
  if (!status.expires) return "it does not say when it expires";
  const auto left = *status.expires - now;
  auto when =
      left.count() > 0 ? fmt::format("expires in {}", age_text(left)) : fmt::format("expired {}", ago_text(-left));
  if (!status.can_refresh) return when + ", not renewable";
  return when + (is_renewal(status) ? ", could not be renewed" : ", renewed by itself");
}

std::string failure_text(const SignInStatus& status, sys_seconds now) {
  if (status.failed_step.empty()) return {};
  const auto ago = status.failed_at ? " " + ago_text(now - *status.failed_at) : std::string();
  auto out =
      fmt::format("  last attempt failed{} ({}): {}\n", ago, status.failed_step, message_line(status.failure, 500));
  if (status.signed_in && is_renewal(status)) {
    out += fmt::format("  to sign in again: patchbay login{}\n", shell_operands({status.server}));
  }
  return out;
}

}  // namespace

std::string page_words(const SignInPage& page) {
  return fmt::format("To sign in at \"{}\", open this page in a browser:\n", safe_name(page.server, 200));
}

std::string opened_words(const SignInPage& page, const std::string& why_not, std::string_view command,
                         std::chrono::milliseconds wait) {
  std::string out;
  if (why_not.empty()) {
    out += "It was opened in your browser.\n";
  } else {
    out += fmt::format(
        "No browser was opened here: {}. Open the page yourself, in a browser on this machine. If your browser is on "
        "another machine, either press Ctrl-C and run `{} --no-browser`, or forward the port first: ssh -L "
        "{}:127.0.0.1:{} THIS-MACHINE\n",
        message_line(why_not, 300), command, port_of(page), port_of(page));
  }
  const auto minutes = std::chrono::floor<std::chrono::minutes>(wait);
  out += fmt::format("Waiting for the browser, {} at most; Ctrl-C ends it.\n",
                     minutes == wait ? plural(static_cast<std::size_t>(minutes.count()), "minute") : limit_text(wait));
  return out;
}

std::string paste_words(const SignInPage& page) {
  return fmt::format(
      "After you have signed in, the browser ends at an address that begins with {}? and that it cannot open. That is "
      "as it should be: copy the whole address from the browser, paste it here and press Enter. Ctrl-C ends it.\n",
      visible_text(page.redirect_uri));
}

std::string redirect_words(const SignInPage& page) {
  return fmt::format("If the page says that the redirect address does not match, {}.\n",
                     visible_text(redirect_hint(page.redirect_uri, page.server)));
}

std::string sign_in_text(const SignInLine& line, sys_seconds now) {
  const auto& status = line.status;
  auto out = fmt::format("{}: ", safe_name(line.server, 80));
  if (!line.not_possible.empty()) return out + message_line(line.not_possible, 300) + "\n";
  if (!status.signed_in) {
    out += fmt::format("not signed in; to sign in: patchbay login{}\n", shell_operands({line.server}));
    return out + failure_text(status, now);
  }
  out += fmt::format("signed in at {}\n", visible_text(status.issuer));
  if (!status.scopes.empty()) out += fmt::format("  scopes: {}\n", safe_line(join(status.scopes, " "), 500));
  out += fmt::format("  token: {}\n", expiry_text(status, now));
  if (status.obtained) out += fmt::format("  signed in {}", ago_text(now - *status.obtained));
  if (status.refreshed) {
    out += fmt::format("{}last renewed {}", status.obtained ? ", " : "  ", ago_text(now - *status.refreshed));
  }
  if (status.obtained || status.refreshed) out += "\n";
  out += fmt::format("  kept in: {}\n", status.kept_in == "keyring" ? "the system keyring" : "an encrypted file");
  return out + failure_text(status, now);
}

Json sign_in_json(const SignInLine& line, sys_seconds now) {
  const auto& status = line.status;
  auto text = [](const std::string& value) { return value.empty() ? Json() : Json(value); };
  Json scopes = Json::array();
  for (const auto& scope : status.scopes) scopes.push_back(scope);
  Json failure;
  if (!status.failed_step.empty()) {
    failure = Json{{"step", status.failed_step}, {"message", status.failure}, {"time", time_json(status.failed_at)}};
  }
  return {{"name", line.server},
          {"url", status.url},
          {"signedIn", status.signed_in},
          {"notPossible", text(line.not_possible)},
          {"issuer", text(status.issuer)},
          {"resource", text(status.resource)},
          {"clientId", text(status.client_id)},
          {"scopes", std::move(scopes)},
          {"expires", time_json(status.expires)},
          {"expired", status.expires ? Json(*status.expires <= now) : Json()},
          {"obtained", time_json(status.obtained)},
          {"refreshed", time_json(status.refreshed)},
          {"refreshable", status.can_refresh},
          {"keptIn", text(status.kept_in)},
          {"lastFailure", std::move(failure)}};
}

}  // namespace patchbay::cli
