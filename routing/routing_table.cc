#include "routing/routing_table.h"
