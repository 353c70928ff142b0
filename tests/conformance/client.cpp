// The client that the official conformance suite puts in front of its servers: which calls each
// scenario waits for, made with the public interface alone. `patchbay-conformance-client URL`
// learns the scenario, its revision and its extra words from MCP_CONFORMANCE_* variables.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/connect.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>

#include <patchbay/client.h>
#include <patchbay/host.h>
#include <patchbay/json.h>

namespace {

namespace pb = patchbay;
using pb::Json;
using pb::Session;
using pb::Task;
using boost::asio::experimental::awaitable_operators::operator&&;

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Says yes to every form without filling anything in, so that what arrives are its defaults.
Task<pb::ElicitResult> agree(pb::ElicitRequest /*request*/, pb::CallContext /*context*/) {
  pb::ElicitResult result;
  result.action = pb::ElicitResult::Action::accept;
  co_return result;
}
Task<pb::CreateMessageResult> make_up(pb::CreateMessageRequest /*request*/, pb::CallContext /*context*/) {
  pb::CreateMessageResult result;
  result.model = "conformance";
  pb::TextContent words;
  words.text = "Yes.";
  result.content.push_back(words);
  co_return result;
}
Task<std::vector<pb::Root>> no_folders(pb::CallContext /*context*/) { co_return std::vector<pb::Root>{}; }

Task<pb::CallToolResult> call(Session session, std::string tool, Json arguments, bool check = true) {
  pb::CallOptions options;
  options.check_arguments = check;
  co_return co_await session.call_tool(std::move(tool), pb::Payload(std::move(arguments)), options);
}

// ---- what the scenarios want to see ----------------------------------------------------

Task<void> look_around(Session session, Json /*context*/) {
  (void)co_await session.list_tools();
  co_await session.ping();
}

Task<void> add_numbers(Session session, Json /*context*/) {
  (void)co_await session.list_tools();
  (void)co_await call(session, "add_numbers", {{"a", 5}, {"b", 3}});
}

// Each listed tool once; none of them needs more than one text.
Task<void> call_every_tool(Session session, Json /*context*/) {
  const auto tools = co_await session.list_tools();
  for (const auto& tool : tools.items) {
    Json arguments = Json::object();
    if (const auto* required = tool.input_schema["required"].if_array()) {
      for (const auto& name : *required) arguments[name.as_text()] = "us-west1";
    }
    (void)co_await call(session, tool.name, std::move(arguments));
  }
}

Task<void> use_everything(Session session, Json context) {
  co_await call_every_tool(session, std::move(context));
  const auto resources = co_await session.list_resources();
  for (const auto& resource : resources.items) (void)co_await session.read_resource(resource.uri);
  const auto prompts = co_await session.list_prompts();
  for (const auto& prompt : prompts.items) (void)co_await session.get_prompt(prompt.name, {});
}

// The calls that the suite names. They hold a null where the schema says boolean, on purpose.
Task<void> call_as_told(Session session, Json context) {
  (void)co_await session.list_tools();
  for (const auto& told : context["toolCalls"].as_array()) {
    (void)co_await call(session, std::string(told["name"].as_text()), told["arguments"], false);
  }
}

// Two questions at once, and a call beside them that nobody asks about.
Task<void> answer_questions(Session session, Json /*context*/) {
  (void)co_await session.list_tools();
  (void)co_await (call(session, "test_mrtr_echo_state", Json::object()) &&
                  call(session, "test_mrtr_unrelated", Json::object()) &&
                  call(session, "test_mrtr_no_state", Json::object()));
  (void)co_await call(session, "test_mrtr_no_result_type", Json::object());
}

// The server lists a tool and has none; the call is made because it uses the schema.
Task<void> use_schema_with_reference(Session session, Json /*context*/) {
  const auto tools = co_await session.list_tools();
  for (const auto& tool : tools.items) {
    try {
      (void)co_await call(session, tool.name, {{"id", "someone"}, {"profile", Json::object()}});
    } catch (const pb::Error& error) {
      if (error.code() != pb::Errc::rpc) throw;
    }
  }
}

Task<void> send_schema_back(Session session, Json /*context*/) {
  const auto tools = co_await session.list_tools();
  for (const auto& tool : tools.items) {
    if (tool.name == "json_schema_echo") continue;
    (void)co_await call(session, "json_schema_echo", {{"schema", tool.input_schema}});
  }
}

// A registry is made of entries alone.
Task<void> list_skills(Session session, Json /*context*/) { (void)co_await session.list_skills(); }

// Loads every skill and reads the rest of what it brings. A skill that is not what its entry says is
// left at once.
Task<void> load_skills(Session session, Json /*context*/) {
  const auto skills = co_await session.list_skills();
  for (const auto& skill : skills.items) {
    try {
      (void)co_await session.read_skill(skill);
      if (!skill.resources) continue;
      for (const auto& file : *skill.resources) (void)co_await session.read_skill(skill, file.uri);
    } catch (const pb::Error& error) {
      if (error.code() != pb::Errc::protocol) throw;
      std::fprintf(stderr, "not loaded: %s\n", error.what());
    }
  }
}

// ---- sign-in ---------------------------------------------------------------------------

namespace asio = boost::asio;

// What a browser does with http://HOST:PORT/TARGET: gets it, and tells where it is sent on to.
Task<std::string> get(std::string url) {
  const auto rest = url.substr(std::string_view("http://").size());
  const auto authority = rest.substr(0, rest.find('/'));
  const auto colon = authority.rfind(':');
  asio::ip::tcp::resolver resolver(co_await asio::this_coro::executor);
  auto places =
      co_await resolver.async_resolve(authority.substr(0, colon), authority.substr(colon + 1), asio::use_awaitable);
  asio::ip::tcp::socket socket(co_await asio::this_coro::executor);
  co_await asio::async_connect(socket, places, asio::use_awaitable);
  const auto request =
      "GET " + rest.substr(authority.size()) + " HTTP/1.1\r\nHost: " + authority + "\r\nConnection: close\r\n\r\n";
  co_await asio::async_write(socket, asio::buffer(request), asio::use_awaitable);
  std::string answer;
  boost::system::error_code end;
  co_await asio::async_read(socket, asio::dynamic_buffer(answer), asio::redirect_error(asio::use_awaitable, end));
  const auto head = answer.substr(0, answer.find("\r\n\r\n"));
  for (const std::string_view name : {"\r\nLocation: ", "\r\nlocation: "}) {
    const auto begin = head.find(name);
    if (begin == std::string::npos) continue;
    const auto value = head.substr(begin + name.size());
    co_return value.substr(0, value.find("\r\n"));
  }
  co_return std::string();
}

// The authorization servers of the suite ask nobody: they send the browser back at once.
Task<void> browse(std::string url) {
  const auto back = co_await get(std::move(url));
  if (!back.empty()) (void)co_await get(back);
}
Task<void> show(pb::SignInPage page) {
  // Beside: the page that we come back to is answered when we are signed in.
  asio::co_spawn(co_await asio::this_coro::executor, browse(page.url), asio::detached);
}

std::string own_file(const std::string& name, std::string_view text) {
  const auto path = std::filesystem::path(from_environment("HOME")) / name;
  std::ofstream(path) << text;
  return path;
}

pb::ServerConfig entry_for(std::string url, std::string_view scenario, const Json& context) {
  pb::ServerConfig entry;
  entry.name = "server";
  entry.kind = pb::ServerKind::http;
  entry.url = std::move(url);
  pb::OAuthConfig oauth;
  if (const auto id = context["client_id"].text()) oauth.client_id = std::string(*id);
  if (const auto issuer = context["issuer"].text()) oauth.issuer = std::string(*issuer);
  if (scenario.starts_with("auth/client-credentials")) oauth.grant = "client_credentials";
  if (const auto key = context["private_key_pem"].text()) oauth.private_key_file = own_file("key.pem", *key);
  if (const auto algorithm = context["signing_algorithm"].text()) oauth.private_key_algorithm = std::string(*algorithm);
  if (const auto token = context["valid_jwt"].text()) {
    oauth.grant = "workload_identity";
    oauth.token_file = own_file("workload.jwt", *token);
  }
  oauth.xaa = context["idp_id_token"].text().has_value();
  entry.oauth = std::move(oauth);
  return entry;
}

pb::SignInOptions sign_in_for(const Json& context) {
  pb::SignInOptions options;
  options.show = show;
  options.client_metadata_url = "https://conformance-test.local/client-metadata.json";
  options.for_this_run = true;
  if (const auto secret = context["client_secret"].text()) {
    options.client_secret = [text = std::string(*secret)](std::string /*server*/) -> Task<std::string> {
      co_return text;
    };
  }
  if (const auto token = context["idp_id_token"].text()) {
    options.identity_provider =
        pb::IdentityProvider{.issuer = std::string(context["idp_issuer"].as_text()),
                             .client_id = std::string(context["idp_client_id"].as_text()),
                             .token_endpoint = std::string(context["idp_token_endpoint"].as_text())};
    options.identity_token = [text = std::string(*token)]() -> Task<std::string> { co_return text; };
  }
  return options;
}

// What a program does for its user: it uses the server, and where that wants a sign-in, somebody signs in and it goes
// on. The library ends it when signing in does not help.
Task<int> use_signed_in(std::string scenario, std::string url, std::string protocol, Json context) {
  pb::HostOptions options;
  options.config = pb::LoadedConfig{};
  options.client.info = {.name = "patchbay-conformance-client", .version = "1"};
  if (!protocol.empty()) options.client.protocol = std::move(protocol);
  options.keep_connected = false;
  options.sign_in = sign_in_for(context);
  pb::Host host(std::move(options));
  host.add_server(entry_for(std::move(url), scenario, context));
  std::optional<pb::Error> failed;
  for (;;) {
    failed.reset();
    try {
      auto session = co_await host.session("server");
      (void)co_await session.list_tools();
      (void)co_await host.call("server/test-tool", Json::object());
      break;
    } catch (const pb::Error& error) {
      failed = error;
    }
    if (!failed->sign_in()) break;
    try {
      (void)co_await host.sign_in("server");
    } catch (const pb::Error& error) {
      failed = error;
      if (!error.sign_in()) break;
    }
  }
  co_await host.stop();
  if (failed) throw *failed;
  co_return 0;
}

struct Scenario {
  std::string_view name;
  Task<void> (*play)(Session, Json);
};
constexpr Scenario scenarios[] = {
    {"initialize", look_around},
    {"tools_call", add_numbers},
    {"elicitation-sep1034-client-defaults", call_every_tool},
    {"sse-retry", call_every_tool},
    {"request-metadata", look_around},
    {"sep-2322-client-request-state", answer_questions},
    {"http-standard-headers", use_everything},
    {"http-custom-headers", call_as_told},
    {"http-invalid-tool-headers", call_every_tool},
    {"json-schema-ref-no-deref", use_schema_with_reference},
    {"json-schema-2020-12-preservation", send_schema_back},
    {"sep-2640-client-no-prefetch", list_skills},
    {"sep-2640-client-verify-digest", load_skills},
    {"sep-2640-client-verify-size", load_skills},
    {"sep-2640-client-verify-frontmatter", load_skills},
};

Task<int> play(const Scenario* scenario, std::string url, std::string protocol, Json context) {
  pb::ClientOptions options;
  options.info = {.name = "patchbay-conformance-client", .version = "1"};
  options.elicit = agree;
  options.sample = make_up;
  options.roots = no_folders;
  if (!protocol.empty()) options.protocol = std::move(protocol);
  pb::HttpOptions server;
  server.url = std::move(url);
  const pb::Client client(std::move(options));
  auto session = co_await client.connect(pb::http_transport(std::move(server)));
  co_await scenario->play(session, std::move(context));
  co_await session.close();
  co_return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: patchbay-conformance-client URL\n", stderr);
    return 2;
  }
  const auto name = from_environment("MCP_CONFORMANCE_SCENARIO");
  const Scenario* chosen = nullptr;
  for (const auto& scenario : scenarios) {
    if (scenario.name == name) chosen = &scenario;
  }
  const bool signs_in = name.starts_with("auth/");
  if (!chosen && !signs_in) {
    std::fprintf(stderr, "no scenario '%s'\n", name.c_str());
    return 2;
  }
  const auto words = from_environment("MCP_CONFORMANCE_CONTEXT");
  auto context = pb::parse_json(words.empty() ? "{}" : words);
  if (!context) {
    std::fprintf(stderr, "MCP_CONFORMANCE_CONTEXT: %s\n", context.error().what());
    return 2;
  }
  const auto protocol = from_environment("MCP_CONFORMANCE_PROTOCOL_VERSION");
  if (signs_in) return pb::run(use_signed_in(name, argv[1], protocol, std::move(*context)));
  return pb::run(play(chosen, argv[1], protocol, std::move(*context)));
}
