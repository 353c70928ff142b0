#include "transport/outbox.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using testing::ElementsAre;
using Kind = Outbox::Kind;

TEST(Outbox, CancellationsLeaveFirstAndTheRestInOrder) {
  Outbox box;
  EXPECT_FALSE(box.take());
  box.put(Kind::answer, "a1");
  box.put(Kind::notification, "n1");
  box.put(Kind::cancellation, "c1");
  box.put(Kind::answer, "a2");
  box.put(Kind::cancellation, "c2");
  box.put(Kind::opening, "open");
  EXPECT_EQ(box.size(), 6u);
  EXPECT_EQ(box.bytes(), 14u);
  std::vector<std::string> left;
  while (auto item = box.take()) left.push_back(item->body);
  EXPECT_THAT(left, ElementsAre("c1", "c2", "a1", "n1", "a2", "open"));
  EXPECT_EQ(box.bytes(), 0u);
}

TEST(Outbox, CancellationsCanBeTakenAlone) {
  Outbox box;
  EXPECT_FALSE(box.take_cancellation());
  box.put(Kind::answer, "a1");
  EXPECT_FALSE(box.take_cancellation());
  box.put(Kind::cancellation, "c1");
  const auto taken = box.take_cancellation();
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->body, "c1");
  EXPECT_FALSE(box.take_cancellation());
  EXPECT_EQ(box.size(), 1u);
  EXPECT_EQ(box.bytes(), 2u);
}

}  // namespace
}  // namespace patchbay
