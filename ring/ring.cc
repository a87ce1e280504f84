#include "ring/ring.h"
