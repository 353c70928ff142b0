#include "agent/models/api_extras.h"

namespace patchbay {

std::string_view without_text(ApiExtra extra) noexcept {
  switch (extra) {
    case ApiExtra::deferred_tools:
      return "takes no tools that are held back: those that come later are added to the list, and it reads that anew";
    case ApiExtra::tool_changes:
      return "takes no changes of tools in the middle of a conversation: it is told of them in words";
    case ApiExtra::streamed_calls:
      return "loses calls of tools in answers that are streamed: where there are tools, it is asked for whole answers";
    case ApiExtra::cache_diagnosis:
      break;
  }
  return {};
}

ApiExtras RefusedExtras::of(const std::string& api) const {
  const auto found = refused_.find(api);
  return found == refused_.end() ? ApiExtras() : found->second;
}

void RefusedExtras::add(const std::string& api, const ApiExtras& extras) {
  refused_[api].insert(extras.begin(), extras.end());
}

}  // namespace patchbay
