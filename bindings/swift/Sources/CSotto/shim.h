#include "../../../native/include/sotto.h"
