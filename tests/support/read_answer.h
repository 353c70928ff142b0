// What comes of a provider's reader when it is given some pieces: what it told, and the answer or failure.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "agent/models/provider.h"

namespace patchbay::test {

struct AnswerPiece {
  AnswerPiece(std::string data) : data(std::move(data)) {}
  AnswerPiece(const char* data) : data(data) {}
  AnswerPiece(std::string event, std::string data) : event(std::move(event)), data(std::move(data)) {}
  std::string event;
  std::string data;
};

struct AnswerRead {
  std::vector<std::string> told;  // "text …", "thought …", "begun ID NAME"
  bool complete = false;          // before finish()
  std::expected<ModelAnswer, ProviderFailure> answer;
};

inline AnswerRead read_answer(AnswerReader& reader, const std::vector<AnswerPiece>& pieces) {
  AnswerRead read;
  const auto tell = [&](const ModelEvent& event) {
    if (const auto* text = std::get_if<ModelTextDelta>(&event)) read.told.push_back("text " + text->text);
    if (const auto* thought = std::get_if<ModelThinkingDelta>(&event)) read.told.push_back("thought " + thought->text);
    if (const auto* begun = std::get_if<ModelToolBegun>(&event)) {
      read.told.push_back("begun " + begun->id + " " + begun->name);
    }
  };
  for (const auto& piece : pieces) {
    if (auto taken = reader.take(piece.event, piece.data, tell); !taken) {
      read.answer = std::unexpected(std::move(taken).error());
      return read;
    }
  }
  read.complete = reader.complete();
  read.answer = reader.finish();
  return read;
}

}  // namespace patchbay::test
