#include "rpc/carried_out.h"

#include <gtest/gtest.h>

#include "http/client/failure.h"
#include "protocol/wire.h"

namespace patchbay {
namespace {

// X5: every failed call says whether it was carried out. This is the table.
TEST(CarriedOut, IsDecidedByWhatIsKnownOfTheEnd) {
  struct Case {
    const char* what;
    CallEnd end;
    CarriedOut expected;
  };
  const Case cases[] = {
      {"never sent", {.sent = false}, CarriedOut::no},
      {"never sent, whatever else", {.sent = false, .rpc_code = -32603, .http_status = 500}, CarriedOut::no},
      {"sign-in is needed", {.http_status = 401}, CarriedOut::no},
      {"the headers do not repeat the arguments", {.rpc_code = -32020, .http_status = 400}, CarriedOut::no},
      {"the same without a status", {.rpc_code = -32020}, CarriedOut::no},
      {"forbidden", {.http_status = 403}, CarriedOut::refused},
      {"a path that is not there", {.http_status = 404}, CarriedOut::refused},
      {"too many requests", {.http_status = 429}, CarriedOut::refused},
      {"a bad request with a code of its own", {.rpc_code = -32000, .http_status = 400}, CarriedOut::refused},
      {"it could not be read", {.rpc_code = -32700}, CarriedOut::refused},
      {"it is not a request", {.rpc_code = -32600}, CarriedOut::refused},
      {"no such method", {.rpc_code = -32601}, CarriedOut::refused},
      {"bad arguments", {.rpc_code = -32602}, CarriedOut::refused},
      {"bad arguments, behind a success in HTTP", {.rpc_code = -32602, .http_status = 200}, CarriedOut::refused},
      {"an error inside", {.rpc_code = -32603}, CarriedOut::unknown},
      {"a code of the server's own", {.rpc_code = -32001}, CarriedOut::unknown},
      {"a resource that is not there", {.rpc_code = -32002}, CarriedOut::unknown},
      {"an error of the server", {.http_status = 500}, CarriedOut::unknown},
      {"a proxy that got no answer", {.http_status = 502}, CarriedOut::unknown},
      {"led elsewhere", {.http_status = 307}, CarriedOut::unknown},
      {"an answer with nothing in it", {.http_status = 200}, CarriedOut::unknown},
      {"nothing but that it was sent", {}, CarriedOut::unknown},
  };
  for (const auto& c : cases) EXPECT_EQ(carried_out(c.end), c.expected) << c.what;
}

TEST(CarriedOut, WhatATransportHasSaidCounts) {
  const auto gone = judged(Error(Errc::closed, "gone").with_http_status(404).with_carried_out(CarriedOut::no));
  EXPECT_EQ(gone.carried_out(), CarriedOut::no);
  EXPECT_TRUE(may_be_repeated(gone));
  const auto said = judged(Error(Errc::http, "x").with_carried_out(CarriedOut::unknown), false);
  EXPECT_EQ(said.carried_out(), CarriedOut::unknown);
  EXPECT_EQ(judged(Error(Errc::closed, "x"), false).carried_out(), CarriedOut::no);
  EXPECT_EQ(judged(Error::rpc(-32602, "x")).carried_out(), CarriedOut::refused);
}

TEST(CarriedOut, OnlyWhatWasNotCarriedOutMayBeRepeated) {
  EXPECT_FALSE(may_be_repeated(Error(Errc::connect, "no word about it")));
  for (auto [whether, repeatable] : {std::pair(CarriedOut::no, true), std::pair(CarriedOut::refused, false),
                                     std::pair(CarriedOut::unknown, false)}) {
    EXPECT_EQ(may_be_repeated(Error(Errc::closed, "x").with_carried_out(whether)), repeatable) << to_string(whether);
  }
}

// Not sent, and not acknowledged as docs/adr/0004-http-client.md has it.
TEST(CarriedOut, OfAFailureBelowHttp_ThePhaseSaysIt) {
  struct Case {
    HttpPhase phase;
    bool unacknowledged;
    std::optional<CarriedOut> expected;
  };
  const Case cases[] = {
      {HttpPhase::resolving, false, CarriedOut::no}, {HttpPhase::connecting, false, CarriedOut::no},
      {HttpPhase::proxy, false, CarriedOut::no},     {HttpPhase::tls, false, CarriedOut::no},
      {HttpPhase::sending, false, std::nullopt},     {HttpPhase::sending, true, CarriedOut::no},
      {HttpPhase::waiting, false, std::nullopt},     {HttpPhase::waiting, true, CarriedOut::no},
      {HttpPhase::reading, false, std::nullopt},     {HttpPhase::reading, true, std::nullopt},
  };
  for (const auto& c : cases) {
    const HttpFailure failure{.fault = HttpFault::closed, .phase = c.phase, .unacknowledged = c.unacknowledged};
    EXPECT_EQ(http_error(failure, {.method = "POST", .url = "http://h/"}).carried_out(), c.expected)
        << to_string(c.phase) << c.unacknowledged;
  }
}

TEST(CarriedOut, AnErrorOfNoCallSaysNothing) {
  EXPECT_EQ(Error(Errc::config, "x").carried_out(), std::nullopt);
  EXPECT_EQ(Error(Errc::config, "x").with_carried_out(CarriedOut::no).without_carried_out().carried_out(),
            std::nullopt);
}

}  // namespace
}  // namespace patchbay
