#include "client/ringctl/svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace ringshift {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(SvgTest, APictureIsOneElementWithATitle) {
  Svg svg(320, 200, "Load of ams");
  EXPECT_EQ(svg.Finish(),
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"320\" height=\"200\" viewBox=\"0 0 "
            "320 200\" font-family=\"sans-serif\" role=\"img\">\n<title>Load of ams</title>\n"
            "<rect width=\"320\" height=\"200\" fill=\"#ffffff\"/>\n</svg>\n");
}

TEST(SvgTest, LengthsHaveATenthOfAPixel) {
  Svg svg(320, 200, "");
  svg.Polyline({{1, 2.25}, {10.04, -0.01}}, "#0072b2");
  svg.Line({0, 0}, {3.96, 1}, "#222222", 1.5);
  const std::string text = svg.Finish();
  EXPECT_THAT(text, HasSubstr("points=\"1,2.2 10,0\""));
  EXPECT_THAT(text, HasSubstr("x2=\"4\" y2=\"1\" stroke=\"#222222\" stroke-width=\"1.5\"/>"));
}

TEST(SvgTest, NoTextIsMarkup) {
  Svg svg(320, 200, "<a & \"b\">");
  svg.Text({1, 2}, "</text><script>\x1b\xff", {});
  const std::string text = svg.Finish();
  EXPECT_THAT(text, HasSubstr("<title>&lt;a &amp; &quot;b&quot;&gt;</title>"));
  EXPECT_THAT(text, HasSubstr(">&lt;/text&gt;&lt;script&gt;\\x1b\\xff</text>"));
  EXPECT_THAT(text, Not(HasSubstr("<script")));
}

}  // namespace
}  // namespace ringshift
