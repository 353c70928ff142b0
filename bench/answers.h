// The fixed answers of the measuring servers. A request is looked through for its method, its id
// and the name of the tool by comparing bytes; the answer is put into `out`. Whoever includes this
// writes `out` to where the request came from and sets out_size to 0.
//
//   echo    a text of four letters
//   large   a text of 5 MB in lines of about a hundred characters
//   many    5 MB of structured content: an array of small objects
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { large_size = 5000000, room = 1 << 16 };

static char* out;
static size_t out_size, out_room;

static void put(const char* bytes, size_t size) {
  if (out_size + size > out_room) {
    while (out_size + size > out_room) out_room = out_room ? out_room * 2 : room;
    out = realloc(out, out_room);
    if (!out) exit(1);
  }
  memcpy(out + out_size, bytes, size);
  out_size += size;
}

static void put_text(const char* text) { put(text, strlen(text)); }

// Made when first asked for: a server that is only listed stays small and quick to start.
static const char* repeated(char** kept, size_t* size, const char* begin, const char* line, const char* end) {
  if (!*kept) {
    char* at = *kept = malloc(large_size + 1024);
    if (!at) exit(1);
    at = stpcpy(at, begin);
    for (int i = 0; at - *kept < large_size; ++i) {
      if (i > 0 && *end == ']') *at++ = ',';
      at += sprintf(at, line, i, i % 97);
    }
    at = stpcpy(at, end);
    *size = (size_t)(at - *kept);
  }
  return *kept;
}

static void put_large(void) {
  static char* text;
  static size_t size;
  put(repeated(&text, &size, "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"",
               "2026-07-28T09:30:12Z worker %d: handled \\\"job %d\\\" in the usual time; nothing else to report\\n",
               "\"}]}"),
      size);
}

static void put_many(void) {
  static char* text;
  static size_t size;
  put(repeated(&text, &size, "\"result\":{\"content\":[],\"structuredContent\":{\"rows\":[",
               "{\"id\":%d,\"name\":\"row\",\"score\":%d.25,\"active\":true,\"tags\":[\"a\",\"b\"]}", "]}}"),
      size);
}

static const char* find(const char* line, size_t size, const char* what) {
  return memmem(line, size, what, strlen(what));
}

static int is(const char* value, const char* end, const char* text) {
  const size_t size = strlen(text);
  return value && (size_t)(end - value) > size && memcmp(value, text, size) == 0;
}

static void answer(const char* line, size_t size) {
  const char* end = line + size;
  const char* method = find(line, size, "\"method\":");
  const char* id = find(line, size, "\"id\":");
  if (!method || !id) return;
  method += 9;
  id += 5;
  // Two of the clients leave a blank behind the colon.
  while (*method == ' ') ++method;
  while (*id == ' ') ++id;
  const char* stop = id;
  while (stop < end && *stop != ',' && *stop != '}') ++stop;

  put_text("{\"jsonrpc\":\"2.0\",\"id\":");
  put(id, (size_t)(stop - id));
  put_text(",");
  if (is(method, end, "\"tools/call\"")) {
    if (find(line, size, "\"large\"")) {
      put_large();
    } else if (find(line, size, "\"many\"")) {
      put_many();
    } else {
      put_text("\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"said\"}]}");
    }
  } else if (is(method, end, "\"tools/list\"")) {
    put_text(
        "\"result\":{\"tools\":["
        "{\"name\":\"echo\",\"description\":\"Says it again\",\"inputSchema\":{\"type\":\"object\",\"properties\":"
        "{\"text\":{\"type\":\"string\"}}}},"
        "{\"name\":\"large\",\"description\":\"5 MB of text\",\"inputSchema\":{\"type\":\"object\"}},"
        "{\"name\":\"many\",\"description\":\"5 MB of rows\",\"inputSchema\":{\"type\":\"object\"}}]}");
  } else if (is(method, end, "\"initialize\"")) {
    put_text(
        "\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},"
        "\"serverInfo\":{\"name\":\"fixed\",\"version\":\"1\"}}");
  } else if (is(method, end, "\"ping\"")) {
    put_text("\"result\":{}");
  } else {
    put_text("\"error\":{\"code\":-32601,\"message\":\"Method not found\"}");
  }
  put_text("}\n");
}
