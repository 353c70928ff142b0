// The wire spelling of every enumeration of the model: one table per type, read in both
// directions. Used by the codec; pure.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include <patchbay/questions.h>
#include <patchbay/types.h>

namespace patchbay {

// Specialised below: the names in the order of the enumerators, which count from zero.
template <class E>
struct WireNames;

template <>
struct WireNames<Role> {
  static constexpr std::array<std::string_view, 2> table{"user", "assistant"};
};
template <>
struct WireNames<LoggingLevel> {
  static constexpr std::array<std::string_view, 8> table{"debug", "info",     "notice", "warning",
                                                         "error", "critical", "alert",  "emergency"};
};
template <>
struct WireNames<CacheScope> {
  static constexpr std::array<std::string_view, 2> table{"public", "private"};
};
template <>
struct WireNames<TaskSupport> {
  static constexpr std::array<std::string_view, 3> table{"forbidden", "optional", "required"};
};
template <>
struct WireNames<TaskStatus> {
  static constexpr std::array<std::string_view, 5> table{"working", "input_required", "completed", "failed",
                                                         "cancelled"};
};
template <>
struct WireNames<CompletionReference::Kind> {
  static constexpr std::array<std::string_view, 2> table{"ref/prompt", "ref/resource"};
};
template <>
struct WireNames<ElicitRequest::Mode> {
  static constexpr std::array<std::string_view, 2> table{"form", "url"};
};
template <>
struct WireNames<ElicitResult::Action> {
  static constexpr std::array<std::string_view, 3> table{"accept", "decline", "cancel"};
};
template <>
struct WireNames<IncludeContext> {
  static constexpr std::array<std::string_view, 3> table{"none", "thisServer", "allServers"};
};
template <>
struct WireNames<ToolChoice::Mode> {
  static constexpr std::array<std::string_view, 3> table{"auto", "required", "none"};
};

template <class E>
constexpr std::string_view name_of(E value) noexcept {
  const auto index = static_cast<std::size_t>(value);
  return index < WireNames<E>::table.size() ? WireNames<E>::table[index] : std::string_view{};
}

template <class E>
constexpr std::optional<E> value_named(std::string_view name) noexcept {
  for (std::size_t i = 0; i < WireNames<E>::table.size(); ++i) {
    if (WireNames<E>::table[i] == name) return static_cast<E>(i);
  }
  return std::nullopt;
}

}  // namespace patchbay
