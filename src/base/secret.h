// A string that cannot be printed by accident: no formatter, no stream operator, wiped
// when it goes. reveal() marks every place that really needs the text.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace patchbay {

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}
  Secret(const Secret&) = default;
  Secret(Secret&& other) noexcept : text_(std::move(other.text_)) { other.wipe(); }
  Secret& operator=(const Secret&) = default;
  Secret& operator=(Secret&& other) noexcept {
    wipe();
    text_ = std::move(other.text_);
    other.wipe();
    return *this;
  }
  ~Secret() { wipe(); }

  std::string_view reveal() const noexcept { return text_; }
  bool empty() const noexcept { return text_.empty(); }
  bool operator==(const Secret&) const = default;

 private:
  void wipe() noexcept {
    for (volatile char* p = text_.data(); p != text_.data() + text_.size(); ++p) *p = 0;
    text_.clear();
  }
  std::string text_;
};

}  // namespace patchbay
