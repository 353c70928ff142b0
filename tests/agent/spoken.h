// What each provider says and how, for tests over real HTTP: a model that is chosen as a program chooses it, and the
// answers, failures and broken streams of an API in its own words.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "agent/models/make_model.h"
#include "base/strings.h"
#include "support/anthropic_replies.h"
#include "support/model_api.h"
#include "support/openai_replies.h"

namespace patchbay::test {

enum class Spoken { anthropic, responses, chat, gemini, ollama };

inline void PrintTo(Spoken spoken, std::ostream* out) {
  constexpr const char* names[] = {"Anthropic", "Responses", "Chat", "Gemini", "Ollama"};
  *out << names[static_cast<int>(spoken)];
}

inline auto every_provider() {
  return testing::Values(Spoken::anthropic, Spoken::responses, Spoken::chat, Spoken::gemini, Spoken::ollama);
}

// By variables alone; its usual model where no words say which.
inline std::shared_ptr<Model> model_of(Spoken spoken, const std::string& url, std::string model = {},
                                       MakeModelOptions options = {}) {
  constexpr const char* words[] = {"anthropic:claude-sonnet-5", "openai:gpt-5.6", "openai-chat:gpt-5.5",
                                   "gemini:gemini-3.5-flash", "ollama:qwen3"};
  const auto variables = [url](std::string_view name) -> std::optional<std::string> {
    if (name == "ANTHROPIC_BASE_URL" || name == "GOOGLE_GEMINI_BASE_URL" || name == "OLLAMA_HOST") return url;
    if (name == "OPENAI_BASE_URL") return url + "/v1";
    if (name.ends_with("_API_KEY")) return "sk-test-1234";
    if (name == "ENABLE_TOOL_SEARCH") return "true";  // what answers here knows of tools that are held back
    return std::nullopt;
  };
  if (model.empty()) model = words[static_cast<int>(spoken)];
  auto choice = choose_model({.words = std::move(model), .variables = variables});
  if (!choice) throw choice.error().error;
  options.http.environment = [](std::string_view) { return std::optional<std::string>(); };
  return make_model(*choice, std::move(options));
}

// Who is asked by it.
inline std::optional<Spoken> spoken_by(const ModelApiRequest& request) {
  const std::string_view path = request.path;
  if (path.ends_with("/v1/messages")) return Spoken::anthropic;
  if (path.ends_with("/responses")) return Spoken::responses;
  if (path.ends_with("/chat/completions")) return Spoken::chat;
  if (path.contains(":streamGenerateContent")) return Spoken::gemini;
  if (path.ends_with("/api/chat")) return Spoken::ollama;
  return std::nullopt;
}

// An answer, as far as every provider can say it.
struct Said {
  std::string text = {};                // streamed in two pieces
  std::vector<ModelToolUse> uses = {};  // `broken` instead of `input` where it is set
  // Of something that goes back to the provider as it came: a block of a kind that nobody knows, or a thought where
  // there are no blocks.
  std::string own = {};
  bool refuses = false;  // Ollama has no word for it
};

// Of a stream: each an event, or a line.
inline std::vector<std::string> frames_of(Spoken spoken, const Said& said) {
  const auto insert_before_end = [](std::vector<std::string>& frames, std::vector<std::string> more) {
    frames.insert(frames.end() - 2, more.begin(), more.end());
  };
  const auto first = cut_utf8(said.text, said.text.size() / 2);
  const auto second = std::string_view(said.text).substr(first.size());
  switch (spoken) {
    case Spoken::anthropic: {
      auto frames = anthropic_events({.text = said.text, .uses = said.uses, .stop = said.refuses ? "refusal" : ""});
      if (!said.own.empty()) {
        insert_before_end(frames,
                          {sse_event("", Json{{"type", "content_block_start"},
                                              {"index", 900},
                                              {"content_block", Json{{"type", "novel"}, {"data", said.own}}}})});
      }
      return frames;
    }
    case Spoken::responses: {
      auto frames =
          openai_responses_events({.text = said.text, .uses = said.uses, .stop = said.refuses ? "content_filter" : ""});
      if (!said.own.empty()) {
        frames.insert(frames.end() - 1, sse_event("", Json{{"type", "response.output_item.done"},
                                                           {"output_index", 900},
                                                           {"item", Json{{"type", "novel"}, {"data", said.own}}}}));
      }
      return frames;
    }
    case Spoken::chat:
      return openai_chat_events(
          {.thinking = said.own, .text = said.text, .uses = said.uses, .stop = said.refuses ? "content_filter" : ""});
    case Spoken::gemini: {
      std::vector<std::string> frames;
      const auto add = [&](Json parts, std::string_view finish = {}) {
        Json candidate{{"content", Json{{"role", "model"}, {"parts", std::move(parts)}}}};
        Json chunk = Json::object();
        if (!finish.empty()) {
          candidate["finishReason"] = finish;
          chunk["usageMetadata"] = Json{{"promptTokenCount", 10}, {"candidatesTokenCount", 5}};
        }
        chunk["candidates"] = Json::array({std::move(candidate)});
        frames.push_back(sse_event("", chunk));
      };
      for (const auto piece : {first, second}) {
        if (!piece.empty()) add(Json::array({Json{{"text", piece}}}));
      }
      if (!said.own.empty()) add(Json::array({Json{{"novel", Json{{"data", said.own}}}}}));
      Json calls = Json::array();
      for (const auto& use : said.uses) {
        Json call{{"name", use.name}, {"args", use.broken.empty() ? use.input : Json(use.broken)}};
        if (!use.id.empty()) call["id"] = use.id;
        calls.push_back(Json{{"functionCall", std::move(call)}});
      }
      add(std::move(calls), said.refuses ? "SAFETY" : "STOP");
      return frames;
    }
    case Spoken::ollama: {
      std::vector<std::string> frames;
      const auto add = [&](Json message, bool done = false) {
        message["role"] = "assistant";
        Json line{{"model", "qwen3"}, {"message", std::move(message)}, {"done", done}};
        if (done) {
          line["done_reason"] = "stop";
          line["prompt_eval_count"] = 10;
          line["eval_count"] = 5;
        }
        frames.push_back(to_text(line) + "\n");
      };
      if (!said.own.empty()) add(Json{{"content", ""}, {"thinking", said.own}});
      for (const auto piece : {first, second}) {
        if (!piece.empty()) add(Json{{"content", piece}});
      }
      Json calls = Json::array();
      for (const auto& use : said.uses) {
        Json call{
            {"function", Json{{"name", use.name}, {"arguments", use.broken.empty() ? use.input : Json(use.broken)}}}};
        if (!use.id.empty()) call["id"] = use.id;
        calls.push_back(std::move(call));
      }
      if (calls.size() > 0) add(Json{{"content", ""}, {"tool_calls", std::move(calls)}});
      add(Json{{"content", ""}}, true);
      return frames;
    }
  }
  return {};
}

// In pieces that end where no event does.
inline ModelApiReply streamed(Spoken spoken, const std::vector<std::string>& frames) {
  ModelApiReply reply;
  if (spoken == Spoken::ollama) reply.headers = {{"Content-Type", "application/x-ndjson"}};
  std::string carried;
  for (const auto& frame : frames) {
    const auto text = carried + frame;
    const auto half = text.size() / 2;
    reply.chunks.push_back(text.substr(0, half));
    carried = text.substr(half);
  }
  reply.chunks.push_back(std::move(carried));
  return reply;
}

inline ModelApiReply reply_of(Spoken spoken, const Said& said) { return streamed(spoken, frames_of(spoken, said)); }

// Up to and with the one that has the text.
inline std::vector<std::string> frames_up_to(std::vector<std::string> frames, std::string_view text) {
  const auto found = std::ranges::find_if(frames, [&](const std::string& one) { return one.contains(text); });
  EXPECT_NE(found, frames.end()) << text;
  if (found != frames.end()) frames.erase(found + 1, frames.end());
  return frames;
}

inline std::string_view error_word(Spoken spoken, int status) {
  const bool denied = status == 403, bad = status == 400, many = status == 429;
  switch (spoken) {
    case Spoken::anthropic:
      return denied ? "permission_error"
             : bad  ? "invalid_request_error"
             : many ? "rate_limit_error"
                    : "overloaded_error";
    case Spoken::responses:
    case Spoken::chat:
      return denied ? "permission_error"
             : bad  ? "invalid_request_error"
             : many ? "rate_limit_exceeded"
                    : "server_error";
    case Spoken::gemini:
      return denied ? "PERMISSION_DENIED" : bad ? "INVALID_ARGUMENT" : many ? "RESOURCE_EXHAUSTED" : "UNAVAILABLE";
    case Spoken::ollama:
      break;
  }
  return {};
}

inline Json error_body(Spoken spoken, int status, std::string_view message) {
  const auto word = error_word(spoken, status);
  switch (spoken) {
    case Spoken::anthropic:
      return Json{{"type", "error"}, {"error", Json{{"type", word}, {"message", message}}}};
    case Spoken::responses:
    case Spoken::chat:
      return Json{{"error", Json{{"message", message}, {"type", word}, {"param", nullptr}, {"code", word}}}};
    case Spoken::gemini:
      return Json{{"error", Json{{"code", status}, {"message", message}, {"status", word}}}};
    case Spoken::ollama:
      return Json{{"error", message}, {"StatusCode", status}};
  }
  return {};
}

// Instead of an answer.
inline ModelApiReply failure_of(Spoken spoken, int status, std::string_view message,
                                std::map<std::string, std::string> headers = {}) {
  headers.emplace("Content-Type", "application/json");
  return {.status = status, .headers = std::move(headers), .chunks = {to_text(error_body(spoken, status, message))}};
}

// Inside of a stream.
inline std::string error_frame(Spoken spoken, int status, std::string_view message) {
  auto body = error_body(spoken, status, message);
  switch (spoken) {
    case Spoken::anthropic:
      return sse_event("error", body);
    case Spoken::responses:
      body["type"] = "error";
      return sse_event("error", body);
    case Spoken::chat:
    case Spoken::gemini:
      return sse_event("", body);
    case Spoken::ollama:
      break;
  }
  return to_text(body) + "\n";
}

}  // namespace patchbay::test
