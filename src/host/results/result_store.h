// Results that are too large for a model: one file each, `results/<conversation>/<id>` in the state directory, for the
// user alone, compressed where libzstd is installed. A file is written beside its place and renamed, so whoever reads
// sees all of it or nothing; any number of processes may use one store at once, and none waits for another. Files of
// more than a week, and the oldest beyond 256 MiB or 1,000, go when something is kept. docs/adr/0026 says why these are
// plain files. Blocking, through offload(); a value that is copied.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/error.h>

#include "results/stored_result.h"

namespace patchbay {

struct ResultStoreLimits {
  std::uint64_t bytes = 256u << 20;  // on disk, of all conversations
  std::uint64_t one = 128u << 20;    // of one result, not compressed
  std::size_t files = 1000;
  std::size_t conversations = 1000;  // folders that are looked at
  std::chrono::hours lasts = std::chrono::hours(7 * 24);
  bool compress = true;
};

class ResultStore {
 public:
  // `state_directory` empty: nothing can be kept.
  explicit ResultStore(std::string state_directory, ResultStoreLimits limits = {});

  // The id of the new one. An Error says why it was not kept; then nothing of it is left.
  Result<std::string> keep(std::string_view conversation, std::string_view tool, std::string_view result) const;

  // The result as it was kept. Errc::invalid_argument: this conversation has none by that name.
  Result<std::string> load(std::string_view conversation, std::string_view id) const;

  struct Kept {
    StoredHead head;
    std::uint64_t disk_bytes = 0;
  };
  // For the user, who may see and remove those of every conversation; the newest first.
  std::vector<Kept> list() const;
  Result<std::string> load_any(std::string_view id) const;
  bool remove(std::string_view id) const;
  std::size_t remove_all() const;

 private:
  std::string folder_of(std::string_view conversation) const;
  Result<std::string> read(const std::string& path, std::string_view id) const;
  std::vector<std::string> places_of(std::string_view id) const;
  void make_room(const std::string& kept) const;

  std::string folder_;
  ResultStoreLimits limits_;
};

}  // namespace patchbay
