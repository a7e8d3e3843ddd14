#include "kernel/loader.hpp"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <net/if.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "kernel/filters.hpp"

extern "C" {
extern const char sumac_hop_object[];
extern const char sumac_hop_object_end[];
}

namespace sumac::kernel {
namespace {

constexpr const char* kMaps[] = {"hop_config", "hop_groups", "hop_slots", "hop_processor"};
constexpr std::uint32_t kPriority = 0x5355;

/// libbpf reports by lines. The last one that is no part of the verifier's log has the reason.
thread_local std::string last_words;

int keep_last_words(libbpf_print_level level, const char* format, va_list arguments) {
  std::array<char, 256> line{};
  if (level != LIBBPF_WARN || std::vsnprintf(line.data(), line.size(), format, arguments) <= 0) return 0;
  last_words = line.data();
  while (!last_words.empty() && last_words.back() == '\n') last_words.pop_back();
  return 0;
}

tl::unexpected<Error> refused(const char* action, int error) {
  const Errc code = error == EPERM || error == EACCES ? Errc::denied : Errc::io;
  return fail(code, "{}: {}{}{}", action, std::system_category().message(error), last_words.empty() ? "" : "; ",
              last_words);
}

std::string folder_of(const LoadOptions& options) {
  return fmt::format("{}/v{}-{}x{}", options.pins, HOP_LAYOUT, options.groups_max, options.slots_max);
}

}  // namespace

void Program::Close::operator()(bpf_object* object) const noexcept { bpf_object__close(object); }

int Program::map(const char* name) const noexcept { return bpf_object__find_map_fd_by_name(object_.get(), name); }

int Program::receiver() const noexcept {
  return bpf_program__fd(bpf_object__find_program_by_name(object_.get(), "hop_receive"));
}

Result<Program> Program::load(const LoadOptions& options) {
  last_words.clear();
  libbpf_set_print(keep_last_words);
  bpf_object_open_opts open{};
  open.sz = sizeof open;
  open.object_name = "sumac_hop";
  std::unique_ptr<bpf_object, Close> object(
      bpf_object__open_mem(sumac_hop_object, static_cast<std::size_t>(sumac_hop_object_end - sumac_hop_object), &open));
  if (!object) return refused("open the program", errno);
  const std::string folder = options.pins.empty() ? std::string() : folder_of(options);
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) return refused(("make " + folder).c_str(), error.value());
  const auto find = [&](const char* name) { return bpf_object__find_map_by_name(object.get(), name); };
  bpf_map__set_max_entries(find("hop_groups"), options.groups_max);
  bpf_map__set_max_entries(find("hop_slots"), options.groups_max * options.slots_max);
  if (!folder.empty())
    for (const char* name : kMaps) bpf_map__set_pin_path(find(name), fmt::format("{}/{}", folder, name).c_str());
  if (const int result = bpf_object__load(object.get()); result != 0) return refused("load the program", -result);
  if (!folder.empty())
    for (const auto& entry : std::filesystem::directory_iterator(options.pins, error))
      if (entry.path() != folder) std::filesystem::remove_all(entry.path(), error);
  Program program(std::move(object), options);
  if (auto written = program.renew_lease(options.lease_end_ns); !written) return tl::unexpected(written.error());
  return program;
}

std::optional<HopConfig> Program::pinned(const LoadOptions& options) {
  const int config_map = options.pins.empty() ? -1 : bpf_obj_get((folder_of(options) + "/hop_config").c_str());
  if (config_map < 0) return std::nullopt;
  const std::uint32_t zero = 0;
  HopConfig config{};
  const bool is_read = bpf_map_lookup_elem(config_map, &zero, &config) == 0;
  ::close(config_map);
  return is_read ? std::optional(config) : std::nullopt;
}

Result<> Program::renew_lease(std::uint64_t end_ns) {
  const std::uint32_t zero = 0;
  HopConfig config{.lease_end_ns = end_ns, .port = htons(options_.port), .has_address = !options_.address.empty()};
  std::copy_n(options_.address.begin(), std::min(options_.address.size(), sizeof config.address), config.address);
  if (bpf_map_update_elem(map("hop_config"), &zero, &config, BPF_ANY) != 0) return refused("write the lease", errno);
  return {};
}

Result<> Program::attach(const std::string& device) {
  last_words.clear();
  bpf_tc_hook hook{};
  hook.sz = sizeof hook;
  hook.ifindex = static_cast<int>(if_nametoindex(device.c_str()));
  hook.attach_point = BPF_TC_INGRESS;
  if (hook.ifindex == 0) return fail(Errc::not_found, "there is no device {}", device);
  if (const int result = bpf_tc_hook_create(&hook); result != 0 && result != -EEXIST)
    return refused("add clsact", -result);
  bpf_tc_opts filter{};
  filter.sz = sizeof filter;
  filter.prog_fd = receiver();
  filter.handle = options_.port;
  filter.priority = kPriority;
  filter.flags = BPF_TC_F_REPLACE;
  if (const int result = bpf_tc_attach(&hook, &filter); result != 0) return refused("attach the program", -result);
  return {};
}

namespace {

Result<> detach_from(int device, std::uint16_t port) {
  last_words.clear();
  bpf_tc_hook hook{};
  hook.sz = sizeof hook;
  hook.ifindex = device;
  hook.attach_point = BPF_TC_INGRESS;
  bpf_tc_opts filter{};
  filter.sz = sizeof filter;
  filter.handle = port;
  filter.priority = kPriority;
  const int result = bpf_tc_detach(&hook, &filter);
  if (result == -ENOENT || result == -EINVAL) return {};  // There is none, or no place for any.
  if (result != 0) return refused("detach the program", -result);
  const auto others = filters_of(hook.ifindex);
  if (!others) return tl::unexpected(others.error());
  if (*others > 0) return {};
  hook.attach_point = static_cast<bpf_tc_attach_point>(BPF_TC_INGRESS | BPF_TC_EGRESS);
  if (const int gone = bpf_tc_hook_destroy(&hook); gone != 0 && gone != -ENOENT) return refused("remove clsact", -gone);
  return {};
}

}  // namespace

Result<> Program::detach(const std::string& device) {
  const auto index = static_cast<int>(if_nametoindex(device.c_str()));
  return index == 0 ? Result<>{} : detach_from(index, options_.port);  // The filter went with its device.
}

Result<> Program::clear(const LoadOptions& options) {
  const auto former = pinned(options);
  if (!former) return {};
  const std::unique_ptr<struct if_nameindex, decltype(&if_freenameindex)> devices(if_nameindex(), &if_freenameindex);
  for (const auto* one = devices.get(); one != nullptr && one->if_index != 0; ++one)
    if (auto gone = detach_from(static_cast<int>(one->if_index), ntohs(former->port)); !gone) return gone;
  std::error_code error;
  std::filesystem::remove_all(options.pins, error);
  return error ? refused(("remove " + options.pins).c_str(), error.value()) : Result<>{};
}

Result<> Program::unpin() {
  if (options_.pins.empty()) return {};
  std::error_code error;
  std::filesystem::remove_all(options_.pins, error);
  return error ? refused(("remove " + options_.pins).c_str(), error.value()) : Result<>{};
}

Result<> Program::begin_group(std::uint32_t index, const HopGroup& group, std::uint32_t first) {
  const std::uint32_t slots = group.place.slots;
  if (group.place.children == 0 || group.place.children > kHopChildren)
    return fail(Errc::unsupported, "a group of {} children; {} fit", group.place.children, +kHopChildren);
  if (slots < 2 || slots > options_.slots_max || (slots & (slots - 1)) != 0)
    return fail(Errc::invalid, "a group of {} slots", slots);
  if (group.payload_bytes_max % 8 != 0 || group.payload_bytes_max > 8 * kHopPayloadWords ||
      group.payload_bytes_max * group.place.children > 8 * kHopPartWords)
    return fail(Errc::unsupported, "payloads of {} bytes of {} children do not fit", group.payload_bytes_max,
                group.place.children);
  if (auto ended = end_group(index); !ended) return ended;
  HopGroup made = group;
  made.first_slot = index * options_.slots_max;
  auto slot = std::make_unique<HopSlot>();
  for (std::uint32_t i = 0; i < slots; ++i) {
    const std::uint32_t at = made.first_slot + i;
    hop_begin(slot.get(), first, slots, i);
    if (bpf_map_update_elem(map("hop_slots"), &at, slot.get(), BPF_ANY) != 0) return refused("write a slot", errno);
  }
  if (bpf_map_update_elem(map("hop_groups"), &index, &made, BPF_ANY) != 0) return refused("write the group", errno);
  return {};
}

Result<> Program::end_group(std::uint32_t index) {
  const HopGroup none{};
  if (bpf_map_update_elem(map("hop_groups"), &index, &none, BPF_ANY) == 0) return {};
  if (errno == E2BIG) return fail(Errc::exhausted, "there is no room for group {}", index);
  return refused("write the group", errno);
}

Result<> Program::leave_group(std::uint32_t index, std::uint64_t until_ns) {
  auto left = group(index);
  if (!left) return tl::unexpected(left.error());
  left->left_until_ns = until_ns;
  if (bpf_map_update_elem(map("hop_groups"), &index, &*left, BPF_ANY) != 0) return refused("write the group", errno);
  return {};
}

Result<HopGroup> Program::group(std::uint32_t index) const {
  HopGroup found{};
  if (bpf_map_lookup_elem(map("hop_groups"), &index, &found) != 0) return refused("read the group", errno);
  return found;
}

Result<> Program::freeze(std::uint32_t index) {
  std::array<std::byte, 64> no_frame{};
  __sk_buff context{};
  context.mark = index;
  bpf_test_run_opts run{};
  run.sz = sizeof run;
  run.data_in = no_frame.data();
  run.data_size_in = no_frame.size();
  run.ctx_in = &context;
  run.ctx_size_in = sizeof context;
  const int program = bpf_program__fd(bpf_object__find_program_by_name(object_.get(), "hop_freeze_group"));
  if (const int result = bpf_prog_test_run_opts(program, &run); result != 0)
    return refused("freeze the group", -result);
  if (run.retval != 1) return fail(Errc::not_found, "there is no group {} to freeze", index);
  return {};
}

Result<HopSlot> Program::look(const HopGroup& group, std::uint32_t sequence) const {
  const std::uint32_t at = group.first_slot + (sequence & (group.place.slots - 1));
  HopSlot slot{};
  if (bpf_map_lookup_elem_flags(map("hop_slots"), &at, &slot, BPF_F_LOCK) != 0) return refused("read a slot", errno);
  return slot;
}

Result<Program::Runs> Program::runs() const {
  bpf_prog_info info{};
  std::uint32_t size = sizeof info;
  if (bpf_obj_get_info_by_fd(receiver(), &info, &size) != 0) return refused("read the program's time", errno);
  return Runs{info.run_cnt, info.run_time_ns};
}

Result<HopCounts> Program::counts() const {
  const int processors = libbpf_num_possible_cpus();
  if (processors < 1) return refused("count the processors", -processors);
  // Each processor has its own value, which begins with its counts.
  const std::size_t bytes = bpf_map__value_size(bpf_object__find_map_by_name(object_.get(), "hop_processor"));
  std::vector<std::byte> each(static_cast<std::size_t>(processors) * bytes);
  const std::uint32_t zero = 0;
  if (bpf_map_lookup_elem(map("hop_processor"), &zero, each.data()) != 0) return refused("read the counters", errno);
  HopCounts sum{};
  for (std::size_t at = 0; at < each.size(); at += bytes) {
    HopCounts one{};
    std::memcpy(&one, &each[at], sizeof one);
    for (std::size_t i = 0; i < kHopCounters; ++i) sum.count[i] += one.count[i];
  }
  return sum;
}

}  // namespace sumac::kernel
