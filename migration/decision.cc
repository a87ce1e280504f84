#include "migration/decision.h"
