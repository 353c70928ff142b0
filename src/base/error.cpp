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

Error Error::rpc(std::int64_t rpc_code, std::string message, std::string data) {
  Error error(Errc::rpc, std::move(message));
  error.rpc_code_ = rpc_code;
  error.rpc_data_ = std::move(data);
  return error;
}

Error Error::within(std::string_view context) const {
  Error error = *this;
  error.message_ = fmt::format("{}: {}", context, message_);
  return error;
}

Error Error::with_message(std::string message) const {
  Error error = *this;
  error.message_ = std::move(message);
  return error;
}

Error Error::marked() const {
  Error error = *this;
  if (!error.mark_) error.mark_ = std::make_shared<const char>('\0');
  return error;
}

bool Error::operator==(const Error& other) const {
  return code_ == other.code_ && message_ == other.message_ && rpc_code_ == other.rpc_code_ &&
         rpc_data_ == other.rpc_data_ && remedy_ == other.remedy_;
}

}  // namespace patchbay
