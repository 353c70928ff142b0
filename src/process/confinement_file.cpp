#include "process/confinement_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "process/warden/protocol.h"

namespace patchbay {
namespace {

static_assert(sizeof(FilterStep) == 8, "a step is what the kernel takes");

template <class T>
void add(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

Result<std::string> confinement_bytes(const Confinement& wanted) {
  if (wanted.filter.size() > PB_PLAN_MOST_STEPS) return fail(Errc::internal, "the filter of the sandbox is too long");
  pb_plan head{};
  head.mark = PB_PLAN_MARK;
  head.steps = static_cast<std::uint32_t>(wanted.filter.size());
  head.handled_files = wanted.handled_files;
  head.scoped = wanted.scoped;
  head.most_files = wanted.limits.files.value_or(0);
  head.most_processes = wanted.limits.processes.value_or(0);
  head.most_memory = wanted.limits.memory.value_or(0);
  std::string out;
  add(out, head);
  for (const auto& step : wanted.filter) add(out, step);
  for (const auto& path : wanted.paths) {
    // The warden would read a part of the name.
    if (path.path.find('\0') != path.path.npos) continue;
    const auto size = (path.path.size() + 8) / 8 * 8;
    ++head.paths;
    add(out, pb_plan_path{path.access, static_cast<std::uint32_t>(size), 0});
    out += path.path;
    out.append(size - path.path.size(), '\0');
    if (out.size() > PB_PLAN_MOST) {
      return fail(Errc::connect,
                  "the list of files that the sandbox allows is too long; name folders in \"sandbox.read\" and "
                  "\"sandbox.write\"");
    }
  }
  head.size = static_cast<std::uint32_t>(out.size());
  std::memcpy(out.data(), &head, sizeof head);
  return out;
}

Result<Fd> confinement_file(const Confinement& wanted, std::string_view command) {
  auto bytes = confinement_bytes(wanted);
  if (!bytes) return std::unexpected(std::move(bytes).error());
  Fd file(::memfd_create("patchbay-sandbox", MFD_CLOEXEC));
  std::size_t done = 0;
  while (file && done < bytes->size()) {
    const auto written = ::write(file.get(), bytes->data() + done, bytes->size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) file.reset();
    if (written > 0) done += static_cast<std::size_t>(written);
  }
  if (!file) {
    return fail(Errc::connect, fmt::format("cannot make the sandbox of {}: {}", command, std::strerror(errno)));
  }
  return file;
}

}  // namespace patchbay
