// `patchbay results list|read|remove`: results that were too large for a model, from the store in the state directory
// (host/results/result_store). The user sees those of every conversation; a call can name only those of its own.
#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/declared.h"
#include "cli/kept.h"
#include "cli/texts/present.h"
#include "cli/texts/time_words.h"
#include "host/results/host_results.h"
#include "host/results/result_store.h"
#include "protocol/content.h"
#include "results/read_part.h"
#include "text/clean_text.h"

namespace patchbay::cli {
namespace {

constexpr std::size_t part_bytes = 1u << 20;

ResultStore open_store() {
  auto directory = state_directory();
  if (directory.empty()) {
    throw Error(Errc::config, "there is no state directory: neither XDG_STATE_HOME nor HOME is set");
  }
  return ResultStore(std::move(directory));
}

template <class T>
T or_throw(Result<T> result) {
  if (result) return std::move(*result);
  auto error = std::move(result).error();
  if (error.code() != Errc::invalid_argument || !error.message().contains("no such result")) throw error;
  throw error.with_message(error.message() + "; to list the results: patchbay results list");
}

// With and without what stands in front of it where a model names it.
ResultRef reference_in(const std::string& word) {
  if (auto reference = parse_handle(word)) return std::move(*reference);
  throw Error(
      Errc::invalid_argument,
      fmt::format("\"{}\" is not the ID of a result; to list the results: patchbay results list", safe_name(word, 80)));
}

int list_results(const Settings& settings, Io& io) {
  if (settings.words.size() > 1) throw Error(Errc::invalid_argument, "results list takes no ID: patchbay results list");
  const auto all = open_store().list();
  Json rows = Json::array();
  std::string text;
  for (const auto& [head, disk_bytes] : all) {
    const auto seconds = head.time;
    rows.push_back({{"id", head.id},
                    {"tool", head.tool},
                    {"time", seconds.time_since_epoch().count()},
                    {"bytes", head.size},
                    {"diskBytes", disk_bytes}});
    text += fmt::format("{}  {}  {:>8}  {}\n", head.id, local_time(seconds),
                        size_text(static_cast<std::size_t>(head.size)), safe_name(head.tool, 80));
  }
  if (all.empty() && !settings.json && !settings.quiet) {
    io.talk("No results are kept. To keep one that is too large for a model: patchbay call TOOL --for-model\n");
  }
  answer(settings, io, {{"results", std::move(rows)}}, text);
  return 0;
}

bool wants_part(const Settings& settings) {
  return !settings.pattern.empty() || settings.count || settings.skip_lines || settings.last_lines;
}

Json part_json(const ResultPart& part, bool more) {
  Json json{{"text", part.text}, {"totalBytes", part.total_bytes}, {"totalLines", part.total_lines}};
  if (part.matches) json["matches"] = *part.matches;
  json["more"] = more;
  return json;
}

int read_result(const Settings& settings, Io& io) {
  if (settings.words.size() != 2) {
    throw Error(Errc::invalid_argument, "results read needs one ID: patchbay results read ID");
  }
  auto reference = reference_in(settings.words[1]);
  if (!settings.pointer.empty()) reference.pointer = settings.pointer;
  const auto value = or_throw(value_at(or_throw(open_store().load_any(reference.id)), reference));
  if (!wants_part(settings)) {
    if (settings.json || !value.is_string()) {
      io.out(json_text(value, io.out_is_terminal));
      return 0;
    }
    auto text = std::string(value.as_text());
    if (io.out_is_terminal) text = clean_for_display(text);
    if (!text.ends_with('\n')) text.push_back('\n');
    io.out(text);
    return 0;
  }
  ResultQuery query;
  query.pattern = settings.pattern;
  query.count = settings.count;
  query.skip_lines = settings.skip_lines.value_or(0);
  query.lines = settings.last_lines.value_or(0);
  query.bytes = part_bytes;
  const auto part = or_throw(read_part(value, query));
  auto text = part.text;
  if (!text.empty() && !text.ends_with('\n')) text.push_back('\n');
  const auto next = next_match(query, part);
  answer(settings, io, part_json(part, part.next_offset || next), text);
  if (part.next_offset && !settings.last_lines && !settings.json && !settings.quiet) {
    io.talk(
        fmt::format("patchbay: note: this is the first MiB of {}; use --skip to go on\n", size_text(part.total_bytes)));
  }
  const bool all_wanted = settings.last_lines && next && *next - query.skip_lines >= query.lines;
  if (next && !all_wanted && !settings.json && !settings.quiet) {
    io.talk(fmt::format("patchbay: note: {} lines match; --skip {} goes on\n", *part.matches, *next));
  }
  return 0;
}

int remove_results(const Settings& settings, Io& io) {
  const std::vector<std::string> ids(settings.words.begin() + 1, settings.words.end());
  if (ids.empty() != settings.all) {
    throw Error(
        Errc::invalid_argument,
        "results remove needs IDs, or --all alone: patchbay results remove ID, or patchbay results remove --all");
  }
  const auto store = open_store();
  if (settings.all) {
    const auto count = store.remove_all();
    answer(settings, io, {{"removed", count}}, fmt::format("Removed {}\n", plural(count, "result")));
    return 0;
  }
  for (const auto& id : ids) {
    if (!store.remove(reference_in(id).id)) {
      throw Error(
          Errc::invalid_argument,
          fmt::format("{}: there is no such result; to list the results: patchbay results list", safe_name(id, 80)));
    }
  }
  answer(settings, io, {{"removed", ids.size()}}, fmt::format("Removed {}\n", plural(ids.size(), "result")));
  return 0;
}

}  // namespace

int results(const Settings& settings, Io& io) {
  const auto& what = settings.words.front();
  if (settings.all && what != "remove") {
    throw Error(Errc::invalid_argument, "--all belongs to `patchbay results remove`");
  }
  if ((wants_part(settings) || !settings.pointer.empty()) && what != "read") {
    throw Error(Errc::invalid_argument,
                "--pointer, --grep, --count, --skip and --lines belong to `patchbay results read ID`");
  }
  if (what == "list") return list_results(settings, io);
  return what == "read" ? read_result(settings, io) : remove_results(settings, io);
}

}  // namespace patchbay::cli
