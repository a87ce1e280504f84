#include "ring/ring_identity.h"
