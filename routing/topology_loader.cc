#include "routing/topology_loader.h"
