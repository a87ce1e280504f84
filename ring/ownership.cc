#include "ring/ownership.h"
