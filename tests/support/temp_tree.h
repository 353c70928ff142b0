// A directory of its own for one test, removed at its end.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace patchbay::test {

class TempTree {
 public:
  TempTree();
  TempTree(const TempTree&) = delete;
  TempTree& operator=(const TempTree&) = delete;
  ~TempTree();

  const std::filesystem::path& path() const noexcept { return path_; }
  // Writes a file, with missing directories.
  void file(std::string_view name, std::string_view content) const;
  void directory(std::string_view name) const;
  void link(std::string_view name, const std::filesystem::path& target) const;
  void fifo(std::string_view name) const;
  std::string read(std::string_view name) const;
  bool has(std::string_view name) const;

 private:
  std::filesystem::path path_;
};

}  // namespace patchbay::test
