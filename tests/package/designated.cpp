// Structs that a program fills, each with as few members as make sense: nothing that is left out is a warning with
// -Wextra, of clang or of g++. Compiled by headers.sh; what is behind COROUTINES not by g++ before 14.
#include <patchbay/blocking.h>
#include <patchbay/log.h>
#ifdef COROUTINES
#include <patchbay/host.h>
#include <patchbay/patchbay.h>
#include <patchbay/server_http.h>
#endif

namespace patchbay {
const ServerConfig remote{.name = "files", .kind = ServerKind::http, .url = "https://h/mcp"};
const ServerConfig local{.name = "files", .command = "npx", .args = {"-y", "x"}};
const OAuthConfig oauth{.client_id = "x"};
const OAuthConfig last_of_oauth{.extra = {}};
const TlsConfig tls{.ca = "x"};
const TlsConfig last_of_tls{.passphrase = "x"};
const ConfigOrigin origin{.scope = ConfigScope::user};
const LoadRequest load{.cwd = "/"};
const SettingsVariable variable{.name = "a", .value = "b"};
const ConnectorDirectory connectors{.url = "u"};
const LoadedConfig config{.servers = {}};
const LoadedConfig last_of_config{.helper_dir = "x"};
const CallOptions call{.call_id = 3};
const CallContext context{.call_id = 3};
const blocking::Options options{.state_directory = ""};
const blocking::Callbacks callbacks{.elicit_by_url = true};
const SkillFile skill_file{.path = "", .content = ""};
const ServerOptions server{.info = {.name = "a", .version = "1"}};
const HttpListening listening{.port = 1};
const CallToolResult result{.is_error = true};
const Tool tool{.name = "t"};
const LogOptions log{.threshold = LogLevel::info};
#ifdef COROUTINES
const ClientOptions client{.protocol = "legacy"};
const HostOptions host{.trust_project = true};
const PermissionOptions permission{.names = {}};
const SignInOptions sign_in{.callback_port = 1};
const HttpVerdict verdict{.kind = HttpVerdict::Kind{}};
const ServerHttpOptions http{{.port = 3}};
#endif
}  // namespace patchbay
