// An Error on its way through a JSON-RPC connection between two programs of ours: everything that JSON-RPC has no place
// for (what kind it is, whether the call was carried out, what would help) travels in the error's `data` under one key,
// and is read back here. Others see an ordinary JSON-RPC error. Pure. Written by gateway/, read by
// transport/unix_socket.
#pragma once

#include <optional>

#include <patchbay/error.h>

#include "rpc/message.h"

namespace patchbay {

// The error to throw in a handler of a Peer so that the other side can read `error` back. It is always answered,
// also where `error` says "cancelled": what was cancelled is something behind us, not the request.
Error carrying(const Error& error);

// What carrying() was given; nothing when the other side is not a program of ours.
std::optional<Error> carried_error(const RpcError& received);

}  // namespace patchbay
