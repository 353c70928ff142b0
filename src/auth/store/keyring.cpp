#include "auth/store/keyring.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/strings.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;

// ---- what we use of libsecret 0.16 or newer, and of GLib below it; both promise that these stay as they are

struct GObject;
struct GCancellable;
struct GHashTable;
struct SecretService;
struct SecretCollection;
struct SecretItem;
struct SecretValue;
struct GError {
  std::uint32_t domain;
  int code;
  char* message;
};
struct GList {
  void* data;
  GList* next;
  GList* previous;
};
struct SecretSchema {
  const char* name;
  int flags;
  struct {
    const char* name;
    int type;
  } attributes[32];
  int reserved;
  void* reserved_pointers[7];
};

constexpr int session_bus = 2;
constexpr int open_session = 1 << 1;
constexpr int search_all = 1 << 1;

constexpr const char* store_attribute = "store";
constexpr const char* key_attribute = "key";
const SecretSchema schema{"patchbay.Secret", 0, {{store_attribute, 0}, {key_attribute, 0}}, 0, {}};

struct Functions {
  GCancellable* (*cancellable_new)();
  void (*cancellable_cancel)(GCancellable*);
  void (*object_unref)(void*);
  void (*error_free)(GError*);
  void (*list_free_full)(GList*, void (*)(void*));
  unsigned (*str_hash)(const void*);
  int (*str_equal)(const void*, const void*);
  GHashTable* (*hash_table_new)(unsigned (*)(const void*), int (*)(const void*, const void*));
  int (*hash_table_insert)(GHashTable*, void*, void*);
  void (*hash_table_unref)(void*);
  GObject* (*bus_get_sync)(int, GCancellable*, GError**);
  void (*connection_set_exit_on_close)(GObject*, int);
  SecretService* (*service_get_sync)(int, GCancellable*, GError**);
  GList* (*service_search_sync)(SecretService*, const SecretSchema*, GHashTable*, int, GCancellable*, GError**);
  int (*service_store_sync)(SecretService*, const SecretSchema*, GHashTable*, const char*, const char*, SecretValue*,
                            GCancellable*, GError**);
  int (*service_clear_sync)(SecretService*, const SecretSchema*, GHashTable*, GCancellable*, GError**);
  int (*service_unlock_sync)(SecretService*, GList*, GCancellable*, GList**, GError**);
  SecretCollection* (*collection_for_alias_sync)(SecretService*, const char*, int, GCancellable*, GError**);
  int (*collection_get_locked)(SecretCollection*);
  int (*item_get_locked)(SecretItem*);
  int (*item_load_secret_sync)(SecretItem*, GCancellable*, GError**);
  SecretValue* (*item_get_secret)(SecretItem*);
  SecretValue* (*value_new)(const char*, std::ptrdiff_t, const char*);
  const char* (*value_get)(SecretValue*, std::size_t*);
  void (*value_unref)(void*);
};

struct Loading {
  Functions functions{};
  std::string failure;
};

Loading load() {
  Loading loading;
  // GLib cannot be unloaded: its types and threads stay.
  void* library = ::dlopen("libsecret-1.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    loading.failure = "libsecret is not installed";
    return loading;
  }
  auto bind = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    if (function == nullptr && loading.failure.empty()) {
      loading.failure = fmt::format("the installed libsecret lacks {}", name);
    }
  };
  auto& f = loading.functions;
  bind(f.cancellable_new, "g_cancellable_new");
  bind(f.cancellable_cancel, "g_cancellable_cancel");
  bind(f.object_unref, "g_object_unref");
  bind(f.error_free, "g_error_free");
  bind(f.list_free_full, "g_list_free_full");
  bind(f.str_hash, "g_str_hash");
  bind(f.str_equal, "g_str_equal");
  bind(f.hash_table_new, "g_hash_table_new");
  bind(f.hash_table_insert, "g_hash_table_insert");
  bind(f.hash_table_unref, "g_hash_table_unref");
  bind(f.bus_get_sync, "g_bus_get_sync");
  bind(f.connection_set_exit_on_close, "g_dbus_connection_set_exit_on_close");
  bind(f.service_get_sync, "secret_service_get_sync");
  bind(f.service_search_sync, "secret_service_search_sync");
  bind(f.service_store_sync, "secret_service_store_sync");
  bind(f.service_clear_sync, "secret_service_clear_sync");
  bind(f.service_unlock_sync, "secret_service_unlock_sync");
  bind(f.collection_for_alias_sync, "secret_collection_for_alias_sync");
  bind(f.collection_get_locked, "secret_collection_get_locked");
  bind(f.item_get_locked, "secret_item_get_locked");
  bind(f.item_load_secret_sync, "secret_item_load_secret_sync");
  bind(f.item_get_secret, "secret_item_get_secret");
  bind(f.value_new, "secret_value_new");
  bind(f.value_get, "secret_value_get");
  bind(f.value_unref, "secret_value_unref");
  return loading;
}

std::unexpected<Error> no_keyring(std::string_view why) {
  return fail(Errc::connect, fmt::format("there is no system keyring here: {}", why));
}

// GLib would start a bus of its own where it finds a display and none; that one has no keyring of the user.
bool sees_a_bus() {
  if (const char* address = ::getenv("DBUS_SESSION_BUS_ADDRESS"); address != nullptr && *address != '\0') return true;
  const char* folder = ::getenv("XDG_RUNTIME_DIR");
  struct stat status{};
  return folder != nullptr && *folder != '\0' && ::stat(fmt::format("{}/bus", folder).c_str(), &status) == 0;
}

Result<const Functions*> libsecret() {
  if (!sees_a_bus()) return no_keyring("this process has no session bus (ssh, cron and containers often have none)");
  static const Loading loading = load();
  if (!loading.failure.empty()) return no_keyring(loading.failure);
  return &loading.functions;
}

// ---- one conversation, on a thread of its own

// What GLib hands out, given back when it goes.
using Held = std::unique_ptr<void, void (*)(void*)>;

class Conversation {
 public:
  Conversation(const Functions& functions, GCancellable* cancellable, KeyringUnlock unlock)
      : f_(functions), cancellable_(cancellable), unlock_(unlock) {}
  // It ended because nobody may be asked to unlock it.
  bool needs_person() const noexcept { return needs_person_; }

  Result<void> begin() {
    GError* error = nullptr;
    const Held bus(f_.bus_get_sync(session_bus, cancellable_, &error), f_.object_unref);
    if (!bus) return failed("the session bus does not answer", error);
    // GLib ends the program with the bus unless it is told not to.
    f_.connection_set_exit_on_close(static_cast<GObject*>(bus.get()), 0);
    service_ = Held(f_.service_get_sync(open_session, cancellable_, &error), f_.object_unref);
    if (!service_) return failed("no program on the session bus keeps secrets", error);
    return {};
  }

  // Whether something new can be kept.
  Result<void> reach() {
    GError* error = nullptr;
    const Held collection(f_.collection_for_alias_sync(service(), "default", 0, cancellable_, &error), f_.object_unref);
    if (error != nullptr) return failed("the system keyring does not answer", error);
    if (!collection) return fail(Errc::connect, "the system keyring has no collection to keep secrets in");
    if (f_.collection_get_locked(static_cast<SecretCollection*>(collection.get())) == 0) return {};
    return unlock(collection.get());
  }

  Result<std::optional<Secret>> read(const KeyringItem& item) {
    GError* error = nullptr;
    const auto found = search(item, error);
    if (error != nullptr) return failed("the system keyring does not answer", error);
    // Some keyrings do not show what they have while they are locked.
    if (!found) {
      if (auto reached = reach(); !reached) return std::unexpected(std::move(reached).error());
      return std::nullopt;
    }
    auto* first = static_cast<SecretItem*>(static_cast<GList*>(found.get())->data);
    if (f_.item_get_locked(first) != 0) {
      if (auto unlocked = unlock(first); !unlocked) return std::unexpected(std::move(unlocked).error());
    }
    if (f_.item_load_secret_sync(first, cancellable_, &error) == 0) {
      return failed("the system keyring does not hand out the secret", error);
    }
    const Held value(f_.item_get_secret(first), f_.value_unref);
    if (!value) return fail(Errc::connect, "the system keyring does not hand out the secret");
    std::size_t size = 0;
    const char* text = f_.value_get(static_cast<SecretValue*>(value.get()), &size);
    return Secret(std::string(text, size));
  }

  Result<void> write(const KeyringItem& item, const std::string& label, const Secret& secret) {
    // Otherwise libsecret asks on its own.
    if (auto reached = reach(); !reached) return reached;
    GError* error = nullptr;
    const auto table = attributes(item);
    const auto text = secret.reveal();
    const Held value(f_.value_new(text.data(), static_cast<std::ptrdiff_t>(text.size()), "text/plain"), f_.value_unref);
    if (f_.service_store_sync(service(), &schema, static_cast<GHashTable*>(table.get()), "default", label.c_str(),
                              static_cast<SecretValue*>(value.get()), cancellable_, &error) == 0) {
      return failed("the system keyring does not keep the secret", error);
    }
    return {};
  }

  Result<bool> remove(const KeyringItem& item) {
    GError* error = nullptr;
    const auto found = search(item, error);
    if (error != nullptr) return failed("the system keyring does not answer", error);
    if (!found) {
      if (auto reached = reach(); !reached) return std::unexpected(std::move(reached).error());
      return false;
    }
    auto* first = static_cast<SecretItem*>(static_cast<GList*>(found.get())->data);
    if (f_.item_get_locked(first) != 0) {
      if (auto unlocked = unlock(first); !unlocked) return std::unexpected(std::move(unlocked).error());
    }
    const auto table = attributes(item);
    const bool removed =
        f_.service_clear_sync(service(), &schema, static_cast<GHashTable*>(table.get()), cancellable_, &error) != 0;
    if (error != nullptr) return failed("the system keyring does not remove the secret", error);
    return removed;
  }

 private:
  SecretService* service() const { return static_cast<SecretService*>(service_.get()); }

  Held attributes(const KeyringItem& item) const {
    auto* table = f_.hash_table_new(f_.str_hash, f_.str_equal);
    auto add = [&](const char* name, const std::string& value) {
      f_.hash_table_insert(table, const_cast<char*>(name), const_cast<char*>(value.c_str()));
    };
    add(store_attribute, item.store);
    add(key_attribute, item.key);
    return Held(table, f_.hash_table_unref);
  }

  // A list of items, the unlocked ones first. Null: none, or an error.
  std::unique_ptr<void, std::function<void(void*)>> search(const KeyringItem& item, GError*& error) {
    const auto table = attributes(item);
    auto* list = f_.service_search_sync(service(), &schema, static_cast<GHashTable*>(table.get()), search_all,
                                        cancellable_, &error);
    return {list, [this](void* items) { f_.list_free_full(static_cast<GList*>(items), f_.object_unref); }};
  }

  Result<void> unlock(void* object) {
    needs_person_ = unlock_ == KeyringUnlock::never;
    if (needs_person_) return fail(Errc::connect, "the system keyring is locked");
    GError* error = nullptr;
    GList* unlocked = nullptr;
    GList objects{object, nullptr, nullptr};
    const int count = f_.service_unlock_sync(service(), &objects, cancellable_, &unlocked, &error);
    if (unlocked != nullptr) f_.list_free_full(unlocked, f_.object_unref);
    if (error != nullptr) return failed("the system keyring is locked", error);
    if (count == 0) return fail(Errc::connect, "the system keyring is locked, and was not unlocked");
    return {};
  }

  // Takes the error.
  std::unexpected<Error> failed(std::string_view what, GError* error) const {
    if (error == nullptr) return fail(Errc::connect, std::string(what));
    auto why = clean_line(error->message == nullptr ? "" : error->message);
    f_.error_free(error);
    return fail(Errc::connect, fmt::format("{}: {}", what, cut_utf8(why, 300)));
  }

  const Functions& f_;
  GCancellable* cancellable_;
  KeyringUnlock unlock_;
  bool needs_person_ = false;
  Held service_{nullptr, nullptr};
};

// Whoever waits leaves when the time is over; the thread may go on for a keyring that hangs, and owns what it uses.
template <class T>
struct Answer {
  std::mutex mutex;
  std::condition_variable there;
  std::optional<Result<T>> result;
  bool needs_person = false;
};

template <class T>
using Talk = std::function<Result<T>(Conversation& conversation)>;

template <class T>
Result<T> within(const Functions& f, std::chrono::milliseconds limit, KeyringUnlock unlock, Talk<T> talk,
                 bool& needs_person) {
  const std::shared_ptr<GCancellable> cancellable(f.cancellable_new(), [&f](void* object) { f.object_unref(object); });
  const auto answer = std::make_shared<Answer<T>>();
  auto work = [&f, unlock, cancellable, answer, talk = std::move(talk)] {
    // Signals are for the threads of the program; those that GLib starts from here inherit it.
    sigset_t all;
    sigfillset(&all);
    (void)::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    Conversation conversation(f, cancellable.get(), unlock);
    auto begun = conversation.begin();
    auto result = begun ? talk(conversation) : Result<T>(std::unexpected(std::move(begun).error()));
    const std::scoped_lock lock(answer->mutex);
    answer->result = std::move(result);
    answer->needs_person = conversation.needs_person();
    answer->there.notify_all();
  };
  std::thread thread;
  try {
    thread = std::thread(std::move(work));
  } catch (const std::system_error&) {
    return fail(Errc::connect, "the system keyring was not asked: there is no room for another thread");
  }
  std::unique_lock lock(answer->mutex);
  auto is_there = [&] { return answer->result.has_value(); };
  bool in_time = answer->there.wait_for(lock, limit, is_there);
  if (!in_time) {
    f.cancellable_cancel(cancellable.get());
    if (!answer->there.wait_for(lock, 1s, is_there)) thread.detach();
  }
  auto result = std::exchange(answer->result, std::nullopt);
  needs_person = answer->needs_person;
  lock.unlock();
  if (thread.joinable()) thread.join();
  // What came after all is as good as in time; what was cancelled is not its own error.
  if (result && (in_time || *result)) return std::move(*result);
  return fail(Errc::timeout, fmt::format("the system keyring did not answer within {} s",
                                         std::chrono::duration_cast<std::chrono::seconds>(limit).count()));
}

// A person is waited for only when the keyring is known to need one.
template <class T>
Result<T> ask_keyring(KeyringUnlock unlock, const KeyringLimits& limits, const Talk<T>& talk) {
  const auto library = libsecret();
  if (!library) return std::unexpected(library.error());
  bool needs_person = false;
  auto result = within<T>(**library, limits.request, KeyringUnlock::never, talk, needs_person);
  if (!needs_person || unlock == KeyringUnlock::never) return result;
  return within<T>(**library, limits.person, unlock, talk, needs_person);
}

}  // namespace

Result<void> Keyring::reach() const {
  return ask_keyring<void>(unlock_, limits_, [](Conversation& keyring) { return keyring.reach(); });
}

Result<std::optional<Secret>> Keyring::read(const KeyringItem& item) const {
  return ask_keyring<std::optional<Secret>>(unlock_, limits_,
                                            [item](Conversation& keyring) { return keyring.read(item); });
}

Result<void> Keyring::write(const KeyringItem& item, const std::string& label, const Secret& value) const {
  return ask_keyring<void>(unlock_, limits_,
                           [item, label, value](Conversation& keyring) { return keyring.write(item, label, value); });
}

Result<bool> Keyring::remove(const KeyringItem& item) const {
  return ask_keyring<bool>(unlock_, limits_, [item](Conversation& keyring) { return keyring.remove(item); });
}

}  // namespace patchbay
