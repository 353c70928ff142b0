// The members of every type of the model with their wire names, once for both directions; wire_fields.h has those of
// wire_types.h.
// `V` is the Reader or the Writer of archive.h, which says what each verb means; only
// codec.cpp includes this file.
#pragma once

#include "protocol/archive.h"

namespace patchbay {

// Small vocabulary ---------------------------------------------------------------------

template <class V>
void fields(V& v, As<V, Icon>& t) {
  v.required("src", t.src);
  v.optional("mimeType", t.mime_type);
  v.optional("sizes", t.sizes);
  v.optional("theme", t.theme);
  v.extra(t.extra);
}

// A server that does not say its version is still a server.
template <class V>
void fields(V& v, As<V, Implementation>& t) {
  v.lenient("name", t.name);
  v.optional("title", t.title);
  v.lenient("version", t.version);
  v.optional("description", t.description);
  v.optional("websiteUrl", t.website_url);
  v.optional("icons", t.icons);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, Annotations>& t) {
  v.optional("audience", t.audience);
  v.optional("priority", t.priority);
  v.optional("lastModified", t.last_modified);
  v.extra(t.extra);
}

// Members of the result that carries them, not an object of their own.
template <class V>
void cache_fields(V& v, As<V, CacheHints>& t) {
  v.optional("ttlMs", t.ttl_ms);
  v.optional("cacheScope", t.scope);
}

// Content ------------------------------------------------------------------------------
// `type` is read and written by the archive, which chooses the alternative by it.

template <class V>
void fields(V& v, As<V, ResourceContents>& t) {
  v.required("uri", t.uri);
  v.optional("mimeType", t.mime_type);
  v.optional("text", t.text);
  v.optional("blob", t.blob);
  v.meta(t.meta);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, TextContent>& t) {
  v.required("text", t.text);
  v.optional("annotations", t.annotations);
  v.meta(t.meta);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, ImageContent>& t) {
  v.required("data", t.data);
  v.required("mimeType", t.mime_type);
  v.optional("annotations", t.annotations);
  v.meta(t.meta);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, AudioContent>& t) {
  v.required("data", t.data);
  v.required("mimeType", t.mime_type);
  v.optional("annotations", t.annotations);
  v.meta(t.meta);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, ResourceLink>& t) {
  v.required("uri", t.uri);
  v.required("name", t.name);
  v.optional("title", t.title);
  v.optional("description", t.description);
  v.optional("mimeType", t.mime_type);
  v.optional("size", t.size);
  v.optional("annotations", t.annotations);
  v.optional("icons", t.icons);
  v.meta(t.meta);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, EmbeddedResource>& t) {
  v.required("resource", t.resource);
  v.optional("annotations", t.annotations);
  v.meta(t.meta);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, ToolUse>& t) {
  v.required("id", t.id);
  v.required("name", t.name);
  v.object("input", t.input);
  v.meta(t.meta);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, ToolResult>& t) {
  v.required("toolUseId", t.tool_use_id);
  v.defaulted("content", t.content);
  v.any("structuredContent", t.structured_content);
  v.optional("isError", t.is_error);
  v.meta(t.meta);
  v.extra(t.extra);
}

// Tools --------------------------------------------------------------------------------

template <class V>
void fields(V& v, As<V, ToolAnnotations>& t) {
  v.optional("title", t.title);
  v.optional("readOnlyHint", t.read_only_hint);
  v.optional("destructiveHint", t.destructive_hint);
  v.optional("idempotentHint", t.idempotent_hint);
  v.optional("openWorldHint", t.open_world_hint);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, ToolExecution>& t) {
  v.optional("taskSupport", t.task_support);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, Tool>& t) {
  v.required("name", t.name);
  v.optional("title", t.title);
  v.optional("description", t.description);
  v.object("inputSchema", t.input_schema);
  v.optional("outputSchema", t.output_schema);
  v.optional("annotations", t.annotations);
  v.optional("icons", t.icons);
  v.optional("execution", t.execution);
  v.meta(t.meta);
  v.extra(t.extra);
}

// Some servers send structured content alone.
template <class V>
void fields(V& v, As<V, CallToolResult>& t) {
  v.defaulted("content", t.content);
  v.any("structuredContent", t.structured_content);
  v.optional("isError", t.is_error);
  v.meta(t.meta);
  v.extra(t.extra);
}

// Tasks --------------------------------------------------------------------------------
// With the newer era's names; the older one's wire changes them.

template <class V>
void fields(V& v, As<V, RemoteTask>& t) {
  v.required("taskId", t.id);
  v.required("status", t.status);
  v.optional("statusMessage", t.status_message);
  v.lenient("createdAt", t.created_at);
  v.lenient("lastUpdatedAt", t.last_updated_at);
  v.optional("ttlMs", t.ttl_ms);
  v.optional("pollIntervalMs", t.poll_interval_ms);
  v.meta(t.meta);
  v.extra(t.extra);
}

// Resources ----------------------------------------------------------------------------

template <class V>
void fields(V& v, As<V, Resource>& t) {
  v.required("uri", t.uri);
  v.required("name", t.name);
  v.optional("title", t.title);
  v.optional("description", t.description);
  v.optional("mimeType", t.mime_type);
  v.optional("size", t.size);
  v.optional("annotations", t.annotations);
  v.optional("icons", t.icons);
  v.meta(t.meta);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, ResourceTemplate>& t) {
  v.required("uriTemplate", t.uri_template);
  v.required("name", t.name);
  v.optional("title", t.title);
  v.optional("description", t.description);
  v.optional("mimeType", t.mime_type);
  v.optional("annotations", t.annotations);
  v.optional("icons", t.icons);
  v.meta(t.meta);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, ReadResourceResult>& t) {
  v.required("contents", t.contents);
  cache_fields(v, t.cache);
  v.meta(t.meta);
  v.extra(t.extra);
}

// Skills -------------------------------------------------------------------------------

template <class V>
void fields(V& v, As<V, SkillResource>& t) {
  v.required("uri", t.uri);
  v.required("digest", t.digest);
  v.required("size", t.size);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, Skill>& t) {
  v.required("uri", t.uri);
  v.required_object("frontmatter", t.frontmatter);
  v.list_or("dynamic", "resources", t.resources);
  v.meta(t.meta);
  v.extra(t.extra);
}

// Prompts ------------------------------------------------------------------------------

template <class V>
void fields(V& v, As<V, PromptArgument>& t) {
  v.required("name", t.name);
  v.optional("title", t.title);
  v.optional("description", t.description);
  v.optional("required", t.required);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, Prompt>& t) {
  v.required("name", t.name);
  v.optional("title", t.title);
  v.optional("description", t.description);
  v.optional("arguments", t.arguments);
  v.optional("icons", t.icons);
  v.meta(t.meta);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, PromptMessage>& t) {
  v.required("role", t.role);
  v.required("content", t.content);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, GetPromptResult>& t) {
  v.optional("description", t.description);
  v.required("messages", t.messages);
  v.meta(t.meta);
  v.extra(t.extra);
}

// Lists and completion -----------------------------------------------------------------

template <class V>
void fields(V& v, As<V, CompletionReference>& t) {
  v.required("type", t.kind);
  v.required(t.kind == CompletionReference::Kind::prompt ? "name" : "uri", t.name);
  v.optional("title", t.title);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, CompleteRequest::Argument>& t) {
  v.required("name", t.name);
  v.required("value", t.value);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, CompleteRequest>& t) {
  v.required("ref", t.ref);
  v.required("argument", t.argument);
  v.optional_group("context", [&](auto& group) { group.strict("arguments", t.context); });
  v.meta(t.meta);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, CompleteResult>& t) {
  v.group("completion", [&](auto& group) {
    group.required("values", t.values);
    group.optional("total", t.total);
    group.optional("hasMore", t.has_more);
  });
  v.meta(t.meta);
  v.extra(t.extra);
}

// Logging, progress, cancellation ------------------------------------------------------

// A message with an odd level is still worth showing.
template <class V>
void fields(V& v, As<V, LogMessage>& t) {
  v.lenient("level", t.level);
  v.optional("logger", t.logger);
  v.lenient("data", t.data);
  v.meta(t.meta);
  v.extra(t.extra);
}

// What the server asks of the client ---------------------------------------------------

template <class V>
void fields(V& v, As<V, Root>& t) {
  v.required("uri", t.uri);
  v.optional("name", t.name);
  v.meta(t.meta);
  v.extra(t.extra);
}

// The form mode has no name in the revision that introduced it, so it is not written.
template <class V>
void fields(V& v, As<V, ElicitRequest>& t) {
  v.unless_default("mode", t.mode);
  v.required("message", t.message);
  if (t.mode == ElicitRequest::Mode::form) {
    v.required_object("requestedSchema", t.requested_schema);
    v.optional("url", t.url);
  } else {
    v.required("url", t.url);
    v.optional_object("requestedSchema", t.requested_schema);
  }
  v.optional("elicitationId", t.elicitation_id);
  v.meta(t.meta);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, ElicitResult>& t) {
  v.required("action", t.action);
  v.optional("content", t.content);
  v.meta(t.meta);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, ModelHint>& t) {
  v.optional("name", t.name);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, ModelPreferences>& t) {
  v.optional("hints", t.hints);
  v.optional("costPriority", t.cost_priority);
  v.optional("speedPriority", t.speed_priority);
  v.optional("intelligencePriority", t.intelligence_priority);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, ToolChoice>& t) {
  v.optional("mode", t.mode);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, SamplingMessage>& t) {
  v.required("role", t.role);
  v.one_or_many("content", t.content);
  v.meta(t.meta);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, CreateMessageRequest>& t) {
  v.required("messages", t.messages);
  v.required("maxTokens", t.max_tokens);
  v.optional("modelPreferences", t.model_preferences);
  v.optional("systemPrompt", t.system_prompt);
  v.optional("includeContext", t.include_context);
  v.optional("temperature", t.temperature);
  v.optional("stopSequences", t.stop_sequences);
  v.optional("metadata", t.metadata);
  v.optional("tools", t.tools);
  v.optional("toolChoice", t.tool_choice);
  v.meta(t.meta);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, CreateMessageResult>& t) {
  v.required("role", t.role);
  v.one_or_many("content", t.content);
  v.required("model", t.model);
  v.optional("stopReason", t.stop_reason);
  v.meta(t.meta);
  v.extra(t.extra);
}

// Capabilities -------------------------------------------------------------------------

template <class V>
void fields(V& v, As<V, ListChangedCapability>& t) {
  v.optional("listChanged", t.list_changed);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, ResourcesCapability>& t) {
  v.optional("subscribe", t.subscribe);
  v.optional("listChanged", t.list_changed);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, SamplingCapability>& t) {
  v.capability("context", t.context);
  v.capability("tools", t.tools);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, ElicitationCapability>& t) {
  v.capability("form", t.form);
  v.capability("url", t.url);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, ClientCapabilities>& t) {
  v.capability("roots", t.roots);
  v.capability("sampling", t.sampling);
  v.capability("elicitation", t.elicitation);
  v.capability("tasks", t.tasks);
  v.optional("extensions", t.extensions);
  v.optional("experimental", t.experimental);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, ServerCapabilities>& t) {
  v.capability("logging", t.logging);
  v.capability("completions", t.completions);
  v.capability("prompts", t.prompts);
  v.capability("resources", t.resources);
  v.capability("tools", t.tools);
  v.capability("tasks", t.tasks);
  v.optional("extensions", t.extensions);
  v.optional("experimental", t.experimental);
  v.extra(t.extra);
}

// Handshake and subscriptions ----------------------------------------------------------

template <class V>
void fields(V& v, As<V, InitializeRequest>& t) {
  v.required("protocolVersion", t.protocol_version);
  v.lenient("capabilities", t.capabilities);
  v.lenient("clientInfo", t.client_info);
  v.meta(t.meta);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, InitializeResult>& t) {
  v.required("protocolVersion", t.protocol_version);
  v.lenient("capabilities", t.capabilities);
  v.lenient("serverInfo", t.server_info);
  v.optional("instructions", t.instructions);
  v.meta(t.meta);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, SubscriptionFilter>& t) {
  v.optional("toolsListChanged", t.tools_list_changed);
  v.optional("promptsListChanged", t.prompts_list_changed);
  v.optional("resourcesListChanged", t.resources_list_changed);
  v.optional("resourceSubscriptions", t.resource_subscriptions);
  v.optional("taskIds", t.task_ids);
  v.extra(t.extra);
}

}  // namespace patchbay
