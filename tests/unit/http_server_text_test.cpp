#include <gtest/gtest.h>

#include "http/server/text.h"

namespace patchbay {
namespace {

TEST(HttpServerText, Dates_AreInEnglishAndGmt) {
  using std::chrono::system_clock;
  EXPECT_EQ(http_date(system_clock::from_time_t(784111777)), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(http_date(system_clock::from_time_t(0)), "Thu, 01 Jan 1970 00:00:00 GMT");
}

TEST(HttpServerText, Connections_AreKeptAsTheVersionSays) {
  struct Case {
    unsigned version;
    const char* connection;
    bool kept;
  };
  for (const auto& c : {
           Case{11, "", true},
           Case{11, "keep-alive", true},
           Case{11, "close", false},
           Case{11, "Upgrade, \tCLOSE ", false},
           Case{11, "closed", true},
           Case{11, "not close", true},
           Case{10, "", false},
           Case{10, "Keep-Alive", true},
           Case{10, "x,keep-alive", true},
           Case{10, "keep-alives", false},
       }) {
    EXPECT_EQ(wants_connection_kept(c.version, c.connection), c.kept) << c.version << " " << c.connection;
  }
  EXPECT_TRUE(waits_for_continue(11, "100-Continue"));
  EXPECT_FALSE(waits_for_continue(10, "100-continue"));
  EXPECT_FALSE(waits_for_continue(11, "101-continue"));
  EXPECT_FALSE(waits_for_continue(11, ""));
}

TEST(HttpServerText, Heads_HoldOneFieldPerLine) {
  const HttpHeaders own{{"Content-Type", "a/b"}, {"X\r\nY", "1\r\nSet-Cookie: x"}};
  const HttpHeaders always{{"Vary", "Origin"}};
  EXPECT_EQ(response_head({.status = 200, .date = "now"}, {&own, &always}),
            "HTTP/1.1 200 OK\r\nDate: now\r\nContent-Type: a/b\r\nXY: 1Set-Cookie: x\r\nVary: Origin\r\n");
  EXPECT_EQ(response_head({.status = 404, .date = "now", .keep = false}, {}),
            "HTTP/1.1 404 Not Found\r\nDate: now\r\nConnection: close\r\n");
  EXPECT_EQ(response_head({.status = 299, .date = "now", .version = 10}, {}),
            "HTTP/1.1 299 Status\r\nDate: now\r\nConnection: keep-alive\r\n");
}

TEST(HttpServerText, Errors_AreMadeFromStatuses) {
  struct Case {
    Errc code;
    int status;
  };
  for (const auto& c : {Case{Errc::limit, 413}, Case{Errc::timeout, 408}, Case{Errc::protocol, 400},
                        Case{Errc::invalid_argument, 400}, Case{Errc::internal, 500}, Case{Errc::closed, 500}}) {
    EXPECT_EQ(status_for(Error(c.code, "x")), c.status);
  }
}

}  // namespace
}  // namespace patchbay
