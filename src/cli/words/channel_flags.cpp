#include "cli/words/channel_flags.h"

#include <fmt/format.h>

namespace patchbay::cli {
namespace {

bool is_named(const ChannelVerdict& verdict) {
  return verdict.outcome != ChannelVerdict::Outcome::closed || !verdict.by.empty();
}

}  // namespace

ChannelOptions channel_options(const Settings& settings) {
  ChannelOptions options;
  options.name = "--channels";
  options.open = settings.channels;
  for (const auto& word : options.open) {
    if (const auto name = channel_name(word); !name) throw Error(name.error());
  }
  return options;
}

std::string channel_words(const ChannelVerdict& verdict) {
  if (!is_named(verdict)) return {};
  return fmt::format("{}: {}", verdict.open() ? "open" : "not open", verdict.reason);
}

Json channel_json(const ChannelVerdict& verdict) {
  if (!is_named(verdict)) return {};
  return {{"open", verdict.open()},
          {"reason", verdict.reason},
          {"file", verdict.file.empty() ? Json() : Json(verdict.file)},
          {"line", verdict.line == 0 ? Json() : Json(verdict.line)}};
}

}  // namespace patchbay::cli
