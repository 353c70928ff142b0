#include "host/results/host_results.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/limit_text.h"
#include "base/offload.h"
#include "host/results/image_scaler.h"
#include "protocol/codec.h"
#include "results/outline.h"
#include "results/pointer.h"
#include "results/read_part.h"
#include "results/result_value.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

constexpr std::size_t most_results = 64;  // of one call
// All of them together, times what may be put in: they are in memory at once, however little of them is wanted.
constexpr std::size_t most_loaded = 4;

Error within_handle(const ResultRef& reference, const Error& why) {
  return why.within(handle_of(reference.id) + (reference.raw ? "/raw" : ""));
}

// The results that the arguments of one call name. On a helper thread.
class Loaded {
 public:
  Loaded(const ResultStore& store, const std::string& conversation, std::size_t most_bytes)
      : store_(store), conversation_(conversation), most_(most_bytes), left_(most_bytes) {}

  Result<const Json*> find(const ResultRef& reference) {
    const auto key = std::pair(reference.id, reference.raw);
    auto known = values_.find(key);
    if (known == values_.end()) {
      if (values_.size() == most_results) {
        return fail(Errc::invalid_argument, fmt::format("the arguments name more than {} results", most_results));
      }
      auto sent = store_.load(conversation_, reference.id);
      if (!sent) return std::unexpected(std::move(sent).error());
      if (sent->size() > left_) {
        return fail(Errc::limit,
                    fmt::format("the results that the arguments name have more than {} together", limit_text(most_)));
      }
      left_ -= sent->size();
      auto value = value_at(std::move(*sent), {reference.id, reference.raw, {}});
      if (!value) return std::unexpected(std::move(value).error());
      known = values_.emplace(key, std::move(*value)).first;
    }
    auto at = at_pointer(known->second, reference.pointer);
    if (!at) return std::unexpected(within_handle(reference, at.error()));
    return at;
  }

 private:
  const ResultStore& store_;
  const std::string& conversation_;
  std::map<std::pair<std::string, bool>, Json> values_;
  std::size_t most_;
  std::size_t left_;
};

Result<Json> insert(const ResultStore& store, const std::string& conversation, const std::string& arguments,
                    std::size_t most_bytes) {
  auto given = parse_json(arguments);
  if (!given) return given;
  Loaded loaded(store, conversation, most_loaded * most_bytes);
  const ResultLookup lookup = [&loaded](const ResultRef& reference) { return loaded.find(reference); };
  return with_results(std::move(*given), lookup, most_bytes);
}

struct Fitting {
  std::string tool;
  TextBudget budget;
  std::string conversation;  // empty: nothing is kept
  std::string reading;
};

ModelResult fit(const ResultStore& store, const Fitting& how, const CallToolResult& result,
                const ScaledImages& scaled) {
  auto draft = draft_of(result, {}, scaled);
  const bool small = fits(draft, how.budget);
  if (small && draft.not_shown.empty()) return whole(std::move(draft), how.budget, how.tool, {});
  auto kept = Result<std::string>(std::unexpect, Errc::config, std::string());
  if (!how.conversation.empty()) kept = store.keep(how.conversation, how.tool, to_text(encode(result)));
  const auto handle = kept ? handle_of(*kept) : std::string();
  if (small) return whole(std::move(draft), how.budget, how.tool, handle);
  if (!kept) return cut(std::move(draft), how.budget, how.tool, clean_line(kept.error().message()));
  return shortened(std::move(draft), how.tool,
                   {.handle = handle, .outline = outline_of(result), .reading = how.reading});
}

}  // namespace

Result<Json> value_at(std::string sent, const ResultRef& reference) {
  auto value = parse_json(sent);
  if (!value) return std::unexpected(within_handle(reference, value.error()));
  auto root = reference.raw ? std::move(*value) : value_of_result(std::move(*value));
  if (reference.pointer.empty()) return root;
  const auto at = at_pointer(root, reference.pointer);
  if (!at) return std::unexpected(within_handle(reference, at.error()));
  return **at;
}

void HostResults::use(const VariableLookup& variables) {
  budget_ = {};
  if (const auto text = variables("MAX_MCP_OUTPUT_TOKENS")) {
    std::uint64_t tokens = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), tokens);
    if (error == std::errc() && end == text->data() + text->size() && tokens > 0) {
      budget_.tokens = std::min<std::uint64_t>(tokens, 10'000'000);
    }
  }
  keep_ = variables("ENABLE_MCP_LARGE_OUTPUT_FILES") != "false";
}

std::string HostResults::conversation_of(const std::string& principal) const {
  // No name of a conversation can look like that of another one and a principal.
  return fmt::format("{}:{}{}", options_.conversation.size(), options_.conversation, principal);
}

Task<Payload> HostResults::inserted(Payload arguments, std::string principal, std::size_t most_bytes) const {
  // The text and not the payload, whose other copies belong to this thread.
  auto work = [store = store_, conversation = conversation_of(principal), given = std::string(arguments.text()),
               most_bytes] { return insert(store, conversation, given, most_bytes); };
  auto made = co_await offload(Pool::read, std::move(work));
  co_return Payload(value_or_throw(std::move(made)));
}

Task<ScaledImages> HostResults::scaled(std::shared_ptr<const CallToolResult> result, Runtime runtime) {
  ScaledImages out;
  if (std::ranges::none_of(result->content, [](const Content& block) { return image_data(block) != nullptr; })) {
    co_return out;
  }
  const auto wishes = co_await offload(Pool::read, [result] { return images_to_scale(*result); });
  if (wishes.empty()) co_return out;
  const auto program = images_program();
  if (program.empty()) co_return out;
  for (const auto& wish : wishes) {
    auto bytes = co_await offload(Pool::read, [result, at = wish.block] { return image_bytes(*result, at); });
    if (auto made = co_await scale_image(program, std::move(bytes), wish, runtime)) {
      out.emplace(wish.block, std::move(*made));
    }
  }
  co_return out;
}

Task<ModelResult> HostResults::for_model(std::string tool, Json tool_meta, CallToolResult result, std::string principal,
                                         Runtime runtime) const {
  Fitting how{.tool = std::move(tool), .budget = budget_, .conversation = {}, .reading = options_.reading};
  how.budget.characters = asked_characters(tool_meta);
  if (keep_ && !options_.conversation.empty()) how.conversation = conversation_of(principal);
  const auto store = store_;
  const auto given = std::make_shared<const CallToolResult>(std::move(result));
  auto images = co_await scaled(given, std::move(runtime));
  auto work = [store, how = std::move(how), given, images = std::move(images)] {
    return fit(store, how, *given, images);
  };
  co_return co_await offload(Pool::read, std::move(work));
}

Task<ResultPart> HostResults::read(ResultQuery query, std::string principal) const {
  auto reference = parse_handle(query.handle);
  if (!reference) {
    throw Error(Errc::invalid_argument,
                fmt::format("\"{}\" is not the name of a kept result", clean_excerpt(query.handle, 80)));
  }
  if (!query.pointer.empty()) reference->pointer = query.pointer;
  auto work = [store = store_,
               conversation = options_.conversation.empty() ? std::string() : conversation_of(principal),
               reference = std::move(*reference), query = std::move(query)]() -> Result<ResultPart> {
    auto sent = store.load(conversation, reference.id);
    if (!sent) return std::unexpected(std::move(sent).error());
    const auto value = value_at(std::move(*sent), reference);
    if (!value) return std::unexpected(value.error());
    return read_part(*value, query);
  };
  auto part = co_await offload(Pool::read, std::move(work));
  co_return value_or_throw(std::move(part));
}

}  // namespace patchbay
