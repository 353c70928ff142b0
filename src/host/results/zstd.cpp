#include "host/results/zstd.h"

#include <type_traits>

#include <dlfcn.h>

namespace patchbay {
namespace {

// Level 1: a result is written once, while somebody waits, and read seldom.
constexpr int level = 1;

// What we use of libzstd 1.0 or newer, which promises that it stays as it is.
struct Functions {
  std::size_t (*bound)(std::size_t);
  std::size_t (*compress)(void*, std::size_t, const void*, std::size_t, int);
  std::size_t (*decompress)(void*, std::size_t, const void*, std::size_t);
  unsigned (*is_error)(std::size_t);
};

std::optional<Functions> load() {
  void* library = ::dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) return std::nullopt;
  Functions functions{};
  bool all = true;
  auto bind = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    all &= function != nullptr;
  };
  bind(functions.bound, "ZSTD_compressBound");
  bind(functions.compress, "ZSTD_compress");
  bind(functions.decompress, "ZSTD_decompress");
  bind(functions.is_error, "ZSTD_isError");
  return all ? std::optional(functions) : std::nullopt;
}

const std::optional<Functions>& library() {
  static const auto loaded = load();
  return loaded;
}

}  // namespace

std::optional<std::string> zstd_packed(std::string_view bytes) {
  const auto& zstd = library();
  if (!zstd) return std::nullopt;
  std::string out;
  bool failed = false;
  out.resize_and_overwrite(zstd->bound(bytes.size()), [&](char* room, std::size_t size) {
    const auto used = zstd->compress(room, size, bytes.data(), bytes.size(), level);
    failed = zstd->is_error(used) != 0;
    return failed ? 0 : used;
  });
  if (failed || out.size() >= bytes.size()) return std::nullopt;
  return out;
}

Result<std::string> zstd_unpacked(std::string_view packed, std::size_t size) {
  const auto& zstd = library();
  if (!zstd) return fail(Errc::unsupported, "it is compressed, and libzstd is not installed");
  std::string out;
  bool good = false;
  out.resize_and_overwrite(size, [&](char* room, std::size_t most) {
    const auto used = zstd->decompress(room, most, packed.data(), packed.size());
    good = zstd->is_error(used) == 0 && used == size;
    return good ? used : 0;
  });
  if (!good) return fail(Errc::internal, "it is damaged");
  return out;
}

}  // namespace patchbay
