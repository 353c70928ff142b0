// Takes secrets out of what servers wrote before it is kept or handed to programs: values this process and an entry
// hold under a name that says so, NAME=value in the text itself, and words in the form of well-known tokens. Pure.
// It cannot know what a server fetched from elsewhere.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <patchbay/config.h>

#include "entries/child_env.h"
#include "entries/expand.h"

namespace patchbay {

class TextSecrets {
 public:
  // Those of the process.
  explicit TextSecrets(const Environment& environment);
  // And those of an entry. `lookup`: what its variables are set to.
  TextSecrets(const Environment& environment, const ServerConfig& written, const VariableLookup& lookup);

  // More of them. `secrets`: what references of the entry were found to hold.
  void add_entry(const ServerConfig& written, const VariableLookup& lookup, const SecretValues& secrets = {});
  void add_variables(const NamedTexts& variables);

  // The text as it is, without them.
  std::string hidden(std::string_view text) const;
  // The same in every text of a value.
  Json json(Json value) const;
  // Of a text that was cut off: without a secret of which only the beginning is there.
  std::string without_begun(std::string_view text) const;
  // One clean line, cut to `longest` bytes.
  std::string line(std::string_view text, std::size_t longest) const;
  // The last lines, each clean and cut, indented as they were.
  std::string lines(std::string_view text, std::size_t most, std::size_t longest) const;
  // All of it, line by line.
  std::string all(std::string_view text) const;

 private:
  void hide(std::string_view value);
  void hide_url(const std::string& value);
  void hide_arguments(const std::vector<std::string>& args);
  void hide_variables(std::string_view written, const VariableLookup& lookup);
  void add(const ServerConfig& server);
  void sort();
  std::string without_values(std::string_view text) const;

  std::vector<std::pair<std::string, std::string>> replacements_;  // a text and what is to stand in its place
};

}  // namespace patchbay
