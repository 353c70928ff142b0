#include "support/front_programs.h"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>

namespace patchbay::test {
namespace {

std::vector<std::string> lines_of(const std::string& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

void need(const char* program, const char* package) {
  if (::access(program, X_OK) != 0) {
    throw std::runtime_error(fmt::format("{} is missing: apt-get install {}", program, package));
  }
}

}  // namespace

Nginx::Nginx(std::uint16_t upstream) : authority_(directory_.path()), port_(free_port()) {
  need("/usr/sbin/nginx", "nginx-light");
  const auto certificate = authority_.issue("nginx", "IP:127.0.0.1,DNS:localhost");
  const auto& top = directory_.path();
  const auto config =
      directory_.write("nginx.conf", fmt::format(R"(
daemon off;
master_process off;
pid {0}/pid;
error_log {0}/error.log;
events {{}}
http {{
  log_format asked "$server_protocol $request_method $uri $status";
  access_log {0}/access.log asked;
  client_body_temp_path {0}/body;
  proxy_temp_path {0}/proxy;
  fastcgi_temp_path {0}/fastcgi;
  uwsgi_temp_path {0}/uwsgi;
  scgi_temp_path {0}/scgi;
  server {{
    listen 127.0.0.1:{1} ssl http2;
    ssl_certificate {2};
    ssl_certificate_key {3};
    client_max_body_size 100m;
    location /protocol {{ return 200 "$server_protocol $request_method $connection"; }}
    location / {{ proxy_pass http://127.0.0.1:{4}; proxy_buffering off; proxy_http_version 1.1; }}
  }}
}}
)",
                                                 top, port_, certificate.certificate, certificate.key, upstream));
  program_.emplace(std::vector<std::string>{"/usr/sbin/nginx", "-p", top, "-c", config, "-e", top + "/error.log"});
  program_->wait_for_port(port_);
}

std::string Nginx::url(std::string_view path) const { return fmt::format("https://127.0.0.1:{}{}", port_, path); }

std::vector<std::string> Nginx::answered() const { return lines_of(directory_.path() + "/access.log"); }

Tinyproxy::Tinyproxy(const std::map<std::string, std::string>& env) : port_(free_port()) {
  need("/usr/bin/tinyproxy", "tinyproxy-bin");
  const auto& top = directory_.path();
  const auto config = directory_.write("tinyproxy.conf", fmt::format("Port {1}\n"
                                                                     "Listen 127.0.0.1\n"
                                                                     "Timeout 60\n"
                                                                     "MaxClients 64\n"
                                                                     "LogLevel Connect\n"
                                                                     "LogFile \"{0}/log\"\n",
                                                                     top, port_));
  program_.emplace(std::vector<std::string>{"/usr/bin/tinyproxy", "-d", "-c", config},
                   RunningProgram::Options{.cwd = {}, .env = env});
  program_->wait_for_port(port_);
}

std::string Tinyproxy::url() const { return fmt::format("http://127.0.0.1:{}", port_); }

std::vector<std::string> Tinyproxy::asked() const {
  std::vector<std::string> requests;
  for (const auto& line : lines_of(directory_.path() + "/log")) {
    const auto at = line.find("): ");
    if (line.find("Request (file descriptor") != std::string::npos && at != std::string::npos) {
      requests.push_back(line.substr(at + 3));
    }
  }
  return requests;
}

}  // namespace patchbay::test
