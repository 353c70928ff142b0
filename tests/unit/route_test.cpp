// compat: B6.17
// T4: the way to a URL: what an entry says, and what the variables add.
#include "http/client/route.h"

#include <sys/stat.h>

#include <filesystem>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/command.h"
#include "support/fails_with.h"

namespace patchbay {
namespace {

using test::FailsWith;

using Variables = std::map<std::string, std::string, std::less<>>;

HttpClientOptions settings_with(Variables variables) {
  HttpClientOptions settings;
  settings.environment = [variables = std::move(variables)](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  return settings;
}

Route route(const char* url, const HttpClientOptions& settings) { return route_to(*parse_url(url), settings).value(); }

TEST(Route, WebSocketAddresses_AreReachedAsTheirHttpCousins) {
  struct Case {
    const char* url;
    const char* wire;
  };
  for (const auto& c :
       {Case{"ws://h.example/a?b#c", "http://h.example/a?b"}, Case{"wss://h.example:8443/", "https://h.example:8443/"},
        Case{"https://h.example/", "https://h.example/"}}) {
    const auto made = route(c.url, settings_with({}));
    EXPECT_EQ(made.transfer.url, c.wire);
    EXPECT_EQ(made.context.url, parse_url(c.url)->text()) << "messages show the URL as it was given";
  }
  const auto proxied = route("wss://h.example/", settings_with({{"HTTPS_PROXY", "p.example:1"}}));
  EXPECT_EQ(proxied.transfer.proxy, "http://p.example:1");
  EXPECT_EQ(proxied.context.proxy_source, "HTTPS_PROXY");
}

TEST(Route, OwnCaFile_IsAllThatIsTrusted) {
  test::TemporaryDirectory directory;
  const auto extra = directory.write("extra.pem", "");
  auto settings =
      settings_with({{"SSL_CERT_FILE", "/env.pem"}, {"SSL_CERT_DIR", "/env"}, {"NODE_EXTRA_CA_CERTS", extra}});
  const auto shared = route("https://h/", settings);
  EXPECT_EQ(shared.transfer.ca_file, "/env.pem");
  EXPECT_EQ(shared.transfer.ca_path, "/env");
  EXPECT_EQ(shared.transfer.extra_ca_file, extra);
  EXPECT_FALSE(shared.transfer.only_ca_file);
  EXPECT_EQ(shared.context.ca_source, "SSL_CERT_FILE");

  settings.ca_file = "/own.pem";
  const auto own = route("https://h/", settings);
  EXPECT_EQ(own.transfer.ca_file, "/own.pem");
  EXPECT_EQ(own.transfer.ca_path, "");
  EXPECT_TRUE(own.transfer.only_ca_file);
  EXPECT_EQ(own.transfer.proxy_ca_file, "/env.pem") << "says nothing about a proxy";
}

TEST(Route, ExtraCertificatesThatCannotBeRead_ArePassedOverWithAWarning) {
  auto settings = settings_with({{"NODE_EXTRA_CA_CERTS", "/nonexistent/extra.pem"}});
  std::vector<LogEvent> warnings;
  settings.log = Log(LogLevel::warning, [&](const LogEvent& event) { warnings.push_back(event); });
  EXPECT_EQ(route("https://h/", settings).transfer.extra_ca_file, "");
  warn_of_unread_trust(settings);
  EXPECT_THAT(warnings, testing::ElementsAre(
                            LogEvent{LogLevel::warning,
                                     "",
                                     "ca_file_not_read",
                                     {{"variable", "NODE_EXTRA_CA_CERTS"}, {"file", "/nonexistent/extra.pem"}}}));
}

TEST(Route, ClientCertificateOfTheVariables_IsForEntriesWithoutOne) {
  auto settings = settings_with({{"CLAUDE_CODE_CLIENT_CERT", "/env.crt"},
                                 {"CLAUDE_CODE_CLIENT_KEY", "/env.key"},
                                 {"CLAUDE_CODE_CLIENT_KEY_PASSPHRASE", "words"}});
  const auto shared = route("wss://h/", settings);
  EXPECT_EQ(shared.transfer.client_certificate, "/env.crt");
  EXPECT_EQ(shared.transfer.client_key, "/env.key");
  EXPECT_EQ(shared.transfer.client_key_password.reveal(), "words");
  EXPECT_EQ(shared.context.certificate_source, "CLAUDE_CODE_CLIENT_CERT");

  settings.client_certificate = "/own.pem";
  const auto own = route("wss://h/", settings);
  EXPECT_EQ(own.transfer.client_certificate, "/own.pem");
  EXPECT_EQ(own.transfer.client_key, "") << "the two belong together";
  EXPECT_TRUE(own.transfer.client_key_password.empty());
  EXPECT_EQ(own.context.certificate_source, "");
}

// L7: whoever opens a pipe waits for its writer, and in the middle of the loop that is beyond every signal.
TEST(Route, WhatIsNotAFile_IsRefusedBeforeAnybodyOpensIt) {
  const test::TemporaryDirectory directory;
  const auto pipe = directory.path() + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto huge = directory.write("huge.pem", "");
  std::filesystem::resize_file(huge, 17u << 20);
  const auto good = directory.write("good.pem", "PEM");
  const auto said = [](const char* url, const HttpClientOptions& settings) {
    const auto made = route_to(*parse_url(url), settings);
    return made ? std::string() : std::string(to_string(made.error().code())) + ": " + made.error().message();
  };
  struct Case {
    std::string file;
    std::string why;
  };
  for (const auto& [file, why] : {Case{pipe, "it is a pipe, not a file; replace it with a file"},
                                  Case{"/dev/zero", "it is a device, not a file; replace it with a file"},
                                  Case{directory.path(), "it is a directory, not a file; replace it with a file"},
                                  Case{huge, "it is larger than 16 MiB; is it the right file?"}, Case{good, ""},
                                  Case{directory.path() + "/none", ""}}) {
    const auto refused = [&](const std::string& what) {
      return why.empty() ? std::string() : "config: " + what + " " + file + " cannot be used: " + why;
    };
    HttpClientOptions own = settings_with({});
    own.ca_file = file;
    EXPECT_EQ(said("https://h/", own), refused("the server's CA file"));
    EXPECT_EQ(said("wss://h/", own), refused("the server's CA file"));
    EXPECT_EQ(said("http://h/", own), "") << "nobody opens it";
    HttpClientOptions certificate = settings_with({});
    certificate.client_certificate = file;
    EXPECT_EQ(said("https://h/", certificate), refused("the server's certificate file"));
    certificate.client_certificate = good;
    certificate.client_key = file;
    EXPECT_EQ(said("https://h/", certificate), refused("the server's key file"));
    EXPECT_EQ(said("https://h/", settings_with({{"SSL_CERT_FILE", file}})), refused("SSL_CERT_FILE"));
    EXPECT_EQ(said("https://h/", settings_with({{"CLAUDE_CODE_CLIENT_CERT", file}})),
              refused("CLAUDE_CODE_CLIENT_CERT: the certificate file"));
    // Passed over, as one that cannot be read is.
    const auto extra = route("https://h/", settings_with({{"NODE_EXTRA_CA_CERTS", file}}));
    EXPECT_EQ(extra.transfer.extra_ca_file, file == good ? file : "");
  }
}

TEST(Route, BadProxy_IsAnErrorOfTheConfiguration) {
  EXPECT_THAT(route_to(*parse_url("ws://h/"), settings_with({{"http_proxy", "gopher://p"}})), FailsWith(Errc::config));
}

}  // namespace
}  // namespace patchbay
