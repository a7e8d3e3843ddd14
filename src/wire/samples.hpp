#pragma once
// One good message of every kind, with every field different from its default where that is legal: golden bytes, round
// trips, the one-field-off test and the fuzzers' seeds all start from these.
#include <cstddef>
#include <string>
#include <vector>

#include "base/secret.hpp"
#include "hop/payload.h"

namespace sumac::wire {

struct Sample {
  std::string name;
  std::vector<std::byte> bytes;
};

std::vector<Sample> agg_samples();
std::vector<Sample> host_samples();
std::vector<Sample> peer_samples();
/// The samples are sealed with datagram_key(), as the fuzzer's are.
std::vector<Sample> datagram_samples();
std::vector<Sample> hop_samples();  ///< The same.
HopKey hop_key();
Secret datagram_key();

}  // namespace sumac::wire
