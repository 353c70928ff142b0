// From what a server may read and write to the list of files and folders that Landlock is told about. Landlock allows
// whole trees and cannot take anything out of one, so a tree with a denied place in it is given up, and what is in it
// beside that place is allowed one by one: a name that is made there later is not allowed. Pure; what is on the disk
// comes in through functions, and every list has a bound.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace patchbay {

enum class PathKind : std::uint8_t { missing, file, folder, link };

struct FolderNames {
  std::vector<std::string> names;
  bool hidden = false;    // we may not list it
  bool too_many = false;  // more than were asked for
};

struct FileView {
  // Of the name itself: a link is a link. Whatever is no folder and no link is a file.
  std::function<PathKind(const std::string& path)> kind;
  std::function<FolderNames(const std::string& folder, std::size_t most)> names;
};

struct PathRule {
  std::string path;
  bool folder = false;
  bool write = false;  // reading, listing and executing are always part of it
  bool operator==(const PathRule&) const = default;
};

// What is wanted; all paths absolute, normal and without links.
struct FileWish {
  std::vector<std::string> read;
  std::vector<std::string> write;
  std::vector<std::string> denied;  // wins over both; need not exist
};

struct FileRules {
  std::vector<PathRule> rules;
  std::vector<std::string> refused;  // wanted, and inside of what is denied
  std::vector<std::string> missing;  // wanted, and not there
  std::vector<std::string> opened;   // to write in, and given up because something denied is inside: see above
  // The folder that has too much in it for the tree around it to be allowed piece by piece.
  std::optional<std::string> too_large;
  bool operator==(const FileRules&) const = default;
};

inline constexpr std::size_t most_sandbox_names = 4096;  // in a folder that holds a denied place
inline constexpr std::size_t most_sandbox_rules = 8192;

FileRules plan_files(const FileWish& wish, const FileView& view);

// What every program needs to run at all, where not everything may be read; and where everyone may write.
std::vector<std::string> system_read_places();
std::vector<std::string> system_write_places();

}  // namespace patchbay
