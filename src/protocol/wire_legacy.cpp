// The session era: revisions that begin with `initialize`. A request carries little about
// itself, servers send requests of their own, results have no envelope.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "protocol/codec.h"
#include "protocol/methods.h"
#include "protocol/wire_parts.h"

namespace patchbay {
namespace {

constexpr std::string_view v2025_11 = "2025-11-25";
constexpr std::string_view v2025_06 = "2025-06-18";
constexpr std::string_view v2025_03 = "2025-03-26";
constexpr std::string_view v2024_11 = "2024-11-05";
constexpr std::array versions{v2025_11, v2025_06, v2025_03, v2024_11};

constexpr std::array requests{method::initialize,    method::ping,           method::list_tools,
                              method::call_tool,     method::list_resources, method::list_resource_templates,
                              method::read_resource, method::subscribe,      method::unsubscribe,
                              method::list_prompts,  method::get_prompt,     method::complete,
                              method::set_log_level};

constexpr std::int64_t resource_not_found = -32002;
constexpr std::int64_t url_elicitation_required = -32042;

class LegacyWire final : public Wire {
 public:
  explicit constexpr LegacyWire(std::string_view version) : version_(version) {}

  Era era() const noexcept override { return Era::legacy; }
  std::string_view version() const noexcept override { return version_; }
  bool has_request(std::string_view method) const noexcept override {
    return std::ranges::find(requests, method) != requests.end();
  }
  bool has_server_request(std::string_view method) const noexcept override {
    if (method == method::elicit) return version_ == v2025_06 || version_ == v2025_11;
    return method == method::ping || method == method::create_message || method == method::list_roots;
  }
  bool allows_batches() const noexcept override { return version_ == v2025_03; }
  bool closing_cancels() const noexcept override { return false; }
  bool primes_streams() const noexcept override { return version_ == v2025_11; }

  Payload params(const Members& members, const ClientIdentity&, const RequestMeta& meta) const override {
    auto object = meta_of(members);
    if (meta.progress_token) object.set("progressToken", token_json(*meta.progress_token));
    if (members.empty() && object.empty()) return {};
    return params_text(members, std::move(object));
  }

  // A legacy result has no envelope; one that a dual server adds out of habit is taken off.
  Result<Outcome> outcome(std::string_view method, Json result) const override {
    if (!result.is_object()) {
      return fail(Errc::protocol,
                  fmt::format("the result of {} is {}, not an object", method, to_string(result.kind())));
    }
    result.as_object().erase("resultType");
    return result;
  }

  bool read_plain(std::string_view text, CallToolResult& out) const override {
    return read_plain_result(text, out, nullptr);
  }

  std::optional<InputRequired> input_needed(const Error& error) const override {
    if (error.rpc_code() != url_elicitation_required || error.rpc_data().empty()) return std::nullopt;
    auto data = parse_json(error.rpc_data());
    const Json* list = data ? data->find("elicitations") : nullptr;
    if (!list || !list->is_array()) return std::nullopt;
    InputRequired input;
    for (const auto& item : list->as_array()) {
      auto request = decode<ElicitRequest>(item);
      if (!request || request->mode != ElicitRequest::Mode::url) continue;
      auto key = request->elicitation_id.value_or(std::to_string(input.requests.size()));
      input.requests.emplace_back(std::move(key), std::move(*request));
    }
    if (input.requests.empty()) return std::nullopt;
    return input;
  }

  // The person went to the URL; the request itself is repeated as it was.
  void add_input(Members&, const InputAnswers&, const std::optional<std::string>&) const override {}

  Json complete(std::string_view, Json result, const Implementation&, const CacheHints&) const override {
    return result;
  }

  Json needs_input(const InputRequired&, const Implementation&) const override {
    throw Error(Errc::internal, "a legacy result cannot ask for input");
  }
  std::int64_t resource_not_found_code() const noexcept override { return resource_not_found; }

 private:
  std::string_view version_;
};

constexpr LegacyWire wire_2025_11{v2025_11};
constexpr LegacyWire wire_2025_06{v2025_06};
constexpr LegacyWire wire_2025_03{v2025_03};
constexpr LegacyWire wire_2024_11{v2024_11};
constexpr std::array<const Wire*, 4> wires{&wire_2025_11, &wire_2025_06, &wire_2025_03, &wire_2024_11};

}  // namespace

std::span<const Wire* const> legacy_wires() noexcept { return wires; }
std::span<const std::string_view> legacy_versions() noexcept { return versions; }

}  // namespace patchbay
