// Servers whose catalog is made again and again, as a host does it when one of them announces another list, and when
// they connect one after the other. Used by client.cpp for times and instructions.cpp for counts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/offered_tools.h"
#include "permission/decide.h"
#include "protocol/codec.h"

namespace bench {

class ManyTools {
 public:
  using Tools = patchbay::OfferedTools::Tools;

  struct Size {
    int servers = 30;
    int tools = 10;   // of each
    int bytes = 100;  // of each tool, as JSON text; at least so many
  };

  explicit ManyTools(Size size) : size_(size) {
    for (int i = 0; i < size.servers; ++i) {
      names_.push_back("server" + std::to_string(i));
      lists_.push_back(list());
    }
    // Two lists of the first server, in turns.
    shorter_ = list();
    shorter_.pop_back();
  }

  // All servers connect, and somebody looks after each. How many tools there are then.
  std::size_t start() {
    offered_ = {};
    std::size_t count = 0;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      offered_.set(names_[i], patchbay::NamePrefix::server, lists_[i]);
      count = offered_.shown(rules_)->size();
    }
    return count;
  }

  // How many tools the catalog has after the first server changed its list. After start().
  std::size_t changed_catalog() {
    offered_.set(names_[0], patchbay::NamePrefix::server, ++turn_ % 2 ? shorter_ : lists_[0]);
    return offered_.shown(rules_)->size();
  }

 private:
  Tools list() const {
    Tools tools;
    for (int i = 0; i < size_.tools; ++i) {
      std::string text = R"({"name":"tool_number_)" + std::to_string(i);
      text += R"(","description":"Does what its name says","inputSchema":{"type":"object","properties":{)";
      for (int n = 0; n == 0 || text.size() + 60 < static_cast<std::size_t>(size_.bytes); ++n) {
        text += (n ? ",\"" : "\"") + std::string("argument_") + std::to_string(n);
        text += R"(":{"type":"string","description":"One of the things it needs"})";
      }
      text += "}}}";
      auto tool = patchbay::decode<patchbay::Tool>(*patchbay::parse_json(text));
      tools.push_back(std::make_shared<const patchbay::Tool>(std::move(*tool)));
    }
    return tools;
  }

  Size size_;
  std::vector<std::string> names_;
  std::vector<Tools> lists_;
  Tools shorter_;
  patchbay::Permissions rules_;
  patchbay::OfferedTools offered_;
  int turn_ = 0;
};

// What an aim is about: a hundred servers with a hundred tools each, a tool being 600 bytes.
inline constexpr ManyTools::Size very_many{.servers = 100, .tools = 100, .bytes = 600};

}  // namespace bench
