// What is kept of sign-in: what is read is written as something that reads as the same, and neither a note nor an error
// has a secret in it.
#include "auth/kept_token.h"
#include "fuzz/fuzz.h"

using namespace patchbay;
using fuzz::require;

FUZZ_TARGET(kept_token) {
  const Secret text{std::string(input)};
  if (const auto tokens = read_token_set(text)) {
    require(read_token_set(write_token_set(*tokens)) == *tokens, "a token changed on its way");
    const auto note = token_note(*tokens);
    for (const char* name : {"accessToken", "refreshToken", "dpopKey"})
      require(!note.find(name), "a secret in the note");
    const auto at = [&](std::int64_t seconds) {
      return token_age(*tokens, std::chrono::sys_seconds(std::chrono::seconds(seconds)));
    };
    require(at(0) <= at(1'700'000'000) && at(1'700'000'000) <= at(253'402'300'799), "a token becomes younger");
  } else {
    require(tokens.error().message().size() < 100, "an error that quotes");
  }
  if (const auto client = read_client(text)) {
    require(read_client(write_client(*client)) == *client, "a client changed on its way");
  } else {
    require(client.error().message().size() < 100, "an error that quotes");
  }
}
