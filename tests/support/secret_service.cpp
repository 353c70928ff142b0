#include "support/secret_service.h"

#include <signal.h>
#include <sys/stat.h>

#include <stdexcept>

#include "support/command.h"

namespace patchbay::test {
namespace {

// Nothing is started by the bus itself: a keyring of the machine would answer instead of ours.
constexpr const char* bus_config = R"(<busconfig>
  <type>session</type>
  <listen>unix:tmpdir=/tmp</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
)";

}  // namespace

SecretService::SecretService() {
  tree_.file("bus.conf", bus_config);
  tree_.directory("run");
  tree_.directory("home");
  ::chmod((tree_.path() / "run").c_str(), 0700);
  const auto config = "--config-file=" + (tree_.path() / "bus.conf").string();
  bus_ = std::make_unique<RunningProgram>(
      std::vector<std::string>{"/usr/bin/dbus-daemon", config, "--nofork", "--print-address"});
  address_ = bus_->wait_for("unix:");
  const auto password = (tree_.path() / "password").string();
  tree_.file("password", "known");
  RunningProgram::Options options;
  options.env = env();
  daemon_ = std::make_unique<RunningProgram>(
      std::vector<std::string>{"/bin/sh", "-c",
                               "exec gnome-keyring-daemon --foreground --unlock --components=secrets < \"$1\"", "sh",
                               password},
      options);
  // It prints where it listens when it is there; its name on the bus comes a moment later.
  const auto result = run_program(
      {"/bin/sh", "-c",
       "for i in $(seq 200); do dbus-send --session --print-reply --reply-timeout=2000 --dest=org.freedesktop.secrets "
       "/org/freedesktop/secrets org.freedesktop.Secret.Service.ReadAlias string:default 2> /dev/null "
       "| grep -q collection && exit 0; sleep 0.05; done; exit 1"},
      {.cwd = {}, .input = {}, .env = env()});
  if (result.code != 0) throw std::runtime_error("no keyring on the bus: " + daemon_->output());
}

std::map<std::string, std::string> SecretService::env() const {
  return {{"DBUS_SESSION_BUS_ADDRESS", address_},
          {"XDG_RUNTIME_DIR", (tree_.path() / "run").string()},
          {"XDG_DATA_HOME", (tree_.path() / "home/data").string()},
          {"HOME", (tree_.path() / "home").string()}};
}

void SecretService::lock() {
  const auto result = run_program(
      {"/usr/bin/dbus-send", "--session", "--print-reply", "--dest=org.freedesktop.secrets", "/org/freedesktop/secrets",
       "org.freedesktop.Secret.Service.Lock", "array:objpath:/org/freedesktop/secrets/collection/login"},
      {.cwd = {}, .input = {}, .env = env()});
  if (result.code != 0) throw std::runtime_error("cannot lock the keyring: " + result.err);
}

void SecretService::hang() { ::kill(daemon_->pid(), SIGSTOP); }
void SecretService::go_on() { ::kill(daemon_->pid(), SIGCONT); }
void SecretService::end_daemon() { daemon_->end(SIGTERM); }

}  // namespace patchbay::test
