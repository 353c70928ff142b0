// ListedTools: the schemas of the tools a session has listed, so that calls can be checked
// against them. A schema is compiled when its tool is called for the first time and kept until
// the list changes; before that it is text, since a server may list thousands of tools of
// which few are called. Part of ServerLists; loop thread only. What cannot be checked passes,
// and the log says so once per tool.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <patchbay/task.h>
#include <patchbay/types.h>

#include "base/runtime.h"
#include "protocol/schema_check.h"

namespace patchbay {

// One tool as it was when it was listed. A call keeps it, whatever happens to the list meanwhile.
class ListedTool {
 public:
  explicit ListedTool(const Tool& tool);

  // Whether the schemas are compiled; prepare() does that. Checks before it do nothing.
  bool ready() const noexcept { return schemas_ != nullptr; }
  static Task<void> prepare(std::shared_ptr<ListedTool> self, const Runtime& runtime);

  // Throws Errc::invalid_argument with everything that is wrong. Absent arguments are an empty
  // object. Large ones are checked on another thread.
  static bool is_large(const Payload& arguments);
  void check_arguments(const Payload& arguments, const Runtime& runtime);
  static Task<void> check_large_arguments(std::shared_ptr<ListedTool> self, Payload arguments, const Runtime& runtime);
  // Throws Errc::protocol.
  void check_result(const CallToolResult& result, const Runtime& runtime);

 private:
  void settle(const Result<void>& checked, std::string_view what, const Runtime& runtime);
  void tell_unchecked(std::string_view what, const Error& why, const Runtime& runtime);

  std::string name_;
  std::string input_;   // JSON text, until compiled
  std::string output_;  // the same; empty without an output schema
  std::shared_ptr<const ToolSchemas> schemas_;
  bool told_ = false;  // that something goes unchecked
};

class ListedTools {
 public:
  // A tool that is listed again is as it was listed last.
  void add(std::span<const Tool> tools);
  // The list is out of date: nothing is checked until tools are listed again.
  void clear() noexcept { tools_.clear(); }
  // Null for a tool that was not listed.
  std::shared_ptr<ListedTool> find(std::string_view tool) const;

 private:
  std::map<std::string, std::shared_ptr<ListedTool>, std::less<>> tools_;
};

}  // namespace patchbay
