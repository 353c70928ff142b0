// What APIs refuse a request for is left out of it, and no more. G1.
#include "agent/fit_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

ModelImage image(std::uint32_t width, std::uint32_t height, std::size_t bytes = 100) {
  return {.data = std::string(bytes, 'A'), .mime_type = "image/png", .width = width, .height = height};
}

std::shared_ptr<const ModelMessage> said(std::vector<ModelPart> parts) {
  return std::make_shared<const ModelMessage>(ModelMessage{.role = Role::user, .parts = std::move(parts)});
}

std::shared_ptr<const ModelMessage> answered(std::vector<ModelBlock> blocks) {
  return said({ModelToolOutcome{.id = "1", .name = "t", .blocks = std::move(blocks)}});
}

TEST(FitRequest, ImagesAreHeldAgainstTheirBounds) {
  struct Case {
    std::vector<ModelImage> images;
    bool takes_images;
    std::size_t stay;
    std::string says;
  };
  const std::vector<Case> cases{
      {{image(8000, 8000)}, true, 1, ""},
      {{image(8001, 10), image(10, 10)}, true, 1, "1 image left out"},
      {std::vector<ModelImage>(20, image(3000, 10)), true, 20, ""},
      {std::vector<ModelImage>(21, image(3000, 10)), true, 0, "21 images left out"},
      {std::vector<ModelImage>(21, image(2000, 10)), true, 21, ""},
      {{image(10, 10)}, false, 0, "1 image left out"},
  };
  for (const auto& one : cases) {
    ModelRequest request;
    for (const auto& shown : one.images) {
      request.messages.push_back(said({shown}));
    }
    ModelInfo info;
    info.takes_images = one.takes_images;
    const auto fitted = fit_request(request, info);
    std::size_t stay = 0;
    for (const auto& message : fitted.request.messages) {
      stay += std::holds_alternative<ModelImage>(message->parts.front()) ? 1 : 0;
    }
    EXPECT_EQ(stay, one.stay);
    if (one.says.empty()) {
      EXPECT_THAT(fitted.notes, IsEmpty());
    } else {
      ASSERT_THAT(fitted.notes, SizeIs(1));
      EXPECT_THAT(fitted.notes.front(), HasSubstr(one.says));
    }
  }
}

TEST(FitRequest, AnImageOfAResultLeavesANoteAndTheRestOfIt) {
  ModelRequest request;
  const auto whole = answered({ModelText{"look:"}, image(9000, 20)});
  request.messages = {said({ModelText{"hi"}}), whole};
  const auto fitted = fit_request(request, {});
  EXPECT_EQ(fitted.request.messages.at(0), request.messages.at(0)) << "the same object";
  const auto& outcome = std::get<ModelToolOutcome>(fitted.request.messages.at(1)->parts.front());
  ASSERT_THAT(outcome.blocks, SizeIs(2));
  EXPECT_THAT(std::get<ModelText>(outcome.blocks.at(1)).text, HasSubstr("9000 × 20 pixels, left out"));
  EXPECT_TRUE(std::holds_alternative<ModelImage>(std::get<ModelToolOutcome>(whole->parts.front()).blocks.at(1)));
}

TEST(FitRequest, OfTooManyBytesTheOldestImagesGoFirstAndThenOldResults) {
  RequestLimits limits;
  limits.bytes = 10'000;
  limits.least_text = 100;
  ModelRequest request;
  request.messages = {said({image(10, 10, 4000)}), answered({ModelText{std::string(6000, 'x')}}),
                      said({image(10, 10, 4000)})};
  auto fitted = fit_request(request, {}, limits);
  EXPECT_TRUE(std::holds_alternative<ModelText>(fitted.request.messages.at(0)->parts.front()));
  EXPECT_EQ(fitted.request.messages.at(1), request.messages.at(1));
  std::size_t images = 0;
  for (const auto& message : fitted.request.messages) {
    images += std::holds_alternative<ModelImage>(message->parts.front()) ? 1 : 0;
  }
  EXPECT_LE(images, 1u);
  request.messages = {said({ModelText{"q"}}), answered({ModelText{std::string(30'000, 'x')}})};
  fitted = fit_request(request, {}, limits);
  const auto& outcome = std::get<ModelToolOutcome>(fitted.request.messages.at(1)->parts.front());
  EXPECT_LT(std::get<ModelText>(outcome.blocks.front()).text.size(), 300u);
  ASSERT_THAT(fitted.notes, SizeIs(1));
  EXPECT_THAT(fitted.notes.front(), HasSubstr("old results cut"));
}

}  // namespace
}  // namespace patchbay
