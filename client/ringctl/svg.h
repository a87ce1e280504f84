// A picture as SVG: a white page on which shapes are drawn one over the other.
//
//   Svg svg(960, 480, "Balance of ams");
//   svg.Line({70, 100}, {940, 100}, "#444444");
//   svg.Text({70, 90}, "ideal", {.size = 12});
//   file << svg.Finish();
//
// Lengths are in pixels, x to the right and y down. Colours are "#rrggbb".
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_CLIENT_RINGCTL_SVG_H_
#define RINGSHIFT_CLIENT_RINGCTL_SVG_H_

#include <string>
#include <string_view>
#include <vector>

namespace ringshift {

class Svg {
 public:
  struct Point {
    double x = 0;
    double y = 0;
  };
  struct TextStyle {
    int size = 12;
    std::string_view anchor = "start";  // which end of the text the point is: "middle", "end"
    int turned = 0;                     // degrees clockwise about the point
    bool is_bold = false;
  };

  // `title` is for readers who do not see the picture.
  Svg(int width, int height, std::string_view title);

  void Line(Point from, Point to, std::string_view colour, double width = 1);
  void DashedLine(Point from, Point to, std::string_view colour);
  // REQUIRES: not negative width and height
  void Rectangle(Point corner, double width, double height, std::string_view colour);
  void Polyline(const std::vector<Point>& points, std::string_view colour);
  // Any text: what SVG cannot show is escaped as ForTerminal does.
  void Text(Point at, std::string_view text, const TextStyle& style);

  // The whole file. Nothing can be drawn after it.
  std::string Finish();

 private:
  std::string text_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_SVG_H_
