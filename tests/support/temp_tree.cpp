#include "support/temp_tree.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace patchbay::test {

namespace fs = std::filesystem;

TempTree::TempTree() {
  std::string pattern = (fs::canonical(fs::temp_directory_path()) / "patchbay-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make a temporary directory");
  path_ = pattern;
}

TempTree::~TempTree() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void TempTree::file(std::string_view name, std::string_view content) const {
  fs::create_directories((path_ / name).parent_path());
  std::ofstream(path_ / name, std::ios::binary) << content;
}

void TempTree::directory(std::string_view name) const { fs::create_directories(path_ / name); }

void TempTree::link(std::string_view name, const fs::path& target) const { fs::create_symlink(target, path_ / name); }

void TempTree::fifo(std::string_view name) const {
  if (::mkfifo((path_ / name).c_str(), 0600) != 0) throw std::runtime_error("cannot make a FIFO");
}

std::string TempTree::read(std::string_view name) const {
  std::ostringstream out;
  out << std::ifstream(path_ / name, std::ios::binary).rdbuf();
  return std::move(out).str();
}

bool TempTree::has(std::string_view name) const { return fs::exists(fs::symlink_status(path_ / name)); }

}  // namespace patchbay::test
