// What part of the traffic has a property, judged by a sample of it.
//
// Thread safety: pure functions.
#ifndef RINGSHIFT_MIGRATION_ESTIMATE_H_
#define RINGSHIFT_MIGRATION_ESTIMATE_H_

namespace ringshift {

// An estimate and its 95 % confidence interval.
struct EstimatedRatio {
  double value = 0;
  double low = 0;
  double high = 0;
};

// A sample of requests by their keys. Traffic is skewed: a key that came a hundred times says a
// hundred times the same, for it is the key that has the property or not. So it counts as one draw
// that weighs a hundred.
class KeyedSample {
 public:
  // A key that came `times`, at least once.
  void Add(double times, bool has_property) {
    requests_ += times;
    squares_ += times * times;
    if (has_property) with_property_ += times;
  }

  // The part of the requests whose key has the property. The interval is Wilson's, for as many
  // draws of equal weight as have the variance of these: (sum of the times)^2 / (sum of their
  // squares), as Kish has it. A few keys that are much of the traffic make it wide. {0, 0, 1}
  // without a key.
  EstimatedRatio Ratio() const;

 private:
  double requests_ = 0;
  double squares_ = 0;
  double with_property_ = 0;
};

}  // namespace ringshift

#endif  // RINGSHIFT_MIGRATION_ESTIMATE_H_
