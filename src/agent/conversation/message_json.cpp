#include "agent/conversation/message_json.h"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "text/clean_text.h"

namespace patchbay {
namespace {

constexpr std::size_t longest_quoted = 60;

// --- writing

Json texts(const std::vector<std::string>& all) {
  auto list = Json::array();
  for (const auto& text : all) list.push_back(text);
  return list;
}

Json written(const ModelText& text) { return Json{{"type", "text"}, {"text", text.text}}; }

Json written(const ModelImage& image) {
  return Json{{"type", "image"},
              {"data", image.data},
              {"mimeType", image.mime_type},
              {"width", image.width},
              {"height", image.height}};
}

Json written(const ModelToolUse& use) {
  Json json{{"type", "tool_use"},
            {"id", use.id},
            {"name", use.name},
            {"input", use.input.is_object() ? use.input : Json::object()}};
  if (!use.broken.empty()) json["broken"] = use.broken;
  return json;
}

Json written(const ModelToolOutcome& outcome) {
  auto blocks = Json::array();
  for (const auto& block : outcome.blocks) {
    blocks.push_back(std::visit([](const auto& b) { return written(b); }, block));
  }
  Json json{{"type", "tool_outcome"}, {"id", outcome.id}, {"name", outcome.name}, {"blocks", std::move(blocks)}};
  if (outcome.is_error) json["isError"] = true;
  if (!outcome.found.empty()) json["found"] = texts(outcome.found);
  return json;
}

Json written(const ProviderBlock& block) {
  return Json{{"type", "provider"}, {"provider", block.provider}, {"value", block.value}};
}

Json written(const ModelTool& tool) {
  Json json{{"name", tool.name}, {"description", tool.description}};
  if (!tool.catalog_name.empty()) json["catalogName"] = tool.catalog_name;
  if (tool.input_schema) json["inputSchema"] = *tool.input_schema;
  if (!tool.changes.empty()) json["changes"] = texts(tool.changes);
  return json;
}

Json written(const ModelNews& news) {
  Json json{{"type", "news"}, {"text", news.text}};
  if (!news.added.empty()) {
    auto added = Json::array();
    for (const auto& tool : news.added) added.push_back(written(tool));
    json["added"] = std::move(added);
  }
  if (!news.removed.empty()) json["removed"] = texts(news.removed);
  return json;
}

// --- reading

// A value and where it is, which is written out only when something is wrong. Reading throws what is wrong.
struct At {
  const Json& json;
  const At* within = nullptr;
  std::string_view name = {};
  std::size_t item = 0;

  At member(std::string_view key) const { return {json[key], this, key, 0}; }

  std::string path() const {
    const auto before = within ? within->path() : std::string();
    if (name.empty()) return within ? fmt::format("{}[{}]", before, item) : before;
    return before.empty() ? std::string(name) : fmt::format("{}.{}", before, name);
  }
  [[noreturn]] void wrong(std::string_view expected) const {
    const auto where = path();
    throw Error(Errc::config, fmt::format("{}{}expected {}, found {}", where, where.empty() ? "" : ": ", expected,
                                          to_string(json.kind())));
  }
  std::string text() const {
    if (const auto value = json.text()) return std::string(*value);
    wrong("a text");
  }
  std::string text_if_any() const { return json.is_null() ? std::string() : text(); }
  bool flag_if_any() const {
    if (json.is_null()) return false;
    if (const auto value = json.to_bool()) return *value;
    wrong("true or false");
  }
  std::uint64_t number_if_any(std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) const {
    if (json.is_null()) return 0;
    if (const auto value = json.to_uint(); value && *value <= most) return *value;
    wrong("a number in its range");
  }
  template <class Read>
  auto list(Read read) const {
    if (!json.is_array()) wrong("a list");
    std::vector<decltype(read(*this))> all;
    all.reserve(json.size());
    for (std::size_t i = 0; i < json.size(); ++i) all.push_back(read(At{json.items()[i], this, {}, i}));
    return all;
  }
  template <class Read>
  auto list_if_any(Read read) const {
    return json.is_null() ? std::vector<decltype(read(*this))>() : list(read);
  }
};

std::string read_text(const At& at) { return at.text(); }

ModelText read_text_part(const At& at) { return {at.member("text").text()}; }

ModelImage read_image(const At& at) {
  constexpr auto most = std::numeric_limits<std::uint32_t>::max();
  return {.data = at.member("data").text(),
          .mime_type = at.member("mimeType").text(),
          .width = static_cast<std::uint32_t>(at.member("width").number_if_any(most)),
          .height = static_cast<std::uint32_t>(at.member("height").number_if_any(most))};
}

[[noreturn]] void not_known(const At& at, std::string_view type) {
  throw Error(Errc::config, fmt::format("{}: a part of the type {:?}, which this version does not know: a newer one "
                                        "has written it",
                                        at.path(), clean_excerpt(type, longest_quoted)));
}

ModelBlock read_block(const At& at) {
  const auto type = at.member("type").text();
  if (type == "text") return read_text_part(at);
  if (type == "image") return read_image(at);
  not_known(at, type);
}

ModelToolUse read_use(const At& at) {
  const auto input = at.member("input");
  if (!input.json.is_object()) input.wrong("an object");
  return {.id = at.member("id").text(),
          .name = at.member("name").text(),
          .input = input.json,
          .broken = at.member("broken").text_if_any()};
}

ModelToolOutcome read_outcome(const At& at) {
  return {.id = at.member("id").text(),
          .name = at.member("name").text(),
          .blocks = at.member("blocks").list(read_block),
          .is_error = at.member("isError").flag_if_any(),
          .found = at.member("found").list_if_any(read_text)};
}

ModelTool read_tool(const At& at) {
  const auto schema = at.member("inputSchema");
  if (!schema.json.is_null() && !schema.json.is_object()) schema.wrong("an object");
  return {.name = at.member("name").text(),
          .catalog_name = at.member("catalogName").text_if_any(),
          .description = at.member("description").text(),
          .input_schema = std::make_shared<const Json>(schema.json.is_null() ? Json::object() : schema.json),
          .changes = at.member("changes").list_if_any(read_text)};
}

ModelNews read_news(const At& at) {
  return {.text = at.member("text").text(),
          .added = at.member("added").list_if_any(read_tool),
          .removed = at.member("removed").list_if_any(read_text)};
}

ModelPart read_part(const At& at) {
  const auto type = at.member("type").text();
  if (type == "text") return read_text_part(at);
  if (type == "image") return read_image(at);
  if (type == "tool_use") return read_use(at);
  if (type == "tool_outcome") return read_outcome(at);
  if (type == "provider") return ProviderBlock{at.member("provider").text(), at.member("value").json};
  if (type == "news") return read_news(at);
  not_known(at, type);
}

}  // namespace

Json to_json(const ModelMessage& message) {
  auto parts = Json::array();
  for (const auto& part : message.parts) {
    parts.push_back(std::visit([](const auto& p) { return written(p); }, part));
  }
  return Json{{"role", to_string(message.role)}, {"parts", std::move(parts)}};
}

Json to_json(const ModelUsage& usage) {
  Json json{{"input", usage.input},
            {"cacheRead", usage.cache_read},
            {"cacheWritten", usage.cache_written},
            {"output", usage.output}};
  if (!usage.cache_miss.empty()) json["cacheMiss"] = usage.cache_miss;
  return json;
}

Result<ModelMessage> read_message(const Json& json) {
  try {
    const At at{json};
    if (!json.is_object()) at.wrong("an object");
    ModelMessage message;
    const auto role = at.member("role");
    const auto word = role.text();
    if (word == to_string(Role::assistant)) {
      message.role = Role::assistant;
    } else if (word != to_string(Role::user)) {
      role.wrong("a role");
    }
    message.parts = at.member("parts").list(read_part);
    return message;
  } catch (const Error& error) {
    return std::unexpected(error);
  }
}

Result<ModelUsage> read_usage(const Json& json) {
  try {
    const At at{json};
    if (!json.is_object()) at.wrong("an object");
    return ModelUsage{.input = at.member("input").number_if_any(),
                      .cache_read = at.member("cacheRead").number_if_any(),
                      .cache_written = at.member("cacheWritten").number_if_any(),
                      .output = at.member("output").number_if_any(),
                      .cache_miss = at.member("cacheMiss").text_if_any()};
  } catch (const Error& error) {
    return std::unexpected(error);
  }
}

}  // namespace patchbay
