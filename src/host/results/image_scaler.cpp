#include "host/results/image_scaler.h"

#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/as_result.h"
#include "base/crypto.h"
#include "base/timeout.h"
#include "entries/child_env.h"
#include "process/process.h"
#include "process/to_the_end.h"
#include "results/image_header.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;

constexpr Patience at_once{.after_eof = 0ms, .after_interrupt = 0ms, .after_terminate = 0ms};
constexpr auto limit = 15s;

bool runnable(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

std::string beside(const std::filesystem::path& file) {
  return (file.parent_path().parent_path() / "libexec/patchbay/patchbay-images").string();
}

}  // namespace

std::string images_program() {
  if (const char* named = std::getenv("PATCHBAY_IMAGES"); named != nullptr && *named != '\0') {
    return runnable(named) ? named : std::string();
  }
  std::error_code error;
  if (const auto program = std::filesystem::read_symlink("/proc/self/exe", error); !error) {
    if (auto path = beside(program); runnable(path)) return path;
  }
  Dl_info library{};
  if (::dladdr(reinterpret_cast<const void*>(&images_program), &library) != 0 && library.dli_fname != nullptr) {
    if (const auto file = std::filesystem::canonical(library.dli_fname, error); !error) {
      if (auto path = beside(file); runnable(path)) return path;
    }
  }
  return {};
}

std::optional<ScaledImage> read_scaled(const std::string& output, const ImageToScale& wish) {
  const auto line = output.find('\n');
  if (line == output.npos || line > 64) return std::nullopt;
  const auto bytes = std::string_view(output).substr(line + 1);
  // The image itself says what it is; the line is for people.
  const auto header = image_header(bytes);
  if (!header || header->width > wish.side || header->height > wish.side || bytes.size() > wish.bytes) {
    return std::nullopt;
  }
  return ScaledImage{base64_encode(bytes), std::string(header->mime_type), header->width, header->height};
}

Task<std::optional<ScaledImage>> scale_image(std::string program, std::string bytes, ImageToScale wish,
                                             Runtime runtime) {
  ProcessSpec spec;
  spec.command = std::move(program);
  spec.args = {fmt::format("{}", wish.side), fmt::format("{}", wish.bytes)};
  spec.cwd = "/";
  // It has no use for them, and whoever took it over should find no secrets.
  for (const auto& [name, value] : environment_of_process()) {
    if (name != "LD_LIBRARY_PATH") spec.unset.push_back(name);
  }
  const auto log = runtime.log;
  auto started = co_await as_result(Process::start(std::move(spec), std::move(runtime)));
  if (!started) {
    if (started.error().code() == Errc::cancelled) throw std::move(started).error();
    log(LogLevel::info, "image not scaled", "reason", started.error().message());
    co_return std::nullopt;
  }
  auto& process = **started;
  auto feeder = std::make_shared<Feeder>(process, std::make_shared<const std::string>(std::move(bytes)));
  feeder->go_on();
  std::string output;
  auto outcome = co_await as_result(
      with_timeout(read_to_end(process, output, wish.bytes + 128), limit, "scaling an image took too long"));
  feeder.reset();
  co_await shut_down(process, at_once);
  if (!outcome && outcome.error().code() == Errc::cancelled) throw std::move(outcome).error();
  const auto& status = process.exit_status();
  if (!outcome || !status || *status != ExitStatus{}) {
    log(LogLevel::info, "image not scaled", "reason",
        !outcome ? outcome.error().message()
        : status ? describe(*status)
                 : "was ended by another program");
    co_return std::nullopt;
  }
  co_return read_scaled(output, wish);
}

}  // namespace patchbay
