#include "host/sign_in/pasted_visit.h"

#include <fmt/format.h>

#include "auth/endpoint_rule.h"
#include "base/as_result.h"

namespace patchbay {
namespace {

constexpr std::uint16_t usual_port = 8976;  // nobody has to listen there
constexpr int most_tries = 3;

class PastedVisit final : public AuthorizationVisit {
 public:
  PastedVisit(std::function<Task<std::string>(SignInPage)> paste, VisitWish wish)
      : paste_(std::move(paste)),
        server_(std::move(wish.server)),
        redirect_uri_(fmt::format("http://{}:{}/callback", wish.host,
                                  wish.port.value_or(wish.preferred_port != 0 ? wish.preferred_port : usual_port))) {}

  const std::string& redirect_uri() const noexcept override { return redirect_uri_; }

  Task<Secret> go(std::string url, Judge judge) override {
    value_or_throw(check_browser_url(url));
    for (int tries = 1;; ++tries) {
      auto text = co_await paste_(SignInPage{server_, url, redirect_uri_});
      auto answer = read_pasted_callback(text, redirect_uri_);
      auto judged = answer ? judge(*answer) : Result<Secret>(std::unexpected(answer.error()));
      // Half of an address, or that of an earlier attempt, can be pasted again.
      const bool again =
          !judged && (judged.error().code() == Errc::protocol || judged.error().code() == Errc::invalid_argument);
      if (!again || tries == most_tries) co_return value_or_throw(std::move(judged));
    }
  }

  void finish(const Result<void>& /*outcome*/) override {}

 private:
  std::function<Task<std::string>(SignInPage)> paste_;
  std::string server_;
  std::string redirect_uri_;
};

Task<std::unique_ptr<AuthorizationVisit>> open_pasted(std::function<Task<std::string>(SignInPage)> paste,
                                                      VisitWish wish) {
  co_return std::make_unique<PastedVisit>(std::move(paste), std::move(wish));
}

}  // namespace

OpenVisit pasted_visits(std::function<Task<std::string>(SignInPage)> paste) {
  return [paste](VisitWish wish) { return open_pasted(paste, std::move(wish)); };
}

}  // namespace patchbay
