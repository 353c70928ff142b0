#include "client/cache.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/manual_clock.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;

struct Bench {
  test::ManualClock clock;
  Cache cache;
  explicit Bench(std::size_t capacity = 256) : cache(clock, capacity) {}
  std::string at(std::string_view method, std::string_view key) {
    const auto* found = cache.find(method, key);
    return found ? to_text(*found->result) : "-";
  }
  static Cache::Kept kept(int value) { return {std::make_shared<const Json>(value), 1}; }
};

TEST(Cache, AnEntryIsFreshUntilItsTimeIsUpAndNotAMomentLonger) {
  Bench b;
  b.cache.store("tools/list", "", 1000, Bench::kept(1));
  EXPECT_EQ(b.at("tools/list", ""), "1");
  b.clock.skip(999ms);
  EXPECT_EQ(b.at("tools/list", ""), "1");
  b.clock.skip(1ms);
  EXPECT_EQ(b.at("tools/list", ""), "-");
  EXPECT_EQ(b.cache.size(), 0u);
}

TEST(Cache, ATimeOfZeroOrLessStoresNothingAndForgetsTheOld) {
  for (std::int64_t ttl : {std::int64_t{0}, std::int64_t{-1}, INT64_MIN}) {
    Bench b;
    b.cache.store("m", "k", 1000, Bench::kept(1));
    b.cache.store("m", "k", ttl, Bench::kept(2));
    EXPECT_EQ(b.at("m", "k"), "-") << ttl;
  }
}

TEST(Cache, AtMostADayCounts) {
  for (std::int64_t ttl : {std::int64_t{24} * 60 * 60 * 1000 + 1, INT64_MAX}) {
    Bench b;
    b.cache.store("m", "k", ttl, Bench::kept(1));
    b.clock.skip(24h - 1ms);
    EXPECT_EQ(b.at("m", "k"), "1") << ttl;
    b.clock.skip(1ms);
    EXPECT_EQ(b.at("m", "k"), "-") << ttl;
  }
}

TEST(Cache, KeysOfDifferentMethodsDoNotMeet) {
  Bench b;
  b.cache.store("a", "b", 1000, Bench::kept(1));
  b.cache.store("ab", "", 1000, Bench::kept(2));
  b.cache.store("a", "", 1000, Bench::kept(3));
  b.cache.store("a", "x\ny", 1000, Bench::kept(4));
  EXPECT_EQ(b.at("a", "b"), "1");
  EXPECT_EQ(b.at("ab", ""), "2");
  EXPECT_EQ(b.at("a", ""), "3");
  EXPECT_EQ(b.at("a", "x\ny"), "4");
  b.cache.drop("a");
  EXPECT_EQ(b.at("a", "b"), "-");
  EXPECT_EQ(b.at("a", ""), "-");
  EXPECT_EQ(b.at("a", "x\ny"), "-");
  EXPECT_EQ(b.at("ab", ""), "2");
}

TEST(Cache, OneKeyCanBeDropped) {
  Bench b;
  b.cache.store("read", "u1", 1000, Bench::kept(1));
  b.cache.store("read", "u2", 1000, Bench::kept(2));
  b.cache.drop("read", "u1");
  b.cache.drop("read", "u3");
  EXPECT_EQ(b.at("read", "u1"), "-");
  EXPECT_EQ(b.at("read", "u2"), "2");
  b.cache.clear();
  EXPECT_EQ(b.cache.size(), 0u);
  EXPECT_EQ(b.at("read", "u2"), "-");
}

TEST(Cache, StoringAgainReplacesAndBeginsANewTime) {
  Bench b;
  b.cache.store("m", "k", 1000, Bench::kept(1));
  b.clock.skip(900ms);
  b.cache.store("m", "k", 1000, Bench::kept(2));
  b.clock.skip(900ms);
  EXPECT_EQ(b.at("m", "k"), "2");
  EXPECT_EQ(b.cache.size(), 1u);
}

TEST(Cache, TheLeastRecentlyUsedGoesFirst) {
  Bench b(3);
  for (int i = 1; i <= 3; ++i) b.cache.store("m", fmt::format("{}", i), 1000, Bench::kept(i));
  EXPECT_EQ(b.at("m", "1"), "1");  // used: 2 is the oldest now
  b.cache.store("m", "4", 1000, Bench::kept(4));
  EXPECT_EQ(b.cache.size(), 3u);
  EXPECT_EQ(b.at("m", "1"), "1");
  EXPECT_EQ(b.at("m", "2"), "-");
  EXPECT_EQ(b.at("m", "3"), "3");
  EXPECT_EQ(b.at("m", "4"), "4");
}

TEST(Cache, WhatIsKeptIsHandedOutAndNotCopied) {
  Bench b;
  const auto kept = Bench::kept(1);
  b.cache.store("m", "k", 1000, kept);
  EXPECT_EQ(b.cache.find("m", "k")->result, kept.result);
  EXPECT_EQ(b.cache.find("m", "k")->bytes, 1u);
}

// An answer that was under way when a change was announced may be older than the change.
TEST(Cache, AGenerationEndsWithEveryDropAlsoWhenThereWasNothingToDrop) {
  Bench b;
  const auto before = b.cache.generation("m");
  b.cache.store("m", "k", 1000, Bench::kept(1));
  b.cache.store("m", "k", 1000, Bench::kept(2));
  b.cache.drop("other");
  EXPECT_EQ(b.cache.generation("m"), before);
  b.cache.drop("m", "none");
  EXPECT_EQ(b.cache.generation("m"), before + 1);
  b.cache.drop("m");
  EXPECT_EQ(b.cache.generation("m"), before + 2);
  b.cache.clear();
  EXPECT_EQ(b.cache.generation("m"), before + 3);
}

}  // namespace
}  // namespace patchbay
