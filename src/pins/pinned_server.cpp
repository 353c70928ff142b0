#include "pins/pinned_server.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/crypto.h"
#include "json/kept_records.h"
#include "pins/definition.h"
#include "protocol/codec.h"

namespace patchbay {
namespace {

using std::chrono::sys_seconds;
using Pinned = std::map<std::string, PinnedTool, std::less<>>;

constexpr std::size_t longest_text = 4096;
constexpr std::size_t longest_instructions = 64u << 10;
constexpr std::string_view hashed = "sha256:";

// A definition that has no room, offered in the place of a tool whose last agreed definition is not known: nothing of
// what nobody has agreed to reaches a model.
std::shared_ptr<const Tool> stand_in(const std::string& name) {
  return std::make_shared<const Tool>(
      Tool{.name = name, .description = "This tool has changed and awaits approval. It cannot be called until then."});
}

PinnedTool pin_of(const std::shared_ptr<const Tool>& tool, sys_seconds now) {
  return {print_of(parts_of(*tool)), tool, now};
}

std::optional<Pinned> read_tools(const Json& value) {
  Pinned out;
  if (value.is_null()) return out;
  const auto* object = value.if_object();
  if (object == nullptr || object->size() > most_pinned_tools) return std::nullopt;
  for (const auto& [name, one] : *object) {
    const auto print = one["print"].text();
    const auto since = one["since"].to_int();
    if (!print || print->size() > longest_text || !since || *since < 0 || *since > last_second) return std::nullopt;
    PinnedTool tool{std::string(*print), nullptr, sys_seconds(std::chrono::seconds(*since))};
    if (!one["definition"].is_null()) {
      auto definition = decode<Tool>(one["definition"]);
      if (!definition || definition->name != name) return std::nullopt;
      tool.definition = std::make_shared<const Tool>(std::move(*definition));
    }
    out.emplace(name, std::move(tool));
  }
  return out;
}

std::optional<std::string> optional_text(const Json& value) {
  const auto text = value.text();
  return text ? std::optional(std::string(*text)) : std::nullopt;
}

Json tools_json(const Pinned& tools, std::size_t longest_definition) {
  Json out = Json::object();
  for (const auto& [name, tool] : tools) {
    Json one{{"print", tool.print}, {"since", static_cast<std::int64_t>(tool.since.time_since_epoch().count())}};
    if (tool.definition) {
      auto definition = encode(*tool.definition);
      if (to_text(definition).size() <= longest_definition) one.as_object().append("definition", std::move(definition));
    }
    out.as_object().append(name, std::move(one));
  }
  return out;
}

std::string text_of(const PinnedServer& server, std::size_t longest_definition) {
  Json out{{"version", pinned_server_version},
           {"name", server.name},
           {"package", server.package},
           {"tools", tools_json(server.tools, longest_definition)},
           {"waiting", tools_json(server.waiting, longest_definition)}};
  if (server.instructions) out.as_object().append("instructions", *server.instructions);
  if (server.waiting_instructions) out.as_object().append("waitingInstructions", *server.waiting_instructions);
  Json prompts = Json::object();
  for (const auto& [name, print] : server.prompts) prompts.as_object().append(name, print);
  out.as_object().append("prompts", std::move(prompts));
  return to_text(out) + "\n";
}

// What of a list is looked at: a tool that is listed twice counts once, as in the catalog.
std::map<std::string_view, std::shared_ptr<const Tool>> by_name(const SeenServer& seen) {
  std::map<std::string_view, std::shared_ptr<const Tool>> out;
  for (const auto& tool : seen.tools) out.emplace(tool->name, tool);
  return out;
}

class Judging {
 public:
  Judging(const std::optional<PinnedServer>& before, const SeenServer& seen, const LockedServer* lock, PinMode mode,
          sys_seconds now)
      : seen_(seen), lock_(lock), mode_(mode), now_(now) {
    if (before) out_.pins = *before;
    // One that lists nothing yet, before somebody signs in for instance, has not been seen.
    first_ = out_.pins.tools.empty();
  }

  Judgement take() && {
    out_.pins.name = seen_.name;
    const auto waited = std::exchange(out_.pins.waiting, {});
    const auto tools = by_name(seen_);
    for (const auto& [name, tool] : tools) look_at(std::string(name), tool, waited);
    for (const auto& tool : seen_.tools) offer(tool);
    forget_what_is_gone(tools);
    look_at_server();
    if (mode_ == PinMode::record) {
      out_.waiting.clear();
      out_.offered = seen_.tools;
      out_.instructions.reset();
    }
    if (lock_ != nullptr) hold_against_lock();
    return std::move(out_);
  }

 private:
  void look_at(const std::string& name, const std::shared_ptr<const Tool>& tool, const Pinned& waited) {
    auto now = pin_of(tool, now_);
    const auto known = out_.pins.tools.find(name);
    if (known == out_.pins.tools.end()) {
      if (!first_) {
        wait_for(name, {nullptr, tool, grade_new_tool(*tool), false, true}, std::move(now), waited);
      } else if (out_.pins.tools.size() < most_pinned_tools) {
        out_.pins.tools.emplace(name, std::move(now));
      }
      return;
    }
    auto& pinned = known->second;
    if (pinned.print == now.print) {
      // Notation. What has not changed at all stays the object it was, and nothing is written for it.
      if (pinned.definition && *pinned.definition == *tool) return;
      now.since = pinned.since;
      pinned = std::move(now);
      return;
    }
    auto change = pinned.definition ? grade_change(*pinned.definition, *tool)
                                    : ToolChange{ChangeGrade::ask, {"its definition is another one"}};
    if (change.grade >= ChangeGrade::ask) {
      wait_for(name, {pinned.definition, tool, std::move(change), false, false}, std::move(now), waited);
      return;
    }
    for (const auto& reason : change.reasons) {
      if (change.grade == ChangeGrade::note) out_.notes.push_back(fmt::format("{}: {}", name, reason));
    }
    pinned = std::move(now);
  }

  void wait_for(const std::string& name, WaitingTool tool, PinnedTool now, const Pinned& waited) {
    const auto before = waited.find(name);
    if (before != waited.end() && before->second.print == now.print) now.since = before->second.since;
    if (out_.pins.waiting.size() < most_pinned_tools) out_.pins.waiting.emplace(name, std::move(now));
    out_.waiting.emplace(name, std::move(tool));
  }

  void offer(const std::shared_ptr<const Tool>& tool) {
    const auto waits = out_.waiting.find(tool->name);
    if (waits == out_.waiting.end()) {
      out_.offered.push_back(tool);
    } else if (!waits->second.fresh) {
      out_.offered.push_back(waits->second.before ? waits->second.before : stand_in(tool->name));
    }
  }

  // A tool that comes back is the one it was, so its pin stays, as long as there is room. Never all of them go: a
  // server without any would be at first sight again.
  void forget_what_is_gone(const std::map<std::string_view, std::shared_ptr<const Tool>>& tools) {
    auto& pinned = out_.pins.tools;
    for (auto at = pinned.begin(); at != pinned.end() && pinned.size() > most_pinned_tools / 2;) {
      at = tools.contains(at->first) ? std::next(at) : pinned.erase(at);
    }
  }

  void look_at_server() {
    auto& pins = out_.pins;
    if (first_) {
      pins.package = seen_.package;
    } else if (pins.package != seen_.package) {
      out_.notes.push_back(fmt::format("it is \"{}\" now, and was \"{}\"", seen_.package, pins.package));
      pins.package = seen_.package;
    }
    pins.waiting_instructions.reset();
    auto now = seen_.instructions;
    if (now && now->size() > longest_instructions) now = std::string(hashed) + sha256_hex(*now);
    if (first_) {
      pins.instructions = now;
    } else if (pins.instructions.value_or("") != now.value_or("")) {
      pins.waiting_instructions = now.value_or("");
      // Of very long ones only the hash is kept, and nobody is instructed by that.
      const auto before = pins.instructions.value_or("");
      out_.instructions = before.starts_with(hashed) ? std::string() : before;
    }
  }

  void hold_against_lock() {
    for (auto& tool : out_.offered) {
      const auto& name = tool->name;
      const auto listed = std::ranges::find(seen_.tools, name, [](const auto& one) { return one->name; });
      const auto found = lock_->tools.find(name);
      auto different = found == lock_->tools.end() ? std::vector<std::string>{"it is not in the lock file"}
                                                   : differences(found->second, locked_tool(**listed));
      if (different.empty()) continue;
      auto& waits = out_.waiting[name];
      waits = {waits.before, *listed, {ChangeGrade::block, std::move(different)}, true, false};
      const bool known = found != lock_->tools.end() && differences(found->second, locked_tool(*tool)).empty();
      if (!known) tool = stand_in(name);
    }
    for (auto& [name, waits] : out_.waiting) {
      // A new one that nobody offers yet.
      if (!waits.fresh || lock_->tools.contains(name)) continue;
      waits.change = {ChangeGrade::block, {"it is not in the lock file"}};
      waits.locked = true;
    }
  }

  const SeenServer& seen_;
  const LockedServer* lock_;
  PinMode mode_;
  sys_seconds now_;
  bool first_ = false;
  Judgement out_;
};

}  // namespace

bool PinnedTool::operator==(const PinnedTool& other) const {
  if (print != other.print || since != other.since) return false;
  if (definition == other.definition) return true;
  return definition && other.definition && *definition == *other.definition;
}

ReadPins read_pinned_server(std::string_view text) {
  const auto parsed = parse_json(text);
  if (!parsed) return {PinUse::unreadable, std::nullopt};
  const Json& value = *parsed;
  const auto version = value["version"].to_int();
  if (!version || *version < 1) return {PinUse::unreadable, std::nullopt};
  if (*version > pinned_server_version) return {PinUse::newer, std::nullopt};
  auto tools = read_tools(value["tools"]);
  auto waiting = read_tools(value["waiting"]);
  if (!tools || !waiting || !value["tools"].is_object()) return {PinUse::unreadable, std::nullopt};
  PinnedServer out;
  out.name = optional_text(value["name"]).value_or("");
  out.package = optional_text(value["package"]).value_or("");
  out.tools = std::move(*tools);
  out.waiting = std::move(*waiting);
  out.instructions = optional_text(value["instructions"]);
  out.waiting_instructions = optional_text(value["waitingInstructions"]);
  if (const auto* prompts = value["prompts"].if_object()) {
    for (const auto& [name, print] : *prompts) out.prompts.emplace(name, optional_text(print).value_or(""));
  }
  return {PinUse::usable, std::move(out)};
}

std::string write_pinned_server(const PinnedServer& server) {
  for (std::size_t longest = largest_pinned_server; longest >= 256; longest /= 8) {
    auto text = text_of(server, longest);
    if (text.size() <= largest_pinned_server) return text;
  }
  auto text = text_of(server, 0);
  return text.size() <= largest_pinned_server ? text : std::string();
}

Judgement judge(const std::optional<PinnedServer>& before, const SeenServer& seen, const LockedServer* lock,
                PinMode mode, sys_seconds now) {
  return Judging(before, seen, lock, mode, now).take();
}

std::vector<std::string> agree(PinnedServer& pins, std::string_view tool, sys_seconds now) {
  std::vector<std::string> agreed;
  for (auto& [name, waiting] : pins.waiting) {
    if (!tool.empty() && name != tool) continue;
    waiting.since = now;
    pins.tools.insert_or_assign(name, waiting);
    agreed.push_back(name);
  }
  std::erase_if(pins.waiting, [&](const auto& one) { return tool.empty() || one.first == tool; });
  if (tool.empty() && pins.waiting_instructions) {
    pins.instructions = std::exchange(pins.waiting_instructions, std::nullopt);
    agreed.emplace_back();
  }
  return agreed;
}

std::string package_of(const Implementation& info) {
  auto text = info.version.empty() ? info.name : info.name + " " + info.version;
  if (text.size() > longest_text) text.resize(longest_text);
  return text;
}

std::string print_of(const Prompt& prompt) {
  const auto arguments = encode(prompt)["arguments"];
  return sha256_hex(to_text(Json::array({prompt.title.value_or(""), prompt.description.value_or(""), arguments})));
}

std::vector<std::string> update_prompts(PinnedServer& pins, std::span<const Prompt> prompts) {
  std::map<std::string, std::string, std::less<>> now;
  for (const auto& prompt : prompts) now.emplace(prompt.name, print_of(prompt));
  std::vector<std::string> changed;
  if (!pins.prompts.empty()) {
    for (const auto& [name, print] : now) {
      const auto known = pins.prompts.find(name);
      if (known == pins.prompts.end() || known->second != print) changed.push_back(name);
    }
    for (const auto& [name, print] : pins.prompts) {
      if (!now.contains(name)) changed.push_back(name);
    }
  }
  pins.prompts = std::move(now);
  return changed;
}

}  // namespace patchbay
