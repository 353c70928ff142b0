#include <array>

#include <fmt/format.h>

#include <patchbay/error.h>

namespace patchbay {

std::string_view to_string(Errc code) noexcept {
  static constexpr std::array names{
      "cancelled", "timeout", "closed",      "connect",          "tls",   "http",   "unauthorized", "forbidden",
      "protocol",  "rpc",     "unsupported", "invalid_argument", "limit", "config", "denied",       "internal"};
  return names.at(static_cast<std::size_t>(code));
}

std::string_view to_string(CarriedOut whether) noexcept {
  static constexpr std::array names{"no", "refused", "unknown"};
  return names.at(static_cast<std::size_t>(whether));
}

Error::Error(Errc code, std::string message) : state_(std::make_unique<State>()) {
  state_->code = code;
  state_->message = std::move(message);
}

Error::Error(const Error& other) : std::exception(other), state_(std::make_unique<State>(other.state())) {}

Error& Error::operator=(const Error& other) {
  if (this != &other) state_ = std::make_unique<State>(other.state());
  return *this;
}

Error::~Error() = default;

const Error::State& Error::nothing() noexcept {
  static const State nothing;
  return nothing;
}

Error::State& Error::own() {
  if (!state_) state_ = std::make_unique<State>();
  return *state_;
}

Error Error::rpc(std::int64_t rpc_code, std::string message, std::string data) {
  Error error(Errc::rpc, std::move(message));
  error.own().rpc_code = rpc_code;
  error.own().rpc_data = std::move(data);
  return error;
}

Error Error::with_http_status(int status) && {
  own().http_status = status;
  return std::move(*this);
}

Error Error::with_detail(std::string detail) && {
  own().detail = std::move(detail);
  return std::move(*this);
}

Error Error::with_carried_out(CarriedOut whether) && {
  own().carried_out = whether;
  return std::move(*this);
}

Error Error::without_carried_out() && {
  own().carried_out.reset();
  return std::move(*this);
}

Error Error::with_remedy(Remedy remedy) && {
  own().remedy = std::move(remedy);
  return std::move(*this);
}

Error Error::without_remedy() && {
  own().remedy.reset();
  return std::move(*this);
}

Error Error::with_sign_in(SignInNeed need) && {
  own().sign_in = std::move(need);
  return std::move(*this);
}

Error Error::with_rpc_data(std::string data) && {
  own().rpc_data = std::move(data);
  return std::move(*this);
}

Error Error::with_original(Error original) && {
  own().original = std::make_shared<const Error>(std::move(original));
  return std::move(*this);
}

Error Error::within(std::string_view context) const { return with_message(fmt::format("{}: {}", context, message())); }

Error Error::with_message(std::string message) const {
  Error error = *this;
  error.own().message = std::move(message);
  return error;
}

Error Error::marked() const {
  Error error = *this;
  if (!error.own().mark) error.own().mark = std::make_shared<const char>('\0');
  return error;
}

bool Error::operator==(const Error& other) const {
  return code() == other.code() && message() == other.message() && rpc_code() == other.rpc_code() &&
         rpc_data() == other.rpc_data() && remedy() == other.remedy();
}

}  // namespace patchbay
