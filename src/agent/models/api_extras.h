// What newer versions of a model API have and most that speak it do not: a provider uses it where it is known to be
// there, and where an API refuses it all the same, it is asked again without, and not tried again. Pure values;
// RefusedExtras belongs to the loop that its models are used on.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace patchbay {

enum class ApiExtra : std::uint8_t {
  deferred_tools,   // tools outside of what is cached, which the model has when a search finds them
  tool_changes,     // tools that come and go in the middle of a conversation
  cache_diagnosis,  // why the cache was of no use
  streamed_calls,   // calls of tools in an answer that is streamed
};
using ApiExtras = std::set<ApiExtra>;

// For the user: what the program does instead. Empty where they would not notice.
std::string_view without_text(ApiExtra extra) noexcept;

// What was refused, for all models of a process that share it.
class RefusedExtras {
 public:
  // `api` names an address and a model.
  ApiExtras of(const std::string& api) const;
  void add(const std::string& api, const ApiExtras& extras);

 private:
  std::map<std::string, ApiExtras> refused_;
};

}  // namespace patchbay
