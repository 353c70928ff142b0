// `patchbay secret set|list|remove|passphrase`: what ${secret:NAME} names, kept in the system keyring or in an
// encrypted file. A value is typed on the terminal or read from stdin, and never shown.
#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/approval.h"
#include "cli/declared.h"
#include "cli/texts/present.h"
#include "cli/vault.h"
#include "host/start/stored_secrets.h"
#include "text/shell_word.h"

namespace patchbay::cli {
namespace {

template <class T>
T or_throw(Result<T> result) {
  if (!result) throw std::move(result).error();
  return std::move(*result);
}

std::string place_name(const NamedSecret& secret) {
  return secret.place ? std::string(to_string(*secret.place)) : "secrets.json";
}

struct Store {
  Declared declared;
  std::shared_ptr<SecretVault> vault;
};

const std::string& name_in(const Settings& settings) {
  if (settings.words.size() == 2) return settings.words[1];
  throw Error(Errc::invalid_argument,
              fmt::format("secret {0} needs a name: patchbay secret {0} NAME", settings.words[0]));
}

void require_no_name(const Settings& settings) {
  if (settings.words.size() == 1) return;
  throw Error(Errc::invalid_argument, fmt::format("secret {0} takes no name: patchbay secret {0}", settings.words[0]));
}

// One line end is the shell's, not the secret's.
Secret value_for(const std::string& name, Io& io) {
  std::string text;
  if (io.in_is_terminal) {
    text = ask_secret(fmt::format("Value of \"{}\": ", safe_name(name, 80)));
  } else {
    text = io.read_input();
    if (text.ends_with('\n')) text.pop_back();
    if (text.ends_with('\r')) text.pop_back();
  }
  Secret value(std::move(text));
  if (value.empty() || !valid_utf8(value.reveal())) {
    throw Error(Errc::invalid_argument, "the value is empty or not valid UTF-8; nothing was stored");
  }
  return value;
}

int set(const Settings& settings, Io& io, Store& store) {
  const auto& name = name_in(settings);
  if (name.find('}') != std::string::npos) {
    throw Error(Errc::invalid_argument, "the name of a secret cannot contain }, which ends ${secret:NAME}");
  }
  const auto value = value_for(name, io);
  const auto protection = store.vault->protection();
  const auto place = or_throw(keep_secret(*store.vault, store.declared.store, name, value));
  std::vector<std::string> notes;
  // Said once, when the file is made.
  if (place == SecretPlace::file && protection && !*protection) notes.push_back(protection_words(*store.vault));
  if (!settings.json) say_notes(settings, io, notes);
  answer(settings, io, {{"name", name}, {"place", to_string(place)}},
         fmt::format("Stored \"{}\" in {}. Use it in an entry as ${{secret:{}}}\n", safe_name(name, 80),
                     place_words(place), safe_name(name, 80)));
  return 0;
}

int list_secrets(const Settings& settings, Io& io, Store& store) {
  require_no_name(settings);
  const auto all = or_throw(named_secrets(*store.vault, store.declared.store));
  Json rows = Json::array();
  std::size_t width = 0;
  for (const auto& one : all) width = std::max(width, safe_name(one.name, 80).size());
  std::string text;
  for (const auto& one : all) {
    rows.push_back({{"name", one.name}, {"place", place_name(one)}});
    text += fmt::format("{:<{}}  {}\n", safe_name(one.name, 80), width, place_name(one));
  }
  if (all.empty() && !settings.json && !settings.quiet) {
    io.talk("No secrets are stored. To store one: patchbay secret set NAME\n");
  }
  answer(settings, io, {{"secrets", std::move(rows)}}, text);
  return 0;
}

int remove_secret(const Settings& settings, Io& io, Store& store) {
  const auto& name = name_in(settings);
  if (!or_throw(forget_secret(*store.vault, store.declared.store, name))) {
    throw Error(
        Errc::invalid_argument,
        fmt::format("there is no secret called \"{}\"; `patchbay secret list` lists them", safe_name(name, 80)));
  }
  answer(settings, io, {{"name", name}, {"removed", true}}, fmt::format("Removed \"{}\"\n", safe_name(name, 80)));
  return 0;
}

Secret new_passphrase() {
  Secret once(ask_secret("New passphrase: "));
  if (once.empty()) throw Error(Errc::invalid_argument, "the passphrase is empty; nothing was changed");
  const Secret again(ask_secret("The same again: "));
  if (once != again) throw Error(Errc::invalid_argument, "the two passphrases differ; nothing was changed");
  return once;
}

int passphrase(const Settings& settings, Io& io, Store& store) {
  require_no_name(settings);
  const auto changed = settings.take_back ? store.vault->protect_with_key_file()
                                          : store.vault->protect_with_passphrase(new_passphrase());
  if (!changed) throw changed.error();
  answer(settings, io, {{"protection", settings.take_back ? "key file" : "passphrase"}},
         protection_words(*store.vault) + "\n");
  return 0;
}

}  // namespace

int secret(const Settings& settings, Io& io) {
  Store store{load_declared(settings), nullptr};
  store.vault = open_vault(settings, io, store.declared.config.config_dir);
  const auto& what = settings.words.front();
  if (settings.take_back && what != "passphrase") {
    throw Error(Errc::invalid_argument,
                fmt::format("--remove belongs to `patchbay secret passphrase`, not to `{}`", safe_name(what, 40)));
  }
  if (what == "set") return set(settings, io, store);
  if (what == "list") return list_secrets(settings, io, store);
  if (what == "remove") return remove_secret(settings, io, store);
  return passphrase(settings, io, store);
}

}  // namespace patchbay::cli
