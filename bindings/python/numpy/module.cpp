// The module sumac_collectives._core: a team over buffers of bytes. Shapes and types are the business of team.py, which
// calls it; nothing else does.
#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstring>

#include "base/meaning.hpp"
#include "base/types.hpp"
#include "bindings/python/core/folds.hpp"
#include "bindings/python/core/team.hpp"
#include "bindings/python/interpreter.hpp"

namespace py = pybind11;
using namespace sumac;
using sumac::python::Bytes;

namespace {

/// A store whose two functions are Python's.
class PythonStore final : public python::Store {
 public:
  PythonStore(py::function set, py::function get) : set_(std::move(set)), get_(std::move(get)) {}

  Result<> set(const std::string& key, const Bytes& value) override {
    return asked([&]() -> Result<> {
      set_(key, py::bytes(reinterpret_cast<const char*>(value.data()), value.size()));
      return {};
    });
  }
  Result<std::optional<Bytes>> get(const std::string& key, Duration at_most) override {
    return asked([&]() -> Result<std::optional<Bytes>> {
      const py::object value = get_(key, std::chrono::duration<double>(at_most).count());
      if (value.is_none()) return std::nullopt;
      return python::bytes_of_text(value.cast<std::string>());
    });
  }

 private:
  /// After Ctrl-C an exception is set, which must not keep the other ranks from reading why this one gives up.
  template <class Ask>
  static auto asked(Ask ask) -> decltype(ask()) {
    const py::gil_scoped_acquire gil;
    const py::error_scope kept;
    try {
      return ask();
    } catch (const py::error_already_set& error) {
      const Errc code = error.matches(PyExc_TimeoutError) ? Errc::timeout : Errc::lost;
      return fail(code, "the store: {}", py::str(error.value()).cast<std::string>());
    }
  }

  py::function set_, get_;
};

PyObject *error_type, *timeout_type;

[[noreturn]] void raise(const Error& why) {
  // The interrupt check has left its exception behind, mostly KeyboardInterrupt.
  if (why.code == Errc::interrupted && PyErr_Occurred() != nullptr) throw py::error_already_set();
  PyObject* type = why.code == Errc::timeout ? timeout_type : why.code == Errc::invalid ? PyExc_ValueError : error_type;
  py::set_error(type, python::printable(why.context).c_str());
  throw py::error_already_set();
}

/// The memory of an argument; None has none.
struct Memory {
  py::buffer_info info;
  std::byte* data = nullptr;
  std::size_t bytes = 0;

  Memory(const py::object& object, bool is_written) {
    if (object.is_none()) return;
    info = py::reinterpret_borrow<py::buffer>(object).request(is_written);
    data = static_cast<std::byte*>(info.ptr);
    bytes = static_cast<std::size_t>(info.size * info.itemsize);
  }
};

using Counts = std::vector<std::int64_t>;

/// One collective: the memory of its arguments, and what the team reads, which points into it. The holder of the interpreter's
/// lock makes and destroys it.
struct Call {
  Memory from, to;
  python::Request request;
  Counts in_at, out_at;  ///< The displacements of blocks, where there are counts.

  /// `element` is a number of `elements`, none for a barrier. `bytes` as sumac_call_t has it; `in_counts` and `out_counts` in units of
  /// `unit` bytes, [] where there are none.
  Call(int kind, const py::object& in, const py::object& out, std::size_t bytes, int element, int dtype, int op,
       int root, const Counts& in_counts, const Counts& out_counts, std::size_t unit, Duration limit)
      : from(in, false), to(out, true) {
    sumac_call_t& call = request.call;
    call.coll = static_cast<std::uint8_t>(kind);
    call.root = root;
    call.in = from.data;
    call.out = to.data;
    call.bytes = bytes;
    if (element != static_cast<int>(Element::none))
      call.meaning =
          Meaning{.kind = call.coll, .op = static_cast<Op>(op), .element = static_cast<Element>(element)}.packed();
    if (op != static_cast<int>(Op::null)) {
      call.fold = python::fold_of(static_cast<Dtype>(dtype), static_cast<Op>(op));
      if (call.fold == nullptr)
        throw py::type_error(fmt::format("{} of {} is not defined", to_string(static_cast<Op>(op)),
                                         to_string(static_cast<Dtype>(dtype))));
    }
    in_at = python::describe(call.in_blocks, in_counts, unit);
    out_at = python::describe(call.out_blocks, out_counts, unit);
    request.limit = limit;
  }
  Call(const Call&) = delete;
};

/// A collective that goes on while the program computes.
class PostedCall {
 public:
  PostedCall(std::shared_ptr<python::Team> team, std::unique_ptr<Call> given) : team_(std::move(team)) {
    // The memory stays until the operation is done, also where nobody keeps this object; the thread that ends it does not hold
    // the interpreter's lock.
    const std::shared_ptr<Call> call(given.release(), [](Call* each) {
      const py::gil_scoped_acquire gil;
      delete each;
    });
    const py::gil_scoped_release unlocked;
    ticket_ = team_->post(call->request, [call](const Error*) {});
  }
  /// Moves it on for at most so long, and raises its error.
  bool is_done(double within_s) {
    Result<> ended;
    {
      const py::gil_scoped_release unlocked;
      if (within_s > 0)
        ended = team_->wait(*ticket_, Nanos{static_cast<std::int64_t>(within_s * 1e9)});
      else if (!ticket_->is_done())
        team_->progress();
    }
    if (!ticket_->is_done()) {
      if (!ended && ended.error().code != Errc::timeout) raise(ended.error());
      return false;
    }
    if (const Error* why = ticket_->error()) raise(*why);
    return true;
  }
  void wait() {
    Result<> ended;
    {
      const py::gil_scoped_release unlocked;
      ended = team_->wait(*ticket_, Duration::max());
    }
    if (!ended) raise(ended.error());
  }

 private:
  std::shared_ptr<python::Team> team_;
  std::shared_ptr<Ticket> ticket_;
};

class PythonTeam {
 public:
  PythonTeam(py::function set, py::function get, int rank, int size, std::string name, double slow_after_s,
             double make_within_s) {
    PythonStore store(std::move(set), std::move(get));
    Result<std::shared_ptr<python::Team>> made;
    {
      const py::gil_scoped_release unlocked;
      made = python::Team::make(store, rank, size,
                                {.name = std::move(name),
                                 .make_within = Nanos{static_cast<std::int64_t>(make_within_s * 1e9)},
                                 .slow_after = Nanos{static_cast<std::int64_t>(slow_after_s * 1e9)}});
    }
    if (!made) raise(made.error());
    team_ = std::move(*made);
  }

  int rank() const { return team_->rank(); }
  int size() const { return team_->size(); }
  std::string host_of(int rank) const { return team_->members().all.at(static_cast<std::size_t>(rank)).host; }
  void close() {
    Result<> destroyed;
    {
      const py::gil_scoped_release unlocked;
      destroyed = team_->destroy();
    }
    if (PyErr_Occurred() != nullptr) throw py::error_already_set();
    if (!destroyed) raise(destroyed.error());
  }

  void run(int kind, const py::object& in, const py::object& out, std::size_t bytes, int element, int dtype, int op,
           int root, const Counts& in_counts, const Counts& out_counts, std::size_t unit, double limit_s) {
    const Call call(kind, in, out, bytes, element, dtype, op, root, in_counts, out_counts, unit, limit(limit_s));
    Result<> ran;
    {
      const py::gil_scoped_release unlocked;
      ran = team_->run(call.request);
    }
    if (!ran) raise(ran.error());
  }
  std::unique_ptr<PostedCall> post(int kind, const py::object& in, const py::object& out, std::size_t bytes,
                                   int element, int dtype, int op, int root, double limit_s) {
    auto call =
        std::make_unique<Call>(kind, in, out, bytes, element, dtype, op, root, Counts{}, Counts{}, 0, limit(limit_s));
    return std::make_unique<PostedCall>(team_, std::move(call));
  }

  void send(int to, std::uint32_t tag, const py::object& in, double limit_s) {
    const Memory from(in, false);
    finish({team_->send(to, tag, from.data, from.bytes, limit(limit_s), nullptr)});
  }
  /// Returns the rank that has sent; `from` of -1: any rank.
  int receive(int from, std::uint32_t tag, const py::object& out, double limit_s) {
    const Memory to(out, true);
    const auto message = team_->receive(from, tag, to.data, to.bytes, limit(limit_s), nullptr);
    finish({message});
    return message->peer;
  }
  /// Both at a time: no rank needs to send first.
  int exchange(int to, std::uint32_t send_tag, const py::object& in, int from, std::uint32_t receive_tag,
               const py::object& out, double limit_s) {
    const Memory given(in, false), result(out, true);
    const auto received = team_->receive(from, receive_tag, result.data, result.bytes, limit(limit_s), nullptr);
    finish({team_->send(to, send_tag, given.data, given.bytes, limit(limit_s), nullptr), received});
    return received->peer;
  }

 private:
  static Duration limit(double seconds) {
    return seconds > 0 ? Nanos{static_cast<std::int64_t>(seconds * 1e9)} : Duration::max();
  }

  /// Waits for all of them. After the first error, also that of Ctrl-C, the others are withdrawn; one that is under way by then
  /// uses its memory until it ends.
  void finish(std::initializer_list<std::shared_ptr<p2p::Message>> messages) {
    std::optional<Error> why;
    {
      const py::gil_scoped_release unlocked;
      for (const auto& message : messages) {
        auto ended = team_->wait(*message, Duration::max());
        if (!ended && !why) why = ended.error();
        if (!why) continue;
        for (const auto& one : messages) team_->withdraw(one);
        while (!message->is_done()) ended = team_->wait(*message, Duration::max());
      }
    }
    if (why) raise(*why);
  }

  std::shared_ptr<python::Team> team_;
};

/// The number of each name.
template <class Name>
py::dict numbers_of(int count, Name name) {
  py::dict numbers;
  for (int number = 0; number < count; ++number) numbers[py::str(std::string(name(number)))] = number;
  return numbers;
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  module.attr("version") = SUMAC_PACKAGE_VERSION;
  static const py::exception<Error> error(module, "Error", PyExc_RuntimeError);
  static const py::exception<Errc> timeout(module, "TimeoutError",
                                           py::make_tuple(error, py::handle(PyExc_TimeoutError)));
  error_type = error.ptr();
  timeout_type = timeout.ptr();
  python::follow_interpreter();
  py::class_<PostedCall>(module, "Posted").def("is_done", &PostedCall::is_done).def("wait", &PostedCall::wait);
  py::class_<PythonTeam>(module, "Team")
      .def(py::init<py::function, py::function, int, int, std::string, double, double>())
      .def_property_readonly("rank", &PythonTeam::rank)
      .def_property_readonly("size", &PythonTeam::size)
      .def("host_of", &PythonTeam::host_of)
      .def("close", &PythonTeam::close)
      .def("run", &PythonTeam::run)
      .def("post", &PythonTeam::post)
      .def("send", &PythonTeam::send)
      .def("receive", &PythonTeam::receive)
      .def("exchange", &PythonTeam::exchange);
  module.attr("kinds") = numbers_of(SUMAC_COLLS, sumac_coll_name);
  module.attr("elements") = numbers_of(kElements, [](int i) { return to_string(static_cast<Element>(i)); });
  module.attr("dtypes") = numbers_of(kDtypeCount, [](int i) { return to_string(static_cast<Dtype>(i)); });
  module.attr("ops") = numbers_of(kOpCount, [](int i) { return to_string(static_cast<Op>(i)); });
  module.attr("no_dtype") = static_cast<int>(Dtype::null);
  module.attr("no_op") = static_cast<int>(Op::null);
}
