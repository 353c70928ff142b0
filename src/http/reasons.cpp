#include "http/reasons.h"

#include <algorithm>
#include <array>
#include <utility>

namespace patchbay {
namespace {

constexpr std::array<std::pair<int, std::string_view>, 23> reasons{{
    {200, "OK"},
    {202, "Accepted"},
    {204, "No Content"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {421, "Misdirected Request"},
    {426, "Upgrade Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {451, "Unavailable For Legal Reasons"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
}};
static_assert(std::ranges::is_sorted(reasons));

}  // namespace

std::string_view reason_phrase(int status) noexcept {
  const auto found = std::ranges::lower_bound(reasons, status, {}, &std::pair<int, std::string_view>::first);
  return found != reasons.end() && found->first == status ? found->second : std::string_view();
}

}  // namespace patchbay
