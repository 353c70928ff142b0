// Everything of Patchbay for programs that use coroutines. Programs that do not, or that
// are built with another compiler, include <patchbay/blocking.h> instead.
#pragma once

#include <patchbay/background_call.h>
#include <patchbay/call.h>
#include <patchbay/catalog.h>
#include <patchbay/channels.h>
#include <patchbay/client.h>
#include <patchbay/config.h>
#include <patchbay/error.h>
#include <patchbay/events.h>
#include <patchbay/failure.h>
#include <patchbay/host.h>
#include <patchbay/host_types.h>
#include <patchbay/json.h>
#include <patchbay/log.h>
#include <patchbay/model_tools.h>
#include <patchbay/model_view.h>
#include <patchbay/permission.h>
#include <patchbay/questions.h>
#include <patchbay/results.h>
#include <patchbay/server.h>
#include <patchbay/session.h>
#include <patchbay/status.h>
#include <patchbay/task.h>
#include <patchbay/tools.h>
#include <patchbay/transport.h>
#include <patchbay/types.h>
#include <patchbay/version.h>
