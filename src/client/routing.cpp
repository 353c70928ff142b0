// What modern requests repeat in headers, on transports that have some: which arguments of
// which tool, known from the tools listed last.
#include "client/session_core.h"
#include "protocol/methods.h"

namespace patchbay {

std::vector<std::pair<std::string, std::string>> SessionCore::headers_for(const Wire& with, std::string_view method,
                                                                          const Members& members) const {
  if (!uses_headers(with)) return {};
  Json params = Json::object();
  static const MirroredArguments none;
  const MirroredArguments* arguments = &none;
  if (const auto parameter = routed_parameter(method); !parameter.empty()) {
    for (const auto& [key, value] : members) {
      if (key == parameter) params.as_object().set(key, value.value());
    }
    if (method == method::call_tool) {
      const auto* name = params["name"].if_string();
      const auto known = name ? mirrored.find(*name) : mirrored.end();
      if (known != mirrored.end()) arguments = &known->second;
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

void SessionCore::note_mirrored(std::vector<Tool>& tools, std::vector<DecodeProblem>& problems, bool all) {
  if (!uses_headers(*wire)) return;
  // Page by page there is no end to see; what is forgotten is asked for again when it is missed.
  if (all || mirrored.size() > runtime.limits.items) mirrored.clear();
  std::erase_if(tools, [&](const Tool& tool) {
    auto arguments = mirrored_arguments(tool.input_schema);
    if (!arguments) {
      runtime.log(LogLevel::warning, "tool_dropped", "tool", tool.name, "reason", arguments.error().message());
      problems.push_back({fmt::format("tool \"{}\"", tool.name), arguments.error().message()});
      mirrored.erase(tool.name);
      return true;
    }
    if (arguments->empty()) {
      mirrored.erase(tool.name);
    } else {
      mirrored.insert_or_assign(tool.name, std::move(*arguments));
    }
    return false;
  });
}

}  // namespace patchbay
