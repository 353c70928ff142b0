// A bare loop around libcurl's multi interface: what an HTTP client costs before it knows anything of
// MCP. Sends what other clients send and keeps the body of the answer; `sequential` and `parallel` only.
#include <cstring>
#include <memory>

#include <curl/curl.h>

#include "figures.h"

namespace {

struct Transfer {
  CURL* easy = curl_easy_init();
  std::string request;
  std::string answer;
  ~Transfer() { curl_easy_cleanup(easy); }
};

std::size_t keep(char* bytes, std::size_t size, std::size_t count, void* into) {
  static_cast<std::string*>(into)->append(bytes, size * count);
  return size * count;
}

class Loop {
 public:
  Loop(std::string url, int transfers) : url_(std::move(url)) {
    for (const char* line : {"Content-Type: application/json", "Accept: application/json, text/event-stream",
                             "MCP-Protocol-Version: 2025-11-25", "Mcp-Session-Id: bench", "Expect:"}) {
      headers_ = curl_slist_append(headers_, line);
    }
    for (int i = 0; i < transfers; ++i) {
      auto& transfer = transfers_.emplace_back(std::make_unique<Transfer>());
      curl_easy_setopt(transfer->easy, CURLOPT_URL, url_.c_str());
      curl_easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, headers_);
      curl_easy_setopt(transfer->easy, CURLOPT_NOSIGNAL, 1L);
      curl_easy_setopt(transfer->easy, CURLOPT_NOPROXY, "*");
      curl_easy_setopt(transfer->easy, CURLOPT_WRITEFUNCTION, keep);
      curl_easy_setopt(transfer->easy, CURLOPT_WRITEDATA, &transfer->answer);
      curl_easy_setopt(transfer->easy, CURLOPT_PRIVATE, transfer.get());
    }
  }
  ~Loop() {
    transfers_.clear();
    curl_multi_cleanup(multi_);
    curl_slist_free_all(headers_);
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // `calls` calls, as many on their way as there are transfers.
  void run(int calls) {
    int begun = 0, running = 0;
    for (auto& transfer : transfers_) {
      if (begun == calls) break;
      begin(*transfer);
      ++begun;
    }
    for (int ended = 0; ended < calls;) {
      curl_multi_perform(multi_, &running);
      int left = 0;
      bool some = false;
      while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
        if (message->msg != CURLMSG_DONE) continue;
        some = true;
        Transfer* transfer = nullptr;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
        if (message->data.result != CURLE_OK || transfer->answer.find("said") == std::string::npos) {
          std::fprintf(stderr, "curl: %s\n", curl_easy_strerror(message->data.result));
          std::exit(1);
        }
        curl_multi_remove_handle(multi_, transfer->easy);
        ++ended;
        if (begun < calls) {
          begin(*transfer);
          ++begun;
        }
      }
      if (!some && ended < calls) curl_multi_poll(multi_, nullptr, 0, 1000, nullptr);
    }
  }

 private:
  void begin(Transfer& transfer) {
    transfer.answer.clear();
    transfer.request = R"({"jsonrpc":"2.0","id":)" + std::to_string(++id_) +
                       R"(,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}})";
    curl_easy_setopt(transfer.easy, CURLOPT_POSTFIELDS, transfer.request.data());
    curl_easy_setopt(transfer.easy, CURLOPT_POSTFIELDSIZE, static_cast<long>(transfer.request.size()));
    curl_multi_add_handle(multi_, transfer.easy);
  }

  std::string url_;
  CURLM* multi_ = curl_multi_init();
  curl_slist* headers_ = nullptr;
  std::vector<std::unique_ptr<Transfer>> transfers_;
  int id_ = 1;
};

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = bench::arguments_of(argc, argv);
  curl_global_init(CURL_GLOBAL_DEFAULT);
  Loop loop(arguments.server, arguments.at_once);
  loop.run(arguments.warm_up());
  bench::Meter meter(arguments.measure);
  if (arguments.measure == "parallel") {
    loop.run(arguments.count);
  } else {
    for (int i = 0; i < arguments.count; ++i) {
      const double began = bench::wall_us();
      loop.run(1);
      meter.took(bench::wall_us() - began);
    }
  }
  meter.print(arguments.count);
  return 0;
}
