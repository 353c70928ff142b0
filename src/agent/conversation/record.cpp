#include "agent/conversation/record.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <patchbay/json.h>

#include "agent/conversation/message_json.h"
#include "agent/conversation/usage_sum.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

// What a model wrote may be as deep as a message may be, and is a few levels down in a record.
constexpr JsonOptions options{.max_depth = 160};
constexpr std::int64_t latest_second = 253'402'300'799;  // the end of the year 9999
constexpr std::size_t id_length = 10;
constexpr std::string_view id_letters = "abcdefghijkmnopqrstuvwxyz2345679";  // 32, none like another
static_assert(id_letters.size() == 32);
constexpr std::size_t longest_words = 200;

std::unexpected<Error> broken(std::string why) { return fail(Errc::config, std::move(why)); }

std::chrono::sys_seconds read_time(const Json& json) {
  const auto seconds = json.to_int().value_or(0);
  return std::chrono::sys_seconds(std::chrono::seconds(std::clamp(seconds, std::int64_t{0}, latest_second)));
}

Json written(const MessageAdded& record) {
  Json json{{"message", to_json(*record.message)}};
  if (record.usage != ModelUsage()) json["usage"] = to_json(record.usage);
  if (!record.handles.empty()) {
    auto handles = Json::object();
    for (const auto& [id, handle] : record.handles) handles[id] = handle;
    json["handles"] = std::move(handles);
  }
  return json;
}
Json written(const UsageAdded& record) { return Json{{"usage", to_json(record.usage)}}; }
Json written(const MessagesReplaced& record) {
  auto all = Json::array();
  for (const auto& message : record.messages) all.push_back(to_json(*message));
  return Json{{"replaced", std::move(all)}};
}
Json written(const CallsDeferred& record) {
  auto ids = Json::array();
  for (const auto& id : record.ids) ids.push_back(id);
  return Json{{"deferred", std::move(ids)}};
}
Json written(const SubConversation& record) {
  return Json{{"subAgent", Json{{"id", record.id}, {"agent", record.agent}, {"definition", record.definition}}}};
}
Json written(const ConversationOpened& record) {
  return Json{{"opened", Json{{"time", record.time.time_since_epoch().count()}, {"pid", record.pid}}}};
}

Result<std::shared_ptr<const ModelMessage>> read_shared(const Json& json) {
  auto message = read_message(json);
  if (!message) return std::unexpected(std::move(message).error());
  return std::make_shared<const ModelMessage>(std::move(*message));
}

bool is_outcome(const ModelPart& part) { return std::holds_alternative<ModelToolOutcome>(part); }

// Whether the person says something in it; a program tells of outcomes and of what is new.
bool is_said(const ModelMessage& message) {
  return message.role == Role::user && std::ranges::any_of(message.parts, [](const ModelPart& part) {
           return std::holds_alternative<ModelText>(part) || std::holds_alternative<ModelImage>(part);
         });
}

void applied(ConversationState& state, const MessageAdded& record) {
  const auto& message = *record.message;
  add(state.usage, record.usage);
  if (message.role == Role::assistant || !std::ranges::all_of(message.parts, is_outcome)) {
    state.deferred.clear();
  } else {
    for (const auto& part : message.parts) std::erase(state.deferred, std::get<ModelToolOutcome>(part).id);
  }
  if (is_said(message)) {
    ++state.turns;
    if (state.words.empty()) state.words = clean_excerpt(text_of(message), longest_words);
  }
  add_message(state.messages, record.message);
  for (const auto& [id, handle] : record.handles) state.handles.insert_or_assign(id, handle);
}
void applied(ConversationState& state, const UsageAdded& record) { add(state.usage, record.usage); }
void applied(ConversationState& state, const MessagesReplaced& record) {
  state.messages = repaired(record.messages);
  state.deferred.clear();
}
void applied(ConversationState& state, const CallsDeferred& record) { state.deferred = record.ids; }
void applied(ConversationState& state, const SubConversation& record) {
  // One whose conversation was not found began another under its name.
  std::erase_if(state.subs, [&](const SubConversation& one) { return one.agent == record.agent; });
  state.subs.push_back(record);
}
void applied(ConversationState&, const ConversationOpened&) {}

}  // namespace

std::string write_head(const ConversationHead& head) {
  return to_text(Json{{"patchbayConversation", conversation_version},
                      {"id", head.id},
                      {"directory", head.directory},
                      {"model", head.model},
                      {"begun", head.begun.time_since_epoch().count()},
                      {"pid", head.pid}}) +
         "\n";
}

std::string write_record(const ConversationRecord& record) {
  return to_text(std::visit([](const auto& r) { return written(r); }, record)) + "\n";
}

Result<ConversationHead> read_head(std::string_view line) {
  const auto json = parse_json(line, options);
  const auto version = json ? (*json)["patchbayConversation"].to_int() : std::nullopt;
  if (!version) return broken("it is no conversation");
  if (*version > conversation_version) return broken("a newer version has written it");
  const auto id = (*json)["id"].text();
  const auto directory = (*json)["directory"].text();
  if (!id || !is_conversation_id(*id) || !directory) return broken("its first line is not that of a conversation");
  return ConversationHead{.id = std::string(*id),
                          .directory = std::string(*directory),
                          .model = std::string((*json)["model"].text().value_or("")),
                          .begun = read_time((*json)["begun"]),
                          .pid = (*json)["pid"].to_int().value_or(0)};
}

Result<ConversationRecord> read_record(std::string_view line) {
  const auto json = parse_json(line, options);
  if (!json) return broken("it is not JSON");
  const auto* usage = json->find("usage");
  auto counted = usage ? read_usage(*usage) : Result<ModelUsage>(ModelUsage());
  if (!counted) return std::unexpected(std::move(counted).error());
  if (const auto* message = json->find("message")) {
    auto read = read_shared(*message);
    if (!read) return std::unexpected(std::move(read).error());
    MessageAdded record{std::move(*read), std::move(*counted), {}};
    for (const auto& [id, handle] : (*json)["handles"].members()) {
      if (const auto text = handle.text()) record.handles.insert_or_assign(std::string(id), std::string(*text));
    }
    return record;
  }
  if (const auto* replaced = json->find("replaced"); replaced && replaced->is_array()) {
    MessagesReplaced record;
    for (const auto& message : replaced->items()) {
      auto read = read_shared(message);
      if (!read) return std::unexpected(std::move(read).error());
      record.messages.push_back(std::move(*read));
    }
    return record;
  }
  if (const auto* deferred = json->find("deferred"); deferred && deferred->is_array()) {
    CallsDeferred record;
    for (const auto& id : deferred->items()) record.ids.emplace_back(id.text().value_or(""));
    return record;
  }
  if (const auto* sub = json->find("subAgent")) {
    const auto text = [&](std::string_view name) { return std::string((*sub)[name].text().value_or("")); };
    SubConversation record{.id = text("id"), .agent = text("agent"), .definition = text("definition")};
    // The id is the name of a file.
    if (!is_conversation_id(record.id)) return broken("a sub-agent without a conversation");
    return record;
  }
  if (const auto* opened = json->find("opened")) {
    return ConversationOpened{read_time((*opened)["time"]), (*opened)["pid"].to_int().value_or(0)};
  }
  if (usage) return UsageAdded{std::move(*counted)};
  return broken("an event that this version does not know: a newer one has written it");
}

void ConversationState::apply(const ConversationRecord& record) {
  std::visit([this](const auto& r) { applied(*this, r); }, record);
}

bool is_conversation_id(std::string_view text) noexcept {
  return text.size() == id_length && std::ranges::all_of(text, [](char c) { return id_letters.contains(c); });
}

std::string conversation_id(std::uint64_t random) {
  std::string id(id_length, ' ');
  for (auto& c : id) {
    c = id_letters[random % id_letters.size()];
    random /= id_letters.size();
  }
  return id;
}

namespace {

enum class Reading : std::uint8_t { whole, start };

Result<ReadConversation> read(std::string_view text, std::size_t most_records, Reading reading) {
  auto end = text.find('\n');
  if (end == std::string_view::npos) return broken("it is no conversation");
  auto head = read_head(text.substr(0, end));
  if (!head) return std::unexpected(std::move(head).error());
  ReadConversation out{.head = std::move(*head)};
  out.pid = out.head.pid;
  out.whole = end + 1;
  for (std::size_t line = 2; (end = text.find('\n', out.whole)) != std::string_view::npos; ++line) {
    auto record = read_record(text.substr(out.whole, end - out.whole));
    if (!record) {
      // Of a last line the disk may have kept the end and not the middle.
      if (reading == Reading::start || (end + 1 == text.size() && !parse_json(text.substr(out.whole, end - out.whole))))
        break;
      return broken(fmt::format("line {}: {}", line, record.error().message()));
    }
    if (++out.records > most_records) return broken(fmt::format("it has more than {} events", most_records));
    if (const auto* opened = std::get_if<ConversationOpened>(&*record)) out.pid = opened->pid;
    out.state.apply(*record);
    out.whole = end + 1;
  }
  return out;
}

}  // namespace

Result<ReadConversation> read_conversation(std::string_view text, std::size_t most_records) {
  return read(text, most_records, Reading::whole);
}

Result<ReadConversation> read_conversation_start(std::string_view text) { return read(text, 10'000, Reading::start); }

}  // namespace patchbay
