#include "cli/sign_in.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <termios.h>

#include "auth/authorization.h"
#include "base/offload.h"
#include "base/strings.h"
#include "cli/approval.h"
#include "cli/browser.h"
#include "cli/texts/present.h"
#include "cli/texts/sign_in_words.h"
#include "settings/connectors.h"
#include "settings/settings_layers.h"
#include "text/shell_word.h"

namespace patchbay::cli {
namespace {

constexpr std::size_t longest_line = 64u << 10;
constexpr int most_tries = 5;

// A terminal that hands over each character, and shows it; as it was afterwards.
class CharacterTerminal {
 public:
  explicit CharacterTerminal(int fd) : fd_(fd), known_(::tcgetattr(fd, &before_) == 0) {
    if (!known_) return;
    auto raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON);
    raw.c_lflag |= ECHO | ISIG;
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    ::tcsetattr(fd_, TCSANOW, &raw);
  }
  CharacterTerminal(const CharacterTerminal&) = delete;
  CharacterTerminal& operator=(const CharacterTerminal&) = delete;
  ~CharacterTerminal() {
    if (known_) ::tcsetattr(fd_, TCSANOW, &before_);
  }

 private:
  int fd_;
  termios before_{};
  bool known_;
};

// Takes typed characters into the line; true at its end, or at the end of input with nothing in it.
enum class Typed : std::uint8_t { more, line, end };
Typed take(std::string_view typed, std::string& line) {
  for (const char c : typed) {
    if (c == '\n' || c == '\r') return Typed::line;
    if (c == 4) return line.empty() ? Typed::end : Typed::line;
    if (c == 8 || c == 127) {
      if (!line.empty()) line.pop_back();
    } else if (line.size() < longest_line) {
      line.push_back(c);
    }
  }
  return Typed::more;
}

Task<std::optional<std::string>> typed_or_piped(Io& io) {
  if (io.in_is_terminal) co_return co_await read_pasted_line();
  auto read = [line = io.read_line] { return line(); };
  co_return co_await offload(Pool::slow, std::move(read));
}

// The address that the browser ended at. What cannot be one is asked for again here; whether it is the right one is the
// engine's to say, which then asks again.
Task<std::string> paste_address(Io& io, Waiting& waiting, std::shared_ptr<bool> shown, std::string redirect,
                                SignInPage page) {
  waiting.suspend();
  const struct Resume {
    Waiting& line;
    ~Resume() { line.resume(); }
  } resume{waiting};
  const HeldTalk held(io);
  if (*shown) {
    held.say("That address does not belong to this sign-in. Copy it again, from the browser that opened this page:\n");
  } else {
    held.say(page_words(page));
  }
  *shown = true;
  held.write("\n" + page.url + "\n\n");
  held.say(redirect + paste_words(page));
  for (int tried = 0; tried < most_tries; ++tried) {
    held.say("Address: ");
    const auto typed = co_await typed_or_piped(io);
    held.say("\n");
    if (!typed) break;
    const std::string address(trim(*typed));
    const auto read = read_pasted_callback(address, page.redirect_uri);
    if (read) co_return address;
    held.say(message_line(read.error().message(), 500) + "\n");
  }
  throw Error(Errc::unauthorized, "no address was pasted that the browser could have ended at");
}

Task<void> show_page(Io& io, Waiting& waiting, std::string command, std::chrono::milliseconds wait,
                     std::string redirect, SignInPage page) {
  waiting.pause();
  io.talk(page_words(page));
  // A long address must stay one line, so that it can be copied.
  io.log("\n" + page.url + "\n\n");
  const auto why_not = co_await open_browser(browser_plan(process_environment(), page.url));
  waiting.pause();
  io.talk(redirect + opened_words(page, why_not, command, wait));
}

// Where a client of the user's own signs in, whose redirect address only they can enter.
std::set<std::string> servers_with_own_client(const LoadedConfig& config) {
  std::set<std::string> out;
  for (const auto& server : config.servers) {
    if (server.oauth && server.oauth->client_id) out.insert(server.name);
  }
  return out;
}

std::string command_line_of(const Settings& settings) {
  if (settings.command == Command::xaa) return "patchbay mcp xaa login";
  return fmt::format("patchbay login{}", shell_operands(settings.words));
}

}  // namespace

Task<std::optional<std::string>> read_pasted_line() {
  asio::posix::stream_descriptor terminal(co_await asio::this_coro::executor);
  const int fd = ::open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) co_return std::nullopt;
  terminal.assign(fd);
  const CharacterTerminal characters(fd);
  std::string line;
  for (auto state = Typed::more; state != Typed::line;) {
    char buffer[1024];
    boost::system::error_code fault;
    const auto got =
        co_await terminal.async_read_some(asio::buffer(buffer), asio::redirect_error(asio::use_awaitable, fault));
    if (fault == asio::error::eof || (!fault && got == 0)) co_return std::nullopt;
    if (fault) throw boost::system::system_error(fault);
    state = take({buffer, got}, line);
    if (state == Typed::end) co_return std::nullopt;
  }
  co_return line;
}

bool means_connectors(const LoadedConfig& config, const std::string& name) {
  return name == connectors_name && config.connectors && signs_in_at_connectors(*config.connectors) &&
         std::ranges::none_of(config.servers, [&](const ServerConfig& server) { return server.name == name; });
}

std::optional<IdentityProvider> identity_provider(const LoadedConfig& config) {
  const auto* layer = identity_provider_layer(layers_of(config.settings));
  if (layer == nullptr) return std::nullopt;
  const auto& setting = *layer->identity_provider;
  return IdentityProvider{.issuer = setting.issuer,
                          .client_id = setting.client_id,
                          .client_secret = variables_of(config)("MCP_XAA_IDP_CLIENT_SECRET").value_or(""),
                          .callback_port = setting.callback_port};
}

SignInOptions sign_in_options(const LoadedConfig& config) {
  SignInOptions options;
  options.identity_provider = identity_provider(config);
  return options;
}

void let_user_sign_in(SignInOptions& options, const LoadedConfig& config, const Settings& settings, Io& io,
                      Waiting& waiting, std::shared_ptr<bool> shown) {
  const bool at_provider = settings.command == Command::xaa;  // where the client is always the user's own
  const auto redirect = [own = servers_with_own_client(config), at_provider](SignInPage page) {
    if (!at_provider && !own.contains(page.server)) return std::string();
    if (at_provider) page.server.clear();
    return redirect_words(page);
  };
  if (settings.no_browser) {
    options.paste = [&io, &waiting, shown, redirect](SignInPage page) {
      auto words = redirect(page);
      return paste_address(io, waiting, shown, std::move(words), std::move(page));
    };
    return;
  }
  options.show = [&io, &waiting, shown, redirect, command = command_line_of(settings),
                  wait = options.wait](SignInPage page) {
    *shown = true;
    auto words = redirect(page);
    return show_page(io, waiting, command, wait, std::move(words), std::move(page));
  };
}

}  // namespace patchbay::cli
