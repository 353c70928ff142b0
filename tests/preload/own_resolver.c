// A resolver of the tests' own, loaded in front of the system's with LD_PRELOAD, so that what
// a program does about names can be shown without a network namespace. Calls come on any thread.
//
//   PATCHBAY_TEST_NAMES     names and their addresses, as in /etc/hosts; unset: the system resolves
//   PATCHBAY_TEST_RESOLVER  the UDP port of a server at 127.0.0.1 for all other names, which is
//                           sent the name and never answers; unset: other names do not exist
//
// Addresses are left to the system.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <dlfcn.h>
#include <netdb.h>

typedef int (*Lookup)(const char*, const char*, const struct addrinfo*, struct addrinfo**);

static int is_address(const char* text) {
  struct in6_addr six;
  struct in_addr four;
  return inet_pton(AF_INET, text, &four) == 1 || inet_pton(AF_INET6, text, &six) == 1;
}

// Asks and waits for an answer that nobody sends.
static int ask_and_wait(const char* name, const char* port) {
  struct sockaddr_in where;
  memset(&where, 0, sizeof where);
  where.sin_family = AF_INET;
  where.sin_port = htons((unsigned short)atoi(port));
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int question = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  char answer[16];
  if (question < 0 || connect(question, (struct sockaddr*)&where, sizeof where) != 0 ||
      send(question, name, strlen(name), 0) < 0) {
    if (question >= 0) close(question);
    return EAI_AGAIN;
  }
  while (recv(question, answer, sizeof answer, 0) >= 0) {
  }
  close(question);
  return EAI_AGAIN;
}

int getaddrinfo(const char* restrict node, const char* restrict service, const struct addrinfo* restrict hints,
                struct addrinfo** restrict found) {
  const Lookup system = (Lookup)dlsym(RTLD_NEXT, "getaddrinfo");
  const char* names = getenv("PATCHBAY_TEST_NAMES");
  if (!system) return EAI_SYSTEM;
  if (!node || !names || is_address(node)) return system(node, service, hints, found);

  struct addrinfo** end = found;
  int known = 0;
  *found = NULL;
  char* lines = strdup(names);
  char *line_rest = NULL, *word_rest = NULL;
  for (char* line = strtok_r(lines, "\n", &line_rest); line; line = strtok_r(NULL, "\n", &line_rest)) {
    const char* address = strtok_r(line, " ", &word_rest);
    const char* name = strtok_r(NULL, " ", &word_rest);
    if (!address || !name || strcmp(name, node) != 0) continue;
    known = 1;
    // Of a kind that was not asked for: not there.
    if (system(address, service, hints, end) != 0) continue;
    while (*end) end = &(*end)->ai_next;
  }
  free(lines);
  if (*found) return 0;
  const char* port = getenv("PATCHBAY_TEST_RESOLVER");
  return !known && port ? ask_and_wait(node, port) : EAI_NONAME;
}
