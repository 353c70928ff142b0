// What people said about one declared server, in our own file and in Claude's: approved, rejected, switched on or
// off. load asks for every entry and hands the answers to settle.h. It looks at the file system to find out for
// which place an answer is meant, and writes nothing. Blocking; any thread.
#pragma once

#include <patchbay/config.h>

#include "servers/settle.h"
#include "settings/claude_file.h"
#include "settings/own_file.h"
#include "settings/sources.h"

namespace patchbay {

// The files that answers are in, as they were read.
struct AnswerFiles {
  const OwnFile& own;
  const ClaudeFile& claude;
  const ConfigPaths& paths;
};

EntryAnswers answers_about(const ServerConfig& written, const AnswerFiles& files, const VariableLookup& variables);

}  // namespace patchbay
