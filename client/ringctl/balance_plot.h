// A picture of how evenly rings spread the keys: for each node its load, against 1.
//
// Thread safety: pure functions.
#ifndef RINGSHIFT_CLIENT_RINGCTL_BALANCE_PLOT_H_
#define RINGSHIFT_CLIENT_RINGCTL_BALANCE_PLOT_H_

#include <string>

#include "client/ringctl/balance_report.h"

namespace ringshift {

// An SVG file. Up to kMostNodesAlone nodes have a bar each for every ring, in the order of the
// first ring's loads; of more, each ring is a curve over its nodes from the most loaded to the
// least.
std::string BalanceAsSvg(const BalanceReport& report);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_BALANCE_PLOT_H_
