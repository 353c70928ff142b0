// OfferedTools: what the servers of a host offer just now, and the two catalogs made of it: of everything, and of what
// rules leave of it. Catalogs are made when somebody looks, and not for every server that comes or goes; one that would
// come out the same stays the same object, so whoever compares pointers knows whether anything changed. Owned by the
// Host; loop thread only. Pure but for its memory: it asks no server and tells nobody.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <patchbay/catalog.h>

#include "permission/decide.h"

namespace patchbay {

class OfferedTools {
 public:
  using Tools = std::vector<std::shared_ptr<const Tool>>;

  // This server offers these now; none is as good as not being there. True when that is news.
  bool set(const std::string& server, NamePrefix prefix, const Tools& tools);
  bool remove(const std::string& server);
  // Other rules from now on.
  void set_rules(const Permissions& rules);

  const std::shared_ptr<const Catalog>& all();
  // Without what is denied whatever its arguments are. `rules` are those of set_rules().
  const std::shared_ptr<const Catalog>& shown(const Permissions& rules);

  // How often the costly parts were done.
  std::size_t built() const noexcept { return built_; }
  std::size_t judged() const noexcept { return judged_; }

 private:
  std::map<std::string, ServerTools> servers_;
  bool stale_ = false;
  std::shared_ptr<const Catalog> all_ = std::make_shared<const Catalog>();
  bool rules_hide_ = false;
  std::shared_ptr<const Catalog> seen_;  // of which `hidden_` tells, for each of its entries
  std::vector<bool> hidden_;
  std::shared_ptr<const Catalog> shown_ = all_;
  std::size_t built_ = 0;
  std::size_t judged_ = 0;
};

}  // namespace patchbay
