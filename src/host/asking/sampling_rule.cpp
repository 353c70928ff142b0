#include "host/asking/sampling_rule.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "entries/expand.h"
#include "protocol/codec.h"
#include "text/visible_text.h"

namespace patchbay {
namespace {

constexpr std::size_t most_calls_kept = 256;

bool names(const std::vector<std::string>& list, std::string_view server) {
  return std::ranges::find(list, server) != list.end();
}

// Each line of the text behind a bar, so that none of them can be taken for a line of ours.
void add_lines(std::string& out, std::string_view text) {
  for (const auto line : split(text, '\n')) out += fmt::format("  | {}\n", visible_text(line));
}

void add_block(std::string& out, const Content& block) {
  if (const auto* text = std::get_if<TextContent>(&block)) return add_lines(out, text->text);
  const auto whole = encode(block);
  const auto kind = whole["type"].text();
  const auto type = whole["mimeType"].text();
  if (const auto data = whole["data"].text()) {
    out += fmt::format("  | [{}{}, {} bytes as base64]\n", visible_text(kind.value_or("content")),
                       type ? " " + visible_text(*type) : std::string(), data->size());
    return;
  }
  add_lines(out, to_text(whole));
}

}  // namespace

SamplingOutcome decide_sampling(std::span<const SettingsLayer> layers, std::string_view server,
                                const ConfigOrigin& declared) {
  bool allowed = false;
  for (const auto& layer : layers) {
    if (names(layer.sampling.deny, server) || names(layer.sampling.deny, "*")) return SamplingOutcome::deny;
    if (!is_inside_repository(layer.source)) allowed |= names(layer.sampling.allow, server);
  }
  const bool by_others = came_with_repository(declared) || declared.scope == ConfigScope::plugin;
  return allowed && !by_others ? SamplingOutcome::allow : SamplingOutcome::ask;
}

SamplingBudget sampling_budget(std::span<const SettingsLayer> layers) {
  SamplingBudget out;
  auto smallest = [&](std::optional<std::uint64_t> SamplingSettings::* which, std::uint64_t& value) {
    std::optional<std::uint64_t> outside;
    std::optional<std::uint64_t> inside;
    for (const auto& layer : layers) {
      const auto& number = layer.sampling.*which;
      auto& least = is_inside_repository(layer.source) ? inside : outside;
      if (number) least = std::min(least.value_or(*number), *number);
    }
    // A repository can lower what counts without it, and never raise it.
    value = outside.value_or(value);
    value = std::min(value, inside.value_or(value));
  };
  smallest(&SamplingSettings::requests_per_call, out.requests_per_call);
  smallest(&SamplingSettings::tokens_per_call, out.tokens_per_call);
  smallest(&SamplingSettings::requests_per_server, out.requests_per_server);
  smallest(&SamplingSettings::tokens_per_server, out.tokens_per_server);
  return out;
}

Result<void> SamplingSpent::fits(const Spent& spent, std::uint64_t tokens, std::uint64_t most_requests,
                                 std::uint64_t most_tokens, std::string_view of) {
  if (spent.requests >= most_requests) {
    return fail(Errc::limit, fmt::format("the limit of {} to the model for the {} is reached",
                                         plural(most_requests, "request"), of));
  }
  if (tokens > most_tokens - std::min(spent.tokens, most_tokens)) {
    return fail(Errc::limit, fmt::format("{} tokens are more than is left for the {}: {} of {}", tokens, of,
                                         most_tokens - std::min(spent.tokens, most_tokens), most_tokens));
  }
  return {};
}

Result<void> SamplingSpent::take(const SamplingBudget& budget, const std::string& server, std::uint64_t call,
                                 std::int64_t tokens) {
  if (tokens <= 0) return fail(Errc::invalid_argument, "maxTokens must be greater than 0");
  const auto wanted = static_cast<std::uint64_t>(tokens);
  const auto of_server = servers_.find(server);
  const auto of_call = calls_.find(call);
  if (auto fit = fits(of_call == calls_.end() ? Spent{} : of_call->second, wanted, budget.requests_per_call,
                      budget.tokens_per_call, "call");
      !fit) {
    return fit;
  }
  if (auto fit = fits(of_server == servers_.end() ? Spent{} : of_server->second, wanted, budget.requests_per_server,
                      budget.tokens_per_server, "server");
      !fit) {
    return fit;
  }
  for (auto* spent : {&servers_[server], &calls_[call]}) {
    ++spent->requests;
    spent->tokens += wanted;
  }
  // Calls are numbered in their order: the oldest are over.
  while (calls_.size() > most_calls_kept) calls_.erase(calls_.begin());
  return {};
}

std::string sampling_text(const CreateMessageRequest& request) {
  std::string out;
  if (request.system_prompt) {
    out += "system:\n";
    add_lines(out, *request.system_prompt);
  }
  for (const auto& message : request.messages) {
    out += fmt::format("{}:\n", to_string(message.role));
    for (const auto& block : message.content) add_block(out, block);
  }
  for (const auto& tool : request.tools) {
    out += "tool:\n";
    add_lines(out, to_text(encode(tool)));
  }
  out += fmt::format("at most {} tokens of answer\n", request.max_tokens);
  return out;
}

}  // namespace patchbay
