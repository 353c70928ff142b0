#include <algorithm>
#include <set>
#include <tuple>

#include <patchbay/model_view.h>

#include "base/strings.h"
#include "catalog/model_tool.h"
#include "catalog/naming.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

// Programs that make one grammar of all tools refuse everything from about 100 kB of tools on.
constexpr std::size_t most_for_grammar = 80'000;  // bytes of schemas

bool plain_name(std::string_view name) {
  return !name.empty() && name.size() <= exposed_name_limit && normalise_name(name) == name;
}

class Pool {
 public:
  explicit Pool(ModelApi api) : api_(api) {}

  void add_own(const Tool& tool) {
    if (!plain_name(tool.name))
      return leave_out(tool.name, "its name is not 1 to 64 of the characters a-z A-Z 0-9 _ -");
    if (!own_names_.insert(tool.name).second) return leave_out(tool.name, "the program has another tool of this name");
    add(tool.name, view_named(std::make_shared<const Tool>(tool), {tool.name, {}, "Tool " + tool.name}, api_));
  }

  // What comes now is not the program's own.
  void end_own() {
    settle(0);
    pool_.own = pool_.tools.size();
  }

  void add_entry(const CatalogEntry& entry) { add(entry.name, view_tool(entry, api_)); }

  void add_instructions(const ServerInstructions& said) {
    auto text = cut_for_model(trim(clean_for_display(said.text)), longest_model_text);
    if (!text.empty()) pool_.instructions.push_back({clean_line(said.server), std::move(text)});
  }

  ToolPool finish() && {
    settle(pool_.own);
    if (api_ == ModelApi::local) fit_into_grammar();
    std::ranges::sort(pool_.left_out, {}, &ToolLeftOut::name);
    std::ranges::sort(pool_.instructions, [](const auto& left, const auto& right) {
      return std::tie(left.server, left.text) < std::tie(right.server, right.text);
    });
    return std::move(pool_);
  }

 private:
  void add(const std::string& name, Result<ModelTool> tool) {
    if (!tool) return leave_out(name, tool.error().message());
    pool_.tools.push_back(std::move(*tool));
  }

  void leave_out(const std::string& name, std::string_view reason) {
    pool_.left_out.push_back({name, std::string(reason)});
  }

  // Sorts what was added from `first` on and leaves out what has a name that is taken.
  void settle(std::size_t first) {
    auto& tools = pool_.tools;
    std::ranges::sort(tools.begin() + static_cast<std::ptrdiff_t>(first), tools.end(),
                      [](const auto& left, const auto& right) {
                        return std::tie(left.name, left.catalog_name) < std::tie(right.name, right.catalog_name);
                      });
    std::size_t kept = first;
    for (std::size_t i = first; i < tools.size(); ++i) {
      const bool again = kept > first && tools[kept - 1].name == tools[i].name;
      const bool own = std::ranges::binary_search(tools.begin(), tools.begin() + static_cast<std::ptrdiff_t>(first),
                                                  tools[i].name, {}, &ModelTool::name);
      if (again || own) {
        leave_out(tools[i].catalog_name.empty() ? tools[i].name : tools[i].catalog_name,
                  own ? "the program has a tool of this name" : "another tool has this name");
        continue;
      }
      if (kept != i) tools[kept] = std::move(tools[i]);
      ++kept;
    }
    tools.resize(kept);
  }

  void fit_into_grammar() {
    static const auto any_object = std::make_shared<const Json>(Json{{"type", "object"}});
    std::size_t spent = 0;
    for (std::size_t i = 0; i < pool_.tools.size(); ++i) {
      auto& tool = pool_.tools[i];
      const auto size = to_text(*tool.input_schema).size();
      if (i < pool_.own || spent + size <= most_for_grammar) {
        spent += size;
      } else if (*tool.input_schema != *any_object) {
        tool.input_schema = any_object;
        tool.changes.emplace_back("all schemas together are too large for a grammar: any object is accepted");
      }
    }
  }

  ModelApi api_;
  ToolPool pool_;
  std::set<std::string> own_names_;
};

}  // namespace

const ModelTool* ToolPool::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find(tools, name, &ModelTool::name);
  return found == tools.end() ? nullptr : &*found;
}

ToolPool make_tool_pool(std::span<const Tool> own, const Catalog& catalog,
                        std::span<const ServerInstructions> instructions, ModelApi api) {
  Pool pool(api);
  for (const auto& tool : own) pool.add_own(tool);
  pool.end_own();
  for (const auto& entry : catalog.tools()) pool.add_entry(entry);
  for (const auto& said : instructions) pool.add_instructions(said);
  return std::move(pool).finish();
}

Json to_json(const ModelTool& tool, ModelApi api) {
  Json out{{"name", tool.name}, {"description", tool.description}};
  switch (api) {
    case ModelApi::anthropic:
      out["input_schema"] = *tool.input_schema;
      return out;
    case ModelApi::gemini:
      out["parametersJsonSchema"] = *tool.input_schema;
      return out;
    case ModelApi::openai_responses: {
      // Strict schemas are another, smaller language, and it is on unless switched off.
      Json function{{"type", "function"}};
      for (auto [name, value] : out.members()) function[name] = value;
      function["parameters"] = *tool.input_schema;
      function["strict"] = false;
      return function;
    }
    case ModelApi::openai_chat:
      out["parameters"] = *tool.input_schema;
      out["strict"] = false;
      return Json{{"type", "function"}, {"function", std::move(out)}};
    case ModelApi::local:
      out["parameters"] = *tool.input_schema;
      return Json{{"type", "function"}, {"function", std::move(out)}};
  }
  return out;
}

Json to_json(const ToolPool& pool, ModelApi api) {
  Json out = Json::array();
  for (std::size_t i = 0; i < pool.tools.size(); ++i) {
    auto tool = to_json(pool.tools[i], api);
    if (api == ModelApi::anthropic && i + 1 == pool.own) tool["cache_control"] = Json{{"type", "ephemeral"}};
    out.push_back(std::move(tool));
  }
  return out;
}

}  // namespace patchbay
