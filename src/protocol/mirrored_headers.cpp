#include "protocol/mirrored_headers.h"

#include <charconv>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/crypto.h"
#include "base/strings.h"
#include "protocol/methods.h"

namespace patchbay {
namespace {

constexpr std::string_view annotation = "x-mcp-header";
constexpr std::string_view prefix = "=?base64?";
constexpr std::string_view suffix = "?=";
constexpr std::int64_t safe_integer = (std::int64_t{1} << 53) - 1;
constexpr std::size_t deepest_schema = 64;

bool is_token(std::string_view text) noexcept {
  if (text.empty()) return false;
  for (const char c : text) {
    const bool alphanumeric = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!alphanumeric && std::string_view("!#$%&'*+-.^_`|~").find(c) == std::string_view::npos) return false;
  }
  return true;
}

Error broken(std::string_view why) { return Error(Errc::protocol, fmt::format("{}: {}", annotation, why)); }

// Walks the whole schema: an annotation that cannot be reached through `properties` alone
// spoils the tool, wherever it hides.
class Finder {
 public:
  Result<MirroredArguments> find(const Json& schema) {
    if (auto walked = walk(schema, true, 0); !walked) return std::unexpected(walked.error());
    return std::move(found_);
  }

 private:
  Result<void> walk(const Json& schema, bool reachable, std::size_t depth) {
    if (depth > deepest_schema) return {};  // no argument lies that deep
    if (const auto* items = schema.if_array()) {
      for (const auto& item : *items) {
        if (auto walked = walk(item, false, depth + 1); !walked) return walked;
      }
      return {};
    }
    const auto* object = schema.if_object();
    if (object == nullptr) return {};
    if (const auto* name = object->find(annotation)) {
      if (auto taken = take(*name, *object, reachable); !taken) return taken;
    }
    for (const auto& [key, value] : *object) {
      // Data, not schemas: an annotation in there is somebody's value.
      if (key == annotation || key == "const" || key == "enum" || key == "default" || key == "examples") continue;
      if (key == "properties" && value.is_object()) {
        for (const auto& [property, inner] : *value.if_object()) {
          path_.emplace_back(property);
          auto walked = walk(inner, reachable, depth + 1);
          path_.pop_back();
          if (!walked) return walked;
        }
      } else if (auto walked = walk(value, false, depth + 1); !walked) {
        return walked;  // every other keyword ends the path to one argument
      }
    }
    return {};
  }

  Result<void> take(const Json& name, const Json::Object& schema, bool reachable) {
    const auto text = name.text();
    if (!text) return std::unexpected(broken("is not a string"));
    if (!is_token(*text)) return std::unexpected(broken(fmt::format("\"{}\" is not a valid name of a header", *text)));
    if (!reachable || path_.empty()) {
      return std::unexpected(broken(
          fmt::format("\"{}\" is at a place in the schema that does not belong to exactly one argument", *text)));
    }
    const auto* type = schema.find("type");
    const auto type_name = type ? type->text() : std::nullopt;
    MirroredArgument argument{.header = fmt::format("Mcp-Param-{}", *text), .path = path_};
    if (type_name && *type_name == "string") {
      argument.type = MirroredArgument::Type::string;
    } else if (type_name && *type_name == "integer") {
      argument.type = MirroredArgument::Type::integer;
    } else if (type_name && *type_name == "boolean") {
      argument.type = MirroredArgument::Type::boolean;
    } else {
      return std::unexpected(
          broken(fmt::format("\"{}\" is on a property that is not a string, integer or boolean", *text)));
    }
    if (!names_.insert(to_lower_ascii(*text)).second) {
      return std::unexpected(broken(fmt::format("\"{}\" is used twice", *text)));
    }
    found_.push_back(std::move(argument));
    return {};
  }

  std::vector<std::string> path_;
  std::set<std::string> names_;
  MirroredArguments found_;
};

const Json* at_path(const Json& arguments, const std::vector<std::string>& path) {
  const Json* value = &arguments;
  for (const auto& key : path) {
    value = value->find(key);
    if (value == nullptr) return nullptr;
  }
  return value;
}

std::optional<std::int64_t> to_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

}  // namespace

Result<MirroredArguments> mirrored_arguments(const Json& input_schema) { return Finder().find(input_schema); }

std::string to_header_value(std::string_view value) {
  const bool marked = value.starts_with(prefix) && value.ends_with(suffix);
  bool plain = !marked && (value.empty() || (value.front() != ' ' && value.back() != ' '));
  for (const char c : value) plain = plain && c >= 0x20 && c <= 0x7e;
  if (plain) return std::string(value);
  return fmt::format("{}{}{}", prefix, base64_encode(value), suffix);
}

Result<std::string> from_header_value(std::string_view header) {
  if (!header.starts_with(prefix) || !header.ends_with(suffix) || header.size() < prefix.size() + suffix.size()) {
    for (const char c : header) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x20 || byte > 0x7e)
        return std::unexpected(Error(Errc::protocol, "the value contains a character that is not allowed"));
    }
    return std::string(header);
  }
  return base64_decode(header.substr(prefix.size(), header.size() - prefix.size() - suffix.size()));
}

Result<std::optional<std::string>> mirrored_value(const MirroredArgument& argument, const Json& arguments) {
  const auto* value = at_path(arguments, argument.path);
  if (value == nullptr || value->is_null()) return std::nullopt;
  switch (argument.type) {
    case MirroredArgument::Type::string:
      if (const auto text = value->text()) return std::string(*text);
      break;
    case MirroredArgument::Type::boolean:
      if (const auto flag = value->to_bool()) return std::string(*flag ? "true" : "false");
      break;
    case MirroredArgument::Type::integer:
      if (const auto number = value->to_int(); number && *number >= -safe_integer && *number <= safe_integer) {
        return std::to_string(*number);
      }
      if (value->is_number()) {
        return std::unexpected(Error(Errc::invalid_argument,
                                     fmt::format("the argument \"{}\" must be an integer between -(2^53-1) and 2^53-1",
                                                 fmt::join(argument.path, "."))));
      }
      break;
  }
  return std::unexpected(Error(
      Errc::invalid_argument,
      fmt::format(
          "the argument \"{}\" is {}, but its schema requires another type, and its value is sent in the header {}",
          fmt::join(argument.path, "."), to_string(value->kind()), argument.header)));
}

Result<void> check_mirrored(const MirroredArgument& argument, const Json& arguments,
                            std::optional<std::string_view> header) {
  auto expected = mirrored_value(argument, arguments);
  if (!expected) return std::unexpected(expected.error());
  if (!*expected) {
    if (!header) return {};
    return std::unexpected(Error(
        Errc::protocol, fmt::format("the header {} repeats an argument that the call does not have", argument.header)));
  }
  if (!header) return std::unexpected(Error(Errc::protocol, fmt::format("the header {} is missing", argument.header)));
  auto received = from_header_value(trim(*header));
  if (!received) {
    return std::unexpected(
        Error(Errc::protocol, fmt::format("the header {}: {}", argument.header, received.error().message())));
  }
  const bool same = argument.type == MirroredArgument::Type::integer ? to_integer(*received) == to_integer(**expected)
                                                                     : *received == **expected;
  if (same) return {};
  return std::unexpected(
      Error(Errc::protocol, fmt::format("the header {} differs from the argument that it repeats", argument.header)));
}

std::string_view routed_parameter(std::string_view name) noexcept {
  if (name == method::call_tool || name == method::get_prompt) return "name";
  if (name == method::read_resource) return "uri";
  if (name == "tasks/get" || name == "tasks/update" || name == "tasks/cancel") return "taskId";
  return {};
}

Result<HeaderList> mirrored_headers(std::string_view method, const Json& params, const MirroredArguments& arguments) {
  HeaderList headers;
  headers.emplace_back("Mcp-Method", std::string(method));
  if (const auto parameter = routed_parameter(method); !parameter.empty()) {
    if (const auto name = params[parameter].text()) headers.emplace_back("Mcp-Name", to_header_value(*name));
  }
  for (const auto& argument : arguments) {
    auto value = mirrored_value(argument, params["arguments"]);
    if (!value) return std::unexpected(value.error());
    if (*value) headers.emplace_back(argument.header, to_header_value(**value));
  }
  return headers;
}

}  // namespace patchbay
