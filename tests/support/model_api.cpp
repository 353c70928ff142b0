#include "support/model_api.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "http/reasons.h"
#include "support/scripted_server.h"

namespace patchbay::test {
namespace {

std::string text_at(const Json& value, std::string_view key) {
  const auto text = value[key].text();
  return text ? std::string(*text) : std::string();
}

ModelApiRequest request_of(const ScriptConnection::Request& from) {
  ModelApiRequest request;
  const auto line = from.line();
  const auto words = split(line, ' ');
  request.method = words.empty() ? "" : std::string(words[0]);
  request.path = words.size() < 2 ? "" : std::string(words[1]);
  auto lines = split(from.head, '\n');
  for (std::size_t at = 1; at < lines.size(); ++at) {
    const auto colon = lines[at].find(':');
    if (colon == std::string_view::npos) continue;
    request.headers.emplace(to_lower_ascii(lines[at].substr(0, colon)), std::string(trim(lines[at].substr(colon + 1))));
  }
  request.body = from.body;
  return request;
}

bool fits(const ModelApiReply& reply, const ModelApiRequest& request) {
  return (reply.path.empty() || request.path.substr(0, request.path.find('?')) == reply.path) &&
         request.body.contains(reply.when);
}

ModelApiReply nothing_left() {
  ModelApiReply reply{.status = 400, .headers = {{"Content-Type", "application/json"}}};
  reply.chunks.push_back(to_text(
      Json{{"type", "error"},
           {"error",
            {{"type", "invalid_request_error"}, {"message", "the script of this API has no reply left that fits"}}}}));
  return reply;
}

void send(ScriptConnection& connection, const ModelApiReply& reply) {
  if (reply.status != 0) {
    std::string head = fmt::format("HTTP/1.1 {} {}\r\n", reply.status, reason_phrase(reply.status));
    for (const auto& [name, value] : reply.headers) head += fmt::format("{}: {}\r\n", name, value);
    const auto is_type = [](const auto& field) { return to_lower_ascii(field.first) == "content-type"; };
    if (std::ranges::none_of(reply.headers, is_type)) head += "Content-Type: text/event-stream\r\n";
    connection.write(head + "Transfer-Encoding: chunked\r\n\r\n");
    for (const auto& chunk : reply.chunks) {
      if (!chunk.empty()) connection.write(fmt::format("{:x}\r\n{}\r\n", chunk.size(), chunk));
    }
  }
  if (reply.hang) connection.wait_for_end();
  if (reply.cut || reply.hang || reply.status == 0) throw ScriptConnection::Ended{};
  connection.write("0\r\n\r\n");
}

}  // namespace

Json ModelApiRequest::json() const {
  auto value = parse_json(body);
  return value ? std::move(*value) : Json();
}

std::string ModelApiRequest::header(std::string_view name) const {
  const auto found = headers.find(to_lower_ascii(name));
  return found == headers.end() ? std::string() : found->second;
}

Json to_json(const ModelApiRequest& request) {
  Json headers = Json::object();
  for (const auto& [name, value] : request.headers) headers[name] = value;
  auto body = parse_json(request.body);
  return {{"method", request.method},
          {"path", request.path},
          {"headers", std::move(headers)},
          {"body", body ? std::move(*body) : Json(request.body)}};
}

Result<std::vector<ModelApiReply>> read_model_api_script(std::string_view text) {
  const auto script = parse_json(text);
  if (!script) return std::unexpected(script.error());
  if (!(*script)["replies"].is_array()) return fail(Errc::config, "a script is an object with \"replies\", an array");
  std::vector<ModelApiReply> replies;
  for (const auto& each : (*script)["replies"].items()) {
    ModelApiReply reply{.status = static_cast<int>(each["status"].to_int().value_or(200)),
                        .cut = each["cut"].to_bool().value_or(false),
                        .hang = each["hang"].to_bool().value_or(false),
                        .repeat = each["repeat"].to_bool().value_or(false),
                        .path = text_at(each, "path"),
                        .when = text_at(each, "when")};
    for (auto [name, value] : each["headers"].members()) {
      reply.headers[std::string(name)] = value.is_string() ? std::string(value.as_text()) : to_text(value);
    }
    const auto add = [&](const Json& chunk) {
      reply.chunks.push_back(chunk.is_string() ? std::string(chunk.as_text()) : to_text(chunk));
    };
    for (const auto& chunk : each["chunks"].items()) add(chunk);
    if (const auto* data = each.find("data")) add(*data);
    replies.push_back(std::move(reply));
  }
  return replies;
}

struct ModelApi::State {
  State(std::vector<ModelApiReply> script, Told whom, Answering answers)
      : replies(std::move(script)),
        told(std::move(whom)),
        answering(std::move(answers)),
        server([this](ScriptConnection& c) { serve(c); }) {}

  void serve(ScriptConnection& connection) {
    // Chunks go out as they are written, and not when the other side has thanked for the one before.
    const int now = 1;
    ::setsockopt(connection.fd(), IPPROTO_TCP, TCP_NODELAY, &now, sizeof now);
    for (;;) {
      const auto request = request_of(connection.read_request());
      const auto reply = next(request);
      if (told) told(request);
      send(connection, reply);
    }
  }

  ModelApiReply next(const ModelApiRequest& request) {
    if (answering) {
      {
        std::lock_guard lock(mutex);
        requests.push_back(request);
      }
      std::lock_guard lock(one_at_a_time);
      return answering(request);
    }
    std::lock_guard lock(mutex);
    requests.push_back(request);
    const auto found = std::ranges::find_if(replies, [&](const auto& reply) { return fits(reply, request); });
    if (found == replies.end()) return nothing_left();
    auto reply = *found;
    if (!reply.repeat) replies.erase(found);
    return reply;
  }

  mutable std::mutex mutex;
  std::vector<ModelApiReply> replies;
  std::vector<ModelApiRequest> requests;
  Told told;
  Answering answering;
  std::mutex one_at_a_time;
  ScriptedServer server;  // last: its threads use the others
};

ModelApi::ModelApi(std::vector<ModelApiReply> replies, Told told)
    : ModelApi(std::move(replies), std::move(told), Answering()) {}
ModelApi::ModelApi(std::vector<ModelApiReply> replies, Told told, Answering answering)
    : state_(std::make_unique<State>(std::move(replies), std::move(told), std::move(answering))) {}
ModelApi::~ModelApi() = default;

std::uint16_t ModelApi::port() const noexcept { return state_->server.port(); }
std::string ModelApi::url() const { return state_->server.url(""); }

std::vector<ModelApiRequest> ModelApi::requests() const {
  std::lock_guard lock(state_->mutex);
  return state_->requests;
}

std::size_t ModelApi::replies_left() const {
  std::lock_guard lock(state_->mutex);
  return state_->replies.size();
}

std::string sse_event(std::string_view name, const Json& data) {
  return name.empty() ? fmt::format("data: {}\n\n", to_text(data))
                      : fmt::format("event: {}\ndata: {}\n\n", name, to_text(data));
}

}  // namespace patchbay::test
