#include "routing/topology.h"
