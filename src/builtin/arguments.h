// Arguments: reads the JSON arguments of one tool call by hand and collects everything that
// is wrong with them, so that a model can correct its call in one go. Used by each tool of the
// built-in server; pure. It checks types, ranges and unknown names, not what they mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/json.h>

namespace patchbay::builtin {

class Arguments {
 public:
  // `known` are the names the tool takes, in the order a model sees them.
  Arguments(std::string_view tool, const Json& arguments, std::vector<std::string> known);

  // A reader returns an empty value when the argument is missing or wrong; fault() then says so.
  // null counts as absent, because models write it for "no value".
  std::string string(std::string_view name);
  std::optional<std::string> optional_string(std::string_view name);
  bool boolean(std::string_view name, bool otherwise);
  std::int64_t integer(std::string_view name, std::int64_t otherwise, std::int64_t least, std::int64_t most);
  double number(std::string_view name, double otherwise, double least, double most);
  std::vector<std::string> strings(std::string_view name);
  // A path, command or pattern: text the system takes as a C string, so without NUL.
  std::string word(std::string_view name);
  std::optional<std::string> optional_word(std::string_view name);

  // Empty when all is well, else one sentence per problem and the names the tool takes.
  std::optional<std::string> fault() const;

 private:
  const Json* find(std::string_view name) const;
  void wrong(std::string_view name, std::string_view expected, const Json& found);

  std::string tool_;
  const Json& arguments_;
  std::vector<std::string> known_;
  std::vector<std::string> problems_;
};

}  // namespace patchbay::builtin
