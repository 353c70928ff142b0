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
inline const ServerConfig remote{.name = "files", .kind = ServerKind::http, .url = "https://h/mcp"};
inline const ServerConfig local{.name = "files", .command = "npx", .args = {"-y", "x"}};
inline const OAuthConfig oauth{.client_id = "x"};
inline const OAuthConfig last_of_oauth{.extra = {}};
inline const TlsConfig tls{.ca = "x"};
inline const TlsConfig last_of_tls{.passphrase = "x"};
inline const ConfigOrigin origin{.scope = ConfigScope::user};
inline const LoadRequest load{.cwd = "/"};
inline const SettingsVariable variable{.name = "a", .value = "b"};
inline const ConnectorDirectory connectors{.url = "u"};
inline const LoadedConfig config{.servers = {}};
inline const LoadedConfig last_of_config{.helper_dir = "x"};
inline const CallOptions call{.call_id = 3};
inline const CallContext context{.call_id = 3};
inline const blocking::Options options{.state_directory = ""};
inline const blocking::Callbacks callbacks{.elicit_by_url = true};
inline const SkillFile skill_file{.path = "", .content = ""};
inline const ServerOptions server{.info = {.name = "a", .version = "1"}};
inline const HttpListening listening{.port = 1};
inline const CallToolResult result{.is_error = true};
inline const Tool tool{.name = "t"};
inline const LogOptions log{.threshold = LogLevel::info};
#ifdef COROUTINES
inline const ClientOptions client{.protocol = "legacy"};
inline const HostOptions host{.trust_project = true};
inline const PermissionOptions permission{.names = {}};
inline const SignInOptions sign_in{.callback_port = 1};
inline const HttpVerdict verdict{.kind = HttpVerdict::Kind{}};
inline const ServerHttpOptions http{{.port = 3}};
#endif
}  // namespace patchbay
