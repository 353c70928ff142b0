#include "rpc/trace_context.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include <fmt/format.h>

namespace patchbay {
namespace {

constexpr std::size_t longest_state = 512;  // as the specification asks to be able to pass on

bool is_id(std::string_view text) {
  const bool hexadecimal =
      std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  return hexadecimal && text.find_first_not_of('0') != std::string_view::npos;
}

bool is_state(std::string_view text) {
  return !text.empty() && text.size() <= longest_state &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace

std::optional<TraceParent> parse_traceparent(std::string_view text) {
  constexpr std::string_view form = "vv-tttttttttttttttttttttttttttttttt-pppppppppppppppp-ff";
  if (text.size() < form.size()) return std::nullopt;
  const bool longer = text.size() > form.size();
  const auto version = text.substr(0, 2);
  const auto flags = text.substr(53, 2);
  const auto is_byte = [](std::string_view two) {
    return std::ranges::all_of(two, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  };
  if (!is_byte(version) || version == "ff" || !is_byte(flags)) return std::nullopt;
  if (longer && (version == "00" || text[form.size()] != '-')) return std::nullopt;
  if (text[2] != '-' || text[35] != '-' || text[52] != '-') return std::nullopt;
  TraceParent out{std::string(text.substr(3, 32)), std::string(text.substr(36, 16)), std::string(flags)};
  if (!is_id(out.trace) || !is_id(out.parent)) return std::nullopt;
  return out;
}

std::shared_ptr<const TraceContext> TraceContext::from(
    const std::function<std::optional<std::string>(std::string_view name)>& variables, Random random) {
  auto parent = parse_traceparent(variables("TRACEPARENT").value_or(""));
  const auto wanted = variables("MCP_TRACE_CONTEXT");
  if (!parent && (!wanted || wanted->empty() || *wanted == "0")) return nullptr;
  auto state = parent ? variables("TRACESTATE").value_or("") : std::string();
  if (!is_state(state)) state.clear();
  return std::make_shared<const TraceContext>(std::move(parent), std::move(state), std::move(random));
}

std::string TraceContext::digits(std::size_t bytes) const {
  std::array<std::uint8_t, 16> drawn{};
  random_(std::span(drawn).first(bytes));
  drawn.at(bytes - 1) |= 1;  // an id of zeros is none
  std::string out;
  for (std::size_t i = 0; i < bytes; ++i) out += fmt::format("{:02x}", drawn.at(i));
  return out;
}

std::string TraceContext::next() const {
  return fmt::format("00-{}-{}-{}", parent_ ? parent_->trace : digits(16), digits(8), parent_ ? parent_->flags : "01");
}

Payload TraceContext::added(Payload params) const {
  const Json& before = params.value();
  if (!before.is_null() && !before.is_object()) return params;
  const Json& meta = before["_meta"];
  if (meta.find("traceparent") != nullptr || !(meta.is_null() || meta.is_object())) return params;
  Json out = before.is_null() ? Json::object() : before;
  if (meta.is_null()) out["_meta"] = Json::object();
  out["_meta"]["traceparent"] = next();
  if (!state_.empty()) out["_meta"]["tracestate"] = state_;
  return Payload(std::move(out));
}

}  // namespace patchbay
