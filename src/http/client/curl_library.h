// libcurl as it was found on this machine: a table of its functions, filled when the first of them is
// needed (docs/adr/0004-http-client.md), and small helpers around its types. Only the files that wrap the library
// include this one, so that none of its types shows anywhere else (tests/unit/layers_test.cpp). Any thread.
#pragma once

#include <memory>
#include <string>

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

namespace patchbay {

struct CurlFunctions {
  decltype(&::curl_global_init) global_init;
  decltype(&::curl_version_info) version_info;
  decltype(&::curl_easy_init) easy_init;
  decltype(&::curl_easy_cleanup) easy_cleanup;
  decltype(&::curl_easy_setopt) easy_setopt;
  decltype(&::curl_easy_getinfo) easy_getinfo;
  decltype(&::curl_easy_pause) easy_pause;
  decltype(&::curl_easy_reset) easy_reset;
  decltype(&::curl_easy_recv) easy_recv;
  decltype(&::curl_easy_send) easy_send;
  decltype(&::curl_easy_strerror) easy_strerror;
  decltype(&::curl_url) url;
  decltype(&::curl_url_set) url_set;
  decltype(&::curl_url_cleanup) url_cleanup;
  decltype(&::curl_multi_init) multi_init;
  decltype(&::curl_multi_cleanup) multi_cleanup;
  decltype(&::curl_multi_setopt) multi_setopt;
  decltype(&::curl_multi_add_handle) multi_add_handle;
  decltype(&::curl_multi_remove_handle) multi_remove_handle;
  decltype(&::curl_multi_socket_action) multi_socket_action;
  decltype(&::curl_multi_info_read) multi_info_read;
};

// Why there is no library to use, empty when there is one. Loads it if that has not been done; it is never unloaded.
const std::string& curl_failure();
// Only where curl_failure() is empty.
const CurlFunctions& curl();

struct FreeUrl {
  void operator()(CURLU* url) const { curl().url_cleanup(url); }
};
using ParsedUrl = std::unique_ptr<CURLU, FreeUrl>;

template <class T>
T curl_info(CURL* easy, CURLINFO what) {
  T value{};
  curl().easy_getinfo(easy, what, &value);
  return value;
}

}  // namespace patchbay
