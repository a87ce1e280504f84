#include "client/ringctl/proto_text.h"

#include <gtest/gtest.h>

namespace ringshift {
namespace {

TEST(ProtoTextTest, WhatMovesIsNeverRoundedToNothing) {
  EXPECT_EQ(PercentOfRatio(0), "0%");
  EXPECT_EQ(PercentOfRatio(1e-9), "<0.0001%");
  EXPECT_EQ(PercentOfRatio(0.234512), "23.4512%");
  EXPECT_EQ(PercentOfRatio(1), "100.0000%");
}

TEST(ProtoTextTest, AShareOutOfRangeIsShownAsItIs) {
  EXPECT_EQ(PercentOfPpm(1), "0.0001%");
  EXPECT_EQ(PercentOfPpm(1'000'000), "100%");
  EXPECT_EQ(PercentOfPpm(1'000'001), "1000001 ppm");
}

TEST(ProtoTextTest, TimesAreUtc) {
  google::protobuf::Timestamp time;
  time.set_seconds(1'769'860'800);
  time.set_nanos(1'234'000);
  EXPECT_EQ(TimeForPeople(time), "2026-01-31 12:00:00Z");
  EXPECT_EQ(TimeForScripts(time), "2026-01-31T12:00:00.001234Z");
}

TEST(ProtoTextTest, WhatThisProgramDoesNotKnowIsUnknown) {
  EXPECT_EQ(RingLayoutText(v1::RING_LAYOUT_UNSPECIFIED), "unknown");
  EXPECT_EQ(ChangeKindText(static_cast<v1::MigrationChangeKind>(99)), "unknown");
  EXPECT_EQ(DurabilityText(static_cast<v1::Durability>(99)), "unknown");
  EXPECT_EQ(ReloadOutcomeText(static_cast<v1::ReloadOutcome>(99)), "unknown");
  EXPECT_EQ(ReloadTriggerText(static_cast<v1::ReloadTrigger>(99)), "unknown");
  EXPECT_EQ(RouterPhaseText(static_cast<v1::RouterPhase>(99)), "unknown");
}

}  // namespace
}  // namespace ringshift
