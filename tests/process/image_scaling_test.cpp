// X2: images that are too large for a model, made smaller by a program of its own.
#include <stdlib.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

// A grey jpeg of squares of 8 x 8 pixels, which are nothing but their brightness, so that nothing is lost by writing
// them again. `exif`: what a camera adds.
struct Squares {
  std::size_t width;
  std::size_t height;
  std::vector<int> values;
  int at(std::size_t x, std::size_t y) const { return values.at(y * width + x); }
};

std::string segment(char marker, const std::string& data) {
  const auto size = data.size() + 2;
  return std::string("\xFF") + marker + static_cast<char>(size >> 8) + static_cast<char>(size & 0xFF) + data;
}

std::string jpeg(const Squares& squares, const std::string& exif = {}) {
  using namespace std::string_literals;
  std::string bits;
  const auto add = [&bits](unsigned value, int count) {
    while (count-- > 0) bits += (value >> count & 1) != 0 ? '1' : '0';
  };
  int before = 0;
  for (const int value : squares.values) {
    const int difference = value - 128 - std::exchange(before, value - 128);
    int size = 0;
    while (std::abs(difference) >> size != 0) ++size;
    add(static_cast<unsigned>(size), 4);
    add(static_cast<unsigned>(difference < 0 ? difference + (1 << size) - 1 : difference), size);
    add(0, 1);  // and nothing else
  }
  while (bits.size() % 8 != 0) bits += '1';
  std::string data;
  for (std::size_t at = 0; at < bits.size(); at += 8) {
    data += static_cast<char>(std::stoi(bits.substr(at, 8), nullptr, 2));
    if (data.back() == '\xFF') data += '\0';
  }
  const auto side = [](std::size_t count) {
    return std::string{static_cast<char>(count * 8 >> 8), static_cast<char>(count * 8 & 0xFF)};
  };
  std::string lengths(16, '\0');
  lengths[3] = 9;
  std::string of_sizes = "\0"s + lengths;
  for (char size = 0; size < 9; ++size) of_sizes += size;
  return "\xFF\xD8" + (exif.empty() ? "" : segment('\xE1', exif)) + segment('\xDB', "\0"s + std::string(64, '\x08')) +
         segment('\xC0', "\x08" + side(squares.height) + side(squares.width) + "\x01\x01\x11\0"s) +
         segment('\xC4', of_sizes) + segment('\xC4', "\x10\x01"s + std::string(15, '\0') + '\0') +
         segment('\xDA', "\x01\x01\0\0\x3F\0"s) + data + "\xFF\xD9";
}

std::string exif_of(int orientation, bool big) {
  using namespace std::string_literals;
  const auto value = static_cast<char>(orientation);
  return "Exif\0\0"s + (big ? "MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0"s + value + "\0\0"s
                            : "II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0"s + value + "\0\0\0"s);
}

// As a camera stores it that was held so: where each stored square is to be seen is what the standard says.
Squares as_held(const Squares& seen, int orientation) {
  const bool lies = orientation >= 5;
  Squares out{lies ? seen.height : seen.width, lies ? seen.width : seen.height, {}};
  const auto right = seen.width - 1, bottom = seen.height - 1;
  for (std::size_t y = 0; y < out.height; ++y) {
    for (std::size_t x = 0; x < out.width; ++x) {
      const std::pair<std::size_t, std::size_t> places[] = {
          {x, y}, {right - x, y}, {right - x, bottom - y}, {x, bottom - y},
          {y, x}, {right - y, x}, {right - y, bottom - x}, {y, bottom - x},
      };
      const auto [to_x, to_y] = places[orientation - 1];
      out.values.push_back(seen.at(to_x, to_y));
    }
  }
  return out;
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

TEST_F(ImageScaling, APhotograph_IsTurnedTheWayItsCameraWasHeld) {
  const ImageToScale wish{.block = 0, .side = 100, .bytes = 100'000};
  const Squares seen{2, 3, {10, 60, 110, 160, 210, 250}};
  const auto made = [&](const std::string& bytes) {
    std::optional<ScaledImage> out;
    run_task([&]() -> Task<void> { out = co_await scale_image(images_program(), bytes, wish, {}); });
    return out;
  };
  const auto upright = made(jpeg(seen));
  ASSERT_TRUE(upright);
  EXPECT_EQ(std::pair(upright->width, upright->height), std::pair(16u, 24u));
  for (int orientation = 1; orientation <= 8; ++orientation) {
    for (const bool big : {false, true}) {
      EXPECT_EQ(made(jpeg(as_held(seen, orientation), exif_of(orientation, big))), upright) << orientation << big;
    }
  }
  // What cannot be understood turns nothing.
  auto far = exif_of(6, true);
  far[10] = '\x7F';
  auto long_list = exif_of(6, true).substr(0, 20);
  long_list[14] = long_list[15] = '\xFF';
  for (const auto& odd : {exif_of(0, true), exif_of(9, false), exif_of(6, true).substr(0, 20), far, long_list,
                          std::string("Exif"), std::string("http://ns.adobe.com/xap/1.0/")}) {
    EXPECT_EQ(made(jpeg(seen, odd)), upright);
  }
}

TEST_F(ImageScaling, TheProgramSeesNoVariablesOfOurs) {
  const TempTree tree;
  const auto program = (tree.path() / "program").string();
  tree.file("program", "#!/bin/sh\n/usr/bin/env > '" + (tree.path() / "seen").string() + "'\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  ::setenv("PATCHBAY_TEST_TOKEN", "hunter2", 1);
  run_task([&]() -> Task<void> {
    const ImageToScale wish{.block = 0, .side = 100, .bytes = 100'000};
    EXPECT_EQ(co_await scale_image(program, "x", wish, {}), std::nullopt);
  });
  ::unsetenv("PATCHBAY_TEST_TOKEN");
  ASSERT_TRUE(tree.has("seen"));
  EXPECT_THAT(tree.read("seen"), testing::Not(HasSubstr("hunter2")));
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
