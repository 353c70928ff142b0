// For the search of ./test that follows the suites (tests/leaks/leaks.py): the secrets that sign-ins of tests were
// given or sent, and what the program under test printed and kept. ./test says where they go, in PATCHBAY_TEST_PLANTED
// (a file of secrets, a line each) and PATCHBAY_TEST_KEPT (a directory); without them nothing is noted and nothing
// kept. Any thread.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace patchbay::test {

// A token, code, verifier or password that nobody may find in what is written anywhere. Short ones are left out: they
// would be found by chance.
void note_planted(std::string_view secret);

// What one run of the program printed. Of other programs nothing is kept: what a browser writes is its own.
void keep_output(const std::vector<std::string>& words, std::string_view output);
// Moves a directory that the program kept things in away from where its test removes it.
void keep_tree(const std::filesystem::path& tree);

}  // namespace patchbay::test
