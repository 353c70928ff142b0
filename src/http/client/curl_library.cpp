#include "http/client/curl_library.h"

#include <type_traits>

#include <dlfcn.h>
#include <fmt/format.h>

namespace patchbay {
namespace {

constexpr unsigned oldest_version = 0x075700;  // 7.87.0: CURLOPT_QUICK_EXIT, a cache for trusted CAs

struct Loading {
  CurlFunctions curl{};
  std::string failure;
};

Loading load() {
  Loading loading;
  void* library = ::dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    loading.failure = ::dlerror();
    return loading;
  }
  auto bind = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    if (!function && loading.failure.empty()) loading.failure = fmt::format("{} is missing in libcurl.so.4", name);
  };
  auto& functions = loading.curl;
  bind(functions.global_init, "curl_global_init");
  bind(functions.version_info, "curl_version_info");
  bind(functions.easy_init, "curl_easy_init");
  bind(functions.easy_cleanup, "curl_easy_cleanup");
  bind(functions.easy_setopt, "curl_easy_setopt");
  bind(functions.easy_getinfo, "curl_easy_getinfo");
  bind(functions.easy_pause, "curl_easy_pause");
  bind(functions.easy_reset, "curl_easy_reset");
  bind(functions.easy_recv, "curl_easy_recv");
  bind(functions.easy_send, "curl_easy_send");
  bind(functions.easy_strerror, "curl_easy_strerror");
  bind(functions.url, "curl_url");
  bind(functions.url_set, "curl_url_set");
  bind(functions.url_cleanup, "curl_url_cleanup");
  bind(functions.multi_init, "curl_multi_init");
  bind(functions.multi_cleanup, "curl_multi_cleanup");
  bind(functions.multi_setopt, "curl_multi_setopt");
  bind(functions.multi_add_handle, "curl_multi_add_handle");
  bind(functions.multi_remove_handle, "curl_multi_remove_handle");
  bind(functions.multi_socket_action, "curl_multi_socket_action");
  bind(functions.multi_info_read, "curl_multi_info_read");
  if (!loading.failure.empty()) return loading;
  const auto* version = functions.version_info(CURLVERSION_NOW);
  if (version->version_num < oldest_version) {
    loading.failure = fmt::format("the installed version is {}", version->version);
  } else if (functions.global_init(CURL_GLOBAL_ALL) != CURLE_OK) {
    loading.failure = "the installed libcurl cannot be initialized";
  }
  return loading;
}

const Loading& loaded() {
  static const Loading loading = load();
  return loading;
}

}  // namespace

const std::string& curl_failure() { return loaded().failure; }
const CurlFunctions& curl() { return loaded().curl; }

}  // namespace patchbay
