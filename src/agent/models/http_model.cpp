#include "agent/models/http_model.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "agent/models/answer_stream.h"
#include "agent/models/failure_text.h"
#include "base/as_result.h"
#include "base/loop_clock.h"
#include "base/scope.h"
#include "base/strings.h"
#include "base/timeout.h"
#include "http/url.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t explanation_limit = 64u << 10;
constexpr auto explanation_wait = 5s;
// How long the end of a body is waited for behind the end of an answer, so that the connection serves again.
constexpr auto end_wait = 2s;
// Tools that may turn out to be bad in one request; each costs one round.
constexpr int most_refused = 5;
// Conversations whose newest answer is remembered.
constexpr std::size_t most_conversations = 256;

// What an answer says about itself, as far as it is shown and kept.
constexpr std::size_t longest_words = 2'000;
// More tokens than that no model reads or writes: what a server counts wrong must not count here.
constexpr std::uint64_t most_tokens = 1'000'000'000;

ModelAnswer bounded(ModelAnswer answer) {
  auto& usage = answer.usage;
  for (auto* count : {&usage.input, &usage.cache_read, &usage.cache_written, &usage.output}) {
    if (*count > most_tokens) *count = 0;
  }
  for (auto* words : {&answer.model, &answer.stop_text, &usage.cache_miss}) {
    words->resize(cut_utf8(*words, longest_words).size());
  }
  return answer;
}

// To who asks, Errc::limit is a conversation that is too long. An answer that is too large is none.
Error of_answer(const Error& error) {
  return error.code() == Errc::limit ? Error(Errc::protocol, error.message()) : error;
}

bool has_calls(const ModelMessage& message) {
  return std::ranges::any_of(message.parts,
                             [](const auto& part) { return std::holds_alternative<ModelToolUse>(part); });
}

double random_jitter() {
  std::array<std::uint8_t, 2> bytes{};
  system_random()(bytes);
  return (bytes[0] * 256 + bytes[1]) / 65536.0;
}

// What came of one attempt, when it is no answer.
struct Failed {
  FailedAttempt attempt = {};
  ProviderFailure failure = {};
  ApiExtras extras = {};            // of the request
  bool begun = false;               // the answer had, and what came of it is void
  std::optional<Error> error = {};  // of the connection
};
using Attempt = std::expected<ModelAnswer, Failed>;

// The explanation that comes with a status, as much of it as arrives within bounds.
Task<std::string> explanation(HttpExchange& exchange) {
  std::string body;
  auto read = [](HttpExchange& from, std::string& into) -> Task<void> {
    while (into.size() < explanation_limit) {
      const auto piece = co_await from.read();
      if (piece.empty()) co_return;
      into += piece;
    }
  };
  const auto ended = co_await as_result(with_timeout(read(exchange, body), explanation_wait, "the body did not end"));
  if (!ended && ended.error().code() == Errc::cancelled) throw ended.error();
  body.resize(std::min(body.size(), explanation_limit));
  co_return body;
}

Task<void> read_to_end(std::unique_ptr<HttpExchange> exchange) {
  auto read = [](HttpExchange& from) -> Task<void> {
    while (!(co_await from.read()).empty()) {
    }
  };
  (void)co_await as_result(with_timeout(read(*exchange), end_wait, "the body did not end"));
}

// Tools that the provider refused, as they were then: one that has changed is tried again.
class RefusedTools {
 public:
  struct Refused {
    ModelTool tool;
    std::string reason;
  };

  void add(const ModelTool& tool, std::string reason) { refused_.push_back({tool, std::move(reason)}); }

  // Takes them out of a request and says which.
  std::vector<ToolLeftOut> take_out_of(ModelRequest& request) const {
    std::vector<ToolLeftOut> out;
    take_out_of(request.tools, out);
    take_out_of(request.deferred, out);
    return out;
  }

 private:
  void take_out_of(std::shared_ptr<const ToolPool>& pool, std::vector<ToolLeftOut>& out) const {
    if (!pool || refused_.empty()) return;
    const auto reason = [&](const ModelTool& tool) -> const std::string* {
      const auto found = std::ranges::find(refused_, tool, &Refused::tool);
      return found == refused_.end() ? nullptr : &found->reason;
    };
    if (std::ranges::none_of(pool->tools, [&](const auto& tool) { return reason(tool) != nullptr; })) return;
    auto rest = std::make_shared<ToolPool>();
    rest->left_out = pool->left_out;
    rest->instructions = pool->instructions;
    for (std::size_t at = 0; at < pool->tools.size(); ++at) {
      const auto& tool = pool->tools[at];
      if (const auto* why = reason(tool)) {
        out.push_back({tool.catalog_name.empty() ? tool.name : tool.catalog_name, *why});
        continue;
      }
      rest->tools.push_back(tool);
      if (at < pool->own) ++rest->own;
    }
    pool = std::move(rest);
  }

  std::vector<Refused> refused_;
};

class HttpModel final : public Model {
 public:
  explicit HttpModel(HttpModelOptions options) : core_(std::make_shared<Core>(std::move(options))) {}

  const ModelInfo& info() const noexcept override { return core_->options.provider->info(); }

  Task<ModelAnswer> ask(ModelRequest request, std::function<void(const ModelEvent&)> on_event) override {
    return ask(core_, std::move(request), std::move(on_event));
  }

 private:
  struct Core {
    explicit Core(HttpModelOptions o) : options(std::move(o)) {
      if (!options.jitter) options.jitter = random_jitter;
      if (!options.refused) options.refused = std::make_shared<RefusedExtras>();
      asked = {.provider = options.provider->info().provider,
               .model = options.provider->info().model,
               .address = redacted_url(options.base_url),
               .key = options.key,
               .key_name = options.key_name};
    }
    void begin(const asio::any_io_executor& executor) {
      if (client) return;
      client = std::make_unique<HttpClient>(executor, options.http);
      ends = std::make_unique<Scope>(executor);
    }

    std::string api() const { return fmt::format("{} {} {}", asked.provider, asked.model, options.base_url); }

    ProviderNow now(const ModelRequest& request) const {
      ProviderNow out{.without = options.refused->of(api())};
      if (const auto found = newest.find(request.conversation); found != newest.end()) out.previous = found->second;
      return out;
    }

    void answered(const ModelRequest& request, std::string id) {
      if (id.empty() || request.conversation.empty()) return;
      if (newest.size() >= most_conversations && !newest.contains(request.conversation)) newest.erase(newest.begin());
      newest[request.conversation] = std::move(id);
    }

    // Once.
    std::optional<std::string> clear_text_warning() {
      const auto url = parse_url(options.base_url);
      if (warned || options.key.empty() || !url || url->scheme == "https" || is_loopback_host(url->host)) return {};
      warned = true;
      return fmt::format("the key is sent to {} without encryption", asked.address);
    }

    HttpModelOptions options;
    Asked asked;  // for messages
    bool warned = false;
    std::vector<std::string> warnings;  // for the next answer: the request they came up with may have failed
    RefusedTools refused;
    std::map<std::string, std::string> newest;  // ids of answers, by conversation
    std::unique_ptr<HttpClient> client;
    std::unique_ptr<Scope> ends;  // bodies whose end is still to come
  };

  // The model may be let go of while it is asked.
  static Task<ModelAnswer> ask(std::shared_ptr<Core> core, ModelRequest request,
                               std::function<void(const ModelEvent&)> on_event) {
    const auto executor = co_await asio::this_coro::executor;
    core->begin(executor);
    const ModelEventSink tell = [&](const ModelEvent& event) {
      if (on_event) on_event(event);
    };
    const auto& options = core->options;
    const auto& asked = core->asked;
    auto left_out = core->refused.take_out_of(request);
    auto now = core->now(request);
    ApiExtras doubted;  // left out of this attempt because one of them may be what was refused
    std::optional<ApiExtra> suspected;
    bool has_doubted = false;
    const auto refuse = [&](const ApiExtras& extras) {
      options.refused->add(core->api(), extras);
      for (const auto extra : extras) {
        if (const auto text = without_text(extra); !text.empty()) {
          core->warnings.push_back(fmt::format("{} at {} {}", asked.provider, asked.address, text));
        }
      }
    };
    int refused = 0;
    int unreached = 0;
    for (int attempt = 1;;) {
      auto outcome = co_await once(core, request, now, attempt, tell);
      if (outcome) {
        if (!doubted.empty()) refuse(doubted);
        // Only calls that are there without it show that it loses them.
        if (suspected && has_calls(outcome->message)) refuse({*suspected});
        std::ranges::move(std::exchange(core->warnings, {}), std::back_inserter(outcome->warnings));
        outcome->left_out.insert(outcome->left_out.end(), left_out.begin(), left_out.end());
        if (auto warning = core->clear_text_warning()) outcome->warnings.push_back(std::move(*warning));
        co_return std::move(*outcome);
      }
      // It fails without them too: they may not have been the reason.
      doubted.clear();
      auto& failed = outcome.error();
      const auto& sent = failed.extras;
      const bool bad_request = failed.failure.status == 400 && !failed.failure.too_long;
      // At once, and what had come of an answer is void.
      const auto repeat = [&] {
        if (!failed.begun) return;
        ++attempt;
        tell(ModelRetry{.attempt = attempt,
                        .of = std::max(attempt, options.retry.attempts),
                        .reason = failure_reason(asked, failed.failure)});
      };
      if (const auto& extra = failed.failure.suspected; extra && now.without.insert(*extra).second) {
        suspected = *extra;
        repeat();
        continue;
      }
      if (const auto& extra = failed.failure.extra; bad_request && extra && sent.contains(*extra)) {
        refuse({*extra});
        now.without.insert(*extra);
        repeat();
        continue;
      }
      if (const auto* tool = tool_named(request, failed.failure); tool && refused < most_refused) {
        ++refused;
        core->refused.add(*tool, refusal_text(asked, failed.failure));
        auto more = core->refused.take_out_of(request);
        left_out.insert(left_out.end(), more.begin(), more.end());
        repeat();
        continue;
      }
      // It does not say what it is about: what an older API may not know is tried without, once. An API that has begun
      // to answer knows it.
      if (bad_request && !failed.begun && !sent.empty() && !std::exchange(has_doubted, true)) {
        doubted = sent;
        now.without.insert(sent.begin(), sent.end());
        continue;
      }
      unreached = failed.attempt.kind == FailedAttempt::Kind::unreachable ? unreached + 1 : 0;
      failed.attempt.unreached = unreached;
      const auto decision =
          retry_decision(failed.attempt, options.retry, loop_clock(executor).wall(), options.jitter());
      if (!decision.pause || failed.failure.too_long) {
        throw failed.error ? connection_error(asked, *failed.error, attempt)
                           : failure_error(asked, failed.failure, attempt, decision.asked_for);
      }
      ++attempt;
      tell(ModelRetry{
          .attempt = attempt,
          .of = decision.of,
          .pause = *decision.pause,
          .reason = failed.error ? connection_reason(asked, *failed.error) : failure_reason(asked, failed.failure)});
      co_await sleep_for(*decision.pause);
    }
  }

  static const ModelTool* tool_named(const ModelRequest& request, const ProviderFailure& failure) {
    if (failure.status != 400 || failure.tool.empty()) return nullptr;
    for (const auto* pool : {request.tools.get(), request.deferred.get()}) {
      if (const auto* tool = pool ? pool->find(failure.tool) : nullptr) return tool;
    }
    return nullptr;
  }

  // One request and its answer. Throws what no repetition helps against.
  static Task<Attempt> once(std::shared_ptr<Core> core, ModelRequest request, ProviderNow now, int attempt,
                            ModelEventSink tell) {
    const auto& options = core->options;
    const auto& provider = *options.provider;
    auto asked = provider.request(request, now);
    HttpRequest http{.method = "POST", .url = model_url(options.base_url, asked.path), .headers = asked.headers};
    http.headers.set("Content-Type", "application/json");
    http.headers.set("Accept", asked.framing == AnswerFraming::events ? "text/event-stream" : "application/json");
    if (!options.key.empty()) provider.authorize(http.headers, options.key);
    http.body = to_text(asked.body);
    asked.body = Json();

    auto limits = options.waits;
    // A redirect would take the key and the conversation to where nobody sent them.
    limits.redirects = 0;
    // Nothing is said of it before it is there.
    if (asked.framing == AnswerFraming::whole) limits.first_byte = std::max(limits.first_byte, options.quiet);
    auto sent = co_await as_result(core->client->send(std::move(http), limits));
    if (!sent) co_return std::unexpected(lost(sent.error(), attempt));
    auto exchange = std::move(*sent);
    const auto& head = exchange->head();
    if (head.status < 200 || head.status > 299) {
      const auto body = co_await explanation(*exchange);
      Failed failed{.attempt = {.status = head.status, .headers = head.headers, .attempt = attempt},
                    .failure = provider.failure(head.status, body, request, now),
                    .extras = asked.extras};
      // A provider may know what its status means: a key that is none is a bad request to some.
      if (failed.failure.status == 0) failed.failure.status = head.status;
      co_return std::unexpected(std::move(failed));
    }
    if (media_type(head.headers.get("Content-Type")) == "text/html") throw not_a_model(core->asked);

    const auto reader = provider.reader(request, now);
    const auto read =
        co_await as_result(read_answer(*exchange, asked.framing, *reader, options.limits.message, options.quiet, tell));
    std::optional<ProviderFailure> wrong;
    if (read) {
      wrong = read->wrong;
    } else if (read.error().code() != Errc::closed && read.error().code() != Errc::timeout) {
      throw read.error().code() == Errc::cancelled ? read.error()
                                                   : of_answer(read.error()).within(provider.info().provider);
    }
    if (!wrong) {
      // Also when the connection broke: all of the answer may have come.
      auto answer = reader->finish();
      if (answer) {
        core->answered(request, reader->id());
        core->ends->start(read_to_end(std::move(exchange)));
        co_return bounded(std::move(*answer));
      }
      wrong = std::move(answer.error());
    }
    if (!read) co_return std::unexpected(lost(read.error(), attempt));
    // An hour was enough to find out.
    if (read->fell_quiet) {
      throw connection_error(core->asked, Error(Errc::timeout, "the answer does not go on"), attempt);
    }
    Failed failed{.attempt = {.status = wrong->status, .headers = head.headers, .attempt = attempt},
                  .failure = std::move(*wrong),
                  .extras = asked.extras,
                  .begun = true};
    if (failed.failure.status == 0) failed.attempt.kind = FailedAttempt::Kind::cut_off;
    co_return std::unexpected(std::move(failed));
  }

  // A connection that failed in a way that may pass. Throws the error where it will not.
  static Failed lost(const Error& error, int attempt) {
    using Kind = FailedAttempt::Kind;
    if (error.code() != Errc::connect && error.code() != Errc::closed && error.code() != Errc::timeout) {
      throw of_answer(error);
    }
    return {.attempt = {.kind = error.code() == Errc::closed ? Kind::cut_off : Kind::unreachable, .attempt = attempt},
            .error = error};
  }

  std::shared_ptr<Core> core_;
};

}  // namespace

std::string model_url(std::string_view base_url, std::string_view path) {
  while (base_url.ends_with('/')) base_url.remove_suffix(1);
  const auto last = base_url.substr(base_url.rfind('/') + 1);
  const auto version = last.size() > 1 && last[0] == 'v' && last[1] >= '0' && last[1] <= '9';
  if (version && path.starts_with(fmt::format("/{}/", last))) path.remove_prefix(last.size() + 1);
  return fmt::format("{}{}", base_url, path);
}

std::shared_ptr<Model> make_http_model(HttpModelOptions options) {
  const auto url = parse_url(options.base_url);
  if (!url) throw Error(Errc::config, fmt::format("the address of the model: {}", url.error().message()));
  if ((url->scheme != "https" && url->scheme != "http") || url->query || url->fragment) {
    throw Error(Errc::config, fmt::format("{} is not the address of a model API: one begins with https:// or http:// "
                                          "and has no query",
                                          redacted_url(options.base_url)));
  }
  return std::make_shared<HttpModel>(std::move(options));
}

}  // namespace patchbay
