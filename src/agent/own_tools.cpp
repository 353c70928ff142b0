#include "agent/own_tools.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <patchbay/tools.h>

#include "results/read_part.h"

namespace patchbay {
namespace {

ResultQuery query_of(const Json& arguments) {
  const auto word = [&](std::string_view name) { return std::string(arguments[name].text().value_or("")); };
  const auto number = [&](std::string_view name, std::size_t preset) {
    const auto& value = arguments[name];
    if (value.is_null()) return preset;
    const auto count = value.to_uint();
    if (!count) throw Error(Errc::invalid_argument, fmt::format("\"{}\" is not a whole number from 0 on", name));
    return static_cast<std::size_t>(*count);
  };
  ResultQuery query;
  query.handle = word("id");
  if (query.handle.empty()) throw Error(Errc::invalid_argument, "\"id\" is missing: the handle of the result");
  query.pointer = word("pointer");
  query.pattern = word("pattern");
  query.count = arguments["count"].to_bool().value_or(false);
  query.skip_lines = number("skip_lines", 0);
  query.lines = number("lines", 0);
  query.offset = number("offset", 0);
  return query;
}

std::string shown(const ResultPart& part, const ResultQuery& query) {
  std::string text = part.text;
  const auto matches = part.matches ? fmt::format(", {} lines match", *part.matches) : std::string();
  if (query.count) return fmt::format("{} lines, {} bytes{}", part.total_lines, part.total_bytes, matches);
  if (part.next_offset) {
    text += fmt::format("\n[of {} bytes in {} lines{}; go on with \"offset\": {}]", part.total_bytes, part.total_lines,
                        matches, *part.next_offset);
  } else if (const auto next = next_match(query, part)) {
    text += fmt::format("\n[{} lines match; go on with \"skip_lines\": {}]", *part.matches, *next);
  } else if (text.empty()) {
    text = fmt::format("[nothing here; it has {} bytes in {} lines{}]", part.total_bytes, part.total_lines, matches);
  }
  return text;
}

Json described(std::string_view type, std::string_view description) {
  return Json{{"type", type}, {"description", description}};
}

Task<CallToolResult> read_result(Host& host, Json arguments, std::string principal) {
  auto query = query_of(arguments);
  const auto part = co_await host.read_result(query, std::move(principal));
  co_return text(shown(part, query));
}

}  // namespace

AgentTool result_read_tool(Host& host) {
  Tool tool{.name = "result_read",
            .description =
                "Reads part of a large result that was kept under a handle: a value in it by a JSON pointer, some of "
                "its lines, or the lines that match a pattern."};
  tool.input_schema = Json{
      {"type", "object"},
      {"properties", Json{{"id", described("string", "the handle, @result:ID; ID/raw is the result as it was sent")},
                          {"pointer", described("string", "JSON pointer of a value in it, /items/0/name")},
                          {"pattern", described("string", "regular expression (RE2): only lines that match")},
                          {"count", described("boolean", "only how many lines there are, or match")},
                          {"skip_lines", described("integer", "begin behind so many lines")},
                          {"lines", described("integer", "at most so many lines")},
                          {"offset", described("integer", "begin at this byte, where an earlier part ended")}}},
      {"required", Json::array({"id"})},
      {"additionalProperties", false}};
  auto call = [&host](Json arguments, CallOptions options) {
    return read_result(host, std::move(arguments), std::move(options.principal));
  };
  return {.tool = std::move(tool), .only_reads = true, .call = std::move(call)};
}

namespace {

Task<CallToolResult> sleep(std::function<Task<bool>(std::chrono::milliseconds)> wait, Json arguments) {
  const auto seconds = arguments["seconds"].to_double();
  if (!seconds || !std::isfinite(*seconds) || *seconds < 0) {
    throw Error(Errc::invalid_argument, "\"seconds\" is not a number from 0 on");
  }
  const auto longest = static_cast<double>(longest_sleep.count());
  const std::chrono::milliseconds time(static_cast<std::int64_t>(std::min(*seconds, longest) * 1000));
  const bool woken = co_await wait(time);
  if (woken) co_return text("Woken: there is a message.");
  co_return text(fmt::format("{} seconds have passed.", std::min(*seconds, longest)));
}

}  // namespace

AgentTool sleep_tool(std::function<Task<bool>(std::chrono::milliseconds)> wait) {
  Tool tool{.name = "sleep",
            .description =
                fmt::format("Waits for so many seconds, at most {}. Returns at once when a message arrives, from a "
                            "channel for instance.",
                            longest_sleep.count())};
  tool.input_schema = Json{{"type", "object"},
                           {"properties", Json{{"seconds", Json{{"type", "number"}, {"minimum", 0}}}}},
                           {"required", Json::array({"seconds"})},
                           {"additionalProperties", false}};
  auto call = [wait = std::move(wait)](Json arguments, CallOptions) { return sleep(wait, std::move(arguments)); };
  return {.tool = std::move(tool), .only_reads = true, .call = std::move(call)};
}

}  // namespace patchbay
