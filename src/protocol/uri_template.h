// UriTemplate: RFC 6570, all four levels, as resource templates use it. A client expands
// one to read a resource; a server matches a URI against one to find its handler. Pure;
// time and memory are bounded by the sizes checked here.
//
// Matching is the useful inverse, not a full one (there is none): every variable stands
// for one string, and a query names its variables in any order.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <patchbay/error.h>

namespace patchbay {

class UriTemplate {
 public:
  using List = std::vector<std::string>;
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  using Value = std::variant<std::string, List, Pairs>;
  // A name that is missing, an empty list and empty pairs are undefined: they leave no
  // trace. An empty string is defined.
  using Values = std::map<std::string, Value, std::less<>>;

  static constexpr std::size_t max_template = 4u << 10;
  static constexpr std::size_t max_variables = 64;
  static constexpr std::size_t max_uri = 16u << 10;  // longer ones match nothing
  static constexpr std::size_t max_expansion = 1u << 20;

  // Errc::invalid_argument that names the byte, or Errc::limit.
  static Result<UriTemplate> parse(std::string_view text);

  const std::string& text() const noexcept { return text_; }
  // Each name once, in the order of first use.
  std::vector<std::string> variables() const;

  // Errc::limit when the result would be longer than max_expansion.
  Result<std::string> expand(const Values& values) const;

  // The variables of a URI that this template could have made, percent-decoded; nullopt
  // when it could not. Earlier variables take as much as they can. Values are a
  // stranger's: one may hold "..", "/" or a NUL after decoding.
  std::optional<std::map<std::string, std::string>> match(std::string_view uri) const;

 private:
  struct Variable {
    std::string name;
    std::size_t prefix = 0;  // characters to keep; 0 keeps all
    bool explode = false;
  };
  struct Expression {
    char op = 0;  // 0 for simple expansion
    std::vector<Variable> variables;
  };
  using Part = std::variant<std::string, Expression>;  // a literal, ready to be written

  struct Piece;
  std::vector<Piece> pieces() const;

  std::string text_;
  std::vector<Part> parts_;
};

}  // namespace patchbay
