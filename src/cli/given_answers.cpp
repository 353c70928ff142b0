#include "cli/given_answers.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/io.h"
#include "protocol/question_form.h"

namespace patchbay::cli {
namespace {

constexpr std::size_t most_bytes = 1u << 20;

std::string path_of(std::string_view key, std::string_view name) { return fmt::format("{}: {}", key, name); }

}  // namespace

GivenAnswers GivenAnswers::read(const std::string& file_or_json) {
  std::string text(trim(file_or_json));
  std::string of = "--answers";
  if (!text.starts_with('{')) {
    auto content = read_argument_file(file_or_json);
    if (!content) throw Error(Errc::invalid_argument, fmt::format("--answers: {}", content.error().message()));
    text = std::move(*content);
    of = fmt::format("--answers: {}", file_or_json);
  }
  if (text.size() > most_bytes) {
    throw Error(Errc::invalid_argument, fmt::format("{} is larger than the limit of {} bytes", of, most_bytes));
  }
  auto given = parse_json(text);
  if (!given) throw Error(Errc::invalid_argument, fmt::format("{} is not JSON: {}", of, given.error().message()));
  if (!given->is_object() || given->size() == 0) {
    throw Error(
        Errc::invalid_argument,
        fmt::format("{} must be a JSON object with an answer for each field, such as {{\"name\": \"Ada\"}}", of));
  }
  return GivenAnswers(std::move(*given));
}

std::optional<Result<Json>> GivenAnswers::answer(const ElicitRequest& question, const CallContext& context) {
  if (question.mode != ElicitRequest::Mode::form) return std::nullopt;
  const auto form = read_form(question.requested_schema);
  if (!form) return std::nullopt;  // the reason is said where the question is cancelled
  Json values = Json::object();
  std::vector<std::string> taken;
  bool addressed = false;
  auto take = [&](std::string_view name, const Json& value, std::string path) {
    if (!form->find(name)) return;
    values[name] = value;
    taken.push_back(std::move(path));
  };
  for (const auto& [name, value] : given_.members()) {
    if (!value.is_object()) take(name, value, std::string(name));
  }
  // The narrower one last, so that it counts.
  for (const auto& key : {context.server, context.server + "/" + context.tool, question.message}) {
    const Json* of = given_.find(key);
    if (of == nullptr || !of->is_object()) continue;
    addressed = true;
    taken.push_back(key);
    for (const auto& [name, value] : of->members()) take(name, value, path_of(key, name));
  }
  if (!addressed && taken.empty()) return std::nullopt;
  used_.insert(taken.begin(), taken.end());
  auto filled = fill_in(*form, values);
  if (!filled) return std::unexpected(std::move(filled).error());
  return std::move(filled->content);
}

std::vector<std::string> GivenAnswers::unused() const {
  std::vector<std::string> out;
  for (const auto& [key, value] : given_.members()) {
    if (!value.is_object()) {
      if (!used_.contains(std::string(key))) out.emplace_back(key);
      continue;
    }
    if (value.size() == 0 && !used_.contains(std::string(key))) out.emplace_back(key);
    for (const auto& [name, one] : value.members()) {
      if (auto path = path_of(key, name); !used_.contains(path)) out.push_back(std::move(path));
    }
  }
  return out;
}

}  // namespace patchbay::cli
