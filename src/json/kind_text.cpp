#include "json/kind_text.h"

namespace patchbay {

std::string_view kind_with_article(const Json& value) noexcept {
  switch (value.kind()) {
    case Json::Kind::null:
      return "null";
    case Json::Kind::boolean:
      return "a boolean";
    case Json::Kind::string:
      return "a string";
    case Json::Kind::array:
      return "an array";
    case Json::Kind::object:
      return "an object";
    default:
      return "a number";
  }
}

}  // namespace patchbay
