#include "client/routing.h"

#include <fmt/format.h>

#include "protocol/methods.h"

namespace patchbay {

std::vector<std::pair<std::string, std::string>> Routing::headers_for(const Wire& with, std::string_view method,
                                                                      const Members& members) const {
  Json params = Json::object();
  static const MirroredArguments none;
  const MirroredArguments* arguments = &none;
  if (const auto parameter = routed_parameter(method); !parameter.empty()) {
    for (const auto& [key, value] : members) {
      if (key == parameter) params.as_object().set(key, value.value());
    }
    if (method == method::call_tool) {
      const auto name = params["name"].text();
      const auto known = name ? mirrored_.find(*name) : mirrored_.end();
      if (known != mirrored_.end()) arguments = &known->second;
    }
  }
  if (!arguments->empty()) {
    for (const auto& [key, value] : members) {
      if (key == "arguments") params.as_object().set(key, value.value());
    }
  }
  auto headers = mirrored_headers(method, params, *arguments);
  if (!headers) throw std::move(headers).error();
  headers->emplace_back("MCP-Protocol-Version", std::string(with.version()));
  return std::move(*headers);
}

void Routing::note(std::vector<Tool>& tools, std::vector<DecodeProblem>& problems, bool all) {
  // Page by page there is no end to see; what is forgotten is asked for again when it is missed.
  if (all || mirrored_.size() > most_tools_) mirrored_.clear();
  std::erase_if(tools, [&](const Tool& tool) {
    auto arguments = mirrored_arguments(tool.input_schema);
    if (!arguments) {
      log_(LogLevel::warning, "tool_dropped", "tool", tool.name, "reason", arguments.error().message());
      problems.push_back({fmt::format("tool \"{}\"", tool.name), arguments.error().message()});
      mirrored_.erase(tool.name);
      return true;
    }
    if (arguments->empty()) {
      mirrored_.erase(tool.name);
    } else {
      mirrored_.insert_or_assign(tool.name, std::move(*arguments));
    }
    return false;
  });
}

}  // namespace patchbay
