// A tool that is not what it was, as a person sees it before they agree: what is different, the old and the new text of
// each part with the words that differ marked, nothing left out and nothing able to look like something else
// (pins/word_diff). The question before a call, and `pins show`, show the same.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <patchbay/host.h>
#include <patchbay/task.h>

#include "cli/io.h"
#include "cli/waiting.h"

namespace patchbay::cli {

// Lines of at most `columns` (0: any). `before` is null for a new tool, and where its old definition is not known.
std::string change_text(const Tool* before, const Tool& now, std::size_t columns);

// Shows it and reads the answer from the terminal; anything but yes is no.
Task<bool> ask_about_change(Io& io, Waiting& waiting, ChangedToolQuestion question);

}  // namespace patchbay::cli
