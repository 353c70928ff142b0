// `patchbay chat` without -p: a conversation on the terminal.
#include "cli/context.h"

namespace patchbay::cli {

int chat(const Settings&, Io&, const Runtime&) {
  throw Error(Errc::unsupported, "chat needs -p in this version: patchbay -p 'What is in this directory?'");
}

}  // namespace patchbay::cli
