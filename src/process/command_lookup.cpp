#include "process/command_lookup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "base/strings.h"
#include "text/shell_word.h"

namespace patchbay {
namespace {

enum class Found { nothing, executable, not_executable, directory, hidden };

Found look(const std::string& file) {
  struct stat info{};
  if (::stat(file.c_str(), &info) != 0) return errno == EACCES ? Found::hidden : Found::nothing;
  if (S_ISDIR(info.st_mode)) return Found::directory;
  return ::faccessat(AT_FDCWD, file.c_str(), X_OK, AT_EACCESS) == 0 ? Found::executable : Found::not_executable;
}

std::string searched(std::size_t directories) {
  return directories == 1 ? std::string("it is not in the only directory")
                          : fmt::format("it is in none of the {} directories", directories);
}

std::string within(std::string_view directory, std::string_view part) {
  return (std::filesystem::path(directory) / std::filesystem::path(part)).string();
}

// A whole command line where only the program belongs: what to write instead, if that exists.
std::string split_remedy(std::string_view command, std::string_view path, std::string_view directory) {
  const auto blank = command.find(' ');
  if (blank == command.npos || blank == 0 || !find_command(command.substr(0, blank), path, directory)) return {};
  std::string args;
  for (auto word : split(command.substr(blank + 1), ' ')) {
    if (!word.empty()) args += fmt::format("{}\"{}\"", args.empty() ? "" : ", ", word);
  }
  return fmt::format("there is no program called \"{}\"; write \"command\": \"{}\", \"args\": [{}]", command,
                     command.substr(0, blank), args);
}

}  // namespace

Result<std::string> find_command(std::string_view command, std::string_view path, std::string_view directory) {
  if (command.empty()) return fail(Errc::invalid_argument, "the command is empty; write the name of a program");
  if (command.find('/') != command.npos) {
    auto file = within(directory, command);
    switch (look(file)) {
      case Found::executable:
        return file;
      case Found::not_executable:
        return fail(Errc::connect, fmt::format("{} is not executable; run: chmod +x{}", file, shell_operands({file})));
      case Found::directory:
        return fail(Errc::connect, fmt::format("{} is a directory, not a program; write the path of a program", file));
      case Found::hidden:
        return fail(Errc::connect,
                    fmt::format("{} cannot be opened: permission denied; ask its owner for the right to run it", file));
      case Found::nothing:
        break;
    }
    if (auto remedy = split_remedy(command, path, directory); !remedy.empty()) return fail(Errc::connect, remedy);
    return fail(Errc::connect, fmt::format("{} does not exist; correct the command", file));
  }
  std::string refused;
  for (auto part : split(path, ':')) {
    auto file = within(within(directory, part.empty() ? "." : part), command);
    switch (look(file)) {
      case Found::executable:
        return file;
      case Found::not_executable:
        if (refused.empty()) refused = file;
        break;
      default:
        break;
    }
  }
  if (!refused.empty())
    return fail(Errc::connect,
                fmt::format("{} is not executable; run: chmod +x{}", refused, shell_operands({refused})));
  if (auto remedy = split_remedy(command, path, directory); !remedy.empty()) return fail(Errc::connect, remedy);
  return fail(Errc::connect, path.empty()
                                 ? fmt::format("command not found: {} (PATH is empty); write its full path", command)
                                 : fmt::format("command not found: {} ({} of PATH); install it, or write its full path",
                                               command, searched(split(path, ':').size())));
}

std::vector<std::string> overlay_environment(const char* const* base, const std::map<std::string, std::string>& overlay,
                                             const std::vector<std::string>& unset) {
  std::vector<std::string> out;
  std::size_t inherited = 0;
  while (base != nullptr && base[inherited] != nullptr) ++inherited;
  out.reserve(inherited + overlay.size());
  for (; base != nullptr && *base != nullptr; ++base) {
    std::string_view entry = *base;
    const auto equals = entry.find('=');
    const auto name = entry.substr(0, equals);
    if (equals != entry.npos && !overlay.empty() && overlay.contains(std::string(name))) continue;
    if (std::ranges::find(unset, name) != unset.end()) continue;
    out.emplace_back(entry);
  }
  for (const auto& [name, value] : overlay) out.push_back(name + "=" + value);
  return out;
}

std::string_view variable(const std::vector<std::string>& environment, std::string_view name,
                          std::string_view fallback) {
  for (std::string_view entry : environment) {
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
      return entry.substr(name.size() + 1);
    }
  }
  return fallback;
}

}  // namespace patchbay
