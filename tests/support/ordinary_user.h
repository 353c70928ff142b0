// Does something without the rights of an administrator, who may read everything: tests of files one may not
// read mean nothing otherwise. For the tests' own thread; the work happens in a child process.
#pragma once

#include <functional>
#include <string>

namespace patchbay::test {

// What `work` returns. Run by root it is done by a child that is user 65534, to whom `directory` is opened
// (it keeps its contents' own modes); run by anybody else it is done here. Throws when the child fails.
std::string as_ordinary_user(const std::string& directory, const std::function<std::string()>& work);

}  // namespace patchbay::test
