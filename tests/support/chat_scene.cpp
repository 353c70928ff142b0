#include "support/chat_scene.h"

#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>

#include <fmt/format.h>

#include "support/places.h"
#include "terminal/width.h"

namespace patchbay::test {
namespace {

bool updating() { return std::getenv("PATCHBAY_UPDATE_GOLDEN") != nullptr; }

// A section begins with "== ", its lines with "|" (text) or "~" (marks).
std::vector<std::pair<std::string, std::string>> read_golden(const std::string& file) {
  std::vector<std::pair<std::string, std::string>> out;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("== ")) {
      out.emplace_back(line.substr(3), "");
    } else if (!out.empty()) {
      out.back().second += line + "\n";
    }
  }
  return out;
}

// A call that took a second or more says so on a line of its own, before its result.
bool says_how_long(const std::string& text) {
  static const std::regex line("^  > [0-9]+ lines? \\([0-9]+ s\\)$");
  return std::regex_match(text, line);
}

std::vector<VtermScreen::Line> masked_lines(const std::vector<VtermScreen::Line>& lines) {
  std::vector<VtermScreen::Line> out;
  bool first_of_result = false;
  for (const auto& given : lines) {
    if (says_how_long(given.text)) {
      first_of_result = true;
      continue;
    }
    auto line = given;
    if (std::exchange(first_of_result, false)) line.text.replace(0, 4, "  > ");
    line.text = masked(line.text);
    line.marks.resize(std::min(line.marks.size(), terminal::columns_of(line.text)));
    while (line.marks.ends_with(' ')) line.marks.pop_back();
    out.push_back(std::move(line));
  }
  return out;
}

std::string text_of(const std::vector<VtermScreen::Line>& lines) {
  std::string out;
  std::string blank;
  for (const auto& line : masked_lines(lines)) {
    if (line.text.empty()) {
      blank += "|\n";
      continue;
    }
    out += std::exchange(blank, {}) + "|" + line.text + "\n";
    if (!line.marks.empty()) out += "~" + line.marks + "\n";
  }
  return out;
}

}  // namespace

std::unique_ptr<Household> household_in_tmp() {
  const char* given = std::getenv("TMPDIR");
  const std::string before = given != nullptr ? given : "";
  ::setenv("TMPDIR", "/tmp", 1);
  auto house = std::make_unique<Household>();
  if (given != nullptr) {
    ::setenv("TMPDIR", before.c_str(), 1);
  } else {
    ::unsetenv("TMPDIR");
  }
  return house;
}

std::string masked(std::string line) {
  struct Mask {
    std::regex what;
    std::string with;
  };
  static const std::vector<Mask> masks{
      // As long as they were: a line may break, or be cut, behind them.
      {std::regex("patchbay-test-[A-Za-z0-9]{6}"), "patchbay-test-XXXXXX"},
      {std::regex("\\bpatchbay [0-9][^ ,]*"), "patchbay VERSION"},
      {std::regex("--resume [^ ]+"), "--resume ID"},
      {std::regex("^[|/\\\\-] ([A-Z][a-z ]+) [0-9]+ s"), "* $1 0 s"},
      {std::regex("([a-z_]+) [0-9]+ s(  |$)"), "$1 0 s$2"},
      {std::regex(" \\([0-9]+ s\\)$"), ""},
  };
  for (const auto& mask : masks) line = std::regex_replace(line, mask.what, mask.with);
  return line;
}

ChatScene::ChatScene(const Household& house, std::string golden, std::vector<std::string> words, int columns, int rows,
                     std::map<std::string, std::string> more_env)
    : file_(golden.empty() ? std::string() : in_sources("tests/golden/chat/" + golden + ".txt")),
      screen_(columns, rows) {
  if (!file_.empty()) wanted_ = read_golden(file_);
  auto env = house.options().env;
  // A terminal that breaks no lines anew.
  env["XTERM_VERSION"] = "XTerm(379)";
  // With colours, whatever the shell that runs the tests wants; empty is as if it were not set.
  env["NO_COLOR"] = "";
  for (auto& [name, value] : more_env) env[name] = std::move(value);
  words.insert(words.begin(), {built("patchbay"), "chat"});
  terminal_ = std::make_unique<Terminal>(std::move(words), house.project(), env, static_cast<unsigned short>(columns),
                                         static_cast<unsigned short>(rows));
  terminal_->on_bytes = [this](std::string_view bytes) { screen_.write(bytes); };
}

ChatScene::~ChatScene() {
  if (file_.empty() || !updating()) return;
  std::ofstream out(file_);
  for (const auto& [name, text] : taken_) out << "== " << name << "\n" << text;
  ADD_FAILURE() << "written anew: " << file_;
}

bool ChatScene::becomes(const std::function<bool()>& condition) {
  return terminal_->wait_until([&] { return !screen_.is_updating() && condition(); });
}

bool ChatScene::begins() {
  return becomes([&] {
    return screen_.screen().at(static_cast<std::size_t>(screen_.cursor_row())).text.starts_with(">") &&
           screen_.cursor_column() == 2;
  });
}

bool ChatScene::shows(const std::string& text) {
  return becomes([&] { return screen_.shows(text); });
}

bool ChatScene::lacks(const std::string& text) {
  return becomes([&] { return !screen_.shows(text); });
}

bool ChatScene::resize(int columns, int rows) {
  const auto before = screen_.updates();
  screen_.resize(columns, rows);
  terminal_->resize(static_cast<unsigned short>(columns), static_cast<unsigned short>(rows));
  return becomes([&] { return screen_.updates() > before; });
}

std::string ChatScene::seen() const {
  const auto lines = screen_.screen();
  const auto above = std::ranges::count_if(lines.begin(), lines.begin() + screen_.cursor_row(),
                                           [](const VtermScreen::Line& line) { return says_how_long(line.text); });
  return text_of(lines) + fmt::format("cursor: row {}, column {} of {} x {}\n", screen_.cursor_row() + 1 - above,
                                      screen_.cursor_column() + 1, screen_.columns(), screen_.rows());
}

std::string ChatScene::everything() const { return text_of(screen_.everything()); }

void ChatScene::compare(const std::string& name, const std::function<std::string()>& now) {
  if (file_.empty()) return;
  if (updating()) {
    terminal_->read_while_it_writes(std::chrono::milliseconds(300));
    taken_.emplace_back(name, now());
    return;
  }
  const auto found = std::ranges::find(wanted_, name, &std::pair<std::string, std::string>::first);
  if (found == wanted_.end()) {
    ADD_FAILURE() << file_ << " has no \"" << name << "\"; it looks like this:\n" << now();
    return;
  }
  if (!becomes([&] { return now() == found->second; })) EXPECT_EQ(now(), found->second) << name;
}

void ChatScene::picture(const std::string& name) {
  compare(name, [this] { return seen(); });
}

void ChatScene::leave() {
  type("\x04");
  EXPECT_EQ(terminal_->wait_for_end(), 0);
  compare("everything", [this] { return everything(); });
  EXPECT_FALSE(screen_.was_on_the_other_screen());
  // Up, to the right, colours; the rest of a line or of the screen erased; marked pastes, the cursor, updates.
  static const std::set<std::string> may_be{"A",    "C",      "m",      "K",      "J",     "?25h",
                                            "?25l", "?2004h", "?2004l", "?2026h", "?2026l"};
  for (const auto& sequence : screen_.sequences()) EXPECT_TRUE(may_be.contains(sequence)) << sequence;
}

}  // namespace patchbay::test
