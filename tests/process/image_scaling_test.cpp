// X2: images that are too large for a model, made smaller by a program of its own.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/crypto.h"
#include "host/results/host_results.h"
#include "host/results/image_scaler.h"
#include "support/loop.h"
#include "support/temp_tree.h"

namespace patchbay::test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

std::string big_endian(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

std::string chunk(const std::string& type, const std::string& data) {
  std::uint32_t sum = 0xFFFFFFFF;
  for (const unsigned char c : type + data) {
    sum ^= c;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ (0xEDB88320 & (0 - (sum & 1)));
  }
  return big_endian(static_cast<std::uint32_t>(data.size())) + type + data + big_endian(~sum);
}

// Grey, not compressed; `claimed` is the height its head names.
std::string png(std::uint32_t width, std::uint32_t height, std::uint32_t claimed = 0) {
  std::string lines;
  for (std::uint32_t y = 0; y < height; ++y) lines += std::string(1, '\0') + std::string(width, static_cast<char>(y));
  std::uint32_t a = 1, b = 0;
  for (const unsigned char c : lines) {
    a = (a + c) % 65521;
    b = (b + a) % 65521;
  }
  std::string packed = "\x78\x01";
  for (std::size_t at = 0; at < lines.size(); at += 65535) {
    const auto piece = lines.substr(at, 65535);
    const auto size = static_cast<std::uint16_t>(piece.size());
    const auto other = static_cast<std::uint16_t>(~size);
    packed += at + piece.size() == lines.size() ? '\1' : '\0';
    packed += {static_cast<char>(size & 0xFF), static_cast<char>(size >> 8), static_cast<char>(other & 0xFF),
               static_cast<char>(other >> 8)};
    packed += piece;
  }
  packed += big_endian(b << 16 | a);
  const std::string depth("\x08\0\0\0\0", 5);
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", big_endian(width) + big_endian(claimed ? claimed : height) + depth) +
         chunk("IDAT", packed) + chunk("IEND", "");
}

CallToolResult with_image(const std::string& bytes) {
  CallToolResult result;
  result.content.emplace_back(ImageContent{.data = base64_encode(bytes), .mime_type = "image/png"});
  return result;
}

class ImageScaling : public testing::Test {
 protected:
  void SetUp() override {
    if (images_program().empty())
      GTEST_FAIL() << "patchbay-images was not built: are libpng, libjpeg and libwebp there?";
  }
  ModelResult given(CallToolResult result) {
    const TempTree tree;
    ModelResult out;
    run_task([&]() -> Task<void> {
      HostResults results({.conversation = "talk"}, (tree.path() / "state").string());
      out = co_await results.for_model("t", {}, std::move(result), {});
    });
    return out;
  }
};

TEST_F(ImageScaling, AnImageWithTooManyPixels_IsShownSmaller_AndKeptWhole) {
  const auto result = given(with_image(png(9000, 450)));
  ASSERT_THAT(result.blocks, SizeIs(3));
  EXPECT_THAT(std::get<ModelText>(result.blocks[0]).text, HasSubstr("shown smaller, 2000 x 100 pixels"));
  const auto& image = std::get<ModelImage>(result.blocks[1]);
  EXPECT_EQ(image.mime_type, "image/png");
  EXPECT_EQ(image.width, 2000u);
  EXPECT_EQ(image.height, 100u);
  EXPECT_THAT(std::get<ModelText>(result.blocks[2]).text, HasSubstr("/raw#/content/0"));
}

TEST_F(ImageScaling, AnImageThatAModelTakes_IsNotTouched) {
  const auto bytes = png(300, 20);
  const auto result = given(with_image(bytes));
  ASSERT_THAT(result.blocks, SizeIs(1));
  EXPECT_EQ(std::get<ModelImage>(result.blocks[0]).data, base64_encode(bytes));
}

TEST_F(ImageScaling, WhatIsDamagedOrEnormous_IsALine) {
  for (const auto& bytes : {png(9000, 450).substr(0, 5000), png(9000, 4, 60'000), png(9000, 4, 7000)}) {
    const auto result = given(with_image(bytes));
    EXPECT_THAT(std::get<ModelText>(result.blocks.at(0)).text, HasSubstr("pixels are more than a model accepts"));
  }
}

TEST_F(ImageScaling, WhatTheProgramAnswers_IsNotBelieved) {
  run_task([]() -> Task<void> {
    const ImageToScale wish{.block = 0, .side = 100, .bytes = 100'000};
    // Programs that answer something else.
    EXPECT_EQ(co_await scale_image("/bin/false", "x", wish, {}), std::nullopt);
    EXPECT_EQ(co_await scale_image("/bin/echo", "x", wish, {}), std::nullopt);
    EXPECT_EQ(co_await scale_image("/does/not/exist", "x", wish, {}), std::nullopt);
  });
  const ImageToScale wish{.block = 0, .side = 100, .bytes = 100'000};
  EXPECT_TRUE(read_scaled("image/png 10 1\n" + png(10, 1), wish));
  EXPECT_FALSE(read_scaled("image/png 10 1\n" + png(101, 1), wish)) << "larger than was asked for";
  EXPECT_FALSE(read_scaled(png(10, 1), wish));
  EXPECT_FALSE(read_scaled("", wish));
}

}  // namespace
}  // namespace patchbay::test
