"""PyTorch and numpy: T1 to T8."""

from case import Case

CASES: list[Case] = [
    Case("T1 a future's callback may start operations and wait for them, and the group's limit ends each wait", r"^python\.(torch|programs)$",
         kin="callbacks in callbacks, a callback that waits for a later future, the interpreter's end in a callback: mended. The thread that begins "
             "operations of tensors on a device took the program's signals: mended. Works, futures and groups that outlive destroy: they end with an error."),
    Case("T2 a root of -1 is the last rank for numpy, and one that does not exist is a ValueError", r"^python\.team$",
         kin="all methods with a root; PyTorch's roots were checked."),
    Case("T3 arrays in the byte order of another machine are added up rightly", r"^python\.team$",
         kin="moved arrays of mixed order (allgather), arrays that get a result: TypeError; masked arrays: TypeError."),
    Case("T4 splits of all_to_all that do not fit together are an error at every rank before a byte is read", r"^python\.(torch|hosts|team)$",
         kin="allgather(v), gatherv and scatterv with counts that differ; a rank's own block, also in a team of one; between hosts of several "
             "ranks also where all bytes together are as many."),
    Case("T5 types of elements and operations that differ are an error at every rank, also where data only moves", r"^(python\.(torch|hosts|tree|team)$|base_test\.Meaning|python_core_test\.Team\.Compares)",
         kin="bool beside uint8, AVG beside SUM in reduce_scatter, SUM beside MAX in reduce_scatter between hosts (was not "
             "compared); more than 64 posted operations (their entries were overwritten before they were compared)."),
    Case("T6 after a timeout the late rank fails too", r"^(python\.(torch|hosts)$|python_core_test\.Team\.ARankThatComesLate)", kin="between hosts the late rank found the data complete as well: mended."),
    Case("T7 results that overlap their input are right", r"^python\.team$", kin="all methods with `out`."),
]
