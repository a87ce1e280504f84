#include "migration/sqlite_store.h"
