"""The instructions of an operation at a rank and at the node with recovery and without it (callgrind, by the programs of
tests/guard/handshake_cost.py): holding and retaining cost copies."""

import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "guard"))
import handshake_cost as cost  # noqa: E402  pylint: disable=wrong-import-position
from harness import case  # noqa: E402  pylint: disable=wrong-import-position
from harness.rows import cases  # noqa: E402  pylint: disable=wrong-import-position

SIZES = {"8B": 8, "64KiB": 64 << 10}
OFF, ON = {"SUMAC_RECOVERY": "0"}, {"SUMAC_RECOVERY": "1"}
LIMIT = 1.03


def at_node(build, size, count, env, label):
    out = cost.common.ground.SCRATCH / f"{label}.node"
    house = build.house(label, under={"sharp_an": cost.callgrind(out, "sumac::node::Shard::run()")},
                        words={"sharp_an": ["--spin", "0", "--heartbeat", "600s", "--lost-after", "3600s"]})
    build.job(house, "operations", count, size, under=cost.ON_ONE, env=env)
    house.close()
    return cost.counted(out)


def at_rank(build, size, count, env, label):
    out = cost.common.ground.SCRATCH / f"{label}.rank"
    house = build.house(label, under={"sharp_an": cost.ON_ONE})
    said = build.job(house, "operations", count, size, under=cost.callgrind(f"{out}.%p", "sharp_coll_do_allreduce"), env=env)
    house.close()
    return cost.counted(f"{out}.{said.split()[-1]}")


def per_operation(build, size, measure, env, label):
    few, many = (measure(build, size, count, env, f"{label}-{count}") for count in cost.COUNTS)
    return (many - few) / (cost.COUNTS[1] - cost.COUNTS[0])


def retention(rows):
    if not cost.shutil.which("valgrind"):
        case.skip_or_fail("no valgrind (make setup-guard)")
    build = cost.Build("now", case.BUILD)
    for name, size in SIZES.items():
        for place, measure in (("rank", at_rank), ("node", at_node)):
            off, on = ([per_operation(build, size, measure, env, f"{place}{size}-{env['SUMAC_RECOVERY']}-{turn}") for turn in range(cost.REPEATS)] for env in (OFF, ON))
            print(f"instructions of {name} at the {place}: without recovery {cost.spread(off)}, with {cost.spread(on)}", flush=True)
            rows.add(f"retention-cost-{name}-{place}", "x of an operation without recovery", statistics.median(on) / statistics.median(off), LIMIT)


cases(__doc__, retention)
