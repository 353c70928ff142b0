#include "http/challenge.h"

#include <algorithm>

#include "base/strings.h"

namespace patchbay {
namespace {

constexpr std::size_t most_challenges = 32;
constexpr std::size_t most_parameters = 64;

bool is_letter_or_digit(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}
bool in_token(char c) noexcept { return is_letter_or_digit(c) || std::string_view("!#$%&'*+-.^_`|~").contains(c); }
bool in_token68(char c) noexcept { return is_letter_or_digit(c) || std::string_view("-._~+/").contains(c); }
bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }

// One field. A comma separates challenges as well as parameters, so what a word is shows only behind it: "=" makes it
// the name of a parameter.
class Reader {
 public:
  Reader(std::string_view field, std::vector<HttpChallenge>& out) : rest_(field), out_(out) {}

  void read() {
    while (skip_separators(), !rest_.empty()) {
      const auto word = take(in_token);
      if (word.empty()) {
        pass_over();
        continue;
      }
      const auto behind = rest_;
      skip_blanks();
      if (rest_.starts_with('=')) {
        rest_.remove_prefix(1);
        skip_blanks();
        read_value(word);
        continue;
      }
      const bool apart = behind.size() != rest_.size();
      rest_ = behind;
      if (out_.size() == most_challenges) return;
      current_ = &out_.emplace_back();
      current_->scheme = to_lower_ascii(word);
      if (apart) read_token68();
    }
  }

 private:
  template <class In>
  std::string_view take(In in) {
    const auto end = std::ranges::find_if_not(rest_, in);
    const auto taken = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(taken.size());
    return taken;
  }
  void skip_blanks() { (void)take(is_blank); }
  void skip_separators() {
    (void)take([](char c) { return is_blank(c) || c == ','; });
  }
  // What is not a word: up to where one can begin again.
  void pass_over() {
    if (rest_.front() == '"') {
      std::string ignored;
      (void)quoted(ignored);
    } else {
      (void)take([](char c) { return !is_blank(c) && c != ',' && c != '"'; });
    }
  }

  // Whether it ended.
  bool quoted(std::string& out) {
    for (std::size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == '"') {
        rest_.remove_prefix(i + 1);
        return true;
      }
      if (rest_[i] == '\\' && ++i == rest_.size()) break;
      out += rest_[i];
    }
    rest_ = {};
    return false;
  }

  void read_value(std::string_view name) {
    std::string value;
    if (rest_.starts_with('"')) {
      if (!quoted(value)) return;
    } else {
      // URLs are not tokens, and are sent without quotes all the same.
      value = take([](char c) { return !is_blank(c) && c != ',' && c != '"'; });
    }
    if (!current_ || current_->parameters.size() >= most_parameters) return;
    current_->parameters.emplace_back(to_lower_ascii(name), std::move(value));
    // With parameters behind it, it was only a word too many.
    current_->token68.clear();
  }

  // Only when nothing else is in this challenge: "Negotiate YIIJ==".
  void read_token68() {
    const auto before = rest_;
    skip_blanks();
    const auto begin = rest_;
    const auto letters = take(in_token68);
    const auto padding = take([](char c) { return c == '='; });
    skip_blanks();
    if (letters.empty() || (!rest_.empty() && rest_.front() != ',')) {
      rest_ = before;
      return;
    }
    current_->token68 = begin.substr(0, letters.size() + padding.size());
  }

  std::string_view rest_;
  std::vector<HttpChallenge>& out_;
  HttpChallenge* current_ = nullptr;
};

}  // namespace

std::string_view HttpChallenge::get(std::string_view name) const noexcept {
  const auto found = std::ranges::find(parameters, name, &std::pair<std::string, std::string>::first);
  return found == parameters.end() ? std::string_view() : std::string_view(found->second);
}

std::vector<HttpChallenge> parse_challenges(const HttpHeaders& headers) {
  std::vector<HttpChallenge> challenges;
  for (const auto field : headers.all("WWW-Authenticate")) Reader(field, challenges).read();
  return challenges;
}

SignInChallenge sign_in_challenge(const HttpHeaders& headers) {
  SignInChallenge sum;
  auto take = [](std::optional<std::string>& into, std::string_view value) {
    if (!into && !value.empty()) into = value;
  };
  for (const auto& challenge : parse_challenges(headers)) {
    const bool dpop = challenge.scheme == "dpop";
    if (!dpop && challenge.scheme != "bearer") continue;
    sum.present = true;
    sum.dpop = sum.dpop || dpop;
    take(sum.resource_metadata, challenge.get("resource_metadata"));
    take(sum.scope, challenge.get("scope"));
    // A description belongs to its error.
    if (sum.error.empty() && !challenge.get("error").empty()) {
      sum.error = challenge.get("error");
      sum.error_description = challenge.get("error_description");
    }
  }
  return sum;
}

}  // namespace patchbay
