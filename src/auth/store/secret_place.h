// Where a secret is kept. Data only.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace patchbay {

enum class SecretPlace : std::uint8_t { keyring, file };
std::string_view to_string(SecretPlace place) noexcept;
std::optional<SecretPlace> secret_place_called(std::string_view name) noexcept;

}  // namespace patchbay
