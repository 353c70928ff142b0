// `patchbay tools --cached`, and the same for `search`, prompts and resources: what earlier runs kept of the servers,
// at once, with its age. Nothing is started and nothing is asked.
#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "catalog/search/tool_query.h"
#include "cli/kept.h"
#include "cli/texts/command_table.h"
#include "cli/texts/completion.h"
#include "cli/texts/kept_words.h"
#include "cli/texts/present.h"
#include "cli/texts/state_words.h"
#include "cli/texts/tool_text.h"
#include "cli/words/named_server.h"
#include "protocol/codec.h"
#include "text/shell_word.h"

namespace patchbay::cli {
namespace {

KeptUse use_of(const KeptRow& row, Command command) {
  return command == Command::tools ? row.tools : command == Command::prompts ? row.prompts : row.resources;
}

std::optional<std::chrono::sys_seconds> time_of(const KeptRow& row, Command command) {
  if (!row.kept) return std::nullopt;
  const auto& kept = *row.kept;
  if (command == Command::prompts && kept.prompts) return kept.prompts->time;
  if (command == Command::resources && kept.resources) return kept.resources->time;
  return kept.tools ? std::optional(kept.tools->time) : std::nullopt;
}

// What can be used of what was asked for, and how it is answered.
class Answer {
 public:
  Answer(const Settings& settings, Io& io) : settings_(settings), io_(io), view_(kept_view(settings)) {
    std::vector<std::string> names;
    for (const auto& row : view_.rows) names.push_back(row.server->name);
    const auto words = with_named_tool(settings, names).words;
    if (!words.empty()) only_ = words.front();
    is_server_ = only_.empty() || std::ranges::find(names, only_) != names.end();
    if (!is_server_ && settings.command != Command::tools) {
      throw no_such_server(only_, names, view_.declared.config.elsewhere);
    }
  }

  int tools() const {
    const auto catalog = view_.catalog();
    if (!is_server_) return one_tool(*catalog);
    if (settings_.json) {
      Json list = Json::array();
      for (const auto& entry : catalog->tools()) {
        if (is_meant(entry.server)) list.push_back(tool_json(entry));
      }
      return print("tools", std::move(list));
    }
    std::size_t width = 0;
    for (const auto& entry : catalog->tools()) width = std::max(width, entry.name.size());
    for (const auto& row : view_.rows) {
      if (!is_meant(row.server->name) || use_of(row, Command::tools) != KeptUse::usable) continue;
      print_heading(
          row, static_cast<std::size_t>(std::ranges::count(catalog->tools(), row.server->name, &CatalogEntry::server)));
      for (const auto& entry : catalog->tools()) {
        if (entry.server != row.server->name) continue;
        const auto columns = out_columns(io_);
        print_lines(io_,
                    (only_.empty() ? tool_line(entry, width, columns) : tool_with_arguments(entry, columns)) + "\n");
      }
    }
    return end(true);
  }

  // Among all that is kept.
  int search(const std::string& query, std::size_t most) const {
    const auto catalog = view_.catalog();
    ToolIndexes indexes;
    const auto matches = match_tools(*catalog, indexes.of(catalog), query, most);
    if (settings_.json) {
      Json list = Json::array();
      for (const auto* entry : matches.tools) list.push_back(tool_json(*entry));
      return print("tools", std::move(list));
    }
    for (const auto* entry : matches.tools) print_lines(io_, tool_with_arguments(*entry, out_columns(io_)) + "\n");
    // Where nothing is kept, that is said instead.
    if (matches.tools.empty() && age()) io_.talk(nothing_found_text(query));
    return end(true);
  }

  int prompts() const {
    bool any = false;
    Json list = Json::array();
    for (const auto& row : view_.rows) {
      if (!is_usable(row) || !row.kept->prompts) continue;
      for (const auto& prompt : row.kept->prompts->items) {
        any = true;
        if (settings_.json) {
          list.push_back(prompt_json(row.server->name, prompt));
        } else {
          print_lines(io_, prompt_line(row.server->name, prompt, description_room(io_)));
        }
      }
    }
    return settings_.json ? print("prompts", std::move(list)) : end(any);
  }

  int resources() const {
    bool any = false;
    Json list = Json::array();
    Json templates = Json::array();
    for (const auto& row : view_.rows) {
      if (!is_usable(row) || !row.kept->resources) continue;
      const auto& name = row.server->name;
      const auto none = std::vector<ResourceTemplate>();
      const auto& patterns = row.kept->templates ? row.kept->templates->items : none;
      if (settings_.json) {
        for (const auto& one : row.kept->resources->items) list.push_back(with_server(name, encode(one)));
        for (const auto& one : patterns) templates.push_back(with_server(name, encode(one)));
        continue;
      }
      any = true;
      io_.out(fmt::format("{}\n", safe_name(name, 60)));
      const auto room = description_room(io_);
      for (const auto& one : row.kept->resources->items) print_lines(io_, resource_line(one, room));
      for (const auto& one : patterns) print_lines(io_, resource_line(one, room));
    }
    return settings_.json ? print("resources", std::move(list), std::move(templates)) : end(any);
  }

 private:
  bool is_meant(const std::string& server) const { return only_.empty() || !is_server_ || server == only_; }
  bool is_usable(const KeptRow& row) const {
    return is_meant(row.server->name) && use_of(row, settings_.command) == KeptUse::usable && row.kept;
  }

  // What of the last state of a server must be known beside its list.
  std::string failure_of(const KeptRow& row) const {
    return row.kept && row.kept->state ? failure_words(row.server->name, *row.kept->state, view_.now) : std::string();
  }

  Unlisted unlisted(const KeptRow& row) const {
    return {row.server->name, use_of(row, settings_.command), failure_of(row),
            has_log(*row.server, view_.declared.config)};
  }

  // Why a server is not listed, and what to do about it.
  std::string why_not(const KeptRow& row) const {
    const auto& name = row.server->name;
    if (row.server->standing == ServerStanding::awaiting_approval) {
      return fmt::format("it awaits approval; if you trust it: patchbay approve{}", shell_operands({name}));
    }
    if (row.server->standing == ServerStanding::disabled) {
      return fmt::format("it is disabled; to enable it: patchbay enable{}", shell_operands({name}));
    }
    if (!row.usable) return fmt::format("{}; to see why: patchbay why{}", row.reason, shell_operands({name}));
    return unlisted_words(unlisted(row), command_name(settings_.command));
  }

  std::optional<std::chrono::seconds> age_of(const KeptRow& row) const {
    const auto time = time_of(row, settings_.command);
    return time ? std::optional(view_.now - *time) : std::nullopt;
  }

  // How old the oldest of what is shown is.
  std::optional<std::chrono::seconds> age() const {
    std::optional<std::chrono::seconds> oldest;
    for (const auto& row : view_.rows) {
      if (!is_usable(row)) continue;
      if (const auto one = age_of(row)) oldest = std::max(oldest.value_or(*one), *one);
    }
    return oldest;
  }

  int code() const {
    bool listed = false;
    int worst = 0;
    for (const auto& row : view_.rows) {
      if (!is_meant(row.server->name)) continue;
      if (is_usable(row)) {
        listed = true;
      } else if (row.usable) {
        worst = 3;
      } else if (worst == 0 && !only_.empty()) {
        worst = 2;
      }
    }
    return listed ? 0 : worst;
  }

  Json server_json(const KeptRow& row) const {
    const auto use = use_of(row, settings_.command);
    const auto age = row.usable && use == KeptUse::usable ? age_of(row) : std::nullopt;
    const auto* about = row.kept && row.kept->description ? &*row.kept->description : nullptr;
    const bool usable = is_usable(row);
    const auto error = usable ? failure_of(row) : why_not(row);
    return {{"name", row.server->name},
            {"state", to_string(row.state)},
            {"reason", row.reason},
            {"era", usable && about && !about->era.empty() ? Json(about->era) : Json()},
            {"protocolVersion", usable && about ? Json(about->server.protocol_version) : Json()},
            {"serverInfo", usable && about ? encode(about->server.info) : Json()},
            {"capabilities", usable && about ? encode(about->server.capabilities) : Json()},
            {"toolCount", usable && row.kept->tools ? row.kept->tools->items.size() : 0},
            {"cached", age ? Json{{"age", age->count()}} : Json()},
            {"error", error.empty() ? Json() : Json(error)}};
  }

  int print(std::string_view key, Json list, std::optional<Json> templates = {}) const {
    Json servers = Json::array();
    for (const auto& row : view_.rows) {
      if (is_meant(row.server->name)) servers.push_back(server_json(row));
    }
    Json out{{"servers", std::move(servers)}};
    out[key] = std::move(list);
    if (templates) out["resourceTemplates"] = std::move(*templates);
    const auto oldest = age();
    out["cached"] = oldest ? Json{{"age", oldest->count()}} : Json();
    io_.out(json_text(out, io_.out_is_terminal));
    return code();
  }

  void print_heading(const KeptRow& row, std::size_t listed) const {
    std::string about;
    if (row.kept->description) {
      const auto& info = row.kept->description->server.info;
      about = fmt::format("  ({}{}{}, revision {})", safe_name(info.name, 40), info.version.empty() ? "" : " ",
                          safe_name(info.version, 20), safe_line(row.kept->description->server.protocol_version, 20));
    }
    const auto tools = row.kept->tools ? row.kept->tools->items.size() : 0;
    const auto count = listed < tools ? fmt::format("{} of {}", listed, plural(tools, "tool")) : plural(listed, "tool");
    print_lines(io_, fmt::format("{}  cached  {}{}\n", safe_name(row.server->name, 60), count, about));
  }

  // What is missing, and how old the rest is. `any`: something was listed.
  int end(bool any) const {
    if (!settings_.quiet || code() != 0) say_missing();
    if (view_.rows.empty()) io_.talk(no_servers_text());
    const auto oldest = age();
    if (oldest && !any) {
      io_.talk(only_.empty()
                   ? fmt::format("No server with a cached list has {}.\n", command_name(settings_.command))
                   : fmt::format("\"{}\" has no {}.\n", safe_name(only_, 80), command_name(settings_.command)));
    }
    if (oldest && !settings_.quiet && io_.talk_is_terminal) {
      io_.talk(fmt::format("Cached {}; nothing was started. To ask now: patchbay {}{}\n", ago_text(*oldest),
                           command_name(settings_.command), only_.empty() ? std::string() : shell_operands({only_})));
    }
    return code();
  }

  void say_missing() const {
    std::vector<std::string> waiting;
    std::vector<Unlisted> missing;
    for (const auto& row : view_.rows) {
      if (!is_meant(row.server->name)) continue;
      const auto& name = row.server->name;
      if (is_usable(row)) {
        if (const auto failure = failure_of(row); !failure.empty()) {
          io_.talk(
              fmt::format("patchbay: \"{}\" {}\n", safe_name(name, 80),
                          has_log(*row.server, view_.declared.config) ? continued(failure, log_words(name)) : failure));
        }
      } else if (row.usable) {
        missing.push_back(unlisted(row));
      } else if (row.server->standing == ServerStanding::awaiting_approval) {
        waiting.push_back(name);
      } else if (!only_.empty()) {
        // Others that cannot be used are not what was asked for.
        io_.talk(
            fmt::format("patchbay: \"{}\" is not listed: {}\n", safe_name(name, 80), message_line(why_not(row), 500)));
      }
    }
    io_.talk(unlisted_lines(missing, command_name(settings_.command)));
    if (!waiting.empty()) io_.talk(approval_line(waiting));
  }

  int one_tool(const Catalog& catalog) const {
    auto found = catalog.require(only_);
    if (!found) {
      throw found.error().with_message(
          continued(found.error().message(), fmt::format("only cached lists were looked at; to ask the servers: "
                                                         "patchbay tools{}",
                                                         shell_operands({only_}))));
    }
    const auto& entry = **found;
    const auto row = std::ranges::find(view_.rows, entry.server, [](const auto& one) { return one.server->name; });
    const auto age = row == view_.rows.end() ? std::nullopt : age_of(*row);
    if (settings_.json) {
      auto out = tool_json(entry);
      out["cached"] = age ? Json{{"age", age->count()}} : Json();
      io_.out(json_text(out, io_.out_is_terminal));
      return 0;
    }
    print_lines(io_, tool_page(entry));
    if (age && !settings_.quiet && io_.talk_is_terminal) {
      io_.talk(fmt::format("Cached {}; nothing was started.\n", ago_text(*age)));
    }
    return 0;
  }

  const Settings& settings_;
  Io& io_;
  KeptView view_;
  std::string only_;  // a server, or else a tool; empty: everything
  bool is_server_ = true;
};

}  // namespace

int cached(const Settings& settings, Io& io) {
  if (settings.command == Command::search) {
    // Everything that is kept of tools, and said in the words of `tools`.
    auto as_tools = settings;
    as_tools.command = Command::tools;
    as_tools.words.clear();
    return Answer(as_tools, io).search(join(settings.words, " "), settings.limit.value_or(usual_results));
  }
  const Answer answer(settings, io);
  if (settings.command == Command::tools) return answer.tools();
  return settings.command == Command::prompts ? answer.prompts() : answer.resources();
}

std::string kept_tool_words(const Settings& settings) {
  const auto view = kept_view(settings);
  std::string out;
  for (const auto& entry : view.catalog()->tools()) {
    if (!is_plain_word(entry.server) || !is_plain_word(entry.tool->name)) continue;
    out += fmt::format("{}/{}\t", entry.server, entry.tool->name);
    std::string between;
    const Json schema = entry.tool->input_schema;
    if (const auto* properties = schema["properties"].if_object()) {
      for (const auto& [name, property] : *properties) {
        if (!is_plain_word(name)) continue;
        out += between + std::string(name);
        between = " ";
      }
    }
    out += "\n";
  }
  return out;
}

}  // namespace patchbay::cli
