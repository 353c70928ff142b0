#include "auth/store/secret_vault.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "auth/store/keyring.h"
#include "auth/store/secret_index.h"
#include "base/crypto.h"
#include "base/file_lock.h"
#include "base/kept_file.h"
#include "base/strings.h"
#include "base/whole_file.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;

using Variables = std::function<std::optional<std::string>(std::string_view)>;
using EditNote = std::function<void(Json& note)>;
using MayRemove = std::function<bool(const Json& note)>;

// How often something is tried again because another process was faster.
constexpr int most_rounds = 5;

std::optional<std::string> of_process(std::string_view name) {
  const char* value = ::getenv(std::string(name).c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::string shown(std::string_view name) { return std::string(cut_utf8(clean_line(name), 120)); }

FilePlaceOptions file_options(const VaultOptions& options, const std::string& folder, const Variables& variables) {
  FilePlaceOptions file;
  file.file = folder + "/sealed";
  file.key_file = options.config_directory + "/secrets.key";
  if (auto given = variables("PATCHBAY_SECRETS_KEY_FILE"); given && !given->empty()) {
    file.key_file = std::move(*given);
    file.key_file_name = KeyFileName::given;
  }
  file.ask = options.ask_passphrase;
  file.passphrase_tries = options.limits.passphrase_tries;
  file.passphrase_cost = options.passphrase_cost;
  file.cached_key = options.limits.cached_key;
  file.random = options.random;
  return file;
}

// What PATCHBAY_SECRET_STORE says; nothing: the keyring if it answers.
Result<std::optional<SecretPlace>> chosen_place(const Variables& variables) {
  const auto word = variables("PATCHBAY_SECRET_STORE").value_or("");
  if (word.empty() || word == "auto") return std::nullopt;
  const auto place = secret_place_called(word);
  if (!place) return fail(Errc::config, "PATCHBAY_SECRET_STORE must be auto, keyring or file");
  return place;
}

std::unexpected<Error> out_of_reach(const std::string& name, const Error& why) {
  return std::unexpected(why.with_message(fmt::format(
      "\"{}\" is kept in the system keyring, which cannot be used from here: {}", shown(name), why.message())));
}

}  // namespace

// ---- the lock of one name

VaultLock& VaultLock::operator=(VaultLock&& other) noexcept {
  if (this == &other) return *this;
  release();
  file_ = std::move(other.file_);
  path_ = std::move(other.path_);
  return *this;
}

VaultLock::~VaultLock() { release(); }

// Its file goes with it, while it is still held: whoever waits sees that it is not the file of that name any more.
void VaultLock::release() noexcept {
  if (!file_) return;
  (void)::unlink(path_.c_str());
  file_.reset();
}

// ---- the vault

class SecretVault::Impl {
 public:
  explicit Impl(VaultOptions options)
      : options_(std::move(options)),
        variables_(options_.variables ? options_.variables : Variables(of_process)),
        folder_(options_.state_directory + "/secrets"),
        keyring_(options_.ask_passphrase ? KeyringUnlock::ask : KeyringUnlock::never,
                 {options_.limits.keyring, options_.limits.keyring_person}),
        file_options_(file_options(options_, folder_, variables_)),
        file_(file_options_) {}

  Result<SecretIndex> index() const {
    if (options_.state_directory.empty()) return fail(Errc::config, "there is no state directory to keep secrets in");
    const auto text = read_whole_file(index_path(), options_.limits.index);
    if (!text) return std::unexpected(text.error());
    auto index = read_index(text->value_or(""));
    if (!index) return std::unexpected(index.error().within(index_path()));
    return index;
  }

  Result<std::optional<Secret>> read(const std::string& name) {
    for (int round = 0; round < most_rounds; ++round) {
      const auto before = index();
      if (!before) return std::unexpected(before.error());
      const auto entry = before->secrets.find(name);
      if (entry == before->secrets.end()) return std::nullopt;
      auto value = read_at(entry->second.place, *before, name);
      if (!value || *value) return value;
      // It is not there: unless it moved meanwhile, that is the answer.
      const auto after = index();
      if (!after) return std::unexpected(after.error());
      const auto now = after->secrets.find(name);
      if (now == after->secrets.end() || now->second.place == entry->second.place) return value;
    }
    return busy();
  }

  Result<SecretPlace> write(const std::string& name, const Secret& value, const EditNote& edit) {
    if (auto wrong = fault_of(name, value, Json()); !wrong) return std::unexpected(std::move(wrong).error());
    for (int round = 0; round < most_rounds; ++round) {
      const auto before = index();
      if (!before) return std::unexpected(before.error());
      const auto place = place_for(*before, name);
      if (!place) return std::unexpected(place.error());
      auto done = write_at(*place, name, value, edit);
      if (!done) return std::unexpected(std::move(done).error());
      if (*done) return *place;
    }
    return busy();
  }

  Result<bool> change_note(const std::string& name, const EditNote& edit) {
    const auto turn = take_turn();
    if (!turn) return std::unexpected(turn.error());
    auto all = index();
    if (!all) return std::unexpected(all.error());
    const auto entry = all->secrets.find(name);
    if (entry == all->secrets.end()) return false;
    edit(entry->second.note);
    if (auto wrong = fault_of(name, Secret(), entry->second.note); !wrong) {
      return std::unexpected(std::move(wrong).error());
    }
    if (auto written = write_file(*all); !written) return std::unexpected(std::move(written).error());
    return true;
  }

  Result<bool> remove(const std::string& name, const MayRemove& may) {
    for (int round = 0; round < most_rounds; ++round) {
      const auto before = index();
      if (!before) return std::unexpected(before.error());
      const auto entry = before->secrets.find(name);
      if (entry == before->secrets.end() || !may(entry->second.note)) return false;
      auto done = remove_at(entry->second.place, name, may);
      if (!done) return std::unexpected(std::move(done).error());
      if (*done) return true;
    }
    return busy();
  }

  Result<VaultLock> lock(const std::string& name, std::chrono::milliseconds wait) const {
    const auto folder = folder_ + "/locks";
    make_private_folders(folder);
    const auto path = fmt::format("{}/{}", folder, sha256_hex(name));
    // The file may be one that its last owner has just taken away; the time is for all tries.
    for (const auto end = time_after(real_clock().now(), wait);;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - real_clock().now());
      auto file = open_lock(path);
      if (!file) return std::unexpected(std::move(file).error());
      if (auto taken = wait_at(*file, path, std::max(left, 0ms)); !taken)
        return std::unexpected(std::move(taken).error());
      struct stat mine{};
      struct stat there{};
      if (::fstat(file->get(), &mine) == 0 && ::stat(path.c_str(), &there) == 0 && mine.st_ino == there.st_ino &&
          mine.st_dev == there.st_dev) {
        return VaultLock(std::move(*file), path);
      }
    }
  }

  Result<void> protect(FileProtection protection, const Secret& passphrase) {
    for (int round = 0; round < most_rounds; ++round) {
      if (auto unlocked = file_.unlock(); !unlocked) return unlocked;
      const auto turn = take_turn();
      if (!turn) return std::unexpected(turn.error());
      auto done = file_.protect(protection, passphrase);
      if (!done) return std::unexpected(std::move(done).error());
      if (*done) return {};
    }
    return busy();
  }

  Result<std::optional<FileProtection>> protection() const { return file_.protection(); }
  const std::string& key_file() const { return file_options_.key_file; }
  std::vector<std::string> files() const { return {index_path(), file_options_.file}; }

 private:
  std::string index_path() const { return folder_ + "/index.json"; }

  std::unexpected<Error> busy() const {
    return fail(Errc::timeout, fmt::format("other processes keep changing {}; nothing was changed", folder_));
  }

  Result<void> fault_of(const std::string& name, const Secret& value, const Json& note) const {
    const auto& limits = options_.limits;
    auto wrong = [](std::string text) { return fail(Errc::invalid_argument, std::move(text)); };
    if (name.empty() || !valid_utf8(name)) return wrong("the name of a secret is empty or not valid UTF-8");
    if (name.size() > limits.name)
      return wrong(fmt::format("the name of a secret has more than {} bytes", limits.name));
    if (value.reveal().size() > limits.value)
      return wrong(fmt::format("a secret has more than {} bytes", limits.value));
    if (to_text(note).size() > limits.note) return wrong(fmt::format("the note has more than {} bytes", limits.note));
    return {};
  }

  // ---- locks

  Result<Fd> open_lock(const std::string& path) const {
    Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
    if (!file) {
      return fail(Errc::config, fmt::format("cannot open {}: {}", path, std::generic_category().message(errno)));
    }
    return file;
  }

  Result<void> wait_at(const Fd& file, const std::string& path, std::chrono::milliseconds wait) const {
    switch (wait_for_lock(file.get(), wait)) {
      case LockOutcome::taken:
        return {};
      case LockOutcome::busy:
        return fail(Errc::timeout, fmt::format("another process keeps {} locked", path));
      case LockOutcome::unavailable:
        break;
    }
    return fail(Errc::config, fmt::format("cannot lock {}: {}", path, std::generic_category().message(errno)));
  }

  // Whoever writes has it, for all names: index and file are written whole.
  Result<Fd> take_turn() const {
    make_private_folders(folder_);
    const auto path = folder_ + "/lock";
    auto file = open_lock(path);
    if (!file) return file;
    if (auto taken = wait_at(*file, path, options_.limits.turn); !taken) {
      return std::unexpected(std::move(taken).error());
    }
    return file;
  }

  // ---- places

  KeyringItem item_of(const SecretIndex& index, const std::string& name) const {
    return {index.store, sha256_hex(name)};
  }

  Result<std::optional<Secret>> read_at(SecretPlace place, const SecretIndex& index, const std::string& name) {
    if (place == SecretPlace::file) return file_.read(name);
    auto value = keyring_.read(item_of(index, name));
    if (!value) return out_of_reach(name, value.error());
    return value;
  }

  // May ask a person, so nothing is held.
  Result<SecretPlace> place_for(const SecretIndex& index, const std::string& name) {
    const auto chosen = chosen_place(variables_);
    if (!chosen) return std::unexpected(chosen.error());
    const auto entry = index.secrets.find(name);
    const bool held = entry != index.secrets.end();
    const auto place = *chosen ? **chosen : held ? entry->second.place : SecretPlace::keyring;
    if (place == SecretPlace::keyring) {
      const auto reached = keyring_.reach();
      // What moves out of the file is taken out of it; where that cannot be opened, it stays as it is.
      if (reached && held && entry->second.place == SecretPlace::file) (void)file_.unlock();
      if (reached) return place;
      if (*chosen) return std::unexpected(reached.error());
      if (held) return out_of_reach(name, reached.error());
    }
    if (auto unlocked = file_.unlock(); !unlocked) return std::unexpected(std::move(unlocked).error());
    return SecretPlace::file;
  }

  Result<void> write_file(const SecretIndex& index) const {
    return replace_file(index_path(), write_index(index), Survives::loss_of_power);
  }

  // False: another process changed what was decided on.
  Result<bool> write_at(SecretPlace place, const std::string& name, const Secret& value, const EditNote& edit) {
    const auto chosen = chosen_place(variables_);
    if (!chosen) return std::unexpected(chosen.error());
    const auto turn = take_turn();
    if (!turn) return std::unexpected(turn.error());
    const auto before = index();
    if (!before) return std::unexpected(before.error());
    auto after = *before;
    if (after.store.empty()) after.store = new_store();
    const auto old = before->secrets.find(name);
    const bool held = old != before->secrets.end();
    if (held && old->second.place != place && !*chosen) return false;
    if (!held && before->secrets.size() >= options_.limits.secrets) {
      return fail(Errc::limit, fmt::format("there are {} secrets already; remove some", before->secrets.size()));
    }
    auto note = held ? old->second.note : Json::object();
    edit(note);
    if (auto wrong = fault_of(name, value, note); !wrong) return std::unexpected(std::move(wrong).error());
    after.secrets.insert_or_assign(name, SecretIndex::Entry{place, std::move(note)});
    // The index first: it may name what is not there, but nothing is kept that it does not name.
    if (after != *before) {
      if (auto written = write_file(after); !written) return std::unexpected(std::move(written).error());
    }
    auto kept = keep_at(place, after, name, value);
    if ((!kept || !*kept) && after != *before) (void)write_file(*before);
    if (kept && *kept && held && old->second.place != place) {
      // What is left behind is out of date, and nothing leads there.
      (void)forget_at(old->second.place, after, name);
    }
    return kept;
  }

  Result<bool> keep_at(SecretPlace place, const SecretIndex& index, const std::string& name, const Secret& value) {
    if (place == SecretPlace::file) {
      return file_.change([&](SecretTexts& entries) { entries.insert_or_assign(name, value.reveal()); });
    }
    auto kept = keyring_.write(item_of(index, name), "Patchbay: " + shown(name), value);
    if (!kept) return std::unexpected(std::move(kept).error());
    return true;
  }

  // False: the file has got another key meanwhile.
  Result<bool> forget_at(SecretPlace place, const SecretIndex& index, const std::string& name) {
    if (place == SecretPlace::file) {
      return file_.change([&](SecretTexts& entries) { entries.erase(name); });
    }
    auto removed = keyring_.remove(item_of(index, name));
    if (!removed) return out_of_reach(name, removed.error());
    return true;
  }

  Result<bool> remove_at(SecretPlace place, const std::string& name, const MayRemove& may) {
    const auto chosen = chosen_place(variables_);
    if (!chosen) return std::unexpected(chosen.error());
    if (place == SecretPlace::file) {
      if (auto unlocked = file_.unlock(); !unlocked) return std::unexpected(std::move(unlocked).error());
    }
    const auto turn = take_turn();
    if (!turn) return std::unexpected(turn.error());
    auto after = index();
    if (!after) return std::unexpected(after.error());
    const auto entry = after->secrets.find(name);
    if (entry == after->secrets.end() || entry->second.place != place || !may(entry->second.note)) return false;
    // The place first: what is said to be removed is not there any more.
    auto gone = forget_at(place, *after, name);
    // Whoever has turned the keyring down for good wants to be rid of the name.
    const bool given_up = !gone && place == SecretPlace::keyring && *chosen == SecretPlace::file;
    if (!given_up && (!gone || !*gone)) return gone;
    after->secrets.erase(entry);
    if (auto written = write_file(*after); !written) return std::unexpected(std::move(written).error());
    return true;
  }

  std::string new_store() const {
    std::string bytes(16, '\0');
    options_.random({reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()});
    return base64url_encode(bytes);
  }

  const VaultOptions options_;
  const Variables variables_;
  const std::string folder_;
  const Keyring keyring_;
  const FilePlaceOptions file_options_;
  FilePlace file_;
};

SecretVault::SecretVault(VaultOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
SecretVault::~SecretVault() = default;

Result<std::optional<Secret>> SecretVault::read(const std::string& name) { return impl_->read(name); }

Result<SecretPlace> SecretVault::write(const std::string& name, const Secret& value, Json note) {
  return impl_->write(name, value, [&note](Json& now) { now = note; });
}

Result<SecretPlace> SecretVault::update(const std::string& name, const Secret& value,
                                        const std::function<void(Json& note)>& edit) {
  return impl_->write(name, value, edit);
}

Result<bool> SecretVault::change_note(const std::string& name, const std::function<void(Json& note)>& edit) {
  return impl_->change_note(name, edit);
}

Result<bool> SecretVault::remove(const std::string& name) {
  return impl_->remove(name, [](const Json&) { return true; });
}

Result<bool> SecretVault::remove_if(const std::string& name, const std::function<bool(const Json& note)>& may) {
  return impl_->remove(name, may);
}

Result<std::vector<KeptSecret>> SecretVault::list() {
  auto index = impl_->index();
  if (!index) return std::unexpected(std::move(index).error());
  std::vector<KeptSecret> all;
  for (auto& [name, entry] : index->secrets) all.push_back({name, entry.place, std::move(entry.note)});
  return all;
}

Result<std::optional<KeptSecret>> SecretVault::find(const std::string& name) {
  auto index = impl_->index();
  if (!index) return std::unexpected(std::move(index).error());
  const auto found = index->secrets.find(name);
  if (found == index->secrets.end()) return std::nullopt;
  return KeptSecret{name, found->second.place, found->second.note};
}

Result<VaultLock> SecretVault::lock(const std::string& name, std::chrono::milliseconds wait) {
  return impl_->lock(name, wait);
}

Result<void> SecretVault::protect_with_passphrase(const Secret& passphrase) {
  if (passphrase.empty()) return fail(Errc::invalid_argument, "the passphrase is empty");
  return impl_->protect(FileProtection::passphrase, passphrase);
}

Result<void> SecretVault::protect_with_key_file() { return impl_->protect(FileProtection::key_file, Secret()); }

Result<std::optional<FileProtection>> SecretVault::protection() { return impl_->protection(); }

std::string SecretVault::key_file() const { return impl_->key_file(); }
std::vector<std::string> SecretVault::files() const { return impl_->files(); }

}  // namespace patchbay
