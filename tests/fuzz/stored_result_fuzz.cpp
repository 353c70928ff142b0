// The file of a kept result, and reading in what it holds: any bytes are a result, or an Error.
#include "fuzz/fuzz.h"
#include "results/image_header.h"
#include "results/read_part.h"
#include "results/result_value.h"
#include "results/stored_result.h"

using namespace patchbay;
using fuzz::require;

FUZZ_TARGET(stored_result) {
  (void)image_header(input);
  if (const auto plain = plain_base64(input)) require(plain_base64(*plain) == *plain, "base64 that changes again");
  const auto stored = read_stored_result(input);
  if (!stored) return;
  const auto again = read_stored_result(write_stored_head(stored->head));
  require(again && again->head == stored->head, "a head that reads otherwise");
  auto sent = parse_json(stored->body);
  if (!sent) return;
  const auto value = value_of_result(std::move(*sent));
  ResultQuery query;
  query.bytes = 300;
  for (int i = 0; i < 100; ++i) {
    const auto part = read_part(value, query);
    require(part.has_value(), "a slice that fails");
    if (!part->next_offset) break;
    require(*part->next_offset > query.offset, "a slice that does not go on");
    query.offset = *part->next_offset;
  }
  require(read_part(value, {.pattern = "a.*b"}).has_value(), "a search that fails");
}
