#include "host/model/own_tools.h"

#include <array>

#include "catalog/search/tool_query.h"

namespace patchbay {
namespace {

struct Row {
  OwnTool tool;
  std::string_view name;
  std::string_view short_name;
};
constexpr std::array rows{
    Row{OwnTool::search, "tool_search", "ToolSearch"},
    Row{OwnTool::list_resources, "ListMcpResourcesTool", "ListMcpResources"},
    Row{OwnTool::read_resource, "ReadMcpResourceTool", "ReadMcpResource"},
    Row{OwnTool::list_skills, "ListMcpSkillsTool", "ListMcpSkills"},
    Row{OwnTool::read_skill, "ReadMcpSkillTool", "ReadMcpSkill"},
};

Json text_property(std::string_view description) { return Json{{"type", "string"}, {"description", description}}; }
Json count_property(std::string_view description, std::size_t least) {
  return Json{{"type", "integer"}, {"minimum", least}, {"description", description}};
}

Json object_of(Json properties, Json required) {
  return Json{{"type", "object"},
              {"properties", std::move(properties)},
              {"required", std::move(required)},
              {"additionalProperties", false}};
}

constexpr std::string_view only_server = "Only of this server; without it, of all servers";
constexpr std::string_view of_server = "The name of the server";

}  // namespace

std::string_view name_of(OwnTool tool) noexcept { return rows.at(static_cast<std::size_t>(tool)).name; }

std::optional<OwnTool> own_tool(std::string_view name) noexcept {
  for (const auto& row : rows) {
    if (row.name == name || row.short_name == name) return row.tool;
  }
  return std::nullopt;
}

Tool describe(OwnTool which) {
  Tool tool;
  tool.name = name_of(which);
  tool.annotations = ToolAnnotations{};
  tool.annotations->read_only_hint = true;
  switch (which) {
    case OwnTool::search:
      tool.description =
          "Finds tools of MCP servers that are not among your tools yet, and returns them with their schemas. Those "
          "that it returns can be called from then on. The query is a few words for what the tool does, or "
          "\"select:NAME,NAME\" for tools whose names you know. Servers that are not ready are named: their tools "
          "cannot be found yet.";
      tool.input_schema =
          object_of(Json{{"query", text_property("A few words, such as \"create issue\", or select:NAME,NAME")},
                         {"max_results", count_property("How many tools at most (default: 5)", 1)}},
                    Json::array({"query"}));
      tool.input_schema["properties"]["max_results"]["maximum"] = ToolIndexBounds::results;
      break;
    case OwnTool::list_resources:
      tool.description =
          "Lists the resources that MCP servers offer (files, pages, records), each with its server and URI, and "
          "templates of URIs that can be filled in.";
      tool.input_schema =
          object_of(Json{{"server", text_property(only_server)},
                         {"offset", count_property("How many to skip, where an earlier answer said so", 0)}},
                    Json::array());
      break;
    case OwnTool::read_resource:
      tool.description = "Reads a resource of an MCP server: one from the list, or one that a template describes.";
      tool.input_schema =
          object_of(Json{{"server", text_property(of_server)},
                         {"uri", text_property("The URI of the resource")},
                         {"offset", count_property("Bytes to skip, where an earlier answer was cut", 0)}},
                    Json::array({"server", "uri"}));
      break;
    case OwnTool::list_skills:
      tool.description = "Lists the skills of MCP servers: instructions for a kind of task, each with what it is for.";
      tool.input_schema = object_of(Json{{"server", text_property(only_server)}}, Json::array());
      break;
    case OwnTool::read_skill:
      tool.description =
          "Reads the instructions of a skill, or another file of it that they name. The person may have to approve "
          "the skill first.";
      tool.input_schema =
          object_of(Json{{"server", text_property(of_server)},
                         {"skill", text_property("The name of the skill, or the URI of its SKILL.md")},
                         {"file", text_property("A file of it (default: SKILL.md)")},
                         {"offset", count_property("Bytes to skip, where an earlier answer was cut", 0)}},
                    Json::array({"server", "skill"}));
      break;
  }
  return tool;
}

}  // namespace patchbay
