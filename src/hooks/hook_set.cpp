#include "hooks/hook_set.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "catalog/naming.h"
#include "entries/text_secrets.h"
#include "http/url.h"
#include "text/file_and_line.h"
#include "text/visible_text.h"

namespace patchbay {
namespace {

constexpr std::size_t longest_shown = 200;

std::string target_of(const HookSetting& hook) {
  switch (hook.kind) {
    case HookSetting::Kind::command:
      break;
    case HookSetting::Kind::http:
      return redacted_url(hook.url);
    case HookSetting::Kind::mcp_tool:
      return fmt::format("{}/{}", hook.server, hook.tool);
  }
  auto text = hook.command;
  for (const auto& arg : hook.args.value_or(std::vector<std::string>())) text += " " + arg;
  return text;
}

bool is_of_tools(HookEvent event) noexcept {
  return event != HookEvent::elicitation && event != HookEvent::elicitation_result && !is_of_agent(event);
}

// Of what happens always in the same way, a matcher has nothing to say.
bool has_matcher(HookEvent event) noexcept {
  return event != HookEvent::user_prompt_submit && event != HookEvent::stop;
}

std::string_view matched_by(HookEvent event) noexcept {
  if (is_of_agent(event)) return to_string(event);
  return is_of_tools(event) ? "tool" : "server";
}

// Every name that a matcher may mean. A hook that guards must not miss a tool because of a spelling.
std::vector<std::string> names_of(const CatalogEntry& entry) {
  const ToolId id{entry.server, entry.tool->name, NamePrefix::server};
  std::vector<std::string> names{entry.name};
  for (auto name : {original_full_name(id), normalised_full_name(id)}) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

// Whether running one of them is running both.
bool is_same(const Hook& one, const Hook& other) {
  const auto key = [](const Hook& hook) {
    const auto& s = hook.setting;
    return std::tie(s.kind, s.command, s.args, s.url, s.headers, s.allowed_variables, s.server, s.tool, s.input,
                    s.timeout, s.fault);
  };
  return key(one) == key(other) && one.refuses_on_error() == other.refuses_on_error() &&
         is_inside_repository(one.source) == is_inside_repository(other.source);
}

const SettingsLayer* enterprise_layer_with(std::span<const SettingsLayer> layers,
                                           std::optional<BoolSetting> SettingsLayer::* setting) {
  const auto found = std::ranges::find_if(layers, [&](const SettingsLayer& layer) {
    return layer.source == SettingsSource::enterprise && layer.*setting && (layer.*setting)->value;
  });
  return found == layers.end() ? nullptr : &*found;
}

// What keeps the hooks of a layer away, for people; empty: nothing does.
class Switches {
 public:
  Switches(std::span<const SettingsLayer> layers, bool trusted) : trusted_(trusted) {
    managed_off_ = enterprise_layer_with(layers, &SettingsLayer::hooks_off);
    managed_only_ = enterprise_layer_with(layers, &SettingsLayer::only_managed_hooks);
    for (const auto& layer : layers) {
      if (layer.source == SettingsSource::enterprise || !layer.hooks_off || !layer.hooks_off->value) continue;
      (is_inside_repository(layer.source) ? repository_off_ : user_off_) = &layer;
    }
  }

  std::string keeps_away(const SettingsLayer& layer) const {
    const bool repository = is_inside_repository(layer.source);
    if (managed_off_) return by("disableAllHooks", *managed_off_, managed_off_->hooks_off->place);
    if (layer.source == SettingsSource::enterprise) return {};
    if (managed_only_) return by("allowManagedHooksOnly", *managed_only_, managed_only_->only_managed_hooks->place);
    if (user_off_) return by("disableAllHooks", *user_off_, user_off_->hooks_off->place);
    if (repository && repository_off_) {
      return by("disableAllHooks", *repository_off_, repository_off_->hooks_off->place);
    }
    return {};
  }
  bool lacks_trust(const SettingsLayer& layer) const { return is_inside_repository(layer.source) && !trusted_; }

 private:
  static std::string by(std::string_view key, const SettingsLayer& layer, const SettingPlace& place) {
    return fmt::format("\"{}\" in {} switches them off", key, file_and_line(layer.file, place.line));
  }

  bool trusted_;
  const SettingsLayer* managed_off_ = nullptr;
  const SettingsLayer* managed_only_ = nullptr;
  const SettingsLayer* user_off_ = nullptr;
  const SettingsLayer* repository_off_ = nullptr;
};

}  // namespace

std::string shown_target(const HookSetting& hook) {
  // A command line may hold a secret.
  return TextSecrets(Environment()).line(target_of(hook), longest_shown);
}

std::string exact_target(const HookSetting& hook) { return visible_text(target_of(hook)); }

bool Hook::refuses_on_error() const noexcept {
  return can_guard(setting.event) && setting.refuses_on_error.value_or(guards(setting.event));
}

std::string Hook::place() const { return file_and_line(file, setting.place.line); }

std::string Hook::described() const {
  const auto target = shown_target(setting);
  return fmt::format("the {} hook{} ({})", to_string(setting.event),
                     target.empty() ? "" : fmt::format(" \"{}\"", target), place());
}

HookSet::HookSet(std::span<const SettingsLayer> layers, bool trusted) {
  std::vector<const SettingsLayer*> ranked;
  for (const auto& layer : layers) {
    if (!layer.hooks.empty()) ranked.push_back(&layer);
  }
  if (ranked.empty()) return;
  // Of several changes the first counts, so what came with a repository comes last.
  std::ranges::sort(ranked, {}, [](const auto* layer) {
    return std::tuple(is_inside_repository(layer->source), settings_rank(layer->source), layer);
  });
  const Switches switches(layers, trusted);
  for (const auto* layer : ranked) {
    HookList found;
    for (const auto& setting : layer->hooks) {
      Hook hook{setting, layer->source, layer->file};
      auto matcher = HookMatcher::compile(has_matcher(setting.event) ? setting.matcher : "");
      if (matcher) {
        hook.matcher = std::move(*matcher);
      } else {
        // What it is about cannot be known, so it is about everything.
        hook.setting.fault = matcher.error().message();
        problems_.push_back({layer->file,
                             setting.place.line,
                             setting.place.column,
                             fmt::format("{}; until this is fixed the hook is about every {}",
                                         matcher.error().message(), matched_by(setting.event)),
                             {},
                             Severity::error});
      }
      found.push_back(std::make_shared<const Hook>(std::move(hook)));
    }
    const bool ours = std::ranges::any_of(found, [](const auto& hook) {
      return !is_of_tools(hook->setting.event) || hook->matcher.may_name_server_tool();
    });
    const auto& first = found.front()->setting.place;
    if (const auto why = switches.keeps_away(*layer); !why.empty()) {
      if (ours) {
        problems_.push_back({layer->file,
                             first.line,
                             first.column,
                             fmt::format("the hooks of this file are not run: {}", why),
                             {},
                             Severity::note});
      }
    } else if (switches.lacks_trust(*layer)) {
      if (ours) {
        problems_.push_back(
            {layer->file,
             first.line,
             first.column,
             "the hooks of this file are not run, because it is inside a repository that you do not trust",
             {},
             Severity::warning,
             Remedy{Remedy::Kind::trust_project}});
      }
    } else {
      std::ranges::move(found, std::back_inserter(hooks_));
    }
  }
}

HookList HookSet::matching(HookEvent event, std::span<const std::string> names) const {
  HookList out;
  for (const auto& hook : hooks_) {
    if (hook->setting.event != event) continue;
    if (!std::ranges::any_of(names, [&](const auto& name) { return hook->matcher.matches(name); })) continue;
    if (std::ranges::none_of(out, [&](const auto& known) { return is_same(*known, *hook); })) out.push_back(hook);
  }
  return out;
}

std::shared_ptr<const ToolHooks> HookSet::about(const CatalogEntry& tool) const {
  if (hooks_.empty()) return nullptr;
  const auto names = names_of(tool);
  auto out = std::make_shared<ToolHooks>();
  bool any = false;
  for (std::size_t i = 0; i < hook_events; ++i) {
    const auto event = static_cast<HookEvent>(i);
    if (!is_of_tools(event)) continue;
    out->lists[i] = matching(event, names);
    any = any || !out->lists[i].empty();
  }
  return any ? out : nullptr;
}

HookList HookSet::about_server(HookEvent event, std::string_view server) const {
  if (hooks_.empty()) return {};
  std::vector<std::string> names{std::string(server)};
  if (auto plain = normalise_name(server); plain != server) names.push_back(std::move(plain));
  return matching(event, names);
}

HookList HookSet::about_agent(HookEvent event, std::string_view what) const {
  if (hooks_.empty()) return {};
  return matching(event, std::vector<std::string>{std::string(what)});
}

}  // namespace patchbay
