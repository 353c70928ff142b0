// YAML by libyaml, which stays in this file. Its events are turned into values here, without recursion,
// so that what an alias repeats is counted before it is copied. Plain words are read by the core schema
// of YAML 1.2: yes and no are texts.
#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <yaml.h>

#include "text/formats.h"

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

std::string_view text_of(const yaml_char_t* text) noexcept {
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) noexcept {
  return std::ranges::find(words, word) != words.end();
}

// Whether a plain word is a number as JSON writes them.
bool is_number(std::string_view word) noexcept {
  const auto digits = [&] {
    std::size_t count = 0;
    while (!word.empty() && word.front() >= '0' && word.front() <= '9') {
      word.remove_prefix(1);
      ++count;
    }
    return count;
  };
  if (word.starts_with('-')) word.remove_prefix(1);
  const bool zero = word.starts_with('0');
  const auto whole = digits();
  if (whole == 0 || (zero && whole > 1)) return false;
  if (word.starts_with('.')) {
    word.remove_prefix(1);
    if (digits() == 0) return false;
  }
  if (word.starts_with('e') || word.starts_with('E')) {
    word.remove_prefix(1);
    if (word.starts_with('+') || word.starts_with('-')) word.remove_prefix(1);
    if (digits() == 0) return false;
  }
  return word.empty();
}

Json plain_value(std::string_view word) {
  if (is_one_of(word, {"", "~", "null", "Null", "NULL"})) return nullptr;
  if (is_one_of(word, {"true", "True", "TRUE"})) return true;
  if (is_one_of(word, {"false", "False", "FALSE"})) return false;
  if (is_number(word)) return Json::number(std::string(word));
  return word;
}

struct Node {
  Json value;
  Place place;
  std::size_t count = 1;  // of values in it, with itself
  std::size_t depth = 1;
};

// A sequence or mapping whose end has not come yet.
struct Open {
  Node node;
  std::string anchor;
  std::optional<std::string> key;  // of a mapping: read, its value not yet
  std::size_t key_offset = 0;
};

class YamlReader {
 public:
  YamlReader(std::string_view text, const std::string& file) : text_(text), file_(file), offsets_(text) {}

  std::expected<ConfigDocument, ConfigProblem> read() {
    YamlParser parser(text_);
    if (!parser.ready()) return std::unexpected(import_fault(text_, file_, 0, "there is not enough memory to read it"));
    while (!done_) {
      YamlEvent event(parser.get());
      if (!event) return std::unexpected(syntax_fault(parser.get()));
      handle(event);
      if (fault_) return std::unexpected(std::move(*fault_));
    }
    if (!root_)
      return std::unexpected(import_fault(text_, file_, 0, fmt::format("the file is empty; {}", fix_the_file)));
    return ConfigDocument{std::move(root_->value), std::move(root_->place)};
  }

 private:
  ConfigProblem syntax_fault(const yaml_parser_t& parser) {
    const bool in_text = parser.error == YAML_READER_ERROR;
    auto at = in_text ? std::min<std::size_t>(parser.problem_offset, text_.size())
                      : offsets_.at_character(parser.problem_mark.index);
    std::string_view problem = parser.problem == nullptr ? "this is not YAML" : parser.problem;
    return import_fault(text_, file_, at, fmt::format("{}; {}", problem, fix_the_file));
  }

  void fault(std::size_t offset, std::string message) {
    if (!fault_) fault_ = import_fault(text_, file_, offset, fmt::format("{}; {}", message, fix_the_file));
  }

  void handle(const YamlEvent& event) {
    const auto at = offsets_.at_character(event->start_mark.index);
    switch (event->type) {
      case YAML_STREAM_END_EVENT:
        done_ = true;
        break;
      case YAML_DOCUMENT_START_EVENT:
        if (root_) fault(at, "a second document begins here; keep only one");
        break;
      case YAML_SCALAR_EVENT:
        scalar(event, at);
        break;
      case YAML_ALIAS_EVENT:
        alias(text_of(event->data.alias.anchor), at);
        break;
      case YAML_SEQUENCE_START_EVENT:
        begin(Json::array(), text_of(event->data.sequence_start.anchor), at);
        break;
      case YAML_MAPPING_START_EVENT:
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
    std::string_view word(reinterpret_cast<const char*>(data.value), data.length);
    if (wants_key()) return take_key(word, at);
    const auto tag = text_of(data.tag);
    const bool plain = data.plain_implicit != 0 ||
                       (data.style == YAML_PLAIN_SCALAR_STYLE && tag.starts_with("tag:") && tag != YAML_STR_TAG);
    Node node;
    node.value = plain ? plain_value(word) : Json(word);
    node.place = {at, at, offsets_.at_character(event->end_mark.index), {}};
    keep(text_of(data.anchor), node);
    put(std::move(node));
  }

  void alias(std::string_view name, std::size_t at) {
    if (wants_key()) return fault(at, "the key of a mapping must be a text, found an alias");
    auto known = anchors_.find(name);
    if (known == anchors_.end()) {
      return fault(at, fmt::format("*{} refers to nothing before it", name));
    }
    Node node = known->second;  // counted by put before anybody copies it again
    node.place.key = at;
    put(std::move(node), at);
  }

  void begin(Json empty, std::string_view anchor, std::size_t at) {
    if (wants_key()) return fault(at, "the key of a mapping must be a text");
    if (open_.size() >= import_depth_limit) return fault(at, "values are nested too deeply here");
    auto& open = open_.emplace_back();
    open.node.value = std::move(empty);
    open.node.place = {at, at, at, {}};
    open.anchor = anchor;
  }

  void end(std::size_t at) {
    Open open = std::move(open_.back());
    open_.pop_back();
    open.node.place.end = at;
    keep(open.anchor, open.node);
    put(std::move(open.node));
  }

  bool wants_key() const noexcept { return !open_.empty() && open_.back().node.value.is_object() && !open_.back().key; }

  void take_key(std::string_view word, std::size_t at) {
    auto& open = open_.back();
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
    if (count_ > import_value_limit) return fault(node.place.value, "there are too many values");
    anchors_[std::string(anchor)] = node;
  }

  // What an alias repeats was counted when it was read, and is counted again for every repetition.
  void put(Node node, std::optional<std::size_t> alias_at = std::nullopt) {
    count_ += alias_at ? node.count : 1;
    if (count_ > import_value_limit) {
      return fault(alias_at.value_or(node.place.value),
                   alias_at ? "repeating this would make too many values" : "there are too many values");
    }
    if (open_.empty()) {
      if (!root_) root_ = std::move(node);
      return;
    }
    auto& parent = open_.back();
    parent.node.count += node.count;
    parent.node.depth = std::max(parent.node.depth, node.depth + 1);
    if (node.depth + open_.size() > import_depth_limit) {
      return fault(alias_at.value_or(node.place.value), "values are nested too deeply here");
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

  std::string_view text_;
  const std::string& file_;
  CharacterOffsets offsets_;
  std::vector<Open> open_;
  std::map<std::string, Node, std::less<>> anchors_;
  std::optional<Node> root_;
  std::optional<ConfigProblem> fault_;
  std::size_t count_ = 0;
  bool done_ = false;
};

}  // namespace

std::expected<ConfigDocument, ConfigProblem> read_yaml(std::string_view text, const std::string& file) {
  if (auto sound = check_import_text(text, file); !sound) return std::unexpected(std::move(sound.error()));
  return YamlReader(text, file).read();
}

}  // namespace patchbay
