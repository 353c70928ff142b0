// What an answer of a model leads to, and which of its calls run at the same time. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <patchbay/model.h>

namespace patchbay {

// How often one send() does again what could go on forever.
struct TurnCounts {
  std::size_t pauses = 0;
  std::size_t continued = 0;  // an answer that was cut off
  std::size_t malformed = 0;
  std::size_t misshapen = 0;  // not JSON of the schema
  bool operator==(const TurnCounts&) const = default;
};

struct TurnLimits {
  std::size_t pauses = 8;
  std::size_t continued = 1;
  std::size_t malformed = 2;
  std::size_t misshapen = 2;
};

enum class AfterAnswer : std::uint8_t {
  end,
  run_tools,
  ask_again,      // with the conversation as it is
  say_cut_off,    // and ask for the rest
  say_malformed,  // that a call could not be read, and ask again
  refused,        // the end, too
  shorten,        // the conversation, and ask again
};

// `has_uses`: the message has calls of tools. Whatever the provider says about its end, those want their outcomes.
AfterAnswer after_answer(ModelStop stop, bool has_uses, const TurnCounts& counts, const TurnLimits& limits = {});
// What the model reads then; empty where it reads nothing.
std::string_view note_for(AfterAnswer next) noexcept;

// The calls of one message in the order in which they are made: neighbours that only read together, others alone.
std::vector<std::vector<std::size_t>> batches_of(const std::vector<bool>& only_reads);

}  // namespace patchbay
