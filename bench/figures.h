// What the measuring clients in C++ share: their clocks, their memory and the one line they
// print. bench/README.md has the arguments and the line; every client in peers/ does the same.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <time.h>

namespace bench {

inline double wall_us() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

// User and system time of this process, all threads, without its children.
inline double cpu_us() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto us = [](timeval time) {
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

// The most memory this process ever had, in KiB. Not ru_maxrss, which is inherited from
// whoever started us.
inline long peak_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::strtol(line.c_str() + 6, nullptr, 10);
  }
  return 0;
}

// From construction to print(): what was spent on `calls` calls.
class Meter {
 public:
  explicit Meter(std::string_view measure) : measure_(measure), wall_(wall_us()), cpu_(cpu_us()) {}

  void took(double us) { each_.push_back(us); }
  // Another process is what was measured: its CPU time, its memory.
  void instead(double cpu, long peak) {
    of_another_ = true;
    other_cpu_ = cpu;
    other_peak_ = peak;
  }

  void print(int calls) {
    const double wall = wall_us() - wall_;
    const double cpu = of_another_ ? other_cpu_ : cpu_us() - cpu_;
    std::ranges::sort(each_);
    std::printf(R"({"measure":"%s","count":%d,"wall_us":%.3f,"cpu_us":%.3f,"p50_us":%.3f,"p99_us":%.3f,"peak_kib":%ld})"
                "\n",
                measure_.c_str(), calls, wall / calls, cpu / calls, quantile(0.5), quantile(0.99),
                of_another_ ? other_peak_ : peak_kib());
    std::fflush(stdout);
  }

 private:
  // each_ is sorted.
  double quantile(double part) const {
    if (each_.empty()) return 0;
    return each_[std::min(each_.size() - 1, static_cast<std::size_t>(part * static_cast<double>(each_.size())))];
  }

  std::string measure_;
  std::vector<double> each_;
  double wall_;
  double cpu_;
  bool of_another_ = false;
  double other_cpu_ = 0;
  long other_peak_ = 0;
};

struct Arguments {
  std::string server;
  std::string measure;
  int count = 0;
  int at_once = 1;
  int warm_up() const { return count / 5 + 1; }
};

inline Arguments arguments_of(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: %s SERVER MEASURE COUNT [AT-ONCE]\n", argv[0]);
    std::exit(2);
  }
  return {argv[1], argv[2], std::max(1, std::atoi(argv[3])), argc > 4 ? std::max(1, std::atoi(argv[4])) : 1};
}

}  // namespace bench
