#include "ring/crc32.h"
