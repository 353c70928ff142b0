#include "protocol/codec.h"

#include <utility>

#include "protocol/fields.h"
#include "protocol/wire_fields.h"

namespace patchbay {

namespace {

struct ContentRule {
  ContentKind kind;
  std::string_view type;
  // Members without which the block is of no use, and what they must be.
  std::array<std::pair<std::string_view, Json::Kind>, 2> needs;
};

constexpr std::pair<std::string_view, Json::Kind> nothing{{}, Json::Kind::null};

constexpr std::array<ContentRule, 7> content_rules{{
    {ContentKind::text, "text", {{{"text", Json::Kind::string}, nothing}}},
    {ContentKind::image, "image", {{{"data", Json::Kind::string}, {"mimeType", Json::Kind::string}}}},
    {ContentKind::audio, "audio", {{{"data", Json::Kind::string}, {"mimeType", Json::Kind::string}}}},
    {ContentKind::resource_link, "resource_link", {{{"uri", Json::Kind::string}, {"name", Json::Kind::string}}}},
    {ContentKind::resource, "resource", {{{"resource", Json::Kind::object}, nothing}}},
    {ContentKind::tool_use, "tool_use", {{{"id", Json::Kind::string}, {"name", Json::Kind::string}}}},
    {ContentKind::tool_result, "tool_result", {{{"toolUseId", Json::Kind::string}, nothing}}},
}};

// Members that may be absent or null, but must be of this kind when they are there.
bool null_or(const Json& value, Json::Kind kind) noexcept { return value.is_null() || value.kind() == kind; }

// The alternative a block becomes: its type's when everything required is there.
ContentKind classify_content(const Json& block) noexcept {
  const auto type = block["type"].text();
  if (!type) return ContentKind::unknown;
  for (const ContentRule& rule : content_rules) {
    if (rule.type != *type) continue;
    for (const auto& [key, kind] : rule.needs) {
      if (!key.empty() && block[key].kind() != kind) return ContentKind::unknown;
    }
    const bool fits = (rule.kind != ContentKind::resource || block["resource"]["uri"].is_string()) &&
                      (rule.kind != ContentKind::tool_use || null_or(block["input"], Json::Kind::object)) &&
                      (rule.kind != ContentKind::tool_result || null_or(block["content"], Json::Kind::array));
    return fits ? rule.kind : ContentKind::unknown;
  }
  return ContentKind::unknown;
}

std::string_view content_type(ContentKind kind) noexcept {
  for (const ContentRule& rule : content_rules) {
    if (rule.kind == kind) return rule.type;
  }
  return {};
}

template <class T>
void read_block(Json& from, Content& out, const JsonPath& path) {
  from.as_object().erase("type");
  DecodeProblem unused;  // classify_content has seen that everything required is there
  read_object(from, out.emplace<T>(), path, unused);
}

}  // namespace

void read_content(Json& from, Content& out, const JsonPath& path) {
  switch (classify_content(from)) {
    case ContentKind::text:
      return read_block<TextContent>(from, out, path);
    case ContentKind::image:
      return read_block<ImageContent>(from, out, path);
    case ContentKind::audio:
      return read_block<AudioContent>(from, out, path);
    case ContentKind::resource_link:
      return read_block<ResourceLink>(from, out, path);
    case ContentKind::resource:
      return read_block<EmbeddedResource>(from, out, path);
    case ContentKind::tool_use:
      return read_block<ToolUse>(from, out, path);
    case ContentKind::tool_result:
      return read_block<ToolResult>(from, out, path);
    case ContentKind::unknown:
      break;
  }
  const auto type = std::as_const(from)["type"].text();
  UnknownContent unknown{std::string(type.value_or("")), {}};
  unknown.raw = std::move(from);
  out = std::move(unknown);
}

Json write_content(const Content& content) {
  return std::visit(
      [&]<class T>(const T& block) -> Json {
        if constexpr (std::same_as<T, UnknownContent>) {
          return block.raw;
        } else {
          Writer writer;
          writer.put("type", content_type(kind_of(content)));
          fields(writer, block);
          return std::move(writer).take();
        }
      },
      content);
}

template <class T>
Result<T> decode(Json value, std::string_view path) {
  T out{};
  DecodeProblem problem;
  if (read(value, out, JsonPath{nullptr, path, {}}, problem)) return out;
  if (problem.path.empty()) return fail(Errc::protocol, std::move(problem.reason));
  return fail(Errc::protocol, problem.path + ": " + problem.reason);
}

template <class T>
Json encode(const T& value) {
  return write(value);
}

template <class T>
DecodedList<T> decode_list(Json array, std::string_view path) {
  DecodedList<T> out;
  if (array.is_null()) return out;
  const JsonPath root{nullptr, path, {}};
  Json::Array* items = array.if_array();
  if (items == nullptr) {
    wrong_kind("an array", array, root, out.problems.emplace_back());
    return out;
  }
  out.items.reserve(items->size());
  for (std::size_t i = 0; i < items->size(); ++i) {
    T item{};
    DecodeProblem problem;
    if (read((*items)[i], item, JsonPath{&root, {}, i}, problem)) {
      out.items.push_back(std::move(item));
    } else {
      out.problems.push_back(std::move(problem));
    }
  }
  return out;
}

template <class T>
Result<Page<T>> decode_page(Json result, std::string_view key) {
  Json::Object* object = result.if_object();
  if (object == nullptr) {
    return fail(Errc::protocol, fmt::format("expected an object, found {}", to_string(result.kind())));
  }
  Json* list = object->find(key);
  if (list == nullptr || !(list->is_array() || list->is_null())) {
    return fail(Errc::protocol, fmt::format("{}: expected an array, found {}", key,
                                            list == nullptr ? "nothing" : to_string(list->kind())));
  }
  auto [items, problems] = decode_list<T>(std::move(*list), key);
  object->erase(key);

  Page<T> page;
  page.items = std::move(items);
  page.problems = std::move(problems);
  const JsonPath root;
  DecodeProblem problem;
  Reader reader(*object, root, problem);
  reader.optional("nextCursor", page.next_cursor);
  cache_fields(reader, page.cache);
  reader.meta(page.meta);
  reader.extra(page.extra);
  return page;
}

template <class T>
Json encode_page(const Page<T>& page, std::string_view key) {
  Writer writer;
  writer.put(key, write(page.items));
  writer.optional("nextCursor", page.next_cursor);
  cache_fields(writer, page.cache);
  writer.meta(page.meta);
  writer.extra(page.extra);
  return std::move(writer).take();
}

#define PATCHBAY_CODEC(type)                                  \
  template Result<type> decode<type>(Json, std::string_view); \
  template Json encode<type>(const type&);

#define PATCHBAY_LIST_CODEC(type)                                        \
  PATCHBAY_CODEC(type)                                                   \
  template DecodedList<type> decode_list<type>(Json, std::string_view);  \
  template Result<Page<type>> decode_page<type>(Json, std::string_view); \
  template Json encode_page<type>(const Page<type>&, std::string_view);

PATCHBAY_LIST_CODEC(Tool)
PATCHBAY_LIST_CODEC(Resource)
PATCHBAY_LIST_CODEC(ResourceTemplate)
PATCHBAY_LIST_CODEC(Prompt)
PATCHBAY_LIST_CODEC(Skill)

PATCHBAY_CODEC(Annotations)
PATCHBAY_CODEC(CallToolRequest)
PATCHBAY_CODEC(CallToolResult)
PATCHBAY_CODEC(CancelledNotification)
PATCHBAY_CODEC(ClientCapabilities)
PATCHBAY_CODEC(CompleteRequest)
PATCHBAY_CODEC(CompleteResult)
PATCHBAY_CODEC(CompletionReference)
PATCHBAY_CODEC(Content)
PATCHBAY_CODEC(CreateMessageRequest)
PATCHBAY_CODEC(CreateMessageResult)
PATCHBAY_CODEC(ElicitRequest)
PATCHBAY_CODEC(ElicitResult)
PATCHBAY_CODEC(ElicitationComplete)
PATCHBAY_CODEC(GetPromptRequest)
PATCHBAY_CODEC(GetPromptResult)
PATCHBAY_CODEC(Icon)
PATCHBAY_CODEC(Implementation)
PATCHBAY_CODEC(InitializeRequest)
PATCHBAY_CODEC(InitializeResult)
PATCHBAY_CODEC(ListRequest)
PATCHBAY_CODEC(ListRootsRequest)
PATCHBAY_CODEC(ListRootsResult)
PATCHBAY_CODEC(LogMessage)
PATCHBAY_CODEC(ModelPreferences)
PATCHBAY_CODEC(ProgressNotification)
PATCHBAY_CODEC(PromptMessage)
PATCHBAY_CODEC(ReadResourceRequest)
PATCHBAY_CODEC(ReadResourceResult)
PATCHBAY_LIST_CODEC(RemoteTask)
PATCHBAY_CODEC(ResourceContents)
PATCHBAY_CODEC(ResourceUri)
PATCHBAY_CODEC(Root)
PATCHBAY_CODEC(SamplingMessage)
PATCHBAY_CODEC(ServerCapabilities)
PATCHBAY_CODEC(SetLevelRequest)
PATCHBAY_CODEC(SubscriptionFilter)
PATCHBAY_CODEC(ToolAnnotations)

#undef PATCHBAY_LIST_CODEC
#undef PATCHBAY_CODEC

}  // namespace patchbay
