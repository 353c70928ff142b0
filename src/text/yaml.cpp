// libyaml stays in this file. Its events are turned into values here, without recursion, so that what an alias
// repeats is counted before it is copied.
#include "text/yaml.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <yaml.h>

#include "base/strings.h"

namespace patchbay {
namespace {

class YamlParser {
 public:
  explicit YamlParser(std::string_view text) {
    ready_ = yaml_parser_initialize(&parser_) != 0;
    if (!ready_) return;
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  YamlParser(const YamlParser&) = delete;
  YamlParser& operator=(const YamlParser&) = delete;
  ~YamlParser() {
    if (ready_) yaml_parser_delete(&parser_);
  }
  bool ready() const noexcept { return ready_; }
  yaml_parser_t& get() noexcept { return parser_; }

 private:
  yaml_parser_t parser_{};
  bool ready_ = false;
};

class YamlEvent {
 public:
  explicit YamlEvent(yaml_parser_t& parser) : ok_(yaml_parser_parse(&parser, &event_) != 0) {}
  YamlEvent(const YamlEvent&) = delete;
  YamlEvent& operator=(const YamlEvent&) = delete;
  ~YamlEvent() {
    if (ok_) yaml_event_delete(&event_);
  }
  explicit operator bool() const noexcept { return ok_; }
  const yaml_event_t* operator->() const noexcept { return &event_; }

 private:
  yaml_event_t event_{};
  bool ok_;
};

// What libyaml says most often, for people who do not know its grammar.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> plain_words{{
    {"mapping values are not allowed in this context", "a text with `: ` in it must be quoted"},
    {"found character that cannot start any token",
     "a tab cannot indent (use spaces), and a text that begins with %, @ or ` must be quoted"},
    {"found unexpected end of stream", "a quoted text does not end"},
    {"did not find expected key", "expected `key: value`, indented like the keys above it"},
}};

std::string_view text_of(const yaml_char_t* text) noexcept {
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) noexcept {
  return std::ranges::find(words, word) != words.end();
}

std::string_view take_digits(std::string_view& text) noexcept {
  const auto taken = text.substr(0, std::min(text.find_first_not_of("0123456789"), text.size()));
  text.remove_prefix(taken.size());
  return taken;
}

// A decimal number of the core schema, as JSON writes it.
std::optional<std::string> decimal(std::string_view word) {
  std::string out = word.starts_with('-') ? "-" : "";
  if (word.starts_with('-') || word.starts_with('+')) word.remove_prefix(1);
  auto whole = take_digits(word);
  std::string_view fraction;
  if (word.starts_with('.')) {
    word.remove_prefix(1);
    fraction = take_digits(word);
  }
  if (whole.empty() && fraction.empty()) return std::nullopt;
  whole.remove_prefix(std::min(whole.find_first_not_of('0'), whole.size()));
  out += whole.empty() ? "0" : whole;
  if (!fraction.empty()) out.append(".").append(fraction);
  if (word.starts_with('e') || word.starts_with('E')) {
    out += word.front();
    word.remove_prefix(1);
    if (word.starts_with('-') || word.starts_with('+')) {
      out += word.front();
      word.remove_prefix(1);
    }
    const auto exponent = take_digits(word);
    if (exponent.empty()) return std::nullopt;
    out += exponent;
  }
  return word.empty() ? std::optional(std::move(out)) : std::nullopt;
}

// 0o17 and 0xff.
std::optional<std::uint64_t> with_base(std::string_view word) noexcept {
  const int base = word.starts_with("0o") ? 8 : word.starts_with("0x") ? 16 : 0;
  if (base == 0 || word.size() == 2 || word.size() > 2 + 15) return std::nullopt;
  std::uint64_t value = 0;
  const auto* const end = word.data() + word.size();
  const auto [read_to, error] = std::from_chars(word.data() + 2, end, value, base);
  return error == std::errc() && read_to == end ? std::optional(value) : std::nullopt;
}

// The value of a plain word: the only table there is.
Json plain_value(std::string_view word, bool only_json_numbers) {
  if (is_one_of(word, {"", "~", "null", "Null", "NULL"})) return nullptr;
  if (is_one_of(word, {"true", "True", "TRUE"})) return true;
  if (is_one_of(word, {"false", "False", "FALSE"})) return false;
  if (auto number = decimal(word); number && (!only_json_numbers || *number == word)) {
    return Json::number(std::move(*number));
  }
  if (const auto number = with_base(word); number && !only_json_numbers) return *number;
  return word;
}

// JSON has no such numbers.
bool is_not_finite(std::string_view word) noexcept {
  if (word.starts_with('-') || word.starts_with('+')) word.remove_prefix(1);
  return is_one_of(word, {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"});
}

struct Node {
  Json value;
  Place place;
  std::size_t count = 1;  // of values in it, with itself
  std::size_t depth = 1;  // of sequences and mappings in it, with itself
};

// A sequence or mapping whose end has not come yet.
struct Open {
  Node node;
  std::string anchor;
  std::optional<std::string> key;  // of a mapping: read, its value not yet
  std::size_t key_offset = 0;
  bool flow = false;          // in brackets
  std::ptrdiff_t column = 0;  // of the block that it is, or is in
};

// A value on several lines; those after the first must be indented by more than `column`.
struct Span {
  std::size_t begin;
  std::size_t end;
  std::ptrdiff_t column;
};

class YamlReader {
 public:
  YamlReader(std::string_view text, const YamlRules& rules) : text_(text), rules_(rules), offsets_(text) {}

  std::expected<ConfigDocument, YamlFault> read() {
    YamlParser parser(text_);
    if (!parser.ready()) return std::unexpected(YamlFault{0, "there is not enough memory to read the file"});
    while (!done_) {
      YamlEvent event(parser.get());
      if (!event) return std::unexpected(syntax_fault(parser.get()));
      handle(event);
      if (fault_) return std::unexpected(std::move(*fault_));
    }
    if (rules_.strict) check_lines();
    if (fault_) return std::unexpected(std::move(*fault_));
    if (!root_) return std::unexpected(YamlFault{0, "the file is empty", YamlFault::Kind::empty});
    return ConfigDocument{std::move(root_->value), std::move(root_->place)};
  }

 private:
  YamlFault syntax_fault(const yaml_parser_t& parser) {
    const bool in_text = parser.error == YAML_READER_ERROR;
    const auto at = in_text ? std::min<std::size_t>(parser.problem_offset, text_.size())
                            : offsets_.at_character(parser.problem_mark.index);
    const std::string_view problem = parser.problem == nullptr ? "this is not YAML" : parser.problem;
    const auto known = std::ranges::find(plain_words, problem, &std::pair<std::string_view, std::string_view>::first);
    return {at, std::string(known == plain_words.end() ? problem : known->second)};
  }

  void fault(std::size_t offset, std::string reason, YamlFault::Kind kind = YamlFault::Kind::other) {
    if (!fault_) fault_ = YamlFault{offset, std::move(reason), kind};
  }

  void handle(const YamlEvent& event) {
    const auto at = offsets_.at_character(event->start_mark.index);
    switch (event->type) {
      case YAML_STREAM_END_EVENT:
        done_ = true;
        break;
      case YAML_DOCUMENT_START_EVENT:
        if (root_) fault(at, "a second document begins here; keep only one");
        if (rules_.strict && event->data.document_start.implicit == 0)
          fault(at, "a second document or a directive is not supported");
        break;
      case YAML_DOCUMENT_END_EVENT:
        if (rules_.strict && event->data.document_end.implicit == 0)
          fault(at, "a second document or a directive is not supported");
        break;
      case YAML_SCALAR_EVENT:
        scalar(event, at);
        break;
      case YAML_ALIAS_EVENT:
        alias(text_of(event->data.alias.anchor), at);
        break;
      case YAML_SEQUENCE_START_EVENT:
        check_marks(event->data.sequence_start.anchor, event->data.sequence_start.tag, at);
        begin(Json::array(), text_of(event->data.sequence_start.anchor), at);
        break;
      case YAML_MAPPING_START_EVENT:
        check_marks(event->data.mapping_start.anchor, event->data.mapping_start.tag, at);
        begin(Json::object(), text_of(event->data.mapping_start.anchor), at);
        break;
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT:
        end(offsets_.at_character(event->end_mark.index));
        break;
      default:
        break;
    }
  }

  void scalar(const YamlEvent& event, std::size_t at) {
    const auto& data = event->data.scalar;
    const std::string_view word(reinterpret_cast<const char*>(data.value), data.length);
    const auto end = offsets_.at_character(event->end_mark.index);
    check_marks(data.anchor, data.tag, at);
    note_lines(data.style, at, end);
    if (rules_.strict && data.style == YAML_PLAIN_SCALAR_STYLE) {
      if (wants_key() && word == "<<") return fault(at, "merge keys (<<) are not allowed here");
      // Programs do not agree on what 1e3 or ~ are as keys.
      if (wants_key() && (!plain_value(word, false).is_string() || is_not_finite(word))) {
        return fault(at, "a key must be a text; put it in quotes");
      }
      if (is_one_of(word, {"-", ":", "?"})) return fault(at, fmt::format("'{}' is not expected here", word));
      if (is_not_finite(word)) return fault(at, "infinity and not-a-number (NaN) are not supported");
    }
    if (wants_key()) return take_key(word, at);
    check_column(at);
    const auto tag = text_of(data.tag);
    const bool plain = data.plain_implicit != 0 ||
                       (data.style == YAML_PLAIN_SCALAR_STYLE && tag.starts_with("tag:") && tag != YAML_STR_TAG);
    Node node;
    node.value = plain ? plain_value(word, rules_.only_json_numbers) : Json(word);
    node.place = {at, at, end, {}};
    node.depth = 0;
    keep(text_of(data.anchor), node);
    put(std::move(node));
  }

  void alias(std::string_view name, std::size_t at) {
    if (rules_.strict)
      return fault(
          at, "anchors (&name) and aliases (*name) are not allowed here; put a text that begins with & or * in quotes");
    if (wants_key()) return fault(at, "the key of a mapping must be a text, found an alias");
    auto known = anchors_.find(name);
    if (known == anchors_.end()) {
      return fault(at, fmt::format("the alias *{0} has no anchor &{0} before it", name));
    }
    Node node = known->second;  // counted by put before anybody copies it again
    node.place.key = at;
    put(std::move(node), at);
  }

  void begin(Json empty, std::string_view anchor, std::size_t at) {
    if (wants_key()) return fault(at, "the key of a mapping must be a text");
    if (open_.size() >= rules_.depth)
      return fault(at, fmt::format("values are nested deeper than {} levels here", rules_.depth),
                   YamlFault::Kind::too_deep);
    // [a: b] is a list with a mapping in it that nobody sees.
    const bool hidden = empty.is_object() && !open_.empty() && open_.back().flow && text_[at] != '{' &&
                        open_.back().node.value.is_array();
    if (rules_.strict && hidden) return fault(at, "a key inside a list is not read");
    const bool flow = at < text_.size() && (text_[at] == '{' || text_[at] == '[');
    if (flow) check_column(at);
    const auto column = flow ? block_column() : column_of(at);
    auto& open = open_.emplace_back();
    open.node.value = std::move(empty);
    open.node.place = {at, at, at, {}};
    open.anchor = anchor;
    open.flow = flow;
    open.column = column;
  }

  void end(std::size_t at) {
    Open open = std::move(open_.back());
    open_.pop_back();
    if (open.flow && (open_.empty() || !open_.back().flow)) note_span(open.node.place.value, at);
    open.node.place.end = at;
    keep(open.anchor, open.node);
    put(std::move(open.node));
  }

  bool wants_key() const noexcept { return !open_.empty() && open_.back().node.value.is_object() && !open_.back().key; }

  void take_key(std::string_view word, std::size_t at) {
    auto& open = open_.back();
    // Behind a question mark anything may be a key.
    if (rules_.strict && !open.flow && column_of(at) != open.column)
      fault(at, "a key must be a text; put it in quotes");
    if (open.node.value.find(word) != nullptr) {
      return fault(at, fmt::format("the key {} occurs twice", to_text(Json(word))));
    }
    open.key = std::string(word);
    open.key_offset = at;
  }

  void keep(std::string_view anchor, const Node& node) {
    if (anchor.empty()) return;
    // A copy for the anchor costs as much as a repetition does.
    count_ += node.count;
    if (count_ > import_value_limit)
      return fault(node.place.value, fmt::format("there are more than {} values", import_value_limit));
    anchors_[std::string(anchor)] = node;
  }

  // What an alias repeats was counted when it was read, and is counted again for every repetition.
  void put(Node node, std::optional<std::size_t> alias_at = std::nullopt) {
    count_ += alias_at ? node.count : 1;
    if (count_ > import_value_limit) {
      return fault(alias_at.value_or(node.place.value),
                   alias_at ? fmt::format("repeating this would make more than {} values", import_value_limit)
                            : fmt::format("there are more than {} values", import_value_limit));
    }
    if (open_.empty()) {
      if (!root_) root_ = std::move(node);
      return;
    }
    auto& parent = open_.back();
    parent.node.count += node.count;
    parent.node.depth = std::max(parent.node.depth, node.depth + 1);
    if (node.depth + open_.size() > rules_.depth) {
      return fault(alias_at.value_or(node.place.value),
                   fmt::format("values are nested deeper than {} levels here", rules_.depth),
                   YamlFault::Kind::too_deep);
    }
    if (parent.key) {
      node.place.key = parent.key_offset;
      parent.node.value.as_object().append(std::move(*parent.key), std::move(node.value));
      parent.key.reset();
    } else {
      parent.node.value.push_back(std::move(node.value));
    }
    parent.node.place.children.push_back(std::move(node.place));
  }

  // ---- strict

  void check_marks(const yaml_char_t* anchor, const yaml_char_t* tag, std::size_t at) {
    if (!rules_.strict) return;
    if (anchor != nullptr)
      fault(at,
            "anchors (&name) and aliases (*name) are not allowed here; put a text that begins with & or * in quotes");
    if (tag != nullptr) fault(at, "tags (!name) are not allowed here; put a text that begins with ! in quotes");
  }

  std::ptrdiff_t column_of(std::size_t offset) const noexcept {
    const auto line = text_.substr(0, offset).rfind('\n');
    return static_cast<std::ptrdiff_t>(line == std::string_view::npos ? offset : offset - line - 1);
  }
  // Of the innermost block that is open; before all of them when there is none.
  std::ptrdiff_t block_column() const noexcept { return open_.empty() ? -1 : open_.back().column; }

  void note_span(std::size_t begin, std::size_t end) {
    spans_.push_back({begin, end, block_column()});
    if (rules_.strict && text_.substr(end).starts_with('#'))
      fault(end, "there is more text after a value on the same line");
  }

  void note_lines(yaml_scalar_style_t style, std::size_t begin, std::size_t end) {
    const bool block = style == YAML_LITERAL_SCALAR_STYLE || style == YAML_FOLDED_SCALAR_STYLE;
    const bool quoted = style == YAML_SINGLE_QUOTED_SCALAR_STYLE || style == YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    if (block) blocks_.push_back({begin, end, block_column()});
    if (quoted) note_span(begin, end);
  }

  // A value below its key is indented further.
  void check_column(std::size_t at) {
    if (rules_.strict && column_of(at) <= block_column()) fault(at, "the further lines of a value must be indented");
  }

  // libyaml is more patient than others with lines inside quotes and brackets, and with blanks below a text.
  void check_lines() {
    for (const auto& span : spans_) {
      const auto first = std::min(text_.find('\n', span.begin), span.end);
      for_lines(first, span.end, [&](std::string_view line, std::size_t at) {
        const auto indent = std::min(line.find_first_not_of(' '), line.size());
        if (line.find_first_not_of(" \t") == std::string_view::npos) return;
        if (static_cast<std::ptrdiff_t>(indent) <= span.column)
          fault(at, "the further lines of a value must be indented");
      });
    }
    for (const auto& block : blocks_) check_block(block);
    auto in_block = [&](std::size_t at) {
      return std::ranges::any_of(blocks_, [&](const Span& block) { return at > block.begin && at < block.end; });
    };
    auto check = [&](std::string_view line, std::size_t at) {
      if (line.starts_with("---") || line.starts_with("..."))
        fault(at, "a second document or a directive is not supported");
      const auto indent = line.substr(0, std::min(line.find_first_not_of(" \t"), line.size()));
      if (indent.size() == line.size() || line[indent.size()] == '#' || in_block(at)) return;
      if (indent.find('\t') != std::string_view::npos) fault(at, "a tab cannot indent; use spaces");
    };
    check(text_.substr(0, text_.find('\n')), 0);
    for_lines(std::min(text_.find('\n'), text_.size()), text_.size(), check);
  }

  // Where a text ends that has blanks or empty lines below it is not the same for every program.
  void check_block(const Span& block) {
    const auto header = text_.substr(block.begin, text_.find('\n', block.begin) - block.begin);
    const auto behind = std::min(header.find_first_not_of("|>+-123456789"), header.size());
    if (behind < header.size() && header[behind] == '#') fault(block.begin, "what follows | or > is not understood");
    const auto marks = header.substr(0, behind);
    // Of the first line that has something; with a number in front nobody looks for it.
    auto indent = marks.find_first_of("123456789") == std::string_view::npos ? std::string_view::npos : 0;
    bool empty = false;   // the last line has nothing
    bool hollow = false;  // but blanks beyond the indentation
    for_lines(block.begin + header.size(), block.end, [&](std::string_view line, std::size_t) {
      empty = line.find_first_not_of(" \t") == std::string_view::npos;
      if (!empty) indent = std::min(indent, line.find_first_not_of(' '));
      hollow = empty && (hollow || line.size() > indent);
    });
    const bool kept = marks.find('+') != std::string_view::npos && empty && block.end >= text_.size();
    if (hollow || kept) fault(block.begin, "a block of text must not end with blanks or empty lines");
  }

  // Every line that begins behind the line break at `at`.
  template <class Visit>
  void for_lines(std::size_t at, std::size_t end, Visit visit) const {
    for (++at; at < end;) {
      const auto next = std::min(text_.find('\n', at), text_.size());
      visit(text_.substr(at, next - at), at);
      at = next + 1;
    }
  }

  std::string_view text_;
  const YamlRules& rules_;
  CharacterOffsets offsets_;
  std::vector<Open> open_;
  std::map<std::string, Node, std::less<>> anchors_;
  std::optional<Node> root_;
  std::optional<YamlFault> fault_;
  std::vector<Span> spans_;   // quoted, or in brackets
  std::vector<Span> blocks_;  // | and >
  std::size_t count_ = 0;
  bool done_ = false;
};

}  // namespace

std::expected<ConfigDocument, YamlFault> read_yaml_text(std::string_view text, const YamlRules& rules) {
  return YamlReader(text, rules).read();
}

std::expected<ConfigDocument, ConfigProblem> read_yaml(std::string_view text, const std::string& file) {
  if (auto sound = check_import_text(text, file); !sound) return std::unexpected(std::move(sound.error()));
  auto read = read_yaml_text(text, {});
  if (!read) {
    const auto& fault = read.error();
    return std::unexpected(import_fault(text, file, fault.offset, fmt::format("{}; {}", fault.reason, fix_the_file)));
  }
  return std::move(*read);
}

}  // namespace patchbay
