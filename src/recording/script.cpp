#include "recording/script.h"

#include <algorithm>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "base/strings.h"
#include "protocol/methods.h"
#include "recording/redact.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

using Kind = RecordedFrame::Kind;
using End = RecordedExchange::End;

constexpr std::size_t most_named = 6;
constexpr std::size_t longest_named = 120;

std::optional<Message> message_of(const RecordedFrame& frame) {
  auto block = std::make_shared<const std::string>(frame.text);
  auto decoded = decode_messages(block, *block, {}, 1);
  if (!decoded || decoded->messages.size() != 1) return std::nullopt;
  return std::move(decoded->messages.front());
}

std::optional<Json> progress_token_of(const Payload& params) {
  if (!params) return std::nullopt;
  const auto parsed = parse_json(params.text());
  const Json* token = parsed ? std::as_const(*parsed)["_meta"].find("progressToken") : nullptr;
  return token ? std::optional(*token) : std::nullopt;
}

// What of a channel is open, and what happened on it last.
struct Line {
  std::map<std::string, std::size_t> open;  // exchanges by id
  std::optional<std::size_t> last;
  bool behind = false;  // the answer of `last`
};

class ScriptMaker {
 public:
  explicit ScriptMaker(const Recording& recording) {
    script_.header = recording.header;
    script_.warnings = recording.warnings;
    for (const auto& frame : recording.frames) take(frame);
  }
  Script done() { return std::move(script_); }

 private:
  void take(const RecordedFrame& frame) {
    auto& line = lines_[frame.channel];
    switch (frame.kind) {
      case Kind::opened:
        line = {};
        return;
      case Kind::gap:
        warn(fmt::format("{} are missing: the recorder had no room for them", plural(frame.size, "frame")));
        return;
      case Kind::lost:
        lost(line, frame.text);
        return;
      case Kind::ended:
        ended(line, frame.text);
        return;
      case Kind::closed:
        line = {};
        return;
      case Kind::sent:
      case Kind::received:
        break;
    }
    auto message = message_of(frame);
    if (!message) return;
    if (frame.kind == Kind::sent) {
      if (auto* request = std::get_if<Request>(&*message)) sent(line, std::move(*request), frame);
    } else if (auto* request = std::get_if<Request>(&*message)) {
      if (frame.cut) return left_out(frame, request->method);
      said(line, std::move(*message), std::nullopt);
    } else if (auto* notification = std::get_if<Notification>(&*message)) {
      if (frame.cut) return left_out(frame, notification->method);
      std::optional<Json> token;
      if (notification->method == method::progress && notification->params) {
        if (const auto params = parse_json(notification->params.text())) {
          if (const Json* found = params->find("progressToken")) token = *found;
        }
      }
      said(line, std::move(*message), token);
    } else {
      answered(line, std::move(*message), frame);
    }
  }

  void sent(Line& line, Request request, const RecordedFrame& frame) {
    RecordedExchange exchange;
    exchange.method = request.method;
    exchange.id = request.id;
    if (!frame.cut) exchange.params = params_to_match(request.params);
    exchange.progress_token = progress_token_of(request.params);
    line.open[to_text(request.id)] = script_.exchanges.size();
    line.last = script_.exchanges.size();
    line.behind = false;
    script_.exchanges.push_back(std::move(exchange));
  }

  void answered(Line& line, Message message, const RecordedFrame& frame) {
    const auto id = answered_id(message);
    // Where only one waits, an error without an id is meant for it.
    const auto found = id ? line.open.find(to_text(*id)) : line.open.size() == 1 ? line.open.begin() : line.open.end();
    if (found == line.open.end()) {
      warn(fmt::format("the answer to request {} is left out: the request is not in the recording",
                       id ? cut_utf8(to_text(*id), longest_named) : std::string_view("without an id")));
      return;
    }
    auto& exchange = script_.exchanges[found->second];
    exchange.end = frame.cut ? End::cut : End::answered;
    exchange.bytes = frame.size;
    exchange.answer = std::move(message);
    line.last = found->second;
    line.behind = true;
    line.open.erase(found);
  }

  // Something the server says by itself belongs to the request whose token it has, else to what happened last.
  void said(Line& line, Message message, const std::optional<Json>& token) {
    if (token) {
      for (const auto& [id, index] : line.open) {
        auto& exchange = script_.exchanges[index];
        if (exchange.progress_token == token) return exchange.during.push_back(std::move(message));
      }
    }
    if (!line.last) return script_.opening.push_back(std::move(message));
    auto& exchange = script_.exchanges[*line.last];
    (line.behind ? exchange.after : exchange.during).push_back(std::move(message));
  }

  void lost(Line& line, const std::string& text) {
    const auto what = parse_json(text);
    if (!what) return;
    const auto found = line.open.find(to_text(std::as_const(*what)["id"]));
    if (found == line.open.end()) return;
    auto& exchange = script_.exchanges[found->second];
    exchange.end = End::lost;
    if (const auto reason = std::as_const(*what)["reason"].text()) exchange.why = *reason;
    line.open.erase(found);
  }

  void ended(Line& line, const std::string& why) {
    for (const auto& [id, index] : line.open) {
      script_.exchanges[index].end = End::ended;
      script_.exchanges[index].why = why;
    }
    if (line.open.empty() && line.last) script_.exchanges[*line.last].server_ends_then = true;
    line = {};
  }

  void left_out(const RecordedFrame& frame, std::string_view method) {
    warn(fmt::format("a {} of {} bytes is left out: the recorder had no room for it",
                     cut_utf8(clean_line(method), longest_named), frame.size));
  }
  void warn(std::string text) {
    if (script_.warnings.size() < 2 * most_recording_warnings) script_.warnings.push_back(std::move(text));
  }

  Script script_;
  std::map<std::uint32_t, Line> lines_;
};

// `recorded` may have marks where secrets were, which stand for any text.
bool text_matches(std::string_view recorded, std::string_view given) {
  auto mark = recorded.find(redaction_mark);
  if (mark == recorded.npos) return recorded == given;
  if (!given.starts_with(recorded.substr(0, mark))) return false;
  given.remove_prefix(mark);
  recorded.remove_prefix(mark + redaction_mark.size());
  for (mark = recorded.find(redaction_mark); mark != recorded.npos; mark = recorded.find(redaction_mark)) {
    const auto part = recorded.substr(0, mark);
    const auto found = given.find(part);
    if (found == given.npos) return false;
    given.remove_prefix(found + part.size());
    recorded.remove_prefix(mark + redaction_mark.size());
  }
  return given.ends_with(recorded);
}

bool matches(const Json& recorded, const Json& given) {
  if (const auto text = recorded.text()) {
    const auto other = given.text();
    return other && text_matches(*text, *other);
  }
  if (recorded.is_array()) {
    return given.is_array() && recorded.size() == given.size() &&
           std::ranges::equal(recorded.items(), given.items(), matches);
  }
  if (recorded.is_object()) {
    if (!given.is_object() || recorded.size() != given.size()) return false;
    return std::ranges::all_of(recorded.members(), [&](const auto& member) {
      const Json* other = given.find(member.name);
      return other && matches(member.value, *other);
    });
  }
  return recorded == given;
}

// What a client says of itself there is its own.
bool is_same_for_everybody(std::string_view method) {
  return method == method::initialize || method == method::discover || method == method::ping;
}

}  // namespace

Json params_to_match(const Payload& params) {
  if (!params) return Json::object();
  auto parsed = parse_json(params.text());
  if (!parsed) return Json::object();
  auto value = std::move(*parsed);
  value.erase("_meta");
  // As what was recorded went through it.
  return without_secrets(std::move(value));
}

bool params_match(const Json& recorded, const Json& given) { return matches(recorded, given); }

Script script_of(const Recording& recording) { return ScriptMaker(recording).done(); }

std::optional<std::size_t> Matcher::match(std::string_view method, const Json& params) {
  std::optional<std::size_t> unused_before, used, unknown;
  const auto& all = script_->exchanges;
  const bool same = is_same_for_everybody(method);
  const auto take = [&](std::size_t index) {
    used_[index] = true;
    next_ = index + 1;
    return index;
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].method != method) continue;
    if (!all[i].params && !same) {
      if (!unknown || (used_[*unknown] && !used_[i])) unknown = i;
      continue;
    }
    if (!same && !params_match(*all[i].params, params)) continue;
    if (used_[i]) {
      used = i;
    } else if (i >= next_) {
      return take(i);
    } else if (!unused_before) {
      unused_before = i;
    }
  }
  if (unused_before) return take(*unused_before);
  // Params that were too large to keep may be these.
  if (!used && unknown) return take(*unknown);
  return used;
}

RpcError Matcher::no_match(std::string_view method) const {
  const std::string shown(cut_utf8(clean_line(method), longest_named));
  std::vector<std::pair<std::string, std::size_t>> recorded;
  std::size_t of_method = 0;
  for (const auto& exchange : script_->exchanges) of_method += exchange.method == method ? 1 : 0;
  for (const auto& exchange : script_->exchanges) {
    if (of_method > 0 && exchange.method != method) continue;
    auto text = exchange.method;
    if (of_method > 0) text += " " + (exchange.params ? to_text(*exchange.params) : std::string("(too large to keep)"));
    text = cut_utf8(clean_line(text), longest_named);
    const auto known = std::ranges::find(recorded, text, &std::pair<std::string, std::size_t>::first);
    if (known == recorded.end()) {
      recorded.emplace_back(std::move(text), 1);
    } else {
      ++known->second;
    }
  }
  std::string list;
  for (std::size_t i = 0; i < recorded.size() && i < most_named; ++i) {
    list += fmt::format("{}{}", i == 0 ? "" : "; ", recorded[i].first);
    if (recorded[i].second > 1) list += fmt::format(" ({} times)", recorded[i].second);
  }
  if (recorded.size() > most_named) list += fmt::format("; and {} more", recorded.size() - most_named);
  if (list.empty()) list = "no request at all";
  const std::string server(cut_utf8(clean_line(script_->header.server), longest_named));
  RpcError error;
  error.code = of_method == 0 ? rpc_code::method_not_found : rpc_code::invalid_params;
  error.message = of_method == 0
                      ? fmt::format("this is a recording of \"{}\", which has no {}; it has: {}", server, shown, list)
                      : fmt::format(
                            "this is a recording of \"{}\", which has no {} with these params; it "
                            "has: {}",
                            server, shown, list);
  return error;
}

void Matcher::begin_again() {
  used_.assign(used_.size(), false);
  next_ = 0;
}

}  // namespace patchbay
