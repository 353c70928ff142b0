// `patchbay chat` without -p: a conversation on the terminal.
#include "cli/context.h"

namespace patchbay::cli {

int chat(const Settings&, Io&, const Runtime&) {
  throw Error(Errc::unsupported, "chat needs -p in this version: patchbay -p 'What is in this directory?'");
}

int print_answer(const Settings&, Io&, const Runtime&) { throw Error(Errc::unsupported, "-p comes next"); }

int acp(const Settings&, Io&, const Runtime&) { throw Error(Errc::unsupported, "acp comes next"); }

}  // namespace patchbay::cli
