// The members of what only travels on the wire (wire_types.h), as fields.h has those of the model. Only codec.cpp
// includes this file.
#pragma once

#include "protocol/archive.h"
#include "protocol/wire_types.h"

namespace patchbay {

template <class V>
void fields(V& v, As<V, ListRequest>& t) {
  v.strict("cursor", t.cursor);
  v.meta(t.meta);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, CallToolRequest>& t) {
  v.required("name", t.name);
  v.optional_object("arguments", t.arguments);
  v.meta(t.meta);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, ReadResourceRequest>& t) {
  v.required("uri", t.uri);
  v.meta(t.meta);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, ResourceUri>& t) {
  v.required("uri", t.uri);
  v.meta(t.meta);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, GetPromptRequest>& t) {
  v.required("name", t.name);
  v.strict("arguments", t.arguments);
  v.meta(t.meta);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, SetLevelRequest>& t) {
  v.required("level", t.level);
  v.meta(t.meta);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, ProgressNotification>& t) {
  v.required("progressToken", t.token);
  v.required("progress", t.progress.progress);
  v.optional("total", t.progress.total);
  v.optional("message", t.progress.message);
  v.meta(t.meta);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, CancelledNotification>& t) {
  v.optional("requestId", t.request_id);
  v.optional("reason", t.reason);
  v.meta(t.meta);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, ListRootsRequest>& t) {
  v.meta(t.meta);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, ListRootsResult>& t) {
  v.required("roots", t.roots);
  v.meta(t.meta);
  v.extra(t.extra);
}

template <class V>
void fields(V& v, As<V, ElicitationComplete>& t) {
  v.required("elicitationId", t.elicitation_id);
  v.meta(t.meta);
  v.extra(t.extra);
}

}  // namespace patchbay
