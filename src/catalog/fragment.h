// Fragments: what each server contributes to a catalog, sorted, and how they become one list. A server whose tools
// change gets a new fragment; those of the others are taken over as they are, so that one server's change costs what
// that server has. Names are unique within a fragment when it is made (name_alone), and among all of them after
// settle_names, which looks only at fragments that want the same name.
// Pure: values in, values out; the result depends on the set of fragments and not on their history. Called by Catalog
// and by the host's OfferedTools.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <patchbay/catalog.h>

namespace patchbay {

struct CatalogFragment {
  std::string server;
  NamePrefix prefix = NamePrefix::server;
  std::vector<CatalogEntry> entries;  // sorted by name
  // Names that two tools of this server would have had, so that neither got it. Nor may a tool of another server take
  // one as if nobody else wanted it. Sorted.
  std::vector<std::string> contested;
  std::vector<ToolId> repeated;  // sorted
};

using Fragment = std::shared_ptr<const CatalogFragment>;

// Named as if there were no other server.
Fragment name_alone(const ServerTools& server);

// The same tools under names that are unique among all of them, in the same order. A fragment whose names stay is
// returned as it is.
std::vector<Fragment> settle_names(std::vector<Fragment> fragments);

// Whether a catalog would be the same with the one instead of the other. Tools are compared as values.
bool same_entries(const CatalogFragment& left, const CatalogFragment& right);

// All entries, sorted by name. They belong to the fragments.
std::vector<const CatalogEntry*> merge_entries(std::span<const Fragment> fragments);

}  // namespace patchbay
