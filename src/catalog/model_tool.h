// What the views of single tools and the pool share. Pure.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <patchbay/model_view.h>

namespace patchbay {

// Characters of a text that is UTF-8.
std::size_t characters_in(std::string_view text) noexcept;

// At most so many characters, with a marker at the end where something is missing. The text was cleaned before.
std::string cut_for_model(std::string_view text, std::size_t most);

struct ModelName {
  std::string name;
  std::string catalog_name;
  std::string fallback;  // the description when none was given
};

Result<ModelTool> view_named(const std::shared_ptr<const Tool>& tool, ModelName named, ModelApi api);

}  // namespace patchbay
