// The inside of CurlLoop: libcurl's "multi" handle on an Asio loop, its connections, and what is kept from one
// request for the next. Transfers (http/client/curl_transfer.cpp) join and leave it. Loop thread only; like all that
// knows a type of the library, included by the files that wrap it and no others.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/asio/posix/stream_descriptor.hpp>

#include "base/fd.h"
#include "base/timer.h"
#include "http/client/curl_library.h"
#include "http/client/curl_transfer.h"
#include "http/message.h"

namespace patchbay {

// One request under way, as the loop sees it.
class CurlMember {
 public:
  virtual CURL* easy() const noexcept = 0;
  // To the server or the proxy: the library tells only when it is ready for the request.
  virtual bool is_connected() const noexcept = 0;
  virtual void note_connected() noexcept = 0;
  // A connection with this port of ours closes; it may be the one this request went out on.
  virtual void note_closing(int socket, int local_port) = 0;
  virtual void finish(CURLcode code) = 0;
  virtual void abandon() = 0;

 protected:
  ~CurlMember() = default;
};

// The library tells which sockets it waits for. Those of connections it opens and closes through us:
// an Asio descriptor refers to each until it is closed, so that a connection that is used again and
// again is registered once. Of others (a resolver's) the descriptor is let go when the library no
// longer waits, and none ever refers to a number that means another socket by now.
class CurlLoop::State : public std::enable_shared_from_this<CurlLoop::State> {
 public:
  State(boost::asio::any_io_executor executor, std::size_t idle_connections, const KeepAlive& keep_alive);
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { close(); }

  void close();
  bool idle() const noexcept { return members_.empty(); }
  // Must be followed by kick(). The handle's private pointer is its Place, which knows the member.
  void add(CurlMember& member);
  void remove(CurlMember& member);
  // Lets the library do what is due now. Not from inside its callbacks.
  void kick() { act(CURL_SOCKET_TIMEOUT, 0); }

  // What a handle refers to from one request to the next, so that it is told once: whose it is, what went wrong, and
  // the lines of the head.
  struct Place {
    CurlMember* member = nullptr;
    std::array<char, CURL_ERROR_SIZE> error{};
    HttpHeaders lines_of;  // what the lines were made of
    bool for_body = false;
    bool for_large_body = false;
    std::string lines;
    std::vector<curl_slist> list;  // refers to `lines`
  };
  // A handle, and whether it is set up for these options already.
  struct Handle {
    CURL* easy = nullptr;
    std::shared_ptr<const TransferOptions> options;  // null: nothing is set
    ParsedUrl url;                                   // theirs; `easy` refers to it
    std::unique_ptr<Place> place;                    // with options; `easy` refers to it
  };
  Handle take_easy(const std::shared_ptr<const TransferOptions>& options);
  // A used handle costs less than a new one, and less still when what was set is what the next
  // request needs; its caches are in multi_.
  void give_back(Handle handle);

  // Certificates for the library to trust. It copies a text of them for every request, but of a file
  // only the name; so they are in a file, which has no other name and is gone with this object.
  struct Bundle {
    std::string path;
    Fd file;
    std::string text;  // where there can be no such file
  };
  // What a file of certificates holds (the library's own when it has no name), and behind it
  // another one. Read once per loop, and kept as long as it.
  const Bundle& certificates(const std::string& file, const std::string& extra);

  // For the library to open and close connections with; `self` is this object.
  static curl_socket_t on_open(void* self, curlsocktype, curl_sockaddr* address);
  static int on_close(void* self, curl_socket_t socket);

 private:
  static constexpr std::size_t most_spare = 8;

  struct Watched {
    explicit Watched(const boost::asio::any_io_executor& executor) : descriptor(executor) {}
    boost::asio::posix::stream_descriptor descriptor;
    bool ours = false;  // opened, and so closed, by us
    int what = 0;       // CURL_POLL_* the library waits for now
    bool reading = false;
    bool writing = false;
  };
  using Sockets = std::unordered_map<int, std::shared_ptr<Watched>>;
  struct Ready;

  static int on_socket(CURL* easy, curl_socket_t socket, int what, void* self, void*);
  static int on_timer(CURLM*, long milliseconds, void* self);

  void watch(int socket, int what);
  std::shared_ptr<Watched> add_socket(int socket, bool ours);
  void forget(Sockets::iterator socket);
  void wait(int socket, const std::shared_ptr<Watched>& watched);
  void note_connection(CURL* easy, int socket);
  void note_closing(int socket);
  void set_timer(long milliseconds);
  void act(curl_socket_t socket, int events);
  void finish_done();

  CURLM* multi_ = nullptr;
  KeepAlive keep_alive_;
  Timer timer_;
  std::uint64_t timer_round_ = 0;
  bool adding_ = false;  // what is due at once is done by the kick() that follows
  Sockets sockets_;
  std::unordered_map<CURL*, CurlMember*> members_;
  std::vector<Handle> spare_;
  std::map<std::pair<std::string, std::string>, Bundle> bundles_;
};

}  // namespace patchbay
