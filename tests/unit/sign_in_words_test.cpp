// What is said around a sign-in, and about those of earlier runs. A1 A2 G4.
#include "cli/texts/sign_in_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay::cli {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const sys_seconds now{seconds(1'790'000'000)};
const SignInPage page{"docs", "https://issuer.example/authorize?x=1", "http://127.0.0.1:4711/callback"};

TEST(SignInWords, SayHowToGoOnWithoutABrowser) {
  EXPECT_EQ(opened_words(page, "", "patchbay login docs", minutes(10)),
            "It was opened in your browser.\nWaiting for the browser, 10 minutes at most; Ctrl-C ends it.\n");
  EXPECT_THAT(opened_words(page, "", "patchbay login docs", std::chrono::seconds(90)),
              HasSubstr("browser, 90 s at most"));
  EXPECT_THAT(opened_words(page, "there is no display", "patchbay login docs", minutes(10)),
              AllOf(HasSubstr("No browser was opened here: there is no display."),
                    HasSubstr("`patchbay login docs --no-browser`"), HasSubstr("ssh -L 4711:127.0.0.1:4711")));
  EXPECT_THAT(paste_words(page), HasSubstr("begins with http://127.0.0.1:4711/callback?"));
}

// B3.26
TEST(SignInWords, AClientOfTheUsers_HasToListTheAddress) {
  EXPECT_EQ(redirect_words(page),
            "If the page says that the redirect address does not match, enter http://127.0.0.1:4711/callback for your "
            "client there, or, if http://localhost:4711/callback is entered there, write \"oauth\": {\"callbackHost\": "
            "\"localhost\"} into the entry of \"docs\".\n");
}

SignInLine signed_in() {
  SignInLine line{"docs", {}, {}};
  line.status.signed_in = true;
  line.status.issuer = "https://issuer.example";
  line.status.scopes = {"read", "write"};
  line.status.expires = now + minutes(30);
  line.status.obtained = now - hours(5);
  line.status.refreshed = now - minutes(30);
  line.status.can_refresh = true;
  line.status.kept_in = "keyring";
  return line;
}

TEST(SignInWords, AboutAServer) {
  auto failed = signed_in();
  failed.status = {};
  failed.status.failed_step = "token";
  failed.status.failure = "https://issuer.example refused\033[2J the code";
  failed.status.failed_at = now - minutes(3);
  auto expired = signed_in();
  expired.status.expires = now - hours(3);
  expired.status.can_refresh = false;
  expired.status.obtained.reset();
  expired.status.refreshed.reset();
  expired.status.kept_in = "file";
  expired.status.scopes.clear();
  EXPECT_EQ(sign_in_text(signed_in(), now),
            "docs: signed in at https://issuer.example\n"
            "  scopes: read write\n"
            "  token: expires in 30 minutes, renewed by itself\n"
            "  signed in 5 hours ago, last renewed 30 minutes ago\n"
            "  kept in: the system keyring\n");
  EXPECT_EQ(sign_in_text(expired, now),
            "docs: signed in at https://issuer.example\n"
            "  token: expired 3 hours ago, not renewable\n"
            "  kept in: an encrypted file\n");
  EXPECT_THAT(sign_in_text(failed, now),
              AllOf(HasSubstr("docs: not signed in; to sign in: patchbay login docs\n"),
                    HasSubstr("last attempt failed 3 minutes ago (token): "), Not(HasSubstr("\033"))));
  auto over = signed_in();
  over.status.server = "docs";
  over.status.failed_step = "renewal";
  over.status.failure = "it does not accept this sign-in any more";
  EXPECT_THAT(sign_in_text(over, now),
              AllOf(HasSubstr("token: expires in 30 minutes, could not be renewed\n"), Not(HasSubstr("by itself")),
                    HasSubstr("\n  to sign in again: patchbay login docs\n")));
  EXPECT_EQ(sign_in_text({"docs", {}, "not reached by HTTP"}, now), "docs: not reached by HTTP\n");
  const auto json = sign_in_json(signed_in(), now);
  EXPECT_EQ(json["signedIn"], Json(true));
  EXPECT_EQ(json["expired"], Json(false));
  EXPECT_EQ(json["lastFailure"], Json());
  EXPECT_EQ(sign_in_json(failed, now)["lastFailure"]["step"], Json("token"));
}

}  // namespace
}  // namespace patchbay::cli
