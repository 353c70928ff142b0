#include "host/flight/flight_recorder.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/as_result.h"
#include "base/loop_clock.h"
#include "base/offload.h"
#include "base/strings.h"
#include "base/timeout.h"
#include "entries/child_env.h"
#include "host/flight/recording_files.h"
#include "recording/redact.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using Kind = RecordedFrame::Kind;

// The end of a program does not wait for a disk that hangs.
constexpr auto for_last_write = 2s;
// Recordings that wait to be written, each of a ring's bytes. When everything fails at once, these tell of it.
constexpr std::size_t most_writing = 8;
constexpr std::size_t longest_reason = 300;

std::string time_text(std::int64_t milliseconds, const char* form) {
  return fmt::format(fmt::runtime(form), fmt::gmtime(static_cast<std::time_t>(milliseconds / 1000)),
                     milliseconds % 1000);
}

}  // namespace

struct FlightRecorder::Server {
  FrameRing ring;
  bool on = true;
  std::uint32_t channels = 0;
  std::optional<std::int64_t> recorded;  // when it was last written to a file
};

class FlightRecorder::Tap final : public ChannelTap {
 public:
  Tap(std::shared_ptr<Server> server, const Clock& clock) : server_(std::move(server)), clock_(clock) {}

  std::uint32_t opened() override {
    const auto channel = ++server_->channels;
    if (server_->on) server_->ring.opened(channel, time());
    return channel;
  }
  void sent(std::uint32_t channel, const Message& message) override { add(Kind::sent, channel, message); }
  void received(std::uint32_t channel, const Message& message) override { add(Kind::received, channel, message); }
  void lost(std::uint32_t channel, const Lost& lost) override {
    if (!server_->on) return;
    server_->ring.mark(Kind::lost, channel, time(),
                       to_text(Json{{"id", to_json(lost.id)}, {"reason", lost.error.message()}}));
  }
  void closed(std::uint32_t channel, const Error* why) override {
    if (!server_->on) return;
    server_->ring.mark(why ? Kind::ended : Kind::closed, channel, time(), why ? why->message() : std::string());
  }

 private:
  void add(Kind kind, std::uint32_t channel, const Message& message) {
    if (server_->on) server_->ring.add(kind, channel, time(), message);
  }
  std::int64_t time() const {
    return std::chrono::floor<std::chrono::milliseconds>(clock_.wall()).time_since_epoch().count();
  }

  std::shared_ptr<Server> server_;
  const Clock& clock_;
};

FlightRecorder::FlightRecorder(std::string state_directory, std::string program,
                               std::function<void(const std::string&)> not_kept)
    : folder_(recordings_folder(state_directory)), program_(std::move(program)), not_kept_(std::move(not_kept)) {}

void FlightRecorder::begin(asio::any_io_executor executor) {
  if (scope_) return;
  clock_ = &loop_clock(executor);
  scope_.emplace(std::move(executor));
}

void FlightRecorder::use(bool on) {
  on_ = on;
  for (auto& [name, one] : servers_) {
    one->on = on;
    if (!on) one->ring.clear();
  }
}

std::shared_ptr<FlightRecorder::Server> FlightRecorder::server(const std::string& name) {
  auto& known = servers_[name];
  if (!known) {
    known = std::make_shared<Server>();
    known->on = on_;
  }
  return known;
}

std::shared_ptr<ChannelTap> FlightRecorder::tap(const std::string& name) {
  if (!scope_) return nullptr;
  return std::make_shared<Tap>(server(name), *clock_);
}

void FlightRecorder::starting(const std::string& name, const TextSecrets& secrets) {
  secrets_.insert_or_assign(name, std::make_shared<const TextSecrets>(secrets));
}

void FlightRecorder::forget(const std::string& name) {
  servers_.erase(name);
  secrets_.erase(name);
}

std::int64_t FlightRecorder::now() const {
  return std::chrono::floor<std::chrono::milliseconds>(clock_->wall()).time_since_epoch().count();
}

FlightRecorder::Taken FlightRecorder::take(const std::string& name, const Server& one, std::string reason) const {
  Taken taken;
  taken.frames = one.ring.frames();
  const auto time = taken.frames.empty() ? now() : taken.frames.front().time;
  taken.header = {name, program_, time_text(time, "{:%Y-%m-%dT%H:%M:%S}.{:03}Z"), std::move(reason)};
  for (auto& frame : taken.frames) frame.time -= time;
  auto secrets = std::make_shared<Secrets>();
  for (const auto& [server, known] : secrets_) secrets->push_back(known);
  if (secrets->empty()) secrets->push_back(std::make_shared<const TextSecrets>(environment_of_process()));
  taken.secrets = std::move(secrets);
  return taken;
}

// On a helper thread.
std::string FlightRecorder::text_of(Taken taken) {
  const auto known = [&](Json value) {
    for (const auto& secrets : *taken.secrets) value = secrets->json(std::move(value));
    return value;
  };
  const auto line = [&](std::string text) {
    for (const auto& secrets : *taken.secrets) text = secrets->line(text, longest_reason);
    return text;
  };
  taken.header.reason = line(std::move(taken.header.reason));
  for (auto& frame : taken.frames) {
    switch (frame.kind) {
      case Kind::sent:
      case Kind::received:
      case Kind::lost:
        frame.text = redacted_frame(frame.text, known);
        break;
      case Kind::ended:
        frame.text = line(std::move(frame.text));
        break;
      case Kind::opened:
      case Kind::closed:
      case Kind::gap:
        break;
    }
  }
  return write_recording(taken.header, taken.frames);
}

void FlightRecorder::failed(const ServerConfig& config, const Error& error) {
  const auto found = servers_.find(config.name);
  if (!scope_ || finished_ || !on_ || found == servers_.end()) return;
  auto& one = *found->second;
  const auto time = now();
  const auto pause = std::chrono::duration_cast<std::chrono::milliseconds>(between_recordings).count();
  if (one.recorded && time >= *one.recorded && time - *one.recorded < pause) return;
  if (one.ring.size() == 0 || writing_ >= most_writing) return;
  one.recorded = time;
  scope_->start(write(take(config.name, one, std::string(cut_utf8(error.message(), longest_reason))),
                      recording_stem(config), time_text(time, "{:%Y%m%dT%H%M%S}{:03}Z")));
}

Task<void> FlightRecorder::write(Taken taken, std::string stem, std::string time) {
  const auto self = shared_from_this();
  const struct Writing {
    explicit Writing(FlightRecorder& r) : recorder(r) { ++recorder.writing_; }
    Writing(const Writing&) = delete;
    Writing& operator=(const Writing&) = delete;
    ~Writing() {
      if (--recorder.writing_ == 0) recorder.idle_.notify_all();
    }
    FlightRecorder& recorder;
  } writing(*this);
  auto shared = std::make_shared<Taken>(std::move(taken));
  auto work = [shared, stem, time, folder = folder_]() -> Result<void> {
    if (is_recorded_just_now(stored_recordings(folder), stem, std::filesystem::file_time_type::clock::now())) return {};
    auto stored = store_recording(folder, stem, time, text_of(std::move(*shared)));
    if (!stored) return std::unexpected(std::move(stored).error());
    return {};
  };
  auto stored = co_await as_result(offload(Pool::slow, std::move(work)));
  if (stored && !*stored) not_kept_(stored->error().message());
}

std::vector<std::string> FlightRecorder::servers() const {
  std::vector<std::string> names;
  for (const auto& [name, one] : servers_) {
    if (one->ring.size() > 0) names.push_back(name);
  }
  return names;
}

Task<std::string> FlightRecorder::recording_of(std::string name) {
  const auto self = shared_from_this();
  const auto found = servers_.find(name);
  if (found == servers_.end() || found->second->ring.size() == 0) {
    throw Error(Errc::invalid_argument, fmt::format("nothing has been recorded of \"{}\"", name));
  }
  auto shared = std::make_shared<Taken>(take(name, *found->second, {}));
  auto work = [shared] { return text_of(std::move(*shared)); };
  co_return co_await offload(Pool::slow, std::move(work));
}

Task<void> FlightRecorder::written() {
  while (writing_ > 0) co_await idle_.wait();
}

Task<void> FlightRecorder::finish() {
  const auto self = shared_from_this();
  if (!scope_) co_return;
  finished_ = true;
  (void)co_await as_result(with_timeout(written(), for_last_write, "the state directory did not answer in time"));
  scope_->cancel();
  (void)co_await as_result(scope_->join());
}

}  // namespace patchbay
