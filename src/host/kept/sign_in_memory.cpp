#include "host/kept/sign_in_memory.h"

#include <algorithm>

#include "base/crypto.h"
#include "entries/expand.h"
#include "json/kept_records.h"

namespace patchbay {
namespace {

constexpr std::size_t longest_text = 1000;

struct RefusalFormat : TimedRecord<KnownRefusal> {
  static constexpr std::size_t largest_file = 1u << 20;
  static constexpr std::size_t most_records = refusal_entries;

  static bool is_fresh(const KnownRefusal& known, std::chrono::sys_seconds now) {
    return patchbay::is_fresh(known, now);
  }
  static std::optional<KnownRefusal> read(const Json& entry, std::chrono::sys_seconds time) {
    const auto message = entry["message"].text();
    if (!message || message->size() > longest_text + 8) return std::nullopt;
    return KnownRefusal{time, std::string(*message)};
  }
  static Json write(const KnownRefusal& known, std::int64_t seconds) {
    return {{"time", seconds}, {"message", known.message}};
  }
};

}  // namespace

std::optional<std::string> refusal_key(const ServerConfig& written, const ServerKey& key, std::string_view stamp) {
  if (written.kind == ServerKind::stdio || written.headers_helper) return std::nullopt;
  const auto references = secret_references(written);
  if (std::ranges::any_of(references, [](const auto& one) { return one.kind == SecretKind::command; })) {
    return std::nullopt;
  }
  return sha256_hex(to_text(Json::array({key.hash, stamp})));
}

// From the future: the clock was wrong then or is now.
bool is_fresh(const KnownRefusal& known, std::chrono::sys_seconds now) {
  return known.time <= now && now - known.time < refusals_last;
}

RefusalRecords read_refusals(std::string_view text) { return read_records<RefusalFormat>(text); }

std::string write_refusals(const RefusalRecords& records) { return write_records<RefusalFormat>(records); }

void update_refusals(RefusalRecords& records, const std::string& key, const std::optional<KnownRefusal>& known,
                     std::chrono::sys_seconds now) {
  update_records<RefusalFormat>(records, key, known, now);
}

std::string refusal_file(const std::string& state_directory) { return state_directory + "/sign-in.json"; }

std::optional<KnownRefusal> recall_refusal(const std::string& state_directory, const std::string& key,
                                           std::chrono::sys_seconds now) {
  auto known = recall_record<RefusalFormat>(refusal_file(state_directory), key);
  return known && is_fresh(*known, now) ? known : std::nullopt;
}

Result<void> remember_refusal(const std::string& state_directory, const std::string& key,
                              const std::optional<KnownRefusal>& known, std::chrono::sys_seconds now) {
  return remember_record<RefusalFormat>(refusal_file(state_directory), key, known, now);
}

}  // namespace patchbay
