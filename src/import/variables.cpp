#include "import/variables.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace patchbay {
namespace {

// The project a server is started for; outside of one, the directory it is started in.
constexpr std::string_view project_directory = "${CLAUDE_PROJECT_DIR:-.}";

// Longer forms are plain text; it keeps a text of nothing but openings cheap.
constexpr std::size_t longest_form = 512;

bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

std::string reference(std::string_view name) { return fmt::format("${{{}}}", name); }

// The longest name at the beginning of `text`; empty when there is none.
std::string_view leading_name(std::string_view text) noexcept {
  if (text.empty() || !is_letter(text.front())) return {};
  std::size_t end = 1;
  while (end < text.size() && (is_letter(text[end]) || is_digit(text[end]))) ++end;
  return text.substr(0, end);
}

class Translator {
 public:
  Translator(std::string_view text, VariableStyle style, std::string_view directory)
      : rest_(text), style_(style), directory_(directory) {}

  TranslatedText run() {
    while (!rest_.empty()) {
      if (!one_form()) copy(1);
    }
    return std::move(out_);
  }

 private:
  // Translates the form that begins here, if one does.
  bool one_form() {
    if (rest_.starts_with("${")) return braced();
    switch (style_) {
      case VariableStyle::shell:
      case VariableStyle::windows:
        return bare_dollar() || (style_ == VariableStyle::windows && percent());
      case VariableStyle::braces:
        return in_braces();
      case VariableStyle::mcporter:
        return dollar_env();
      default:
        return false;
    }
  }

  void copy(std::size_t length) {
    out_.text += rest_.substr(0, length);
    rest_.remove_prefix(length);
  }
  bool replace(std::size_t length, std::string_view with) {
    out_.text += with;
    rest_.remove_prefix(length);
    return true;
  }
  void remark(std::string_view variable, ImportFate fate, std::string message) {
    VariableRemark made{std::string(variable), fate, std::move(message)};
    if (std::ranges::find(out_.remarks, made) == out_.remarks.end()) out_.remarks.push_back(std::move(made));
  }

  // ${...}
  bool braced() {
    const auto close = rest_.substr(0, longest_form).find('}');
    if (close == std::string_view::npos) return false;
    const auto whole = rest_.substr(0, close + 1);
    const auto inside = whole.substr(2, whole.size() - 3);
    const auto name = inside.substr(0, inside.find(":-"));
    if (is_variable_name(name)) {
      const bool known =
          style_ != VariableStyle::none && style_ != VariableStyle::editor && style_ != VariableStyle::braces;
      const bool editor_word = style_ == VariableStyle::editor && replace_editor_word(whole, inside);
      if (editor_word) return true;
      if (!known)
        remark(whole, ImportFate::changed,
               fmt::format("is replaced by the variable {} here, but was plain text there", name));
      return replace(whole.size(), whole);
    }
    if (style_ == VariableStyle::editor) return editor_form(whole, inside);
    return false;
  }

  // Words that editors know; true when this was one.
  bool replace_editor_word(std::string_view whole, std::string_view inside) {
    if (inside == "userHome") return replace(whole.size(), "${HOME}");
    if (inside == "workspaceFolder" || inside == "workspaceRoot") return replace(whole.size(), project_directory);
    if (inside == "pathSeparator") return replace(whole.size(), "/");
    static constexpr std::string_view untranslatable[] = {"workspaceFolderBasename",
                                                          "cwd",
                                                          "file",
                                                          "fileBasename",
                                                          "relativeFile",
                                                          "fileDirname",
                                                          "selectedText",
                                                          "lineNumber",
                                                          "execPath",
                                                          "extensionId",
                                                          "defaultBuildTask"};
    if (std::ranges::find(untranslatable, inside) == std::end(untranslatable)) return false;
    remark(whole, ImportFate::left_out, "has no equivalent in Patchbay");
    return replace(whole.size(), whole);
  }

  bool editor_form(std::string_view whole, std::string_view inside) {
    const auto colon = inside.find(':');
    const auto kind = inside.substr(0, colon);
    const auto what = colon == std::string_view::npos ? std::string_view() : inside.substr(colon + 1);
    if (inside == "/") return replace(whole.size(), "/");
    // The same here: unset, the server is not started.
    if (kind == "env" && is_variable_name(what)) return replace(whole.size(), whole);
    // These mean something here; it is told when the whole entry is known.
    if (kind == "file" || kind == "cmd" || kind == "secret") return replace(whole.size(), whole);
    if (kind == "workspaceFolder") {
      remark(whole, ImportFate::changed,
             "is the folder of one project of a workspace; Patchbay uses the directory of the current project instead");
      return replace(whole.size(), project_directory);
    }
    if (kind == "input" && !what.empty()) {
      if (std::ranges::find(out_.inputs, what) == out_.inputs.end()) out_.inputs.emplace_back(what);
      return replace(whole.size(), reference(input_variable(what)));
    }
    if (leading_name(inside).empty()) return false;  // some form of a shell
    remark(whole, ImportFate::left_out, "has no equivalent in Patchbay");
    return replace(whole.size(), whole);
  }

  // $NAME
  bool bare_dollar() {
    if (!rest_.starts_with('$')) return false;
    const auto name = leading_name(rest_.substr(1));
    return !name.empty() && replace(1 + name.size(), reference(name));
  }

  // %NAME%
  bool percent() {
    if (!rest_.starts_with('%')) return false;
    const auto name = leading_name(rest_.substr(1));
    if (name.empty() || !rest_.substr(1 + name.size()).starts_with('%')) return false;
    return replace(name.size() + 2, reference(name));
  }

  // $env:NAME
  bool dollar_env() {
    if (!rest_.starts_with("$env:")) return false;
    const auto name = leading_name(rest_.substr(5));
    return !name.empty() && replace(5 + name.size(), reference(name));
  }

  // {env:NAME}, {file:path}
  bool in_braces() {
    const auto close = rest_.substr(0, longest_form).find('}');
    if (close == std::string_view::npos) return false;
    const auto whole = rest_.substr(0, close + 1);
    if (whole.starts_with("{env:")) {
      const auto name = whole.substr(5, whole.size() - 6);
      if (is_variable_name(name)) return replace(whole.size(), reference(name));
      remark(whole, ImportFate::left_out, "is not a name that a variable can have");
      return replace(whole.size(), whole);
    }
    if (!whole.starts_with("{file:")) return false;
    std::string path(whole.substr(6, whole.size() - 7));
    if (!path.starts_with('/') && !path.starts_with("~/")) {
      if (path.starts_with("./")) path.erase(0, 2);
      if (!directory_.empty()) path = fmt::format("{}/{}", directory_, path);
    }
    return replace(whole.size(), fmt::format("${{file:{}}}", path));
  }

  std::string_view rest_;
  VariableStyle style_;
  std::string_view directory_;
  TranslatedText out_;
};

}  // namespace

bool is_variable_name(std::string_view name) noexcept {
  return !name.empty() && leading_name(name).size() == name.size();
}

std::string variable_named_after(std::string_view name) {
  std::string out;
  for (char c : name) {
    if (c >= 'a' && c <= 'z') {
      out.push_back(static_cast<char>(c - 'a' + 'A'));
    } else if (is_letter(c) || is_digit(c)) {
      out.push_back(c);
    } else if (out.empty() || out.back() != '_') {
      out.push_back('_');
    }
  }
  if (out.empty() || is_digit(out.front())) out.insert(0, "_");
  return out;
}

std::string input_variable(std::string_view id) { return variable_named_after(fmt::format("INPUT_{}", id)); }

TranslatedText translate_variables(std::string_view text, VariableStyle style, std::string_view directory) {
  return Translator(text, style, directory).run();
}

}  // namespace patchbay
