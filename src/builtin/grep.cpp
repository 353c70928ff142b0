#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <optional>

#include <fmt/format.h>
#include <re2/re2.h>

#include "base/strings.h"
#include "builtin/arguments.h"
#include "builtin/text.h"
#include "builtin/tools.h"

namespace patchbay::builtin {

namespace {

constexpr std::int64_t most_context = 20;
constexpr std::int64_t pattern_memory = 16 << 20;

RE2::Options options_for(bool ignore_case) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_case_sensitive(!ignore_case);
  options.set_max_mem(pattern_memory);
  return options;
}

// Tells files without any match apart by one pass over all their bytes, which is many times
// faster than a look at each line. It may only err on the side of looking.
class Prefilter {
 public:
  Prefilter(const std::string& pattern, const RE2::Options& options) {
    // These see where the text ends or change how lines are seen; a line is then not the same as a text.
    for (const auto* special : {"\\A", "\\z", "\\C", "(?"}) {
      if (pattern.contains(special)) return;
    }
    whole_.emplace("(?m)" + pattern, options);
    if (!whole_->ok()) whole_.reset();
  }
  bool may_match(std::string_view content) const {
    // '$' stands before "\n" only, so the ends of these lines look different to it.
    if (!whole_ || content.contains('\r')) return true;
    return whole_->Match(re2::StringPiece(content.data(), content.size()), 0, content.size(), RE2::UNANCHORED, nullptr,
                         0);
  }

 private:
  std::optional<RE2> whole_;
};

// Collects the matches of many files until a limit is reached.
class Search {
 public:
  Search(const RE2& pattern, const Prefilter& prefilter, const BuiltinLimits& limits, const Stop& stop,
         std::size_t context, std::size_t most)
      : pattern_(pattern), prefilter_(prefilter), limits_(limits), stop_(stop), context_(context), most_(most) {}

  // False when enough was found, or nobody waits any more. `content` is text.
  bool file(const std::string& path, std::string_view content) {
    if (!prefilter_.may_match(content)) return true;
    const auto name = printable_name(path);
    std::deque<std::pair<std::size_t, std::string_view>> before;
    std::size_t number = 0, after = 0, shown = 0;  // the last line shown
    bool hit = false;
    Lines lines(content);
    for (std::string_view line; lines.next(line);) {
      if (stop_.load(std::memory_order_relaxed)) return false;
      ++number;
      re2::StringPiece match;
      const bool matches =
          pattern_.Match(re2::StringPiece(line.data(), line.size()), 0, line.size(), RE2::UNANCHORED, &match, 1);
      if (matches) {
        if (found_ == most_) {
          more_ = true;
          return false;
        }
        // Groups of lines that do not touch are set apart, as soon as there is context at all.
        const auto first = before.empty() ? number : before.front().first;
        if (context_ > 0 && !text_.empty() && (!hit || first > shown + 1)) text_ += "--\n";
        for (const auto& [at, earlier] : before) show(name, at, '-', cut_line(earlier, limits_.line_bytes));
        before.clear();
        show(name, number, ':',
             cut_line(line, limits_.line_bytes, static_cast<std::size_t>(match.data() - line.data())));
        ++found_;
        if (!hit) ++files_;
        hit = true;
        shown = number;
        after = context_;
      } else if (after > 0) {
        show(name, number, '-', cut_line(line, limits_.line_bytes));
        shown = number;
        --after;
      } else if (context_ > 0) {
        before.emplace_back(number, line);
        if (before.size() > context_) before.pop_front();
      }
      if (text_.size() > limits_.search_output) {
        more_ = true;
        return false;
      }
    }
    return true;
  }

  std::string text() && { return std::move(text_); }
  std::size_t found() const noexcept { return found_; }
  std::size_t files() const noexcept { return files_; }
  bool more() const noexcept { return more_; }

 private:
  void show(std::string_view path, std::size_t line, char mark, std::string_view text) {
    text_ += fmt::format("{}{}{}{} {}\n", path, mark, line, mark, text);
  }

  const RE2& pattern_;
  const Prefilter& prefilter_;
  const BuiltinLimits& limits_;
  const Stop& stop_;
  std::size_t context_;
  std::size_t most_;
  std::string text_;
  std::size_t found_ = 0;
  std::size_t files_ = 0;
  bool more_ = false;
};

// What one search read and had to leave out.
struct Reading {
  std::size_t left;  // bytes
  std::size_t too_large = 0;
  std::size_t unreadable = 0;
  bool exhausted = false;
};

// The content of a text file; nothing when it is binary, too large or cannot be read.
std::optional<std::string> text_of(int fd, const BuiltinLimits& limits, Reading& reading) {
  struct stat info{};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return {};
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size > limits.search_file) {
    ++reading.too_large;
    return {};
  }
  if (size > reading.left) {
    reading.exhausted = true;
    return {};
  }
  std::string content;
  content.resize(size + 1);
  std::size_t length = 0;
  bool sniffed = false;
  while (length < content.size()) {
    // The beginning first: most binary files need no more than that.
    const auto room = std::min(content.size() - length, sniffed ? content.size() : sniffed_bytes);
    const auto got = ::read(fd, content.data() + length, room);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      ++reading.unreadable;
      return {};
    }
    if (got == 0) break;
    length += static_cast<std::size_t>(got);
    if (!std::exchange(sniffed, true) && !binary_kind(std::string_view(content).substr(0, length)).empty()) return {};
  }
  // A file that grew meanwhile is searched as far as it was long.
  content.resize(std::min(length, size));
  reading.left -= content.size();
  return content;
}

// "*.h" means "*.h in any directory", as in the command of this name.
std::string anywhere(const std::string& pattern) {
  const bool as_it_is = pattern.contains('/') || pattern.starts_with('!');
  return as_it_is ? pattern : "**/" + pattern;
}

}  // namespace

Tool grep_tool(const BuiltinLimits& limits) {
  Tool tool;
  tool.name = "grep";
  tool.title = "Search in files";
  tool.description = fmt::format(
      "Searches text files line by line for a regular expression (RE2 syntax: no look-around, no back-references) and "
      "returns "
      "the lines as 'path:line: text', sorted by path; lines of context as 'path-line- text'. Searches a whole tree or "
      "one "
      "file. Hidden names, .git, node_modules, binary files and files over {} are left out unless 'path' or 'glob' "
      "names "
      "them. Long lines are cut. Use glob to find files by name.",
      size_text(limits.search_file));
  tool.input_schema = object_schema({
      {"pattern",
       {{"type", "string"},
        {"minLength", 1},
        {"description", "The regular expression. Escape . ( ) [ ] { } * + ? | ^ $ \\ to take them literally."}},
       true},
      {"path",
       {{"type", "string"},
        {"description",
         "The directory or file to search, relative to the root directory or absolute beneath it. Default: the "
         "root."}}},
      {"glob",
       {{"type", "string"},
        {"minLength", 1},
        {"description", "Only files that match this pattern, such as *.py (in any directory) or src/**/*.{h,cpp}."}}},
      {"ignore_case", {{"type", "boolean"}, {"description", "Take upper and lower case as the same. Default false."}}},
      {"context",
       {{"type", "integer"},
        {"minimum", 0},
        {"maximum", most_context},
        {"description", "Lines to show before and after each match. Default 0."}}},
      {"max_results",
       {{"type", "integer"},
        {"minimum", 1},
        {"maximum", limits.most_matches},
        {"description", fmt::format("Stop after this many matching lines. Default {}.", limits.matches)}}},
  });
  tool.annotations = file_annotations(Effect::reads);
  return tool;
}

CallToolResult grep(const Settings& settings, const Json& arguments, const Stop& stop) {
  const auto& limits = settings.limits;
  Arguments in("grep", arguments, {"pattern", "path", "glob", "ignore_case", "context", "max_results"});
  const auto wanted = in.word("pattern");
  const auto base = in.optional_word("path").value_or(".");
  const auto only = in.optional_word("glob");
  const bool ignore_case = in.boolean("ignore_case", false);
  const auto context = in.integer("context", 0, 0, most_context);
  const auto most = in.integer("max_results", static_cast<std::int64_t>(limits.matches), 1,
                               static_cast<std::int64_t>(limits.most_matches));
  if (const auto fault = in.fault()) return error_result(*fault);

  const auto options = options_for(ignore_case);
  const RE2 pattern(wanted, options);
  if (!pattern.ok()) {
    return error_result(
        fmt::format("grep: the pattern is not a regular expression of RE2: {}. Look-around and "
                    "back-references do not exist there; to find a text literally, escape its special "
                    "characters with \\.",
                    pattern.error()));
  }
  const auto files = GlobPattern::parse(anywhere(only.value_or("*")));
  if (!files) return error_result(files.error().within("grep: glob"));
  const auto path = tidy_path(settings.root, base);
  if (!path) return error_result(path.error());
  const auto status = settings.root.status(*path);
  if (!status) return error_result(status.error());

  const Prefilter prefilter(wanted, options);
  Search search(pattern, prefilter, limits, stop, static_cast<std::size_t>(context), static_cast<std::size_t>(most));
  Reading reading{.left = limits.search_total};
  WalkOutcome outcome;
  if (status->kind == FileKind::directory) {
    const auto walked =
        walk(settings.root, *path, *files, {limits.visited, limits.depth}, stop, [&](const Visit& visit) {
          if (visit.kind != FileKind::file) return true;
          const auto file = settings.root.open_for_reading(visit.path);
          if (!file) {
            ++reading.unreadable;
            return true;
          }
          const auto content = text_of(file->get(), limits, reading);
          return !content || search.file(visit.path, *content);
        });
    if (!walked) return error_result(walked.error());
    outcome = *walked;
  } else {
    if (const auto refusal = unless_file(settings.root, *path)) return error_result(*refusal);
    const auto file = settings.root.open_for_reading(*path);
    if (!file) return error_result(file.error());
    const auto content = text_of(file->get(), limits, reading);
    if (!content && reading.too_large + reading.unreadable == 0) {
      return error_result(fmt::format("{} is not a text file that can be searched.", *path));
    }
    if (content) search.file(*path, *content);
  }

  std::vector<std::string> notes;
  if (search.found() == 0) notes.emplace_back("No line matches.");
  if (search.more()) {
    notes.push_back(
        fmt::format("Stopped after {} in {}: there are more. Narrow the search with path, glob or a longer pattern.",
                    plural(search.found(), "line"), plural(search.files(), "file")));
  }
  if (outcome.incomplete || reading.exhausted) {
    notes.emplace_back("The tree is too large: a part was left out. Give a path to look in.");
  }
  if (reading.too_large > 0) {
    notes.push_back(fmt::format("Not searched: {} larger than {}.", plural(reading.too_large, "file"),
                                size_text(limits.search_file)));
  }
  if (reading.unreadable + outcome.unreadable > 0) {
    notes.push_back(fmt::format("{} could not be read.",
                                plural(reading.unreadable, "file") + " and " + directories(outcome.unreadable)));
  }
  auto text = std::move(search).text();
  if (!notes.empty()) text += fmt::format("[{}]\n", join(notes, " "));
  return text_result(std::move(text));
}

}  // namespace patchbay::builtin
