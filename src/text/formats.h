// The texts that importers read: JSON with comments, TOML, YAML. All become the same document, a value
// and the place of each part, so that no importer knows which it was. The library
// that reads YAML stays in import_yaml.cpp; TOML is read by ourselves, in import_toml.cpp. Pure; hostile texts are
// bounded in size, depth and number of values before they cost anything.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "text/document.h"

namespace patchbay {

// A settings file of TOML or YAML is a few kilobytes.
inline constexpr std::size_t import_text_limit = 1u << 20;
inline constexpr std::size_t import_depth_limit = 64;
// Counted with every repetition that an alias stands for.
inline constexpr std::size_t import_value_limit = 100'000;

// The fault is one problem of the file, with line and column.
std::expected<ConfigDocument, ConfigProblem> read_toml(std::string_view text, const std::string& file);
std::expected<ConfigDocument, ConfigProblem> read_yaml(std::string_view text, const std::string& file);

// The byte where a character begins, for readers that count in characters instead of bytes. Built in one
// pass; every question after that takes a few steps.
class CharacterOffsets {
 public:
  explicit CharacterOffsets(std::string_view text);
  std::size_t at_character(std::size_t index) const noexcept;  // from 0

 private:
  std::string_view text_;
  std::vector<std::size_t> marks_;  // bytes of every few characters
};

// What is wrong with any text before a library sees it: too large, or not UTF-8.
std::expected<void, ConfigProblem> check_import_text(std::string_view text, const std::string& file);
ConfigProblem import_fault(std::string_view text, const std::string& file, std::size_t offset, std::string message);

}  // namespace patchbay
