#include "store/edit.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "json/kind_text.h"
#include "store/edit_layout.h"
#include "text/jsonc.h"

namespace patchbay {
namespace {

constexpr auto none = std::string_view::npos;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

// ---- the edits -----------------------------------------------------------------------------

struct Splice {
  std::size_t at = 0;
  std::size_t length = 0;
  std::string text;
};

std::string spliced(std::string_view text, const std::vector<Splice>& splices) {
  std::string out;
  std::size_t at = 0;
  for (const auto& splice : splices) {
    out += text.substr(at, splice.at - at);
    out += splice.text;
    at = splice.at + splice.length;
  }
  out += text.substr(at);
  return out;
}

class Editor {
 public:
  explicit Editor(std::string_view text) : text_(text), walk_(text) {
    start_ = text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0;
    root_ = walk_.next(start_);
    if (const auto newline = text.find('\n'); newline != none && newline > 0 && text[newline - 1] == '\r') {
      layout_.newline = "\r\n";
    }
    if (!has_root()) return;
    const auto end = text.find_last_not_of(" \t\r\n");
    lines_ = text.substr(root_, end - root_).find('\n') != none;
    const auto body = walk_.body(root_);
    if (body.members.empty()) {
      lines_ = true;
    } else if (const auto indent = own_line(body.members.front().key_begin); indent && !indent->empty()) {
      layout_.unit = *indent;
    }
  }

  // No value at all: nothing, or comments only.
  bool has_root() const noexcept { return root_ < text_.size(); }

  std::string set(std::span<const std::string> path, const Json& value) const {
    if (!has_root()) return create(nested(path, value));
    auto body = walk_.body(root_);
    for (;;) {
      const auto* member = find(body, path.front());
      if (member == nullptr) return insert(body, path.front(), nested(path.subspan(1), value));
      if (path.size() == 1) return replace(*member, value);
      body = walk_.body(member->value_begin);
      path = path.subspan(1);
    }
  }

  std::string remove(std::span<const std::string> path) const {
    const auto body = parent(path);
    return remove(body, static_cast<std::size_t>(find(body, path.back()) - body.members.data()));
  }

  std::string add_item(std::span<const std::string> path, const Json& value) const {
    return insert(at(path), std::nullopt, value);
  }

  std::string remove_item(std::span<const std::string> path, std::size_t index) const {
    return remove(at(path), index);
  }

  std::string rename(std::span<const std::string> path, const std::string& name) const {
    const auto body = parent(path);
    const auto& member = *find(body, path.back());
    return spliced(text_, {{member.key_begin, member.key_end - member.key_begin, to_text(Json(name))}});
  }

  std::size_t root() const noexcept { return root_; }
  const TextWalker& walk() const noexcept { return walk_; }

 private:
  static const TextMember* find(const TextBody& body, std::string_view key) {
    const auto found = std::ranges::find(body.members, key, &TextMember::key);
    return found == body.members.end() ? nullptr : &*found;
  }

  // The object or array that `path` leads to; it is there.
  TextBody at(std::span<const std::string> path) const {
    auto body = walk_.body(root_);
    for (const auto& key : path) body = walk_.body(find(body, key)->value_begin);
    return body;
  }

  TextBody parent(std::span<const std::string> path) const { return at(path.first(path.size() - 1)); }

  static Json nested(std::span<const std::string> path, const Json& value) {
    Json out = value;
    for (auto key = path.rbegin(); key != path.rend(); ++key) out = Json{{*key, std::move(out)}};
    return out;
  }

  // ---- lines

  std::size_t line_begin(std::size_t at) const noexcept {
    const auto before = text_.substr(0, at).find_last_of("\r\n");
    return std::max(before == none ? 0 : before + 1, start_);
  }

  // The blanks in front of `at`, when nothing else stands before it on its line.
  std::optional<std::string> own_line(std::size_t at) const {
    const auto begin = line_begin(at);
    const auto before = text_.substr(begin, at - begin);
    if (before.find_first_not_of(" \t") != none) return std::nullopt;
    return std::string(before);
  }

  std::string indent_of_line(std::size_t at) const {
    const auto begin = line_begin(at);
    const auto end = std::min(text_.find_first_not_of(" \t", begin), at);
    return std::string(text_.substr(begin, end - begin));
  }

  bool breaks(std::size_t from, std::size_t to) const noexcept {
    return text_.substr(from, to - from).find_first_of("\r\n") != none;
  }

  bool blank(std::size_t from, std::size_t to) const noexcept {
    return std::ranges::all_of(text_.substr(from, to - from), is_blank);
  }

  bool blank_but_comma(std::size_t from, std::size_t to) const noexcept {
    return std::ranges::all_of(text_.substr(from, to - from), [](char c) { return c == ',' || is_blank(c); });
  }

  // Over blanks on the same line.
  std::size_t behind_spaces(std::size_t at) const noexcept {
    return std::min(text_.find_first_not_of(" \t", at), text_.size());
  }

  std::size_t before_spaces(std::size_t at) const noexcept {
    while (at > start_ && (text_[at - 1] == ' ' || text_[at - 1] == '\t')) --at;
    return at;
  }

  // ---- set

  // How the members of an object that stands on one line are spaced.
  OneLineStyle spacing(const TextBody& body) const {
    if (body.members.empty()) return {};
    const auto& first = body.members.front();
    OneLineStyle out;
    if (body.is_array) {
      out.after_comma = out.after_colon = body.members.size() == 1 || is_blank(text_[first.comma + 1]);
    } else {
      out.after_colon = is_blank(text_[first.value_begin - 1]);
      out.after_comma = body.members.size() == 1 ? out.after_colon : is_blank(text_[first.comma + 1]);
    }
    out.in_braces = is_blank(text_[body.open + 1]);
    return out;
  }

  // A value that is an object with members, written on one line.
  std::optional<OneLineStyle> one_line_object(const TextMember& member) const {
    if (text_[member.value_begin] != '{' || breaks(member.value_begin, member.value_end)) return std::nullopt;
    const auto body = walk_.body(member.value_begin);
    if (body.members.empty()) return std::nullopt;
    return spacing(body);
  }

  std::string create(const Json& value) const {
    const auto made = TextRenderer(layout_, {}).on_lines(value, "") + layout_.newline;
    if (blank(start_, text_.size())) return std::string(text_.substr(0, start_)) + made;
    const auto last = text_.back();
    const bool ended = last == '\n' || last == '\r';
    return std::string(text_) + (ended ? "" : layout_.newline) + made;
  }

  std::string replace(const TextMember& member, const Json& value) const {
    const auto indent = own_line(member.key_begin);
    const auto spaced = one_line_object(member);
    const bool after_colon = is_blank(text_[member.value_begin - 1]);
    const auto style = spaced.value_or(OneLineStyle{.after_colon = after_colon, .after_comma = after_colon || indent});
    const TextRenderer render(layout_, style);
    auto made = render.on_one_line(value);
    if (indent && (!spaced || made.size() > one_line_width)) made = render.on_lines(value, *indent);
    return spliced(text_, {{member.value_begin, member.value_end - member.value_begin, std::move(made)}});
  }

  // The member as it is put on a line of its own, in the manner of a sibling.
  std::string on_own_line(const std::optional<std::string>& key, const Json& value, const std::string& indent,
                          const TextMember* sibling) const {
    if (sibling != nullptr && value.is_object()) {
      if (const auto style = one_line_object(*sibling)) {
        const TextRenderer render(layout_, *style);
        if (auto made = render.key(key) + render.on_one_line(value); made.size() <= one_line_width) return made;
      }
    }
    const TextRenderer render(layout_,
                              {.after_colon = sibling == nullptr || is_blank(text_[sibling->value_begin - 1])});
    return render.key(key) + render.on_lines(value, indent);
  }

  std::string insert(const TextBody& body, const std::optional<std::string>& key, const Json& value) const {
    return body.members.empty() ? insert_first(body, key, value) : insert_last(body, key, value);
  }

  std::string insert_first(const TextBody& body, const std::optional<std::string>& key, const Json& value) const {
    const auto outer = indent_of_line(body.open);
    const auto behind = walk_.comments_behind(body.open + 1).end;
    const bool commented = behind != body.open + 1;
    const bool broken = breaks(body.open, body.close);
    if (!broken && (!lines_ || body.is_array)) {
      const TextRenderer render(layout_, lines_ ? OneLineStyle{} : compact_);
      auto made = render.key(key) + render.on_one_line(value);
      if (commented) return spliced(text_, {{behind, 0, " " + made}});
      return spliced(text_, {{body.open + 1, body.close - body.open - 1, std::move(made)}});
    }
    auto indent = outer + layout_.unit;
    if (commented) {
      // In line with the comments that stand there.
      if (auto same = own_line(walk_first_comment(body.open + 1))) indent = *same;
    }
    auto made = layout_.newline + indent + on_own_line(key, value, indent, nullptr);
    if (!commented)
      return spliced(text_, {{body.open + 1, body.close - body.open - 1, made + layout_.newline + outer}});
    if (!breaks(behind, body.close)) {
      return spliced(text_, {{behind, body.close - behind, made + layout_.newline + outer}});
    }
    return spliced(text_, {{behind, 0, std::move(made)}});
  }

  std::size_t walk_first_comment(std::size_t at) const noexcept {
    while (is_blank(text_[at])) ++at;
    return at;
  }

  std::string insert_last(const TextBody& body, const std::optional<std::string>& key, const Json& value) const {
    const auto& last = body.members.back();
    const bool comma_behind = last.comma != none;
    const auto token_end = comma_behind ? last.comma + 1 : last.value_end;
    const auto [behind, line_comment] = walk_.comments_behind(token_end);
    const auto own = own_line(last.key_begin);

    std::string made;
    if (own || line_comment) {
      const auto outer = indent_of_line(body.open);
      const auto indent = own ? *own : outer + layout_.unit;
      made = layout_.newline + indent + on_own_line(key, value, indent, &last) + (comma_behind ? "," : "");
      if (!breaks(behind, body.close)) made += layout_.newline + outer;
    } else {
      const auto style = spacing(body);
      const TextRenderer render(layout_, style);
      made = (style.after_comma ? " " : "") + render.key(key) + render.on_one_line(value) + (comma_behind ? "," : "");
    }
    std::vector<Splice> splices;
    if (!comma_behind) splices.push_back({last.value_end, 0, ","});
    splices.push_back({behind, 0, std::move(made)});
    return spliced(text_, splices);
  }

  // ---- remove

  std::string remove(const TextBody& body, std::size_t index) const {
    const auto& member = body.members[index];
    const bool is_last = index + 1 == body.members.size();
    const auto token_end =
        member.comma != none && blank(member.value_end, member.comma) ? member.comma + 1 : member.value_end;
    auto cut = [&](std::size_t from, std::size_t to) { return spliced(text_, {{from, to - from, {}}}); };

    if (body.members.size() == 1 && blank(body.open + 1, member.key_begin) &&
        blank_but_comma(member.value_end, body.close)) {
      return cut(body.open + 1, body.close);
    }
    if (!is_last) {
      const auto next = body.members[index + 1].key_begin;
      if (blank_but_comma(member.value_end, next)) return cut(member.key_begin, next);
    } else if (index > 0) {
      const auto& before = body.members[index - 1];
      if (blank_but_comma(before.value_end, member.key_begin) && (member.comma == none || token_end > member.comma)) {
        return cut(member.comma == none ? before.value_end : before.comma + 1, token_end);
      }
    }

    // There are comments around it: they stay, and a line that is left empty goes.
    std::vector<Splice> splices;
    if (is_last && index > 0 && member.comma == none) {
      splices.push_back({body.members[index - 1].comma, 1, {}});
    }
    auto from = member.key_begin;
    auto to = behind_spaces(token_end);
    if (own_line(from) && (to == text_.size() || text_[to] == '\n' || text_[to] == '\r')) {
      from = line_begin(from);
      if (text_.substr(to).starts_with("\r\n")) {
        to += 2;
      } else if (to < text_.size()) {
        ++to;
      }
    } else if (!own_line(from) && to < text_.size() && (text_[to] == '\n' || text_[to] == '\r')) {
      from = before_spaces(from);
    }
    // The comma of the one before may be among these blanks no more than a comment may.
    if (!splices.empty()) from = std::max(from, splices.back().at + 1);
    splices.push_back({from, to - from, {}});
    if (member.comma != none && member.comma >= to) splices.push_back({member.comma, 1, {}});
    return spliced(text_, splices);
  }

  std::string_view text_;
  TextWalker walk_;
  std::size_t start_ = 0;  // behind a byte order mark
  std::size_t root_ = 0;
  bool lines_ = true;  // whether the text is written on several lines
  TextLayout layout_;
  OneLineStyle compact_{.after_colon = false, .after_comma = false};
};

// ---- what must come out --------------------------------------------------------------------

std::expected<Json, JsonFault> read(std::string_view text) {
  auto plain = without_comments(text);
  if (!plain) return std::unexpected(std::move(plain).error());
  if (std::ranges::all_of(*plain, is_blank)) return Json::object();
  return parse_json_located(*plain);
}

std::string shown(std::string_view key) { return to_text(Json(key)); }

// Where the value at `path` begins; everything above it exists.
std::size_t place_of(const Editor& editor, std::span<const std::string> path) {
  auto at = editor.root();
  for (const auto& key : path) {
    const auto body = editor.walk().body(at);
    at = std::ranges::find(body.members, key, &TextMember::key)->value_begin;
  }
  return at;
}

// Changes `root` as the edit says, or tells why it cannot be done.
std::optional<JsonFault> apply(Json& root, const Editor& editor, const ConfigEdit& edit) {
  const std::span<const std::string> path = edit.path;
  Json* at = &root;
  for (std::size_t depth = 0;; ++depth) {
    if (!at->is_object()) {
      return JsonFault{place_of(editor, path.first(depth)),
                       fmt::format("{} must be an object, found {}", shown(path[depth - 1]), kind_with_article(*at))};
    }
    if (depth + 1 == path.size()) break;
    Json* inner = at->find(path[depth]);
    if (inner == nullptr) {
      if (edit.kind == ConfigEdit::Kind::remove_item) return std::nullopt;
      if (edit.kind == ConfigEdit::Kind::remove || edit.kind == ConfigEdit::Kind::rename) {
        return JsonFault{0, fmt::format("there is no {}", shown(path[depth]))};
      }
      inner = &(*at)[path[depth]];
      *inner = Json::object();
    }
    at = inner;
  }
  auto& parent = at->as_object();
  const auto& key = path.back();
  if (edit.kind == ConfigEdit::Kind::set) {
    parent.set(key, edit.value);
    return std::nullopt;
  }
  Json* found = parent.find(key);
  if (edit.kind == ConfigEdit::Kind::add_item || edit.kind == ConfigEdit::Kind::remove_item) {
    if (found == nullptr) {
      if (edit.kind == ConfigEdit::Kind::add_item) parent.set(key, Json::array({edit.value}));
      return std::nullopt;
    }
    auto* items = found->if_array();
    if (items == nullptr) {
      return JsonFault{place_of(editor, path),
                       fmt::format("{} must be an array, found {}", shown(key), kind_with_article(*found))};
    }
    if (edit.kind == ConfigEdit::Kind::remove_item) {
      const auto [first, last] = std::ranges::remove(*items, edit.value);
      items->erase(first, last);
    } else if (std::ranges::find(*items, edit.value) == items->end()) {
      items->push_back(edit.value);
    }
    return std::nullopt;
  }
  if (found == nullptr) return JsonFault{0, fmt::format("there is no {}", shown(key))};
  Json value = *found;
  if (edit.kind == ConfigEdit::Kind::rename) {
    if (edit.name != key && parent.contains(edit.name)) {
      return JsonFault{0, fmt::format("{} already exists", shown(edit.name))};
    }
    parent.erase(key);
    parent.set(edit.name, std::move(value));
    return std::nullopt;
  }
  parent.erase(key);
  return std::nullopt;
}

const Json* value_at(const Json& root, std::span<const std::string> path) {
  const Json* at = &root;
  for (const auto& key : path) {
    at = at->find(key);
    if (at == nullptr) break;
  }
  return at;
}

// From the last to the first, so that the places of those before stay.
std::string without_item(std::string_view text, const Json& root, const ConfigEdit& edit) {
  std::string out(text);
  const auto& items = value_at(root, edit.path)->as_array();
  for (auto i = items.size(); i-- > 0;) {
    if (items[i] == edit.value) out = Editor(out).remove_item(edit.path, i);
  }
  return out;
}

}  // namespace

ConfigEdit set_member(std::vector<std::string> path, Json value) {
  return {ConfigEdit::Kind::set, std::move(path), std::move(value), {}};
}
ConfigEdit remove_member(std::vector<std::string> path) { return {ConfigEdit::Kind::remove, std::move(path), {}, {}}; }
ConfigEdit rename_member(std::vector<std::string> path, std::string name) {
  return {ConfigEdit::Kind::rename, std::move(path), {}, std::move(name)};
}
ConfigEdit add_item(std::vector<std::string> path, Json value) {
  return {ConfigEdit::Kind::add_item, std::move(path), std::move(value), {}};
}
ConfigEdit remove_item(std::vector<std::string> path, Json value) {
  return {ConfigEdit::Kind::remove_item, std::move(path), std::move(value), {}};
}

std::expected<std::string, JsonFault> edit_text(std::string_view text, const ConfigEdit& edit) {
  auto root = read(text);
  if (!root) return std::unexpected(std::move(root).error());
  // The editor walks objects; whatever else stands at the top has no members to walk.
  if (!root->is_object()) {
    return std::unexpected(
        JsonFault{TextWalker(text).next(text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0),
                  fmt::format("the top of the file must be an object, found {}", kind_with_article(*root))});
  }
  const Editor editor(text);
  const Json before = *root;
  if (auto fault = apply(*root, editor, edit)) return std::unexpected(std::move(*fault));
  if (*root == before && edit.kind != ConfigEdit::Kind::rename) return std::string(text);
  std::string out;
  switch (edit.kind) {
    case ConfigEdit::Kind::set:
      out = editor.set(edit.path, edit.value);
      break;
    case ConfigEdit::Kind::remove:
      out = editor.remove(edit.path);
      break;
    case ConfigEdit::Kind::rename:
      out = editor.rename(edit.path, edit.name);
      break;
    case ConfigEdit::Kind::add_item:
      out = value_at(before, edit.path) == nullptr ? editor.set(edit.path, Json::array({edit.value}))
                                                   : editor.add_item(edit.path, edit.value);
      break;
    case ConfigEdit::Kind::remove_item:
      out = without_item(text, before, edit);
      break;
  }
  const auto again = read(out);
  if (!again || *again != *root) {
    return std::unexpected(JsonFault{
        0, fmt::format("changing {} would have damaged the file, so nothing was changed", shown(edit.path.back()))});
  }
  return out;
}

std::expected<std::string, JsonFault> edit_text(std::string_view text, std::span<const ConfigEdit> edits) {
  std::string out(text);
  for (const auto& edit : edits) {
    auto next = edit_text(out, edit);
    if (!next) return std::unexpected(std::move(next).error());
    out = std::move(*next);
  }
  return out;
}

}  // namespace patchbay
