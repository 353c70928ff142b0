// A real keyring for one test: a session bus of its own and the daemon of GNOME Keyring on it, unlocked with a known
// password, its files in a directory of the test. Both end with the object. Any thread.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "support/running_program.h"
#include "support/temp_tree.h"

namespace patchbay::test {

class SecretService {
 public:
  // Throws when the programs are not there or do not start.
  SecretService();
  SecretService(const SecretService&) = delete;
  SecretService& operator=(const SecretService&) = delete;

  // What a program needs in its environment to see it.
  std::map<std::string, std::string> env() const;
  // Locks every collection, as when a desktop is left alone.
  void lock();
  // Stops the daemon without ending it: whoever asks waits.
  void hang();
  void go_on();
  // Ends the daemon; the bus stays.
  void end_daemon();

 private:
  TempTree tree_;
  std::unique_ptr<RunningProgram> bus_;
  std::string address_;
  std::unique_ptr<RunningProgram> daemon_;
};

}  // namespace patchbay::test
