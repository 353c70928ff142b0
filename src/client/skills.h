// A server's skills as a client sees them: entries that keep the rules, and files that are what
// their entry says. Called by the methods of Session of the same names, on its loop; `core`
// outlives the task. Nothing is read that was not asked for, and nothing is kept but what the
// session's cache keeps of any answer. Approval, and telling skills of several servers apart, is
// the business of who uses it.
#pragma once

#include <string>

#include <patchbay/call.h>
#include <patchbay/task.h>

namespace patchbay {

class SessionCore;

Task<Listing<Skill>> list_skills(SessionCore& core);
Task<Skill> get_skill(SessionCore& core, std::string uri, CallOptions options);
Task<ResourceContents> read_skill(SessionCore& core, Skill skill, std::string file, CallOptions options);
Task<Listing<Resource>> read_directory(SessionCore& core, std::string uri);

}  // namespace patchbay
