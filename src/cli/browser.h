// Opening the user's browser at an address. Which programs are tried is decided by the environment alone (pure, tested
// as a table); starting one is a few lines of I/O. No shell is involved: the address is one argument of the program.
// Used by `login`; loop thread only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <patchbay/config.h>
#include <patchbay/task.h>

namespace patchbay::cli {

// The programs of $BROWSER, in order: separated by ':', %s stands for the address, which else goes behind. One that
// cannot be read as words is left out.
std::vector<std::vector<std::string>> browser_commands(std::string_view browser, const std::string& url);

struct BrowserPlan {
  std::vector<std::vector<std::string>> commands;  // the first that works counts
  std::string why_not;                             // when there is none
};
// $BROWSER; else xdg-open, unless nobody would see the browser: no display, or a terminal that is elsewhere.
BrowserPlan browser_plan(const VariableLookup& variables, const std::string& url);

// Starts one, apart from us: it may live longer. Returns empty, or why the browser was not opened.
Task<std::string> open_browser(BrowserPlan plan);

}  // namespace patchbay::cli
