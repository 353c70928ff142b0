// ServerLists: what a session keeps of what its server listed: answers that stay fresh for a while (Cache), the schemas
// of its tools (ListedTools), and which of them may run as tasks. A change that is announced drops what it is
// about. Part of a session; pure but for the clock of the cache.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <patchbay/client.h>

#include "client/cache.h"
#include "client/listed_tools.h"
#include "protocol/methods.h"

namespace patchbay {

class ServerLists {
 public:
  explicit ServerLists(const Clock& clock) : cache_(clock) {}

  Cache& cache() noexcept { return cache_; }
  ListedTools& tools() noexcept { return tools_; }

  // Keeps what calls need of a list, unless the tools have changed since it was asked for.
  void note_tools(const std::vector<Tool>& tools, std::uint64_t generation) {
    if (generation != cache_.generation(method::list_tools)) return;
    task_support_.emplace();
    for (const auto& tool : tools) {
      const auto support = tool.execution ? tool.execution->task_support : std::nullopt;
      task_support_->insert_or_assign(tool.name, support.value_or(TaskSupport::forbidden));
    }
    tools_.clear();
    tools_.add(tools);
  }

  // What a tool says of tasks; none when the tools are not known.
  bool knows_tasks() const noexcept { return task_support_.has_value(); }
  std::optional<TaskSupport> task_support(const std::string& tool) const {
    if (!task_support_) return std::nullopt;
    const auto found = task_support_->find(tool);
    return found == task_support_->end() ? TaskSupport::forbidden : found->second;
  }

  // Something may be out of date: what is kept of it is dropped, and what is on its way will not be kept.
  void forget(const Change& change) {
    switch (change.kind) {
      case Change::Kind::tools:
        cache_.drop(method::list_tools);
        forget_tools();
        break;
      case Change::Kind::prompts:
        cache_.drop(method::list_prompts);
        break;
      case Change::Kind::resources:
        cache_.drop(method::list_resources);
        cache_.drop(method::list_resource_templates);
        cache_.drop(method::list_skills);
        break;
      case Change::Kind::resource_updated:
        cache_.drop(method::read_resource, change.uri);
        break;
      case Change::Kind::roots:
      case Change::Kind::task:
        break;
    }
  }
  // Everything may be.
  void clear() {
    cache_.clear();
    forget_tools();
  }

 private:
  void forget_tools() {
    task_support_.reset();
    tools_.clear();
  }

  Cache cache_;
  ListedTools tools_;
  std::optional<std::map<std::string, TaskSupport, std::less<>>> task_support_;
};

}  // namespace patchbay
