#include "results/stored_result.h"

#include <algorithm>

#include <patchbay/json.h>

#include "base/strings.h"

namespace patchbay {
namespace {

constexpr std::int64_t format = 1;
constexpr std::size_t id_length = 8;
constexpr std::size_t longest_tool = 512;
constexpr std::string_view id_letters = "abcdefghijkmnopqrstuvwxyz2345679";  // 32
static_assert(id_letters.size() == 32);
constexpr std::int64_t latest_time = 253'402'300'799;  // the end of the year 9999

std::unexpected<Error> broken(const char* why) { return fail(Errc::internal, why); }

}  // namespace

bool is_result_id(std::string_view text) noexcept {
  return text.size() == id_length && std::ranges::all_of(text, [](char c) { return id_letters.contains(c); });
}

std::string result_id(std::uint64_t random) {
  std::string id(id_length, ' ');
  for (auto& c : id) {
    c = id_letters[random % id_letters.size()];
    random /= id_letters.size();
  }
  return id;
}

std::string write_stored_head(const StoredHead& head) {
  return to_text(Json{{"patchbayResult", format},
                      {"id", head.id},
                      {"tool", cut_utf8(head.tool, longest_tool)},
                      {"time", head.time.time_since_epoch().count()},
                      {"size", head.size},
                      {"packing", head.packing == ResultPacking::zstd ? "zstd" : "none"}}) +
         "\n";
}

Result<StoredResult> read_stored_result(std::string_view text) {
  const auto end = text.substr(0, longest_stored_head).find('\n');
  if (end == std::string_view::npos) return broken("the file is not a kept result");
  const auto json = parse_json(text.substr(0, end));
  if (!json || (*json)["patchbayResult"].to_int() != format)
    return broken("the file is not a kept result of this version");
  StoredResult out;
  const auto id = (*json)["id"].text();
  const auto tool = (*json)["tool"].text();
  const auto time = (*json)["time"].to_int();
  const auto size = (*json)["size"].to_uint();
  const auto packing = (*json)["packing"].text();
  if (!id || !is_result_id(*id) || !tool || !time || *time < 0 || *time > latest_time || !size || !packing) {
    return broken("the first line of the file is not that of a kept result");
  }
  if (*packing != "none" && *packing != "zstd") return broken("the file is compressed in a way that is not known");
  out.head.id = *id;
  out.head.tool = *tool;
  out.head.time = std::chrono::sys_seconds(std::chrono::seconds(*time));
  out.head.size = *size;
  out.head.packing = *packing == "zstd" ? ResultPacking::zstd : ResultPacking::none;
  out.body = text.substr(end + 1);
  return out;
}

}  // namespace patchbay
