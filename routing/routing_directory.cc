#include "routing/routing_directory.h"
