// Feeds any bytes as the job that rank 0 distributes, or a good job with some bytes changed or missing: it must be
// refused, or be whole and survive encoding again. First byte even: the rest is the job. Odd: a length (two bytes),
// then pairs of an offset (two bytes) and a new byte.
#include <span>

#include "base/fuzz_input.hpp"
#include "client/job.hpp"

namespace {

using namespace sumac;

const std::vector<std::byte>& good_job() {
  static const std::vector<std::byte> bytes = [] {
    client::Job job;
    job.id = 42;
    job.grant.grant = {51, 128, 51, 1, 1, 1};
    job.trees.emplace_back();
    auto& tree = job.trees.back();
    tree.id = 5;
    tree.root_node = 1;
    tree.nodes = {{1, 1}, {2, 1}};
    tree.node_name = {"an-root", "an-leaf"};
    tree.node_address = {"tcp:10.0.0.1:7000", "tcp:10.0.0.2:7000"};
    tree.rank_leaf = {2, 2, 1};
    return client::encode_job(job);
  }();
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using fuzz::must;
  must(static_cast<bool>(client::decode_job(good_job())), "a good job is read");
  fuzz::Input in(data, size);
  std::vector<std::byte> bytes;
  if ((in.byte() & 1) == 0) {
    const auto rest = std::as_bytes(std::span(in.rest()));
    bytes.assign(rest.begin(), rest.end());
  } else {
    bytes = good_job();
    bytes.resize(bytes.size() - in.word() % 16);
    while (!in.empty()) {
      const auto at = in.word();
      bytes[at % bytes.size()] = static_cast<std::byte>(in.byte());
    }
  }
  const auto job = client::decode_job(bytes);
  if (!job) {
    must(!job.error().text.empty(), "a refusal has a reason");
    return 0;
  }
  const auto again = client::encode_job(*job);
  const auto twice = client::decode_job(again);
  must(twice && client::encode_job(*twice) == again, "what was read can be written");
  must(job->group_osts() >= 1, "a group has an OST");
  return 0;
}
