// Host::sign_in and Host::sign_out: the only place where somebody is sent to a browser. Outside of every limit for
// connecting or calling.
#include <fmt/format.h>

#include "base/as_result.h"
#include "host/host_impl.h"
#include "host/server_error.h"

namespace patchbay {

Task<std::shared_ptr<ServerSignIn>> Host::Impl::signing_in(std::shared_ptr<Connection> connection) {
  const auto& name = connection->name();
  if (!may_sign_in(connection->config())) {
    throw Error(Errc::unsupported,
                fmt::format("nobody can sign in at server \"{}\": {}", name,
                            connection->config().url.empty() ? "it is not reached by a URL"
                                                             : "its entry has credentials of its own"));
  }
  auto tried = co_await as_result(connection->ensure());
  check_running();
  auto sign_in = sign_ins_->find(name);
  // What keeps it from being asked keeps anybody from signing in.
  if (!tried && (!sign_in || !tried.error().sign_in())) throw tried.error();
  if (!sign_in)
    throw Error(Errc::unsupported,
                fmt::format("nobody can sign in at server \"{}\": it is not reached by a URL", name));
  co_return sign_in;
}

Task<SignInResult> Host::sign_in(std::string server) {
  auto impl = impl_;
  co_await impl->prepare();
  auto connection = impl->require(server);
  impl->permissions_.require_server(server);
  SignInReport report;
  {
    const Connection::Use use(*connection);
    auto sign_in = co_await impl->signing_in(connection);
    auto done =
        co_await as_result(sign_in->sign_in(sign_in->last_need().value_or(SignInNeed{}), impl->sign_ins_->visits()));
    impl->check_running();
    if (!done) throw error_of_server(server, done.error());
    report = std::move(*done);
  }
  // Signed in is who gets in.
  connection = impl->require(server);
  const Connection::Use use(*connection);
  auto connected = co_await as_result(connection->reconnect());
  impl->check_running();
  if (!connected) {
    throw connected.error().with_message(
        fmt::format("you signed in at {}, but {}", report.issuer, connected.error().message()));
  }
  co_return SignInResult{std::move(report.issuer), std::move(report.resource), std::move(report.granted),
                         report.registered};
}

Task<bool> Host::sign_out(std::string server) {
  auto impl = impl_;
  co_await impl->prepare();
  auto connection = impl->require(server);
  const Connection::Use use(*connection);
  auto sign_in = impl->sign_ins_->find(server);
  if (!sign_in) {
    (void)co_await as_result(connection->ensure());
    impl->check_running();
    sign_in = impl->sign_ins_->find(server);
  }
  if (!sign_in) co_return false;
  const bool was = co_await sign_in->sign_out();
  impl->check_running();
  // What it was connected with is not valid any more.
  if (was) (void)co_await as_result(connection->reconnect());
  co_return was;
}

}  // namespace patchbay
