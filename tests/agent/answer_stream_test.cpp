// How the body of a model's answer is taken apart, however it arrives. Pure. G1.
#include "agent/models/answer_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Writes down what it is given; complete after "end", and refuses "no".
class Notes final : public AnswerReader {
 public:
  std::expected<void, ProviderFailure> take(std::string_view event, std::string_view data,
                                            const ModelEventSink&) override {
    if (data == "no") return std::unexpected(ProviderFailure{.status = 529});
    taken.push_back(event.empty() ? std::string(data) : std::string(event) + "=" + std::string(data));
    complete_ = data == "end";
    return {};
  }
  bool complete() const noexcept override { return complete_; }
  std::expected<ModelAnswer, ProviderFailure> finish() override { return ModelAnswer{}; }

  std::vector<std::string> taken;

 private:
  bool complete_ = false;
};

// What a reader is given of a body that arrives in pieces of so many bytes.
std::vector<std::string> taken(AnswerFraming framing, std::string_view body, std::size_t piece) {
  Notes notes;
  AnswerFrames frames(framing, notes, 1000);
  for (std::size_t at = 0; at < body.size(); at += piece) {
    const auto outcome = frames.feed(body.substr(at, piece), {});
    if (!outcome || !*outcome) return {"failed"};
  }
  if (!frames.end({})) return {"failed"};
  return notes.taken;
}

TEST(AnswerFrames, AreTheSameHoweverTheBodyArrives) {
  for (const std::size_t piece : {1, 2, 5, 1000}) {
    EXPECT_THAT(
        taken(AnswerFraming::events, ": hi\nevent: a\ndata: 1\n\ndata: 2\ndata: 3\n\nid: 7\n\ndata: cut", piece),
        ElementsAre("a=1", "2\n3"));
    EXPECT_THAT(taken(AnswerFraming::lines, "{\"a\":1}\r\n\n  \n{\"b\":2}\n{\"c\":3}", piece),
                ElementsAre("{\"a\":1}", "{\"b\":2}", "{\"c\":3}"));
    EXPECT_THAT(taken(AnswerFraming::whole, " {\"a\":\n1}\n", piece), ElementsAre("{\"a\":\n1}"));
    EXPECT_THAT(taken(AnswerFraming::events, "\n {\"error\":\n1}\n", piece), ElementsAre("{\"error\":\n1}"));
    for (const auto framing : {AnswerFraming::events, AnswerFraming::lines, AnswerFraming::whole}) {
      EXPECT_THAT(taken(framing, "", piece), IsEmpty());
      EXPECT_THAT(taken(framing, "\n\n", piece), IsEmpty());
    }
  }
}

TEST(AnswerFrames, NothingIsReadBehindTheEnd) {
  EXPECT_THAT(taken(AnswerFraming::events, "data: 1\n\ndata: end\n\ndata: 2\n\n", 1000), ElementsAre("1", "end"));
  EXPECT_THAT(taken(AnswerFraming::lines, "1\nend\n2\n3", 1000), ElementsAre("1", "end"));
}

TEST(AnswerFrames, PassOnWhatTheReaderRefuses) {
  for (const auto& [framing, body] : {std::pair(AnswerFraming::events, "data: 1\n\ndata: no\n\ndata: 2\n\n"),
                                      std::pair(AnswerFraming::lines, "1\nno\n2\n")}) {
    Notes notes;
    AnswerFrames frames(framing, notes, 1000);
    const auto outcome = frames.feed(body, {});
    ASSERT_TRUE(outcome);
    ASSERT_FALSE(*outcome);
    EXPECT_EQ(outcome->error().status, 529);
    EXPECT_THAT(notes.taken, ElementsAre("1"));
  }
}

TEST(AnswerFrames, CommentsAndEmptyLinesSayNothing) {
  const auto heard = [](AnswerFraming framing, std::string_view body) {
    Notes notes;
    AnswerFrames frames(framing, notes, 1000);
    EXPECT_TRUE(frames.feed(body, {}));
    return frames.heard();
  };
  EXPECT_EQ(heard(AnswerFraming::events, ": alive\n\n: alive\n\nid: 7\n\nevent: x\n\n: a"), 0u);
  EXPECT_EQ(heard(AnswerFraming::events, ": alive\n\ndata: 1\n\ndata: 2"), 1u);
  EXPECT_EQ(heard(AnswerFraming::lines, "\n \r\n\n"), 0u);
  EXPECT_EQ(heard(AnswerFraming::lines, "{}\n\n{}\n{"), 2u);
  EXPECT_EQ(heard(AnswerFraming::whole, "{\"a\": "), 6u);
}

TEST(AnswerFrames, AreBounded) {
  for (const auto framing : {AnswerFraming::events, AnswerFraming::lines, AnswerFraming::whole}) {
    Notes notes;
    AnswerFrames frames(framing, notes, 1000);
    // Small pieces that mean nothing count as well.
    Result<AnswerFrames::Outcome> outcome;
    int fed = 0;
    while (outcome && fed < 2000) outcome = frames.feed(++fed % 2 ? ":" : "\n", {});
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code(), Errc::limit);
    EXPECT_EQ(fed, 1001);
  }
}

}  // namespace
}  // namespace patchbay
