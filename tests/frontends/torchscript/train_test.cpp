#include "frontends/torchscript/reference.h"
