#include "process/warden/image.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <dlfcn.h>
#include <fmt/format.h>

extern "C" {
extern const unsigned char patchbay_warden_begin[];
extern const unsigned char patchbay_warden_end[];
}

namespace patchbay {
namespace {

constexpr std::string_view remedy =
    "; install libexec/patchbay/patchbay-warden, or name a copy of it: export PATCHBAY_WARDEN=/path/to/patchbay-warden";

bool runnable(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

// <prefix>/bin/program or <prefix>/lib/libpatchbay.so to <prefix>/libexec/patchbay/patchbay-warden.
std::string beside(std::string_view file) {
  for (int level = 0; level < 2; ++level) file = file.substr(0, file.find_last_of('/'));
  return fmt::format("{}/libexec/patchbay/patchbay-warden", file);
}

}  // namespace

Result<WardenImage> embedded_warden() {
  constexpr unsigned executable = 0x10;  // MFD_EXEC; kernels before 6.3 do not know it
  Fd memory(::memfd_create("patchbay-warden", MFD_CLOEXEC | executable));
  if (!memory && errno == EINVAL) memory = Fd(::memfd_create("patchbay-warden", MFD_CLOEXEC));
  // Low numbers are where the child's own descriptors go.
  if (memory && memory.get() < 10) memory = Fd(::fcntl(memory.get(), F_DUPFD_CLOEXEC, 10));
  if (!memory && (errno == EMFILE || errno == ENFILE)) {
    return fail(Errc::connect, "no file descriptors are left; close some servers, or raise the limit with ulimit -n");
  }
  if (!memory) {
    return fail(Errc::connect,
                fmt::format("the guard process cannot be started from memory ({}){}", std::strerror(errno), remedy));
  }
  const auto* next = patchbay_warden_begin;
  while (next < patchbay_warden_end) {
    auto written = ::write(memory.get(), next, static_cast<std::size_t>(patchbay_warden_end - next));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      return fail(Errc::connect,
                  fmt::format("the guard process cannot be written to memory ({}){}", std::strerror(errno), remedy));
    }
    next += written;
  }
  // A descriptor open for writing could not be executed; the one behind this path is read-only.
  auto path = fmt::format("/proc/self/fd/{}", memory.get());
  Fd readable(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (readable && readable.get() < 10) readable = Fd(::fcntl(readable.get(), F_DUPFD_CLOEXEC, 10));
  if (!readable) {
    return fail(Errc::connect, fmt::format("the guard process cannot be started from memory ({}; is /proc mounted?){}",
                                           std::strerror(errno), remedy));
  }
  return WardenImage{fmt::format("/proc/self/fd/{}", readable.get()), std::move(readable)};
}

Result<WardenImage> find_warden() {
  if (const char* named = std::getenv("PATCHBAY_WARDEN"); named != nullptr && *named != '\0') {
    std::error_code ignored;
    auto path = std::filesystem::absolute(named, ignored).string();
    if (!runnable(path)) {
      return fail(Errc::connect, fmt::format("PATCHBAY_WARDEN names {}, which is not an executable file; correct it or "
                                             "run: unset PATCHBAY_WARDEN",
                                             named));
    }
    return WardenImage{std::move(path), {}};
  }
  // Plain texts: this is done for every start.
  std::array<char, PATH_MAX> program;
  const auto length = ::readlink("/proc/self/exe", program.data(), program.size());
  if (length > 0 && static_cast<std::size_t>(length) < program.size()) {
    auto path = beside({program.data(), static_cast<std::size_t>(length)});
    if (runnable(path)) return WardenImage{std::move(path), {}};
  }
  std::error_code error;
  Dl_info library{};
  if (::dladdr(reinterpret_cast<const void*>(&patchbay_warden_begin), &library) != 0 && library.dli_fname != nullptr) {
    auto file = std::filesystem::canonical(library.dli_fname, error);
    if (!error) {
      if (auto path = beside(file.native()); runnable(path)) return WardenImage{std::move(path), {}};
    }
  }
  return embedded_warden();
}

}  // namespace patchbay
