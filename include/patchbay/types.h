// The MCP model: what servers and clients tell each other, whatever revision of the
// protocol carries it. Plain values with the specification's concepts and no behaviour;
// how each is spelled on the wire is known to src/protocol alone.
//
// In every struct an optional member that is empty was absent (or null) on the wire.
// `meta` is the peer's `_meta` object. `extra` holds members this build does not know,
// and optional ones whose type was wrong: both are null when there are none, and are
// written back as they came. Text here is exactly what the peer sent; clean it before a
// terminal or a model sees it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <patchbay/json.h>

namespace patchbay {

// Small vocabulary ---------------------------------------------------------------------

enum class Role : std::uint8_t { user, assistant };

// In order of severity.
enum class LoggingLevel : std::uint8_t { debug, info, notice, warning, error, critical, alert, emergency };

// The names used on the wire.
std::string_view to_string(Role role) noexcept;
std::string_view to_string(LoggingLevel level) noexcept;
std::optional<LoggingLevel> parse_logging_level(std::string_view name) noexcept;

struct Icon {
  std::string src = {};  // an https: or data: URI
  std::optional<std::string> mime_type = {};
  std::vector<std::string> sizes = {};    // "48x48", "any"
  std::optional<std::string> theme = {};  // "light" or "dark"
  Json extra = {};
  bool operator==(const Icon&) const = default;
};

// Who is at the other end. For display and logs only, never for decisions.
struct Implementation {
  std::string name = {};
  std::optional<std::string> title = {};
  std::string version = {};
  std::optional<std::string> description = {};
  std::optional<std::string> website_url = {};
  std::vector<Icon> icons = {};
  Json extra = {};
  bool operator==(const Implementation&) const = default;
};

struct Annotations {
  std::vector<Role> audience = {};
  std::optional<double> priority = {};  // 0 (optional) to 1 (required)
  std::optional<std::string> last_modified = {};
  Json extra = {};
  bool operator==(const Annotations&) const = default;
};

// An item of a list that could not be read, so that one bad item does not hide the rest.
struct DecodeProblem {
  std::string path = {};    // "tools[3].name"
  std::string reason = {};  // "expected a string, found null"
  bool operator==(const DecodeProblem&) const = default;
};

// How long an answer stays fresh, and who may share it. Older servers do not say.
enum class CacheScope : std::uint8_t { shared, personal };  // "public", "private" on the wire
struct CacheHints {
  std::optional<std::int64_t> ttl_ms = {};
  std::optional<CacheScope> scope = {};
  bool operator==(const CacheHints&) const = default;
};

// One page of a list. An empty cursor is a valid cursor.
template <class T>
struct Page {
  std::vector<T> items = {};
  std::optional<std::string> next_cursor = {};
  CacheHints cache = {};
  std::vector<DecodeProblem> problems = {};  // items left out
  Json meta = {};
  Json extra = {};
  bool operator==(const Page&) const = default;
};

// Content ------------------------------------------------------------------------------

struct ResourceContents {
  std::string uri = {};
  std::optional<std::string> mime_type = {};
  std::optional<std::string> text = {};  // either text
  std::optional<std::string> blob = {};  // or base64
  Json meta = {};
  Json extra = {};
  bool operator==(const ResourceContents&) const = default;
};

struct TextContent {
  std::string text = {};
  std::optional<Annotations> annotations = {};
  Json meta = {};
  Json extra = {};
  bool operator==(const TextContent&) const = default;
};

struct ImageContent {
  std::string data = {};  // base64
  std::string mime_type = {};
  std::optional<Annotations> annotations = {};
  Json meta = {};
  Json extra = {};
  bool operator==(const ImageContent&) const = default;
};

struct AudioContent {
  std::string data = {};  // base64
  std::string mime_type = {};
  std::optional<Annotations> annotations = {};
  Json meta = {};
  Json extra = {};
  bool operator==(const AudioContent&) const = default;
};

// A resource the reader may fetch; it need not appear in the server's list.
struct ResourceLink {
  std::string uri = {};
  std::string name = {};
  std::optional<std::string> title = {};
  std::optional<std::string> description = {};
  std::optional<std::string> mime_type = {};
  std::optional<std::int64_t> size = {};  // bytes
  std::optional<Annotations> annotations = {};
  std::vector<Icon> icons = {};
  Json meta = {};
  Json extra = {};
  bool operator==(const ResourceLink&) const = default;
};

struct EmbeddedResource {
  ResourceContents resource = {};
  std::optional<Annotations> annotations = {};
  Json meta = {};
  Json extra = {};
  bool operator==(const EmbeddedResource&) const = default;
};

// In sampling only: the model wants a tool called.
struct ToolUse {
  std::string id = {};
  std::string name = {};
  Json input = Json::object();
  Json meta = {};
  Json extra = {};
  bool operator==(const ToolUse&) const = default;
};

// A block of a type this build does not know, as it came.
struct UnknownContent {
  std::string type = {};
  Json raw = {};
  bool operator==(const UnknownContent&) const = default;
};

struct ToolResult;

using Content = std::variant<TextContent, ImageContent, AudioContent, ResourceLink, EmbeddedResource, ToolUse,
                             ToolResult, UnknownContent>;

// In sampling only: what the tool asked for by a ToolUse answered.
struct ToolResult {
  std::string tool_use_id = {};
  std::vector<Content> content = {};
  std::optional<Json> structured_content = {};  // absent differs from null
  bool is_error = false;
  Json meta = {};
  Json extra = {};
  bool operator==(const ToolResult&) const;
};

// Names the alternative a Content holds, in the order of the variant.
enum class ContentKind : std::uint8_t { text, image, audio, resource_link, resource, tool_use, tool_result, unknown };
inline ContentKind kind_of(const Content& content) noexcept { return static_cast<ContentKind>(content.index()); }

// Tools --------------------------------------------------------------------------------

// Claims of an untrusted server. A hint that was not sent is empty; the defaults of the
// specification are read-only no, destructive yes, idempotent no, open world yes.
struct ToolAnnotations {
  std::optional<std::string> title = {};
  std::optional<bool> read_only_hint = {};
  std::optional<bool> destructive_hint = {};
  std::optional<bool> idempotent_hint = {};
  std::optional<bool> open_world_hint = {};
  Json extra = {};
  bool operator==(const ToolAnnotations&) const = default;
};

enum class TaskSupport : std::uint8_t { forbidden, optional, required };

struct ToolExecution {
  std::optional<TaskSupport> task_support = {};
  Json extra = {};
  bool operator==(const ToolExecution&) const = default;
};

struct Tool {
  std::string name = {};
  std::optional<std::string> title = {};
  std::optional<std::string> description = {};
  Json input_schema = Json{{"type", "object"}};  // as sent; this one when none was sent
  std::optional<Json> output_schema = {};        // as sent
  std::optional<ToolAnnotations> annotations = {};
  std::vector<Icon> icons = {};
  std::optional<ToolExecution> execution = {};
  Json meta = {};
  Json extra = {};
  bool operator==(const Tool&) const = default;
};

// Whether its server says that it only reads, so that such calls may run at the same time. A claim of the server.
inline bool only_reads(const Tool& tool) noexcept {
  return tool.annotations && tool.annotations->read_only_hint.value_or(false);
}

// An argument that was sent as another JSON type than it was given: as the tool's schema wants it.
struct CoercedArgument {
  std::string path = {};  // JSON pointer into the arguments, "/limit"
  std::string from = {};  // "string"
  std::string to = {};    // "integer", "number", "boolean", "null", "array", "object"
  bool operator==(const CoercedArgument&) const = default;
};

// A tool that failed is a value with is_error set, not an Error.
struct CallToolResult {
  std::vector<Content> content = {};
  std::optional<Json> structured_content = {};  // absent differs from null
  bool is_error = false;
  Json meta = {};
  Json extra = {};
  std::vector<CoercedArgument> coerced = {};  // by Host::call; never on the wire
  bool operator==(const CallToolResult&) const = default;
};

// Tasks --------------------------------------------------------------------------------

enum class TaskStatus : std::uint8_t { working, input_required, completed, failed, cancelled };
std::string_view to_string(TaskStatus status) noexcept;
// Nothing changes after that.
constexpr bool is_final(TaskStatus status) noexcept { return status >= TaskStatus::completed; }

// A call that goes on at the other side after it was answered with this. Its result is
// fetched by the id, which is all that is needed: it may be kept beyond a connection.
struct RemoteTask {
  std::string id = {};
  TaskStatus status = TaskStatus::working;
  std::optional<std::string> status_message = {};  // for a person
  std::string created_at = {};                     // ISO 8601
  std::string last_updated_at = {};
  std::optional<std::int64_t> ttl_ms = {};  // kept for so long from its creation; empty: without limit
  std::optional<std::int64_t> poll_interval_ms = {};
  Json meta = {};
  Json extra = {};
  bool operator==(const RemoteTask&) const = default;
};

// Resources ----------------------------------------------------------------------------

struct Resource {
  std::string uri = {};
  std::string name = {};
  std::optional<std::string> title = {};
  std::optional<std::string> description = {};
  std::optional<std::string> mime_type = {};
  std::optional<std::int64_t> size = {};  // bytes
  std::optional<Annotations> annotations = {};
  std::vector<Icon> icons = {};
  Json meta = {};
  Json extra = {};
  bool operator==(const Resource&) const = default;
};

struct ResourceTemplate {
  std::string uri_template = {};  // RFC 6570
  std::string name = {};
  std::optional<std::string> title = {};
  std::optional<std::string> description = {};
  std::optional<std::string> mime_type = {};
  std::optional<Annotations> annotations = {};
  std::vector<Icon> icons = {};
  Json meta = {};
  Json extra = {};
  bool operator==(const ResourceTemplate&) const = default;
};

struct ReadResourceResult {
  std::vector<ResourceContents> contents = {};
  CacheHints cache = {};
  Json meta = {};
  Json extra = {};
  bool operator==(const ReadResourceResult&) const = default;
};

// Skills -------------------------------------------------------------------------------
// A skill is a directory of resources with instructions for a model, an extension of the
// protocol. Its text is as untrusted as anything else a server says.

// One file of a skill and how to recognise its content.
struct SkillResource {
  std::string uri = {};
  std::string digest = {};  // "sha256:" and 64 hexadecimal digits in lower case
  std::int64_t size = 0;    // bytes
  Json extra = {};
  bool operator==(const SkillResource&) const = default;
};

// The entry of one skill. Who approves a skill approves this: every file with its digest. It
// belongs to the server it came from; another server's skill of the same URI is another skill.
struct Skill {
  std::string uri = {};   // of its SKILL.md
  Json frontmatter = {};  // the header of SKILL.md, an object; `name` and `description` are texts in it
  // All its files, SKILL.md among them; none when the server makes them up as it goes
  // ("dynamic"), so that their content cannot be verified.
  std::optional<std::vector<SkillResource>> resources = {};
  Json meta = {};
  Json extra = {};
  bool operator==(const Skill&) const = default;
};

// Prompts ------------------------------------------------------------------------------

struct PromptArgument {
  std::string name = {};
  std::optional<std::string> title = {};
  std::optional<std::string> description = {};
  std::optional<bool> required = {};
  Json extra = {};
  bool operator==(const PromptArgument&) const = default;
};

struct Prompt {
  std::string name = {};
  std::optional<std::string> title = {};
  std::optional<std::string> description = {};
  std::vector<PromptArgument> arguments = {};
  std::vector<Icon> icons = {};
  Json meta = {};
  Json extra = {};
  bool operator==(const Prompt&) const = default;
};

struct PromptMessage {
  Role role = Role::user;
  Content content = {};
  Json extra = {};
  bool operator==(const PromptMessage&) const = default;
};

struct GetPromptResult {
  std::optional<std::string> description = {};
  std::vector<PromptMessage> messages = {};
  Json meta = {};
  Json extra = {};
  bool operator==(const GetPromptResult&) const = default;
};

// Completion --------------------------------------------------------------------------

struct CompletionReference {
  enum class Kind : std::uint8_t { prompt, resource };
  Kind kind = Kind::prompt;
  std::string name = {};                  // the prompt's name, or the resource's URI or template
  std::optional<std::string> title = {};  // of a prompt
  Json extra = {};
  bool operator==(const CompletionReference&) const = default;
};

struct CompleteRequest {
  struct Argument {
    std::string name = {};
    std::string value = {};
    Json extra = {};
    bool operator==(const Argument&) const = default;
  };
  CompletionReference ref = {};
  Argument argument = {};
  std::map<std::string, std::string> context = {};  // arguments already chosen
  Json meta = {};
  Json extra = {};
  bool operator==(const CompleteRequest&) const = default;
};

struct CompleteResult {
  std::vector<std::string> values = {};  // at most 100
  std::optional<std::int64_t> total = {};
  std::optional<bool> has_more = {};
  Json meta = {};
  Json extra = {};
  bool operator==(const CompleteResult&) const = default;
};

// Logging and progress ----------------------------------------------------------------

struct LogMessage {
  LoggingLevel level = LoggingLevel::info;
  std::optional<std::string> logger = {};
  Json data = {};
  Json meta = {};
  Json extra = {};
  bool operator==(const LogMessage&) const = default;
};

struct Progress {
  double progress = 0;
  std::optional<double> total = {};
  std::optional<std::string> message = {};
  bool operator==(const Progress&) const = default;
};

// Capabilities -------------------------------------------------------------------------
// A capability is declared when its optional has a value; an optional<Json> holds the
// settings object that was declared, usually {}.

struct ListChangedCapability {
  bool list_changed = false;
  Json extra = {};
  bool operator==(const ListChangedCapability&) const = default;
};

struct ResourcesCapability {
  bool subscribe = false;
  bool list_changed = false;
  Json extra = {};
  bool operator==(const ResourcesCapability&) const = default;
};

struct SamplingCapability {
  std::optional<Json> context = {};
  std::optional<Json> tools = {};
  Json extra = {};
  bool operator==(const SamplingCapability&) const = default;
};

// Declared without either mode it means form; see supports_form() in protocol/capabilities.h.
struct ElicitationCapability {
  std::optional<Json> form = {};
  std::optional<Json> url = {};
  Json extra = {};
  bool operator==(const ElicitationCapability&) const = default;
};

struct ClientCapabilities {
  std::optional<ListChangedCapability> roots = {};
  std::optional<SamplingCapability> sampling = {};
  std::optional<ElicitationCapability> elicitation = {};
  std::map<std::string, Json> extensions = {};
  std::map<std::string, Json> experimental = {};
  std::optional<Json> tasks = {};
  Json extra = {};
  bool operator==(const ClientCapabilities&) const = default;
};

struct ServerCapabilities {
  std::optional<Json> logging = {};
  std::optional<Json> completions = {};
  std::optional<ListChangedCapability> prompts = {};
  std::optional<ResourcesCapability> resources = {};
  std::optional<ListChangedCapability> tools = {};
  std::map<std::string, Json> extensions = {};
  std::map<std::string, Json> experimental = {};
  std::optional<Json> tasks = {};
  Json extra = {};
  bool operator==(const ServerCapabilities&) const = default;
};

// The protocol changed its shape once; which of the two a server speaks. For display.
enum class Era : std::uint8_t { legacy, modern };
std::string_view to_string(Era era) noexcept;

// What a connected server told about itself.
struct ServerDescription {
  Implementation info = {};  // its name is empty when the server did not say
  ServerCapabilities capabilities = {};
  std::optional<std::string> instructions = {};
  std::string protocol_version = {};                 // in use on this connection
  std::vector<std::string> supported_versions = {};  // as far as the server said
  CacheHints cache = {};
  bool operator==(const ServerDescription&) const = default;
};

// Changes ------------------------------------------------------------------------------

// What to hear about.
struct SubscriptionFilter {
  bool tools_list_changed = false;
  bool prompts_list_changed = false;
  bool resources_list_changed = false;
  std::vector<std::string> resource_subscriptions = {};  // URIs
  std::vector<std::string> task_ids = {};
  Json extra = {};
  bool operator==(const SubscriptionFilter&) const = default;
};

// A list is out of date, or one resource or task is.
struct Change {
  enum class Kind : std::uint8_t { tools, prompts, resources, resource_updated, roots, task };
  Kind kind = Kind::tools;
  std::string uri = {};  // of the updated resource, or the id of the task; else empty
  bool operator==(const Change&) const = default;
};

// Text for a reader --------------------------------------------------------------------

// One block in the form a reader of plain text gets: text as it is, the text of an
// embedded resource, else a one-line marker such as "[image image/png, 12 KB]".
std::string text_of(const Content& content);
// The blocks joined by newlines; without any, the structured content as JSON, or
// "(no output)".
std::string text_of(const CallToolResult& result);

}  // namespace patchbay
