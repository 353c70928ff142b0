// --answers: what the user has answered before a server asks. An object of values by the name of the field, for
// whichever question has such a field; under the name of a server, of a tool as SERVER/TOOL, or under the text of a
// question, an object of values for that one alone, which takes precedence. Reading it is blocking; the rest is pure.
// Made by main for one command; loop thread only.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include <patchbay/call.h>
#include <patchbay/json.h>
#include <patchbay/questions.h>

namespace patchbay::cli {

class GivenAnswers {
 public:
  // A file, or JSON text. Throws Errc::invalid_argument for what is not an object of answers.
  static GivenAnswers read(const std::string& file_or_json);
  explicit GivenAnswers(Json given) : given_(std::move(given)) {}

  // The content of the form. Nothing when there is no answer to this question; Errc::invalid_argument when there is
  // one that does not fit.
  std::optional<Result<Json>> answer(const ElicitRequest& question, const CallContext& context);
  // Answers that no question has used, as they are written: "name", "server: name".
  std::vector<std::string> unused() const;

 private:
  Json given_;
  std::set<std::string> used_;
};

}  // namespace patchbay::cli
