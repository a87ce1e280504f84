#include "client/ringctl/svg.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/ringctl/text.h"

namespace ringshift {
namespace {

// With a tenth of a pixel, and no needless zero.
std::string Length(double value) {
  std::string text = FixedPoint(value, 1);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : ForTerminal(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string LineStart(Svg::Point from, Svg::Point to, std::string_view colour) {
  return absl::StrCat("<line x1=\"", Length(from.x), "\" y1=\"", Length(from.y), "\" x2=\"",
                      Length(to.x), "\" y2=\"", Length(to.y), "\" stroke=\"", std::string(colour),
                      "\"");
}

}  // namespace

Svg::Svg(int width, int height, std::string_view title)
    : text_(absl::StrCat("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", width,
                         "\" height=\"", height, "\" viewBox=\"0 0 ", width, " ", height,
                         "\" font-family=\"sans-serif\" role=\"img\">\n<title>", Escaped(title),
                         "</title>\n<rect width=\"", width, "\" height=\"", height,
                         "\" fill=\"#ffffff\"/>\n")) {}

void Svg::Line(Point from, Point to, std::string_view colour, double width) {
  text_ += LineStart(from, to, colour);
  if (width != 1) text_ += " stroke-width=\"" + Length(width) + "\"";
  text_ += "/>\n";
}

void Svg::DashedLine(Point from, Point to, std::string_view colour) {
  text_ += LineStart(from, to, colour) + " stroke-dasharray=\"6 4\"/>\n";
}

void Svg::Rectangle(Point corner, double width, double height, std::string_view colour) {
  absl::StrAppend(&text_, "<rect x=\"", Length(corner.x), "\" y=\"", Length(corner.y),
                  "\" width=\"", Length(width), "\" height=\"", Length(height), "\" fill=\"",
                  std::string(colour), "\"/>\n");
}

void Svg::Polyline(const std::vector<Point>& points, std::string_view colour) {
  text_ +=
      "<polyline fill=\"none\" stroke-width=\"2\" stroke=\"" + std::string(colour) + "\" points=\"";
  for (const Point& point : points) {
    if (&point != &points.front()) text_ += ' ';
    text_ += Length(point.x) + "," + Length(point.y);
  }
  text_ += "\"/>\n";
}

void Svg::Text(Point at, std::string_view text, const TextStyle& style) {
  absl::StrAppend(&text_, "<text x=\"", Length(at.x), "\" y=\"", Length(at.y), "\" font-size=\"",
                  style.size, "\" fill=\"#222222\"");
  if (style.anchor != "start") {
    absl::StrAppend(&text_, " text-anchor=\"", std::string(style.anchor), "\"");
  }
  if (style.is_bold) text_ += " font-weight=\"bold\"";
  if (style.turned != 0) {
    absl::StrAppend(&text_, " transform=\"rotate(", style.turned, " ", Length(at.x), " ",
                    Length(at.y), ")\"");
  }
  text_ += ">" + Escaped(text) + "</text>\n";
}

std::string Svg::Finish() {
  text_ += "</svg>\n";
  return std::move(text_);
}

}  // namespace ringshift
