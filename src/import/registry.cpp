// server.json, the page a server's author writes for the registry: packages that can be started and
// URLs that can be connected to. Fields are read in camelCase and in the older snake_case. One way to
// reach the server is taken; the others are named.
#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "entries/entry.h"
#include "import/entry.h"

namespace patchbay {
namespace {

using Member = ConfigDocument::Member;

// A member under any of its spellings.
Member any_of(const Member& in, std::initializer_list<std::string_view> keys) {
  for (auto key : keys) {
    if (auto at = member_of(in, key)) return at;
  }
  return {};
}

std::string text_or_empty(const Member& at) {
  const auto text = at ? at.value->text() : std::nullopt;
  return std::string(text.value_or(""));
}

bool is_true(const Member& at) { return at && *at.value == Json(true); }

std::vector<Member> items_of(const Member& at) {
  std::vector<Member> out;
  const auto* items = at ? at.value->if_array() : nullptr;
  if (items == nullptr) return out;
  for (std::size_t i = 0; i < items->size(); ++i) out.push_back({&(*items)[i], &child_of(*at.place, i)});
  return out;
}

struct Runner {
  std::string_view registry;
  std::string_view command;
};
constexpr Runner runners[] = {{"npm", "npx"}, {"pypi", "uvx"}, {"oci", "docker"}, {"docker", "docker"}};

const Runner* runner_of(const Member& package) {
  const auto registry =
      to_lower_ascii(text_or_empty(any_of(package, {"registryType", "registry_type", "registry_name"})));
  const auto* found = std::ranges::find(runners, registry, &Runner::registry);
  return found == std::end(runners) ? nullptr : found;
}

// A package that answers on stdin and stdout, which is what we can start.
bool speaks_stdio(const Member& package) {
  const auto type = text_or_empty(member_of(member_of(package, "transport"), "type"));
  return type.empty() || type == "stdio";
}

class RegistryImport {
 public:
  RegistryImport(ImportWork& work, const Member& server, std::string name)
      : server_(server), entry_(work, std::move(name), server) {}

  void run() {
    for (std::string_view key :
         {"$schema", "name", "title", "description", "version", "status", "repository", "websiteUrl", "website_url",
          "icons", "version_detail", "_meta", "packages", "remotes"}) {
      entry_.take(key);  // about the server; nothing an entry could hold
    }
    const auto packages = items_of(member_of(server_, "packages"));
    const auto remotes = items_of(member_of(server_, "remotes"));
    const auto package =
        std::ranges::find_if(packages, [](const Member& at) { return runner_of(at) != nullptr && speaks_stdio(at); });
    if (package != packages.end()) {
      start(*package);
    } else if (!remotes.empty()) {
      connect(remotes.front());
    } else {
      entry_.fail(server_.place->value, packages.empty()
                                            ? "the server has neither a package nor a URL"
                                            : "none of its packages is from npm, pypi or oci with the transport stdio");
      return;
    }
    const auto* taken = package != packages.end() ? package->value : remotes.front().value;
    for (const auto& other : packages) {
      if (other.value != taken) say_other(other, "packages", text_or_empty(any_of(other, {"identifier", "name"})));
    }
    for (const auto& other : remotes) {
      if (other.value != taken) say_other(other, "remotes", text_or_empty(member_of(other, "url")));
    }
    entry_.finish();
  }

 private:
  void say_other(const Member& at, std::string_view field, const std::string& what) {
    entry_.left_out(at, field, fmt::format("another way to reach the server, {}, is not used", quoted_name(what)));
  }

  // ---- Values that people fill in ----

  struct Filled {
    std::string text;
    bool given = false;  // there is a value, if only a variable to be set
  };

  // "{tenant}" in a value stands for one of its variables.
  std::string with_variables(const Member& input, std::string text, std::string_view field) {
    const auto variables = member_of(input, "variables");
    const auto* known = variables ? variables.value->if_object() : nullptr;
    if (known == nullptr) return text;
    std::string out;
    std::string_view rest = text;
    for (;;) {
      const auto open = rest.find('{');
      const auto close = open == std::string_view::npos ? open : rest.find('}', open);
      if (close == std::string_view::npos) break;
      const auto name = rest.substr(open + 1, close - open - 1);
      out += rest.substr(0, open);
      if (auto variable = member_of(variables, name)) {
        out += value_of(variable, std::string(name), fmt::format("{}.{}", field, name), Needed::yes).text;
        rest.remove_prefix(close + 1);
      } else {
        out += '{';
        rest.remove_prefix(open + 1);
      }
    }
    return out + std::string(rest);
  }

  // Whether there must be a value: in any case, or when the page says so; `named` is a variable itself.
  enum class Needed { yes, if_said, named };

  // The fixed value of an input, its default, or a variable the user has to set.
  Filled value_of(const Member& input, const std::string& name, std::string_view field, Needed needed) {
    if (auto value = member_of(input, "value"); value && value.value->is_string()) {
      return {with_variables(input, std::string(value.value->as_text()), field), true};
    }
    if (auto fallback = member_of(input, "default"); fallback && !fallback.value->is_null()) {
      const auto text = fallback.value->text();
      return {text ? std::string(*text) : to_text(*fallback.value), true};
    }
    if (needed != Needed::yes && !is_true(any_of(input, {"isRequired", "is_required"}))) {
      entry_.left_out(input, field, fmt::format("{} is optional and has no value", quoted_name(name)));
      return {};
    }
    const auto variable =
        needed == Needed::named && is_variable_name(name) ? name : variable_named_after(entry_.name() + "_" + name);
    entry_.needs(input, field, variable);
    return {fmt::format("${{{}}}", variable), true};
  }

  void add_arguments(Json& args, const Member& list, std::string_view field) {
    for (const auto& argument : items_of(list)) {
      const auto name = text_or_empty(member_of(argument, "name"));
      const auto hint = text_or_empty(any_of(argument, {"valueHint", "value_hint"}));
      const bool named = text_or_empty(member_of(argument, "type")) == "named" && !name.empty();
      const bool has_value{any_of(argument, {"value", "default", "valueHint", "value_hint", "choices", "format"})};
      if (named && !has_value && !is_true(any_of(argument, {"isRequired", "is_required"}))) {
        args.push_back(name);  // a switch
        continue;
      }
      const auto asked = !hint.empty() ? hint : !name.empty() ? name : std::string("argument");
      auto filled = value_of(argument, std::string(trim_dashes(asked)), field, Needed::if_said);
      if (!filled.given) continue;
      if (named) args.push_back(name);
      args.push_back(std::move(filled.text));
    }
  }

  static std::string_view trim_dashes(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of('-'), text.size()));
    return text.empty() ? std::string_view("argument") : text;
  }

  // ---- The two ways ----

  void start(const Member& package) {
    const auto* runner = runner_of(package);
    auto identifier = text_or_empty(any_of(package, {"identifier", "name"}));
    const auto version = text_or_empty(member_of(package, "version"));
    if (identifier.empty()) {
      entry_.fail(package.place->value, "an element of \"packages\" has no \"identifier\"");
      return;
    }
    if (identifier.starts_with('-') || version.starts_with('-')) {
      entry_.fail(package.place->value, "the name of a package begins with \"-\"");
      return;
    }
    if (auto hint = any_of(package, {"runtimeHint", "runtime_hint"}); hint && text_or_empty(hint) != runner->command) {
      entry_.changed(hint, "runtimeHint", fmt::format("the package is started with {}", runner->command));
    }
    if (auto base = any_of(package, {"registryBaseUrl", "registry_base_url"});
        base && !is_usual_registry(text_or_empty(base))) {
      entry_.left_out(base, "registryBaseUrl",
                      fmt::format("{} downloads from the registry that its own configuration names", runner->command));
    }
    entry_.out()["type"] = "stdio";
    entry_.out()["command"] = runner->command;
    auto env = environment(package);
    auto args = Json::array();
    const bool docker = runner->command == "docker";
    if (runner->command == "npx") args.push_back("-y");
    if (docker) {
      for (std::string_view word : {"run", "-i", "--rm"}) args.push_back(word);
      for (const auto& [name, value] : env) {
        args.push_back("-e");
        args.push_back(name);
      }
    }
    add_runtime_arguments(args, package);
    if (!version.empty() && version != "latest") {
      const bool tagged = docker && identifier.find_first_of(":@", identifier.rfind('/') + 1) != std::string::npos;
      if (!tagged) identifier += fmt::format("{}{}", docker ? ":" : runner->command == "uvx" ? "==" : "@", version);
    }
    args.push_back(identifier);
    add_arguments(args, any_of(package, {"packageArguments", "package_arguments"}), "packageArguments");
    entry_.out()["args"] = std::move(args);
    if (!env.empty()) entry_.out()["env"] = Json(std::move(env));
    if (auto hash = any_of(package, {"fileSha256", "file_sha256"})) {
      entry_.left_out(hash, "fileSha256", "the downloaded program is not compared with a hash");
    }
  }

  static bool is_usual_registry(std::string_view url) {
    return std::ranges::any_of(
        std::initializer_list<std::string_view>{"https://registry.npmjs.org", "https://pypi.org", "https://docker.io"},
        [&](std::string_view usual) { return url == usual; });
  }

  // What we write ourselves is often there as well.
  void add_runtime_arguments(Json& args, const Member& package) {
    auto more = Json::array();
    add_arguments(more, any_of(package, {"runtimeArguments", "runtime_arguments"}), "runtimeArguments");
    for (auto& word : more.as_array()) {
      const auto& known = args.as_array();
      const bool twice = std::ranges::find(known, word) != known.end() &&
                         (word == Json("-y") || word == Json("run") || word == Json("-i") || word == Json("--rm"));
      if (!twice) args.push_back(std::move(word));
    }
  }

  Json::Object environment(const Member& package) {
    Json::Object env;
    for (const auto& variable : items_of(any_of(package, {"environmentVariables", "environment_variables"}))) {
      const auto name = text_or_empty(member_of(variable, "name"));
      const auto field = "environmentVariables." + name;
      auto filled = value_of(variable, name, field, Needed::named);
      if (filled.given) env.set(name, std::move(filled.text));
    }
    return env;
  }

  void connect(const Member& remote) {
    const auto type = to_lower_ascii(text_or_empty(any_of(remote, {"type", "transport_type", "transportType"})));
    entry_.out()["type"] = type == "sse" ? "sse" : "http";
    const auto url = text_or_empty(member_of(remote, "url"));
    if (url.empty()) {
      entry_.fail(remote.place->value, "an element of \"remotes\" has no \"url\"");
      return;
    }
    entry_.out()["url"] = with_variables(remote, url, "url");
    for (const auto& header : items_of(member_of(remote, "headers"))) {
      const auto name = text_or_empty(member_of(header, "name"));
      auto filled = value_of(header, name, "headers." + name, Needed::if_said);
      if (filled.given) entry_.set_header(name, std::move(filled.text));
    }
  }

  Member server_;
  EntryImport entry_;
};

// "io.github.someone/weather" is called weather.
std::string short_name(const std::string& name) {
  auto last = name.substr(name.rfind('/') + 1);
  return last.empty() ? name : last;
}

void import_one(ImportWork& work, const Member& at) {
  auto server = at;
  if (auto inner = member_of(at, "server"); inner && inner.value->is_object()) server = inner;
  const auto name = text_or_empty(member_of(server, "name"));
  if (name.empty()) {
    work.problem({}, server.place->value, "expected a server with a \"name\" and \"packages\" or \"remotes\"");
    return;
  }
  RegistryImport(work, server, short_name(name)).run();
}

}  // namespace

void import_registry(ImportWork& work, const ConfigDocument& document) {
  const auto list = member_of(document.top(), "servers");
  if (!list || !list.value->is_array()) return import_one(work, document.top());
  for (const auto& server : items_of(list)) {
    if (work.out().entries.size() == import_entry_limit) {
      work.problem({}, server.place->key, too_many_servers());
      return;
    }
    import_one(work, server);
  }
}

}  // namespace patchbay
