// How an HTTP transport and sign-in meet without knowing each other: the transport asks for
// credentials before it sends a request, and hands over the answer that refused them. The
// client plugs an implementation of src/auth/ into a transport of src/transport/; without
// one a 401 is simply an error. Loop thread only.
#pragma once

#include <cstdint>
#include <string>

#include <patchbay/task.h>

#include "base/secret.h"
#include "http/message.h"

namespace patchbay {

// What one request carried. The transport keeps it beside the request and gives it back with
// a refusal: several requests may be refused at once, and only a refusal of the credentials
// that are still current is a reason to renew them. A later one just finds newer ones.
struct SentCredentials {
  Secret token;                  // empty when nothing was sent
  std::uint64_t generation = 0;  // counts renewals; equal tokens may still differ in this
};

class HttpAuth {
 public:
  virtual ~HttpAuth() = default;

  // Adds what the request needs (Authorization, DPoP, ...), for its method and URL as they
  // are. May wait: for a token to be renewed by somebody else, for a store. The caller keeps
  // `request` alive until this ends.
  virtual Task<SentCredentials> authorize(HttpRequest& request) = 0;

  // After a 401 or 403. True: authorize() again and send the request once more; the transport
  // does that once per request, and once more where the server wants its own number in the proof of a token
  // (use_dpop_nonce). False: nothing that can be done here helps, the refusal stands. May throw why, as
  // Errc::unauthorized or Errc::forbidden. Nobody is asked in here: a person takes longer than a request may.
  virtual Task<bool> on_challenge(SentCredentials sent, HttpRequest request, HttpHead answer) = 0;
  // Every other answer: it may hold something for the next request.
  virtual void on_answer(const HttpRequest& /*request*/, const HttpHead& /*answer*/) {}

  // What a person does when newer credentials are refused as well: the end of that message.
  // Empty: these are credentials of an entry, to be corrected there.
  virtual std::string remedy() const { return {}; }
  // Whether a person can sign in for this server: then a refusal says so, with what the server wants (Error::sign_in).
  virtual bool signs_in() const noexcept { return false; }
};

}  // namespace patchbay
