// Feeds any bytes as the job that rank 0 distributes, or a good job with some bytes changed or missing: it must be
// refused, or be whole. First byte even: the rest is the job. Odd: a length (two bytes),
// then pairs of an offset (two bytes) and a new byte.
#include <span>

#include "base/fuzz_input.hpp"
#include "base/fuzz_target.hpp"
#include "client/job.hpp"
#include "client/test_grant.hpp"

namespace {

using namespace sumac;

const std::vector<std::byte>& good_job() {
  static const std::vector<std::byte> bytes = [] {
    const client::test::Answer answer;
    return client::encode_job(answer.job_id, {}, std::vector<std::string>{"a", "b"}, answer.messages(),
                              std::vector<std::uint32_t>{0, 0, 1});
  }();
  return bytes;
}

}  // namespace

SUMAC_FUZZ(job) {
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
  must(!job->trees.empty() && job->trees.size() == job->granted.tree_count, "a job has all its trees");
  for (std::uint32_t rank = 0; rank < job->rank_host.size(); ++rank)
    for (const auto& tree : job->trees)
      static_cast<void>(job->leaf_of(tree, WorldRank{rank}));  // Throws where a leaf is missing.
  must(job->group_osts() >= 1, "a group has an OST");
  return 0;
}
