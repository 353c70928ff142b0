// OfferedTools: what the servers of a host offer, and the two catalogs made of it: of everything, and of what rules
// leave of it. Catalogs are made when somebody looks, and not for every server that comes or goes; of the servers that
// did not change, nothing is made again. One that would come out the same stays the same object, so whoever compares
// pointers knows whether anything changed. Names are decided among all servers that are known here, so a tool keeps its
// name while another server has nothing to offer for a while (docs/adr/0019). Owned by the Host; loop thread only. Pure
// but for its memory: it asks no server and tells nobody.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <patchbay/catalog.h>

#include "catalog/fragment.h"
#include "permission/decide.h"

namespace patchbay {

class OfferedTools {
 public:
  using Tools = std::vector<std::shared_ptr<const Tool>>;

  // This server offers these now; with none, those it had before still count when names are decided. True when that is
  // news.
  bool set(const std::string& server, NamePrefix prefix, const Tools& tools);
  // It is not declared any more, or disabled.
  bool remove(const std::string& server);
  // Other rules from now on.
  void set_rules(const Permissions& rules);

  const std::shared_ptr<const Catalog>& all();
  // Without what is denied whatever its arguments are. `rules` are those of set_rules().
  const std::shared_ptr<const Catalog>& shown(const Permissions& rules);

  // How often the costly parts were done: catalogs made, fragments made, entries held against rules.
  std::size_t built() const noexcept { return built_; }
  std::size_t named() const noexcept { return named_; }
  std::size_t judged() const noexcept { return judged_; }

 private:
  struct Offer {
    ServerTools last;    // the last it had
    bool now = false;    // whether it offers them now
    Fragment alone;      // named as if there were no other server; null when that is to be done
    Fragment published;  // as it was in the last catalog, or would have been
  };
  // What rules leave of a fragment.
  struct Judged {
    Fragment whole;
    Fragment left;
  };
  Fragment judge(const Fragment& fragment, const Permissions& rules);

  std::map<std::string, Offer> servers_;
  bool stale_ = false;
  std::shared_ptr<const Catalog> all_ = std::make_shared<const Catalog>();
  bool rules_hide_ = false;
  std::shared_ptr<const Catalog> seen_;       // of which `shown_` was made
  std::map<std::string, Judged> judgements_;  // of each server in it
  std::shared_ptr<const Catalog> shown_ = all_;
  std::size_t built_ = 0;
  std::size_t named_ = 0;
  std::size_t judged_ = 0;
};

}  // namespace patchbay
