#include "pins/lock_file.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/crypto.h"
#include "json/writer.h"
#include "pins/pinned_server.h"

namespace patchbay {
namespace {

constexpr std::size_t longest_value = 4096;

// As they are called in the file.
constexpr std::array part_keys{"title", "description", "inputSchema", "outputSchema", "annotations"};

std::string hashed(const std::string& text) { return text.empty() ? std::string() : "sha256:" + sha256_hex(text); }

std::unexpected<Error> broken(std::string_view what) {
  return fail(Errc::config, fmt::format("it is not a lock file: {}", what));
}

bool is_value(const Json& value) {
  const auto text = value.text();
  return text && text->size() <= longest_value;
}

std::string text_of(const Json& value) { return std::string(value.text().value_or("")); }

using Texts = std::map<std::string, std::string, std::less<>>;
Result<Texts> read_texts(const Json& value, std::string_view what) {
  Texts out;
  if (value.is_null()) return out;
  const auto* object = value.if_object();
  if (object == nullptr) return broken(fmt::format("{} is not an object", what));
  for (const auto& [key, one] : *object) {
    if (!is_value(one)) return broken(fmt::format("a value in {} is not a text", what));
    out.emplace(key, text_of(one));
  }
  return out;
}

Result<LockedServer> read_server(const Json& value) {
  if (!value.is_object()) return broken("a server is not an object");
  LockedServer out;
  for (const auto& [key, text] : std::initializer_list<std::pair<const char*, std::string*>>{
           {"entry", &out.entry}, {"package", &out.package}, {"instructions", &out.instructions}}) {
    if (value[key].is_null()) continue;
    if (!is_value(value[key])) return broken(fmt::format("\"{}\" is not a text", key));
    *text = text_of(value[key]);
  }
  auto prompts = read_texts(value["prompts"], "\"prompts\"");
  if (!prompts) return std::unexpected(prompts.error());
  out.prompts = std::move(*prompts);
  const auto* tools = value["tools"].if_object();
  if (tools == nullptr) return broken("a server has no \"tools\"");
  for (const auto& [name, one] : *tools) {
    auto parts = read_texts(one, "a tool");
    if (!parts || one.is_null()) return broken("a tool is not an object of texts");
    LockedTool tool;
    for (const auto& [key, hash] : *parts) {
      const auto part = std::ranges::find(part_keys, key);
      if (part == part_keys.end()) return broken("a tool has a part that is not known");
      tool.emplace(tool_parts[part - part_keys.begin()], hash);
    }
    out.tools.emplace(name, std::move(tool));
  }
  return out;
}

// {"key": value} on lines of their own; values are texts already.
std::string object_text(const Texts& members, std::string_view indent) {
  if (members.empty()) return "{}";
  std::string out = "{\n";
  std::size_t left = members.size();
  for (const auto& [key, value] : members) {
    out.append(indent).append("  ");
    append_json_string(out, key);
    out.append(": ").append(value).append(--left > 0 ? ",\n" : "\n");
  }
  return out.append(indent).append("}");
}

std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string tool_text(const LockedTool& tool) {
  Texts members;
  for (const auto& [part, hash] : tool) {
    members.emplace(part_keys.at(static_cast<std::size_t>(part)), json_string(hash));
  }
  return object_text(members, "        ");
}

std::string server_text(const LockedServer& server) {
  Texts tools, prompts;
  for (const auto& [name, tool] : server.tools) tools.emplace(name, tool_text(tool));
  for (const auto& [name, hash] : server.prompts) prompts.emplace(name, json_string(hash));
  Texts members{{"entry", json_string(server.entry)},
                {"package", json_string(server.package)},
                {"prompts", object_text(prompts, "      ")},
                {"tools", object_text(tools, "      ")}};
  if (!server.instructions.empty()) members.emplace("instructions", json_string(server.instructions));
  return object_text(members, "    ");
}

}  // namespace

LockedTool locked_tool(const Tool& tool) {
  const auto parts = parts_of(tool);
  LockedTool out;
  for (const auto part : tool_parts) {
    if (!parts.of(part).empty()) out.emplace(part, hashed(parts.of(part)));
  }
  return out;
}

LockedServer locked_server(const LockSource& source) {
  LockedServer out;
  out.entry = source.entry;
  out.package = source.package;
  out.instructions = hashed(source.instructions.value_or(""));
  for (const auto& prompt : source.prompts) out.prompts.emplace(prompt.name, "sha256:" + print_of(prompt));
  for (const auto& tool : source.tools) out.tools.emplace(tool->name, locked_tool(*tool));
  return out;
}

Result<LockFile> read_lock_file(std::string_view text) {
  if (text.size() > largest_lock_file) return broken("it is too large");
  const auto parsed = parse_json(text);
  if (!parsed) return broken(parsed.error().message());
  const auto version = (*parsed)["version"].to_int();
  if (!version || *version < 1) return broken("it has no \"version\"");
  if (*version > lock_file_version) {
    return fail(Errc::config,
                fmt::format("it has version {}, and this program knows only version {}", *version, lock_file_version));
  }
  const auto* servers = (*parsed)["servers"].if_object();
  if (servers == nullptr) return broken("it has no \"servers\"");
  LockFile out;
  for (const auto& [name, value] : *servers) {
    auto server = read_server(value);
    if (!server) return std::unexpected(server.error());
    out.servers.emplace(name, std::move(*server));
  }
  return out;
}

std::string write_lock_file(const LockFile& lock) {
  Texts servers;
  for (const auto& [name, server] : lock.servers) servers.emplace(name, server_text(server));
  const Texts members{{"servers", object_text(servers, "  ")}, {"version", fmt::format("{}", lock_file_version)}};
  return object_text(members, "") + "\n";
}

std::vector<std::string> differences(const LockedTool& locked, const LockedTool& now) {
  std::vector<std::string> out;
  for (const auto part : tool_parts) {
    const auto before = locked.find(part);
    const auto after = now.find(part);
    const bool had = before != locked.end();
    const bool has = after != now.end();
    if (had == has && (!had || before->second == after->second)) continue;
    const bool several = part == ToolPart::annotations;
    out.push_back(had && has ? fmt::format("its {} {}", to_string(part), several ? "are others" : "is another one")
                  : has      ? fmt::format("it has {} now", to_string(part))
                             : fmt::format("its {} {} gone", to_string(part), several ? "are" : "is"));
  }
  return out;
}

std::vector<LockDifference> differences(const std::string& server, const LockedServer& locked,
                                        const LockedServer& now) {
  std::vector<LockDifference> out;
  auto add = [&](const std::string& tool, std::string text) { out.push_back({server, tool, std::move(text)}); };
  if (locked.entry != now.entry) add("", "its entry is another one");
  if (locked.package != now.package) {
    add("", fmt::format("it is \"{}\" now, and was \"{}\"", now.package, locked.package));
  }
  if (locked.instructions != now.instructions) add("", "its instructions are others");
  for (const auto& [name, hash] : locked.prompts) {
    const auto found = now.prompts.find(name);
    if (found == now.prompts.end()) {
      add("", fmt::format("its prompt \"{}\" is gone", name));
    } else if (found->second != hash) {
      add("", fmt::format("its prompt \"{}\" is another one", name));
    }
  }
  for (const auto& [name, hash] : now.prompts) {
    if (!locked.prompts.contains(name)) add("", fmt::format("its prompt \"{}\" is new", name));
  }
  for (const auto& [name, tool] : locked.tools) {
    const auto found = now.tools.find(name);
    if (found == now.tools.end()) {
      add(name, "it is gone");
    } else {
      for (auto& text : differences(tool, found->second)) add(name, std::move(text));
    }
  }
  for (const auto& [name, tool] : now.tools) {
    if (!locked.tools.contains(name)) add(name, "it is new");
  }
  return out;
}

}  // namespace patchbay
