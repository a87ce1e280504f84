#include "ring/node_set.h"
