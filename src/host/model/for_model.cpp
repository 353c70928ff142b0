#include "host/model/for_model.h"

#include <algorithm>

#include <fmt/format.h>

#include <patchbay/model_tools.h>
#include <patchbay/tools.h>

#include "base/strings.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

constexpr std::size_t longest_name = 200;
constexpr std::size_t longest_description = 500;
constexpr std::size_t longest_uri = 2000;
constexpr std::size_t most_contents = 100;
constexpr std::size_t most_servers = 50;

void add_text(Json& to, std::string_view key, const std::optional<std::string>& text, std::size_t longest) {
  if (!text) return;
  auto cleaned = clean_excerpt(*text, longest);
  if (!cleaned.empty()) to[key] = std::move(cleaned);
}

// A URI is given back as it is, so one that cannot be shown as it is cannot be given at all.
bool can_be_named(std::string_view uri) { return !uri.empty() && uri.size() <= longest_uri && clean_line(uri) == uri; }

Json resource_json(const std::string& server, const Resource& resource) {
  Json out{{"server", server}, {"uri", resource.uri}};
  add_text(out, "name", resource.name, longest_name);
  add_text(out, "title", resource.title, longest_name);
  add_text(out, "description", resource.description, longest_description);
  add_text(out, "mimeType", resource.mime_type, longest_name);
  if (resource.size) out["size"] = *resource.size;
  return out;
}

Json template_json(const std::string& server, const ResourceTemplate& item) {
  Json out{{"server", server}, {"uriTemplate", item.uri_template}};
  add_text(out, "name", item.name, longest_name);
  add_text(out, "title", item.title, longest_name);
  add_text(out, "description", item.description, longest_description);
  add_text(out, "mimeType", item.mime_type, longest_name);
  return out;
}

Content text_block(std::string text) {
  return TextContent{.text = std::move(text), .annotations = {}, .meta = {}, .extra = {}};
}

CallToolResult as_text(const Json& value, bool is_error = false) {
  CallToolResult result;
  result.content.push_back(text_block(to_text(value)));
  result.is_error = is_error;
  return result;
}

// How a content is called where there are several.
std::string heading(const ResourceContents& contents) {
  return fmt::format("[{}{}]\n", clean_excerpt(contents.uri, longest_uri),
                     contents.mime_type ? ", " + clean_excerpt(*contents.mime_type, longest_name) : std::string());
}

std::size_t blob_bytes(std::string_view base64) { return base64.size() / 4 * 3; }

}  // namespace

bool is_away(const ServerStatus& status) noexcept {
  switch (status.state) {
    case ServerState::failed:
    case ServerState::needs_auth:
    case ServerState::pending:
      return true;
    case ServerState::connected:
      return status.reason == ServerReason::tools_fetch_failed;
    case ServerState::disabled:
      break;
  }
  return false;
}

Json server_away_json(const ServerStatus& status) {
  Json out{{"name", clean_excerpt(status.name, longest_name)}, {"state", to_string(status.state)}};
  if (const auto reason = reason_text(status); !reason.empty()) out["reason"] = reason;
  if (status.state == ServerState::needs_auth) out["reason"] = "the person has to sign in first";
  return out;
}

Json servers_away_json(const std::vector<ServerStatus>& statuses) {
  Json out = Json::array();
  for (const auto& status : statuses) {
    if (is_away(status) && out.size() < most_servers) out.push_back(server_away_json(status));
  }
  return out;
}

CallToolResult found_tools(ToolMatches& matches, const std::vector<ServerStatus>& statuses, ModelApi api) {
  Json tools = Json::array();
  Json left_out = Json::array();
  std::size_t bytes = 0;
  std::erase_if(matches.tools, [&](const CatalogEntry* entry) {
    std::string reason;
    if (auto tool = view_tool(*entry, api)) {
      auto json = to_json(*tool, api);
      const auto size = to_text(json).size();
      if (bytes == 0 || bytes + size <= longest_found) {
        bytes += size;
        tools.push_back(std::move(json));
        return false;
      }
      reason = "the answer would be too long; select it by its name";
    } else {
      reason = tool.error().message();
    }
    left_out.push_back(Json{{"name", entry->name}, {"reason", std::move(reason)}});
    return true;
  });
  const bool none = tools.size() == 0;
  Json out{{"tools", std::move(tools)}};
  if (left_out.size() > 0) out["leftOut"] = std::move(left_out);
  if (!matches.unknown.empty()) {
    Json names = Json::array();
    for (const auto& name : matches.unknown) names.push_back(clean_excerpt(name, longest_name));
    out["unknown"] = std::move(names);
  }
  auto away = servers_away_json(statuses);
  if (away.size() > 0) {
    out["serversNotReady"] = std::move(away);
    if (none) out["note"] = "no tool was found; it may belong to a server that is not ready";
  } else if (none) {
    out["note"] = "no tool was found; try other words";
  } else {
    out["note"] = "these tools can be called from now on";
  }
  auto result = as_text(out);
  result.structured_content = std::move(out);
  return result;
}

CallToolResult listed_resources(const std::vector<ServerResources>& all, const std::vector<ServerStatus>& statuses,
                                std::size_t first) {
  Json resources = Json::array();
  Json templates = Json::array();
  Json problems = Json::array();
  std::size_t bytes = 0;
  std::size_t at = 0;
  std::size_t unnamed = 0;
  std::optional<std::size_t> next;
  const auto add = [&](Json& to, std::string_view uri, auto make) {
    const auto place = at++;
    if (place < first || next) return;
    if (!can_be_named(uri)) {
      ++unnamed;
      return;
    }
    Json one = make();
    bytes += to_text(one).size();
    if (bytes > longest_list && place > first) {
      next = place;
      return;
    }
    to.push_back(std::move(one));
  };
  for (const auto& server : all) {
    for (const auto& one : server.resources) {
      add(resources, one.uri, [&] { return resource_json(server.server, one); });
    }
  }
  for (const auto& server : all) {
    for (const auto& one : server.templates) {
      add(templates, one.uri_template, [&] { return template_json(server.server, one); });
    }
    if (!server.problem.empty() && problems.size() < most_servers) {
      problems.push_back(
          Json{{"server", server.server}, {"problem", clean_excerpt(server.problem, longest_description)}});
    }
  }
  Json out{{"resources", std::move(resources)}};
  if (templates.size() > 0) out["resourceTemplates"] = std::move(templates);
  if (next) {
    out["next"] = *next;
    out["note"] = fmt::format("{} more; call again with \"offset\": {}", at - *next, *next);
  }
  if (unnamed > 0) out["leftOut"] = fmt::format("{} with a URI that cannot be shown", unnamed);
  if (problems.size() > 0) out["problems"] = std::move(problems);
  auto away = servers_away_json(statuses);
  if (away.size() > 0) out["serversNotReady"] = std::move(away);
  return as_text(out);
}

CallToolResult listed_skills(const std::vector<ServerSkill>& all) {
  Json list = Json::array();
  std::size_t bytes = 0;
  std::size_t left_out = 0;
  for (const auto& one : all) {
    if (one.approval == SkillApproval::rejected) continue;
    Json item{{"server", clean_excerpt(one.server, longest_name)},
              {"name", clean_excerpt(one.skill.frontmatter["name"].as_text(), longest_name)},
              {"description", clean_excerpt(one.skill.frontmatter["description"].as_text(), longest_description)},
              {"approval", to_string(one.approval)}};
    bytes += to_text(item).size();
    if (bytes > longest_list) {
      ++left_out;
    } else {
      list.push_back(std::move(item));
    }
  }
  Json out{{"skills", std::move(list)}};
  if (left_out > 0) out["note"] = fmt::format("{} more are not shown; name a server to see its own", left_out);
  return as_text(out);
}

std::vector<Content> contents_for_model(const std::vector<ResourceContents>& contents, std::size_t offset,
                                        std::size_t longest) {
  std::vector<Content> out;
  const bool several = contents.size() > 1;
  std::size_t blobs = longest_blob;
  std::size_t shown = 0;
  for (const auto& one : contents) {
    if (++shown > most_contents) {
      out.push_back(text_block(fmt::format("[{} more contents are not shown]", contents.size() - most_contents)));
      break;
    }
    const auto before = several ? heading(one) : std::string();
    if (one.text) {
      const std::string_view whole = *one.text;
      if (offset > 0 && offset >= whole.size()) {
        out.push_back(text_block(before + fmt::format("[it ends at byte {}]", whole.size())));
        continue;
      }
      // Not within a character.
      std::size_t begin = offset;
      while (begin < whole.size() && (static_cast<unsigned char>(whole[begin]) & 0xC0) == 0x80) ++begin;
      const auto part = cut_utf8(whole.substr(begin), longest);
      longest -= part.size();
      auto text = before + clean_for_display(part);
      if (const auto end = begin + part.size(); end < whole.size()) {
        text += fmt::format("\n[cut at byte {} of {}; to read on: \"offset\": {}]", end, whole.size(), end);
      }
      out.push_back(text_block(std::move(text)));
      continue;
    }
    const auto& blob = one.blob ? *one.blob : std::string();
    const auto mime = clean_excerpt(one.mime_type.value_or("application/octet-stream"), longest_name);
    const bool fits = blob.size() <= blobs;
    if (fits && mime.starts_with("image/")) {
      blobs -= blob.size();
      if (several) out.push_back(text_block(before));
      out.push_back(ImageContent{.data = blob, .mime_type = mime, .annotations = {}, .meta = {}, .extra = {}});
    } else if (fits && mime.starts_with("audio/")) {
      blobs -= blob.size();
      if (several) out.push_back(text_block(before));
      out.push_back(AudioContent{.data = blob, .mime_type = mime, .annotations = {}, .meta = {}, .extra = {}});
    } else {
      out.push_back(
          text_block(before + fmt::format("[{}, {} bytes; not text, so it is not shown]", mime, blob_bytes(blob))));
    }
  }
  if (out.empty()) out.push_back(text_block("(no content)"));
  return out;
}

}  // namespace patchbay
