// A server's skills as a client sees them: entries that keep the rules, and files that are what
// their entry says. Called by the methods of Session of the same names, on its loop; `session`
// outlives the task. Nothing is read that was not asked for, and nothing is kept but what the
// session's cache keeps of any answer. Approval, and telling skills of several servers apart, is
// the business of who uses it.
#pragma once

#include <string>

#include <patchbay/call.h>
#include <patchbay/task.h>

namespace patchbay {

class SessionOwner;

Task<Listing<Skill>> list_skills(SessionOwner& session, CallOptions options);
Task<Skill> get_skill(SessionOwner& session, std::string uri, CallOptions options);
Task<ResourceContents> read_skill(SessionOwner& session, Skill skill, std::string file, CallOptions options);
Task<Listing<Resource>> read_directory(SessionOwner& session, std::string uri, CallOptions options);

}  // namespace patchbay
