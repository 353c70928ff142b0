// Words for a command line that a person is meant to paste: whatever a file of a stranger says stays one word
// and runs nothing. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace patchbay {

// As it is where that is safe, else in single quotes. For a shell.
std::string shell_word(std::string_view word);
// The same for the eyes as well: what does not show itself is written out in $'...', which bash and zsh read back.
std::string pasted_word(std::string_view word);

// The words of a command that are not its flags, one blank before each. One that looks like a flag has --
// before it, so that a server called --all is that server and nothing else.
std::string shell_operands(const std::vector<std::string>& words);

}  // namespace patchbay
