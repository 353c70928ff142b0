// What a server asks of the model, as the model is asked, and its answer as the server gets it. E1 G3
#include "agent/sampling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fails_with.h"

namespace patchbay {
namespace {

using testing::SizeIs;

SamplingMessage said(Role role, std::string text) {
  return {.role = role, .content = {TextContent{.text = std::move(text)}}};
}

ModelAnswer wrote(std::string text, ModelStop stop = ModelStop::end_turn) {
  ModelAnswer answer{.stop = stop, .model = "m-1"};
  answer.message.parts.emplace_back(ModelText{std::move(text)});
  return answer;
}

TEST(Sampling, TheModelGetsTheServersWordsAndNothingElse) {
  CreateMessageRequest request{.max_tokens = 50};
  request.system_prompt = "be brief";
  request.messages = {said(Role::user, "one"), said(Role::user, "two"), said(Role::assistant, "three"),
                      said(Role::user, "four")};
  const auto made = sampling_request(request, {.max_output = 1000});
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->system, "be brief");
  EXPECT_EQ(made->max_tokens, 50u);
  EXPECT_EQ(made->tools, nullptr);
  ASSERT_THAT(made->messages, SizeIs(3));
  EXPECT_EQ(text_of(*made->messages.at(0)), "one\ntwo");
  EXPECT_EQ(made->messages.at(1)->role, Role::assistant);
  EXPECT_EQ(text_of(*made->messages.at(2)), "four");
}

TEST(Sampling, NoMoreThanTheModelCanAnswerIsAskedFor) {
  CreateMessageRequest request{.messages = {said(Role::user, "x")}, .max_tokens = 1'000'000};
  EXPECT_EQ(sampling_request(request, {.max_output = 100})->max_tokens, 100u);
}

TEST(Sampling, WhatNoModelCouldAnswerIsRefused) {
  const ModelInfo model;
  const auto code = [&](CreateMessageRequest request) { return sampling_request(request, model).error().code(); };
  EXPECT_EQ(code({.max_tokens = 10}), Errc::invalid_argument);
  EXPECT_EQ(code({.messages = {said(Role::user, "x")}, .max_tokens = 0}), Errc::invalid_argument);
  EXPECT_EQ(code({.messages = {said(Role::assistant, "x")}, .max_tokens = 10}), Errc::invalid_argument);
  EXPECT_EQ(code({.messages = {said(Role::user, "x"), said(Role::assistant, "y")}, .max_tokens = 10}),
            Errc::invalid_argument);
  EXPECT_EQ(code({.messages = {{.role = Role::user, .content = {ImageContent{.data = "AA=="}}}}, .max_tokens = 10}),
            Errc::unsupported);
}

TEST(Sampling, TheAnswerSaysWhyItEnds) {
  const auto text = [](const CreateMessageResult& result) { return std::get<TextContent>(result.content.at(0)).text; };
  const auto whole = sampling_answer(wrote("a b c"), {});
  EXPECT_EQ(text(*whole), "a b c");
  EXPECT_EQ(whole->model, "m-1");
  EXPECT_EQ(whole->stop_reason, "endTurn");
  const auto cut = sampling_answer(wrote("a b c"), {"c", " b", ""});
  EXPECT_EQ(text(*cut), "a");
  EXPECT_EQ(cut->stop_reason, "stopSequence");
  EXPECT_EQ(sampling_answer(wrote("a", ModelStop::max_tokens), {})->stop_reason, "maxTokens");
  EXPECT_EQ(sampling_answer(wrote("", ModelStop::refusal), {}).error().code(), Errc::denied);
}

}  // namespace
}  // namespace patchbay
