#include "tools/doctor/report.hpp"

#include <optional>
#include <type_traits>

#include "base/utf8.hpp"

namespace sumac::tools::doctor {
namespace {

using nlohmann::json;

struct Writer {
  json& to;

  template <class T>
  static json value_of(const T& value) {
    if constexpr (std::is_same_v<T, std::string> || std::is_arithmetic_v<T>) {
      return value;
    } else {
      json object = json::object();
      Writer writer{object};
      describe(writer, const_cast<T&>(value));
      return object;
    }
  }
  template <class T>
  static json value_of(const std::vector<T>& list) {
    json array = json::array();
    for (const auto& each : list) array.push_back(value_of(each));
    return array;
  }
  template <class T>
  void operator()(const char* name, const T& value) {
    to[name] = value_of(value);
  }
};

/// Reads what is there: a field that an older doctor does not send keeps its default. The first wrong field is named in
/// `flaw`.
struct Reader {
  const json& from;
  std::string& flaw;

  static bool take(const json& from, std::string& to) {
    if (!from.is_string()) return false;
    to = printable(std::string_view(from.get_ref<const std::string&>()).substr(0, kTextMax));
    return true;
  }
  static bool take(const json& from, bool& to) {
    if (!from.is_boolean()) return false;
    to = from.get<bool>();
    return true;
  }
  static bool take(const json& from, std::int64_t& to) {
    if (!from.is_number_integer() || (from.is_number_unsigned() && from.get<std::uint64_t>() > INT64_MAX)) return false;
    to = from.get<std::int64_t>();
    return true;
  }
  static bool take(const json& from, double& to) {
    if (!from.is_number()) return false;
    to = from.get<double>();
    return true;
  }
  void operator()(const char* name, auto& value) {
    const auto at = from.find(name);
    if (at == from.end() || !flaw.empty()) return;
    if (!read(*at, value) && flaw.empty()) flaw = name;
  }
  template <class T>
  bool read(const json& each, T& value) {
    if constexpr (std::is_class_v<T> && !std::is_same_v<T, std::string>) {
      if (!each.is_object()) return false;
      Reader reader{each, flaw};
      describe(reader, value);
      return flaw.empty();
    } else {
      return take(each, value);
    }
  }
  template <class T>
  bool read(const json& each, std::vector<T>& list) {
    if (!each.is_array() || each.size() > kListMax) return false;
    list.clear();
    for (const auto& one : each)
      if (!read(one, list.emplace_back())) return false;
    return true;
  }
};

std::optional<Health> health_of(std::string_view text) {
  for (const auto health : {Health::well, Health::note, Health::bad})
    if (text == word(health)) return health;
  return std::nullopt;
}

struct WrittenFinding {
  std::string subject, health, found, remedy;
};
template <class V>
void describe(V& v, WrittenFinding& f) {
  v("subject", f.subject), v("health", f.health), v("found", f.found), v("remedy", f.remedy);
}

/// JSON that nests deeper is none of ours; the parser recurses once a level.
constexpr int kDepthMax = 16;

bool is_shallow(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDepthMax) return false;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return true;
}

}  // namespace

json to_json(const Findings& findings) {
  json array = json::array();
  for (const auto& each : findings)
    array.push_back(
        Writer::value_of(WrittenFinding{each.subject, std::string(word(each.health)), each.found, each.remedy}));
  return array;
}

json to_json(const Report& report) {
  return {{"sumac_doctor", kForm},
          {"version", report.facts.sumac},
          {"host", report.facts.host},
          {"findings", to_json(report.findings)},
          {"facts", Writer::value_of(report.facts)}};
}

std::string text_of(const json& object, int indent) {
  return object.dump(indent, ' ', false, json::error_handler_t::replace);
}

Result<Report> parse_report(std::string_view text) {
  if (text.size() > kReportBytesMax)
    return fail(Errc::invalid, "its report has more than {} bytes: install one version of Sumac on all hosts",
                kReportBytesMax);
  if (!is_shallow(text)) return fail(Errc::invalid, "its report is nested too deep: is `sumac` there Sumac's own?");
  const auto all = json::parse(text.begin(), text.end(), nullptr, false);
  if (!all.is_object() || !all.contains("sumac_doctor"))
    return fail(Errc::invalid, "its answer is no report of `sumac doctor`: is `sumac` there Sumac's own?");
  std::string version = "an unknown version";
  if (const auto at = all.find("version"); at != all.end()) (void)Reader::take(*at, version);
  std::int64_t form = 0;
  if (!Reader::take(all["sumac_doctor"], form) || form != kForm)
    return fail(
        Errc::unsupported,
        "its doctor ({:.40}) writes another form of report than this one reads: install one version of Sumac on "
        "all hosts",
        version);
  Report report;
  std::string flaw;
  Reader reader{all, flaw};
  std::vector<WrittenFinding> findings;
  reader("facts", report.facts);
  reader("findings", findings);
  if (findings.size() > kFindingsMax) flaw = "findings";
  for (auto& each : findings) {
    const auto health = health_of(each.health);
    if (!health) flaw = "health";
    report.findings.push_back(
        {std::move(each.subject), health.value_or(Health::bad), std::move(each.found), std::move(each.remedy)});
  }
  if (!flaw.empty())
    return fail(Errc::invalid, "its report ({:.40}) has a wrong field {}: install one version of Sumac on all hosts",
                version, flaw);
  return report;
}

}  // namespace sumac::tools::doctor
