#include "host/channels/relay.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "secrets/redact.h"
#include "text/clean_text.h"
#include "text/utf8.h"

namespace patchbay {
namespace {

constexpr std::string_view letters = "abcdefghijkmnopqrstuvwxyz";
constexpr std::size_t id_letters = 5;
constexpr std::size_t most_open = 64;  // questions at once; a person answers none of so many by their letters

// Offsets of the characters of a valid text, and its size.
std::vector<std::size_t> characters_of(std::string_view text) {
  std::vector<std::size_t> at;
  for (std::size_t i = 0; i < text.size(); i += decode_utf8(text, i).length) at.push_back(i);
  at.push_back(text.size());
  return at;
}

}  // namespace

std::string relay_id(const Random& random) {
  std::string id;
  while (id.size() < id_letters) {
    std::array<std::uint8_t, 16> bytes{};
    random(bytes);
    for (const auto byte : bytes) {
      // 250 is the largest multiple of 25 in a byte: every letter is as likely.
      if (byte < 250 && id.size() < id_letters) id += letters[byte % letters.size()];
    }
  }
  return id;
}

bool is_relay_id(std::string_view text) noexcept {
  return text.size() == id_letters && std::ranges::all_of(text, [](char c) { return letters.contains(c); });
}

std::string relay_preview(std::string_view text, std::size_t longest) {
  // Cleaning looks at all of a text; of a huge one the ends are enough.
  constexpr std::size_t most_bytes = 1u << 20;
  std::string ends;
  if (text.size() > most_bytes) {
    ends = fmt::format("{}{}", text.substr(0, most_bytes / 2), text.substr(text.size() - most_bytes / 2));
    text = ends;
  }
  const auto clean = clean_for_display(text);
  const auto at = characters_of(clean);
  const auto count = at.size() - 1;
  if (count <= longest) return clean;
  // With room for the note between them.
  constexpr std::size_t note = 40;
  const auto room = longest > note ? longest - note : 0;
  const auto tail = room / 3;
  const auto head = room - tail;
  return fmt::format("{}\n[… {} characters …]\n{}", std::string_view(clean).substr(0, at[head]), count - head - tail,
                     std::string_view(clean).substr(at[count - tail]));
}

Json relay_question(std::string_view id, const PermissionQuestion& question, const TextSecrets& secrets) {
  std::string input;
  try {
    input = to_text(secrets.json(redacted(question.arguments.value())));
  } catch (const Error& error) {
    // Arguments that are no JSON are refused before they are sent; whoever is asked sees why.
    input = error.message();
  }
  const auto* tool = question.tool.tool.get();
  return Json{{"request_id", std::string(id)},
              {"tool_name", relay_preview(question.tool.name)},
              {"description", relay_preview(secrets.hidden(tool != nullptr ? tool->description.value_or("") : ""))},
              {"input_preview", relay_preview(input)}};
}

Result<RelayVerdict> read_relay_verdict(const Json& params) {
  const auto id = params["request_id"].text();
  const auto behavior = params["behavior"].text();
  if (!id || !is_relay_id(*id)) return fail(Errc::protocol, "\"request_id\" of an answer must be five letters");
  if (!behavior || (*behavior != "allow" && *behavior != "deny")) {
    return fail(Errc::protocol, "\"behavior\" of an answer must be \"allow\" or \"deny\"");
  }
  return RelayVerdict{std::string(*id), *behavior == "allow"};
}

std::string RelayBoard::add(std::set<std::string> servers, Answered answered) {
  if (open_.size() >= most_open) return {};
  auto id = relay_id(random_);
  while (open_.contains(id)) id = relay_id(random_);
  open_.emplace(id, Question{std::move(servers), std::move(answered)});
  return id;
}

void RelayBoard::remove(std::string_view id) {
  if (const auto found = open_.find(id); found != open_.end()) open_.erase(found);
}

bool RelayBoard::answer(const RelayVerdict& verdict, const std::string& server) {
  const auto found = open_.find(verdict.id);
  if (found == open_.end() || !found->second.servers.contains(server)) return false;
  // Taken out first: whoever is told may ask the next question.
  auto question = std::move(found->second);
  open_.erase(found);
  question.answered(verdict.allow, server);
  return true;
}

}  // namespace patchbay
