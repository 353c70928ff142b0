#include <patchbay/json.h>

#include "json/scanner.h"

namespace patchbay {

// Holds a text, a value, or both; whichever is missing is made from the other on demand.
struct Payload::State {
  std::shared_ptr<const std::string> block;  // owns `text` when set
  std::string own;                           // owns `text` otherwise
  std::string_view text;
  bool has_text = false;
  std::optional<Json> value;

  void keep(std::string bytes) {
    own = std::move(bytes);
    text = own;
    has_text = true;
  }

  Json& parsed() {
    if (!value) {
      auto built = build_validated(text);
      if (!built) throw to_error(built.error());
      value = std::move(*built);
    }
    return *value;
  }
};

Payload::Payload() noexcept = default;

Payload::Payload(Json value) : state_(std::make_shared<State>()) { state_->value = std::move(value); }

Result<Payload> Payload::parse(std::string text, JsonOptions options) {
  JsonScanner scanner(text, options.max_depth);
  std::string_view slice;
  if (!scanner.check_utf8() || !scanner.skip_value(slice) || !scanner.finish()) {
    return std::unexpected(scanner.error());
  }
  const auto begins = static_cast<std::size_t>(slice.data() - text.data());
  const auto length = slice.size();
  Payload payload;
  payload.state_ = std::make_shared<State>();
  payload.state_->keep(std::move(text));
  payload.state_->text = payload.state_->text.substr(begins, length);
  return payload;
}

Payload Payload::from_validated(std::shared_ptr<const std::string> block, std::string_view slice) {
  Payload payload;
  payload.state_ = std::make_shared<State>();
  if (slice.size() < block->size() / 4) {
    payload.state_->keep(std::string(slice));
  } else {
    payload.state_->block = std::move(block);
    payload.state_->text = slice;
    payload.state_->has_text = true;
  }
  return payload;
}

Payload Payload::from_validated(std::string text) {
  Payload payload;
  payload.state_ = std::make_shared<State>();
  payload.state_->keep(std::move(text));
  return payload;
}

void Payload::append_to(std::string& out) const {
  if (state_ && !state_->has_text) {
    append_text(out, *state_->value);
  } else {
    out += text();
  }
}

std::string_view Payload::text() const {
  if (!state_) return "null";
  if (!state_->has_text) state_->keep(to_text(*state_->value));
  return state_->text;
}

const Json& Payload::value() const {
  static const Json null;
  return state_ ? state_->parsed() : null;
}

Json Payload::take() && {
  if (!state_) return {};
  const auto state = std::exchange(state_, nullptr);
  if (state.use_count() == 1) return std::move(state->parsed());
  return state->parsed();
}

}  // namespace patchbay
