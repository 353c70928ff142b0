#include "builtin/arguments.h"

#include <cmath>

#include <fmt/format.h>

#include "base/strings.h"
#include "json/kind_text.h"

namespace patchbay::builtin {

namespace {}  // namespace

Arguments::Arguments(std::string_view tool, const Json& arguments, std::vector<std::string> known)
    : tool_(tool), arguments_(arguments), known_(std::move(known)) {
  if (arguments_.is_null()) return;
  const auto* object = arguments_.if_object();
  if (!object) {
    problems_.push_back(fmt::format("the arguments must be an object, not {}", kind_with_article(arguments_)));
    return;
  }
  for (const auto& [name, value] : *object) {
    bool taken = false;
    for (const auto& candidate : known_) taken = taken || candidate == name;
    if (taken) continue;
    const auto meant = nearest(name, known_);
    problems_.push_back(fmt::format("unknown argument \"{}\"{}", cut_utf8(name, 60),
                                    meant.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", meant)));
  }
}

const Json* Arguments::find(std::string_view name) const {
  const Json* value = arguments_.find(name);
  return value && value->is_null() ? nullptr : value;
}

void Arguments::wrong(std::string_view name, std::string_view expected, const Json& found) {
  problems_.push_back(fmt::format("\"{}\" must be {}, not {}", name, expected, kind_with_article(found)));
}

std::string Arguments::string(std::string_view name) {
  if (!find(name) && (arguments_.is_object() || arguments_.is_null())) {
    problems_.push_back(fmt::format("\"{}\" is missing", name));
  }
  return optional_string(name).value_or("");
}

std::optional<std::string> Arguments::optional_string(std::string_view name) {
  const Json* value = find(name);
  if (!value) return {};
  if (const auto text = value->text()) return std::string(*text);
  wrong(name, "a string", *value);
  return {};
}

std::string Arguments::word(std::string_view name) {
  auto text = string(name);
  if (text.contains('\0')) problems_.push_back(fmt::format("\"{}\" must not contain NUL", name));
  const Json* value = find(name);
  if (value && value->is_string() && text.empty()) problems_.push_back(fmt::format("\"{}\" must not be empty", name));
  return text;
}

std::optional<std::string> Arguments::optional_word(std::string_view name) {
  if (!find(name)) return {};
  return word(name);
}

bool Arguments::boolean(std::string_view name, bool otherwise) {
  const Json* value = find(name);
  if (!value) return otherwise;
  if (const auto flag = value->to_bool()) return *flag;
  wrong(name, "true or false", *value);
  return otherwise;
}

std::int64_t Arguments::integer(std::string_view name, std::int64_t otherwise, std::int64_t least, std::int64_t most) {
  const Json* value = find(name);
  if (!value) return otherwise;
  const auto number = value->to_int();
  if (!number) {
    if (value->is_number()) {
      problems_.push_back(fmt::format("\"{}\" must be an integer from {} to {}", name, least, most));
    } else {
      wrong(name, "an integer", *value);
    }
    return otherwise;
  }
  if (*number < least || *number > most) {
    problems_.push_back(fmt::format("\"{}\" must be from {} to {}, not {}", name, least, most, *number));
    return otherwise;
  }
  return *number;
}

double Arguments::number(std::string_view name, double otherwise, double least, double most) {
  const Json* value = find(name);
  if (!value) return otherwise;
  const auto number = value->to_double();
  if (!number) {
    wrong(name, "a number", *value);
    return otherwise;
  }
  if (!(*number >= least && *number <= most)) {
    problems_.push_back(fmt::format("\"{}\" must be from {} to {}, not {}", name, least, most, *number));
    return otherwise;
  }
  return *number;
}

std::vector<std::string> Arguments::strings(std::string_view name) {
  const Json* value = find(name);
  if (!value) return {};
  const auto* items = value->if_array();
  if (!items) {
    wrong(name, "an array of strings", *value);
    return {};
  }
  std::vector<std::string> texts;
  for (const auto& item : *items) {
    const auto text = item.text();
    if (!text) {
      problems_.push_back(
          fmt::format("\"{}[{}]\" must be a string, not {}", name, texts.size(), kind_with_article(item)));
      return {};
    }
    if (text->contains('\0')) {
      problems_.push_back(fmt::format("\"{}[{}]\" must not contain NUL", name, texts.size()));
      return {};
    }
    texts.emplace_back(*text);
  }
  return texts;
}

std::optional<std::string> Arguments::fault() const {
  if (problems_.empty()) return {};
  return fmt::format("{}: {}. Its arguments are: {}.", tool_, join(problems_, "; "), join(known_, ", "));
}

}  // namespace patchbay::builtin
