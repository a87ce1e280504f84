#include "migration/share.h"
