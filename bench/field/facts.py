"""The form of real tables, as OSU 5.3 and Intel's IMB 2021.11 print them: what `make test` compares with where neither is at hand. `make toolkit`
(bench-form) compares these facts, and our tables, with the real programs."""

import form

KINDS = ("Allgather", "Allgatherv", "Allreduce", "Alltoall", "Alltoallv", "Barrier", "Bcast", "Gather", "Gatherv", "Reduce", "Reduce_scatter",
         "Reduce_scatter_block", "Scatter", "Scatterv")
# OSU's titles differ from MPI's names for these.
TITLES = {"Alltoall": "All-to-All Personalized Exchange", "Alltoallv": "All-to-Allv Personalized Exchange", "Bcast": "Broadcast"}
NONBLOCKING_TITLES = {**TITLES, "Alltoall": "All-to-All"}
# Programs for messages between two ranks: title and column.
PAIRS = {"osu_latency": ("Latency", "Latency (us)"), "osu_bw": ("Bandwidth", "Bandwidth (MB/s)"),
         "osu_bibw": ("Bi-Directional Bandwidth", "Bandwidth (MB/s)")}
# Sandia's mpi_overhead; its names end elsewhere than its numbers, which begin at these columns.
OVERHEAD = "msgsize iterations   iter_t  work_t  overhead   base_t avail(%)"
OVERHEAD_BEGINS = [0, 8, 21, 34, 47, 60, 73]
OVERLAP = ["Overall(us)", "Compute(us)", "Pure Comm.(us)", "Overlap(%)"]
OVERLAP_FULL = [*OVERLAP[:2], "Coll. Init(us)", "MPI_Test(us)", "MPI_Wait(us)", *OVERLAP[2:]]


def osu(kind, is_nonblocking=False, is_full=False, is_checked=False):
    """Returns the Table that OSU's program prints, with a row of zeros."""
    columns = (OVERLAP_FULL if is_full else OVERLAP) if is_nonblocking else ["Avg Latency(us)"] + (
        ["Min Latency(us)", "Max Latency(us)", "Iterations"] if is_full else [])
    widths = [12 if name == "Iterations" else 18 for name in columns]
    if kind == "Barrier":
        widths[0] = 18 if is_nonblocking else 17
    else:
        columns, widths = ["Size", *columns], [10, *widths]
    if is_checked:
        columns, widths = [*columns, "Validation"], [*widths, 18]
    title = f"Non-blocking {NONBLOCKING_TITLES.get(kind, kind)}" if is_nonblocking else TITLES.get(kind, kind)
    row = ["4" if name == "Size" else "9" if name == "Iterations" else "Pass" if name == "Validation" else "0.00" for name in columns]
    comments = ["# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait"] if is_nonblocking else []
    return form.Table("osu", title, columns, [sum(widths[:i + 1]) for i in range(len(widths))], [row], comments=comments)


def pair(name, is_checked=False):
    """Returns the Table that OSU's program for two ranks prints, with a row of zeros."""
    title, column = PAIRS[name]
    return form.Table("osu", title, ["Size", column, *(["Validation"] if is_checked else [])], [10, 28, *([46] if is_checked else [])],
                      [["4", "0.00", *(["Pass"] if is_checked else [])]])


def imb(kind, has_overlap=False, is_checked=False, is_waited_for=False):
    """Returns the Table that Intel's program prints; `is_waited_for`: some ranks take no part."""
    columns = ["#bytes", "#repetitions"] + (["t_ovrl[usec]", "t_pure[usec]", "t_CPU[usec]", "overlap[%]"] if has_overlap else
                                            ["t_min[usec]", "t_max[usec]", "t_avg[usec]"])
    if "barrier" in kind.lower():
        columns = columns[1:]
    elif is_checked:
        columns = [*columns, "defects"]
    rule = "#" + "-" * (13 * len(columns) - 1)
    waiting = ["# (waiting)"] if is_waited_for else []
    return form.Table("imb", kind, columns, [13 * (i + 1) for i in range(len(columns))],
                      [["9" if name[0] == "#" else "0.00" for name in columns]], comments=[rule, "# #processes = N", *waiting, rule])
