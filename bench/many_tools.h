// Servers with ten tools each whose catalog is made again and again, as a host does it when one of
// them announces another list. Used by client.cpp for times and instructions.cpp for counts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/offered_tools.h"
#include "permission/decide.h"

namespace bench {

class ManyTools {
 public:
  explicit ManyTools(int servers) {
    for (int i = 0; i < servers; ++i) offered_.set("server" + std::to_string(i), patchbay::NamePrefix::server, list());
    offered_.shown(rules_);
    // Two lists of the first server, in turns.
    first_ = list();
    second_ = list();
    second_.pop_back();
  }

  // How many tools the catalog has after the first server changed its list.
  std::size_t changed_catalog() {
    offered_.set("server0", patchbay::NamePrefix::server, ++turn_ % 2 ? second_ : first_);
    return offered_.shown(rules_)->size();
  }

 private:
  using Tools = patchbay::OfferedTools::Tools;
  static Tools list() {
    Tools tools;
    for (int i = 0; i < 10; ++i) {
      patchbay::Tool tool;
      tool.name = "tool_number_" + std::to_string(i);
      tool.description = "Does what its name says";
      tool.input_schema = patchbay::Json{{"type", "object"}};
      tools.push_back(std::make_shared<const patchbay::Tool>(std::move(tool)));
    }
    return tools;
  }

  patchbay::Permissions rules_;
  patchbay::OfferedTools offered_;
  Tools first_, second_;
  int turn_ = 0;
};

}  // namespace bench
