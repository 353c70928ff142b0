// What names mean to a program that a test starts, said by tests/preload/own_resolver.c instead
// of the system.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace patchbay::test {

// Variables for the program: it knows the names of `hosts`, written as in /etc/hosts, and others do not exist.
std::map<std::string, std::string> own_resolver(const std::string& hosts);

// A name server that takes questions and never answers. Its port is for PATCHBAY_TEST_RESOLVER, which makes it the one
// that is asked about names not in `hosts`.
class SilentResolver {
 public:
  SilentResolver();
  SilentResolver(const SilentResolver&) = delete;
  SilentResolver& operator=(const SilentResolver&) = delete;
  ~SilentResolver();
  std::string port() const;
  // The names it was asked about so far.
  std::vector<std::string> asked() const;

 private:
  int socket_ = -1;
};

}  // namespace patchbay::test
