// `patchbay pins list|show|approve`: what is remembered of the tools of each server, what of them waits for somebody to
// agree, and agreeing. Starts no server.
#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/strings.h"
#include "cli/changed_tool.h"
#include "cli/declared.h"
#include "cli/kept.h"
#include "cli/texts/present.h"
#include "host/kept/pin_files.h"
#include "pins/grade.h"
#include "protocol/codec.h"
#include "text/shell_word.h"
#include "text/visible_text.h"

namespace patchbay::cli {
namespace {

struct Row {
  const ServerConfig* server = nullptr;
  std::string key;
  ReadPins kept;
};

struct View {
  Declared declared;
  std::string directory;
  std::vector<Row> rows;
};

View view_of(const Settings& settings) {
  View view{load_declared(settings), state_directory(), {}};
  if (view.directory.empty()) {
    throw Error(Errc::config, "nothing is remembered of tools: neither HOME nor XDG_STATE_HOME is set");
  }
  const auto context = key_context(view.declared.config, process_environment());
  for (const auto& server : view.declared.config.servers) {
    auto key = pin_key(server, context);
    auto kept = load_pins(view.directory, key);
    view.rows.push_back({&server, std::move(key), std::move(kept)});
  }
  return view;
}

// A server, or one of its tools.
struct Meant {
  const Row* row = nullptr;
  std::string tool;
};

Meant meant_by(const View& view, const std::string& word) {
  for (const auto& row : view.rows) {
    if (row.server->name == word) return {&row, {}};
  }
  for (const auto& row : view.rows) {
    if (word.starts_with(row.server->name + "/")) return {&row, word.substr(row.server->name.size() + 1)};
  }
  std::vector<std::string> names;
  for (const auto& row : view.rows) names.push_back(row.server->name);
  const auto near = nearest(word.substr(0, word.find('/')), names);
  throw Error(Errc::invalid_argument,
              fmt::format("there is no server called \"{}\"{}", safe_name(word, 80),
                          near.empty() ? std::string("; `patchbay list` lists them")
                                       : fmt::format("; did you mean \"{}\"?", safe_name(near, 80))));
}

void require_readable(const Row& row) {
  if (row.kept.use == PinUse::newer) {
    throw Error(Errc::config, fmt::format("what is remembered of \"{}\" was written by a newer version of patchbay",
                                          safe_name(row.server->name, 80)));
  }
  if (row.kept.use == PinUse::unreadable) {
    throw Error(Errc::config,
                fmt::format("what is remembered of \"{}\" cannot be read", safe_name(row.server->name, 80)));
  }
}

struct Change {
  std::string server;
  std::string tool;
  const Tool* before = nullptr;
  const Tool* now = nullptr;
  std::vector<std::string> reasons;
  std::chrono::sys_seconds since;
};

std::vector<Change> changes_of(const Row& row, const std::string& only) {
  std::vector<Change> out;
  if (!row.kept.server) return out;
  const auto& pins = *row.kept.server;
  for (const auto& [name, waiting] : pins.waiting) {
    if (!only.empty() && name != only) continue;
    Change change{row.server->name, name, nullptr, waiting.definition.get(), {}, waiting.since};
    const auto known = pins.tools.find(name);
    if (known != pins.tools.end()) change.before = known->second.definition.get();
    if (change.now == nullptr || (known != pins.tools.end() && change.before == nullptr)) {
      change.reasons = {"its definition is another one, and too long to be kept"};
    } else {
      change.reasons =
          (change.before != nullptr ? grade_change(*change.before, *change.now) : grade_new_tool(*change.now)).reasons;
    }
    out.push_back(std::move(change));
  }
  return out;
}

bool instructions_wait(const Row& row) { return row.kept.server && row.kept.server->waiting_instructions; }

Json reasons_json(const std::vector<std::string>& reasons) {
  Json out = Json::array();
  for (const auto& reason : reasons) out.push_back(reason);
  return out;
}

int list_pins(const Settings& settings, Io& io, const View& view) {
  Json servers = Json::array();
  std::string text;
  std::vector<const Row*> shown;
  if (settings.words.size() > 1) {
    for (std::size_t i = 1; i < settings.words.size(); ++i) shown.push_back(meant_by(view, settings.words[i]).row);
  } else {
    for (const auto& row : view.rows) shown.push_back(&row);
  }
  for (const auto* row : shown) {
    const auto name = safe_name(row->server->name, 80);
    if (!row->kept.server) {
      if (row->kept.use == PinUse::missing) continue;
      require_readable(*row);
    }
    const auto changes = changes_of(*row, {});
    Json waiting = Json::array();
    text += fmt::format("{}  {}{}\n", name, plural(row->kept.server->tools.size(), "tool"),
                        changes.empty() && !instructions_wait(*row) ? "" : ", changed, awaiting approval:");
    for (const auto& change : changes) {
      waiting.push_back({{"tool", change.tool},
                         {"new", row->kept.server->tools.find(change.tool) == row->kept.server->tools.end()},
                         {"changes", reasons_json(change.reasons)},
                         {"since", static_cast<std::int64_t>(change.since.time_since_epoch().count())}});
      text += fmt::format("  {}/{}: {}\n", name, safe_name(change.tool, 80), fmt::join(change.reasons, "; "));
    }
    if (instructions_wait(*row)) text += fmt::format("  {}: its instructions are others\n", name);
    servers.push_back({{"name", row->server->name},
                       {"package", row->kept.server->package},
                       {"tools", static_cast<std::int64_t>(row->kept.server->tools.size())},
                       {"waiting", std::move(waiting)},
                       {"instructionsWait", instructions_wait(*row)}});
  }
  if (text.empty() && !settings.json && !settings.quiet) {
    io.talk("Nothing is remembered of your servers yet; that begins when they are first used.\n");
  }
  answer(settings, io, {{"servers", std::move(servers)}}, text);
  return 0;
}

int show(const Settings& settings, Io& io, const View& view) {
  Json all = Json::array();
  std::string text;
  const auto columns = io.out_is_terminal ? io.width() : 0;
  for (std::size_t i = 1; i < settings.words.size(); ++i) {
    const auto [row, tool] = meant_by(view, settings.words[i]);
    require_readable(*row);
    for (const auto& change : changes_of(*row, tool)) {
      all.push_back({{"server", change.server},
                     {"tool", change.tool},
                     {"changes", reasons_json(change.reasons)},
                     {"before", change.before != nullptr ? encode(*change.before) : Json()},
                     {"now", change.now != nullptr ? encode(*change.now) : Json()}});
      text += fmt::format("{}/{}: {}\n", safe_name(change.server, 80), safe_name(change.tool, 80),
                          fmt::join(change.reasons, "; "));
      if (change.now != nullptr) text += change_text(change.before, *change.now, columns);
    }
    if (tool.empty() && instructions_wait(*row)) {
      const auto& pins = *row->kept.server;
      const Tool before{.name = row->server->name, .description = pins.instructions};
      const Tool now{.name = row->server->name, .description = pins.waiting_instructions};
      all.push_back({{"server", row->server->name},
                     {"tool", Json()},
                     {"changes", Json::array({"its instructions are others"})},
                     {"before", pins.instructions.value_or("")},
                     {"now", *pins.waiting_instructions}});
      text += fmt::format("{}: its instructions are others\n", safe_name(row->server->name, 80)) +
              change_text(&before, now, columns);
    }
  }
  if (text.empty() && !settings.json && !settings.quiet) io.talk("No change awaits approval.\n");
  if (settings.json) {
    answer(settings, io, {{"changes", std::move(all)}}, {});
  } else {
    io.out(text);  // wrapped already, and exact
  }
  return 0;
}

int approve_changes(const Settings& settings, Io& io, const View& view) {
  const auto now = std::chrono::floor<std::chrono::seconds>(real_clock().wall());
  // All or nothing: every word is looked at before anything is written.
  std::vector<Meant> all;
  for (std::size_t i = 1; i < settings.words.size(); ++i) {
    const auto meant = meant_by(view, settings.words[i]);
    require_readable(*meant.row);
    if (changes_of(*meant.row, meant.tool).empty() && !(meant.tool.empty() && instructions_wait(*meant.row))) {
      throw Error(Errc::invalid_argument, fmt::format("nothing of \"{}\" awaits approval; `patchbay pins list` lists "
                                                      "what does",
                                                      safe_name(settings.words[i], 80)));
    }
    all.push_back(meant);
  }
  Json approved = Json::array();
  std::string text;
  for (const auto& [row, tool] : all) {
    std::vector<std::string> agreed;
    const auto seen = *row->kept.server;
    auto written = change_pins(view.directory, row->key, [&](std::optional<PinnedServer> pins) {
      // What has changed again since it was read here is not what was looked at.
      if (pins) {
        std::erase_if(pins->waiting, [&](const auto& one) {
          const auto known = seen.waiting.find(one.first);
          return known == seen.waiting.end() || known->second.print != one.second.print;
        });
        if (pins->waiting_instructions != seen.waiting_instructions) pins->waiting_instructions.reset();
        agreed = agree(*pins, tool, now);
      }
      return pins;
    });
    if (!written) throw written.error();
    if (agreed.empty()) {
      throw Error(Errc::denied, fmt::format("\"{}\" has changed again since; to look at it: patchbay pins show{}",
                                            safe_name(row->server->name, 80), shell_operands({row->server->name})));
    }
    for (const auto& name : agreed) {
      approved.push_back({{"server", row->server->name}, {"tool", name.empty() ? Json() : Json(name)}});
      const auto server = safe_name(row->server->name, 80);
      text += name.empty() ? fmt::format("Approved the instructions of \"{}\"\n", server)
                           : fmt::format("Approved \"{}/{}\"\n", server, safe_name(name, 80));
    }
  }
  answer(settings, io, {{"approved", std::move(approved)}}, text);
  return 0;
}

}  // namespace

int pins(const Settings& settings, Io& io) {
  const auto& what = settings.words.front();
  if (what != "list" && settings.words.size() == 1) {
    throw Error(Errc::invalid_argument,
                fmt::format("pins {0} needs a server or a tool: patchbay pins {0} SERVER/TOOL", what));
  }
  const auto view = view_of(settings);
  if (what == "show") return show(settings, io, view);
  if (what == "approve") return approve_changes(settings, io, view);
  return list_pins(settings, io, view);
}

}  // namespace patchbay::cli
