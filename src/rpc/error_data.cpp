#include "rpc/error_data.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "rpc/peer.h"

namespace patchbay {
namespace {

constexpr std::string_view key = "patchbay/error";

constexpr std::array codes{Errc::cancelled, Errc::timeout, Errc::closed,       Errc::connect,
                           Errc::tls,       Errc::http,    Errc::unauthorized, Errc::forbidden,
                           Errc::protocol,  Errc::rpc,     Errc::unsupported,  Errc::invalid_argument,
                           Errc::limit,     Errc::config,  Errc::denied,       Errc::internal};
constexpr std::array outcomes{CarriedOut::no, CarriedOut::refused, CarriedOut::unknown};

constexpr std::array<std::pair<Remedy::Kind, std::string_view>, 11> remedies{{
    {Remedy::Kind::approve_server, "approve server"},
    {Remedy::Kind::undo_rejection, "undo rejection"},
    {Remedy::Kind::enable_server, "enable server"},
    {Remedy::Kind::trust_project, "trust project"},
    {Remedy::Kind::import_file, "import file"},
    {Remedy::Kind::give_more_time, "give more time"},
    {Remedy::Kind::list_tools, "list tools"},
    {Remedy::Kind::sign_in, "sign in"},
    {Remedy::Kind::approve_changes, "approve changes"},
    {Remedy::Kind::renew_lock, "renew lock"},
    {Remedy::Kind::choose_permission_mode, "choose permission mode"},
}};

std::string text_in(const Json& object, std::string_view member) {
  const Json& value = object[member];
  return value.is_string() ? std::string(value.as_text()) : std::string();
}

template <class Values>
auto named(const Values& values, const Json& name) -> std::optional<typename Values::value_type> {
  const auto text = name.text();
  const auto found =
      text ? std::ranges::find(values, *text, [](auto value) { return to_string(value); }) : values.end();
  return found == values.end() ? std::nullopt : std::optional(*found);
}

std::optional<Remedy> remedy_in(const Json& written) {
  const auto kind = written["kind"].text();
  if (!kind) return std::nullopt;
  const auto found = std::ranges::find(remedies, *kind, [](const auto& one) { return one.second; });
  if (found == remedies.end()) return std::nullopt;
  return Remedy{found->first, text_in(written, "server"), text_in(written, "file")};
}

}  // namespace

Error carrying(const Error& error) {
  Json data{{"code", to_string(error.code())}, {"message", error.message()}};
  if (!error.detail().empty()) data["detail"] = error.detail();
  if (error.carried_out()) data["carriedOut"] = to_string(*error.carried_out());
  if (error.http_status()) data["httpStatus"] = *error.http_status();
  if (error.rpc_code()) data["rpcCode"] = *error.rpc_code();
  if (!error.rpc_data().empty()) data["rpcData"] = error.rpc_data();
  if (const auto& remedy = error.remedy()) {
    const auto found = std::ranges::find(remedies, remedy->kind, [](const auto& one) { return one.first; });
    data["remedy"] = Json{{"kind", found->second}, {"server", remedy->server}, {"file", remedy->file}};
  }
  return Error::rpc(rpc_error_of(error).code, error.message(), to_text(Json{{key, std::move(data)}}));
}

std::optional<Error> carried_error(const RpcError& received) {
  if (!received.data) return std::nullopt;
  auto parsed = parse_json(received.data.text());
  if (!parsed || !parsed->is_object()) return std::nullopt;
  const Json& data = std::as_const(*parsed)[key];
  const auto code = data.is_object() ? named(codes, data["code"]) : std::nullopt;
  if (!code) return std::nullopt;
  const auto rpc_code = data["rpcCode"].to_int();
  Error error = *code == Errc::rpc && rpc_code
                    ? Error::rpc(*rpc_code, text_in(data, "message"), text_in(data, "rpcData"))
                    : Error(*code, text_in(data, "message"));
  if (auto detail = text_in(data, "detail"); !detail.empty()) error = std::move(error).with_detail(std::move(detail));
  if (const auto status = data["httpStatus"].to_int())
    error = std::move(error).with_http_status(static_cast<int>(*status));
  if (const auto outcome = named(outcomes, data["carriedOut"])) error = std::move(error).with_carried_out(*outcome);
  if (auto remedy = remedy_in(data["remedy"])) error = std::move(error).with_remedy(std::move(*remedy));
  return error;
}

}  // namespace patchbay
