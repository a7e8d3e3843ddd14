// Deaths of ranks: a report of the host's sharpd is checked and passed on to the job's nodes.
#include <algorithm>

#include "manager/core.hpp"

namespace sumac::manager {

ActionList Manager::rank_died(StreamId stream, const RankDied& word) {
  ActionList out;
  const Sharpd* host = host_of(out, stream);
  if (host == nullptr) return out;
  // The death may already have ended the job, whose members have yet to leave.
  const JobId id = word.job_id;
  const auto running = jobs_.find(id);
  const auto leaving = std::ranges::find(leaving_, id, [](const auto& one) { return one.job.record.job_id; });
  if (running == jobs_.end() && leaving == leaving_.end()) return out;
  const Job& job = running != jobs_.end() ? running->second : leaving->job;
  if (!job.granted) return out;  // Until the grant no rank waits for another.
  const auto& record = job.record;
  const auto known = host_by_name_.find(host->name);
  const bool is_of_job =
      known != host_by_name_.end() && std::ranges::find(record.hosts, known->second) != record.hosts.end();
  if (!is_of_job || word.uid != record.uid || !word.job_key || !same_secret(record.job_key, *word.job_key)) {
    out.push_back(Say{LogLevel::warn, "JOBS",
                      fmt::format("host {} may not say that rank {} of job {} died: {:.200} is none of its processes",
                                  host->name, word.world_rank, id, word.who)});
    return out;
  }
  ++counts_.rank_deaths;
  out.push_back(Say{LogLevel::warn, "JOBS",
                    fmt::format("job_id_external: {} job_id_sharp: {}: rank {} died: {:.200}", record.job_id,
                                record.number, word.world_rank, word.who)});
  happened(out, Happened::Kind::rank_died, record.job_id, record.uid,
           fmt::format("rank {} died: {:.200}", word.world_rank, word.who));
  for (std::size_t i = 0; i < record.shares.size(); ++i)
    for (const auto n : job.reserved[i]) {
      if (nodes_[n].stream == 0) continue;
      send(out, nodes_[n], RankDeath{record.shares[i].tree, record.job_id, word.world_rank, host->name});
    }
  return out;
}

}  // namespace sumac::manager
