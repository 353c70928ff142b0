#include "entries/limits.h"

#include <algorithm>
#include <charconv>

namespace patchbay {
namespace {

// Some centuries in milliseconds: what clocks can still count.
constexpr std::int64_t largest = 9'000'000'000'000;

std::optional<std::int64_t> positive(const VariableLookup& lookup, std::string_view name) {
  auto text = lookup(name);
  if (!text) return std::nullopt;
  std::int64_t value = 0;
  auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size() || value <= 0) return std::nullopt;
  return std::min(value, largest);
}

}  // namespace

std::optional<std::chrono::milliseconds> idle_limit_from(const VariableLookup& lookup) {
  auto ms = positive(lookup, "CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT");
  if (!ms) return std::nullopt;
  return std::chrono::milliseconds(std::max<std::int64_t>(*ms, 1000));
}

std::optional<std::chrono::milliseconds> call_limit(const ServerConfig& server) {
  const bool alias = server.kind == ServerKind::http || server.kind == ServerKind::sse;
  return server.timeout || !alias ? server.timeout : server.request_timeout;
}

Limits limits_from(const VariableLookup& lookup, Limits limits) {
  if (auto ms = positive(lookup, "MCP_TIMEOUT")) limits.connect = std::chrono::milliseconds(*ms);
  if (auto ms = positive(lookup, "MCP_CONNECT_TIMEOUT_MS")) limits.conversation = std::chrono::milliseconds(*ms);
  // Under a second is a mistake of units more often than a wish.
  if (auto ms = positive(lookup, "MCP_TOOL_TIMEOUT"))
    limits.tool = std::chrono::milliseconds(std::max<std::int64_t>(*ms, 1000));
  if (auto n = positive(lookup, "MCP_SERVER_CONNECTION_BATCH_SIZE")) limits.local_starts = static_cast<std::size_t>(*n);
  if (auto n = positive(lookup, "MCP_REMOTE_SERVER_CONNECTION_BATCH_SIZE"))
    limits.remote_starts = static_cast<std::size_t>(*n);
  return limits;
}

}  // namespace patchbay
