#include "routing/data_center.h"
