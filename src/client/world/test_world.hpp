#pragma once
// The common part of the tests through real daemons: a fabric of a root and two leaves, and specs as careless clients
// make them.
#include <gtest/gtest.h>

#include <cstring>

#include "base/types.hpp"
#include "client/world/test_daemons.hpp"
#include "client/world/test_ranks.hpp"

namespace sumac::client::test {

/// Two hosts on each leaf, because a single one would be attached to the root.
inline const Shape kTwoLeaves{.leaves = {"leaf1", "leaf2"}, .hosts_per_leaf = 2};

inline RanksConfig on(const Daemons& daemons, int size) {
  RanksConfig config;
  config.size = size;
  for (std::size_t h = 0; h < daemons.hosts(); ++h) config.sockets.push_back(daemons.socket_of(h));
  return config;
}

inline sharp_coll_reduce_spec reduce_spec(const void* in, void* out, std::size_t count, Dtype dtype, Op op,
                                          Dtype tag = Dtype::null) {
  sharp_coll_reduce_spec spec;
  std::memset(&spec, 0xA5, sizeof spec);
  const auto bytes = count * element_bytes(dtype, op, tag);
  spec.sbuf_desc = {SHARP_DATA_BUFFER, SHARP_MEM_TYPE_HOST, {}, {{const_cast<void*>(in), bytes, nullptr}}};
  spec.rbuf_desc = {SHARP_DATA_BUFFER, SHARP_MEM_TYPE_HOST, {}, {{out, bytes, nullptr}}};
  spec.dtype = static_cast<sharp_datatype>(dtype);
  spec.op = static_cast<sharp_reduce_op>(op);
  spec.tag_dtype = static_cast<sharp_datatype>(tag);
  spec.length = count;
  spec.aggr_mode = SHARP_AGGREGATION_NONE;
  return spec;
}

/// kTwoLeaves with environment variables for its daemons.
inline Shape two_leaves(Environment environment) {
  auto shape = kTwoLeaves;
  shape.environment = std::move(environment);
  return shape;
}

/// Runs `size` ranks that all end well.
inline std::vector<Ended> run_well(const Daemons& daemons, int size, Environment environment,
                                   const std::function<void(Rank&)>& body) {
  auto config = on(daemons, size);
  config.environment = std::move(environment);
  auto ended = run_ranks(config, body);
  EXPECT_EQ(complaint(ended), "") << daemons.log();
  return ended;
}

class World : public testing::Test {
 protected:
  void SetUp() override { daemons_ = std::make_unique<Daemons>(shape()); }
  virtual Shape shape() const { return kTwoLeaves; }
  std::vector<Ended> run(int size, Environment environment, const std::function<void(Rank&)>& body) {
    return run_well(*daemons_, size, std::move(environment), body);
  }
  void expect_well(int size, const std::function<void(Rank&)>& body, Environment environment = {}) {
    run(size, std::move(environment), body);
  }
  std::unique_ptr<Daemons> daemons_;
};

}  // namespace sumac::client::test
