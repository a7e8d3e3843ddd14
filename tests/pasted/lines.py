"""The command lines that published texts paste, as they stand there (line ends joined), and what becomes of each. The page pasted.md (docs/reference.md) is written
from this table (page.py)."""

import dataclasses

DECK = "HPC-X, HCOLL and SHARP, 2018"
TUTORIAL = "SHARP for HPC and machine learning, 2019"
XCCL = "README of XCCL"

SMALL, LARGE, CONFIG, OUT = "make test", "make pasted", "make test, by its effect", "left out"


@dataclasses.dataclass(frozen=True)
class Line:
    source: str
    place: str  # the heading that it stands under
    text: str
    fate: str
    note: str = ""  # for OUT the reason, else what a reader should know
    hosts: str = ""  # the fabric file of the lab, for SMALL and LARGE
    log: tuple[str, ...] = ()  # the log lines of the published text
    sizes: tuple[int, ...] = ()  # osu_allreduce's first column there
    by_tree: tuple[tuple[str, int], ...] = ()  # calls of our own benchmark program that the tree carries
    ends_well: bool = True
    cores: int = 0  # Open MPI refuses the line on a machine with fewer, since it asks to bind so many ranks of a host
    environment: tuple[tuple[str, str], ...] = ()


def request(osts=0, payload=128, groups=0, qps=1, channels=1, trees=1):
    return (f"[nemo01:0:1 - context.c:485] INFO job (ID: 1) resource request quota: ( osts:{osts} user_data_per_ost:{payload} max_groups:{groups} "
            f"max_qps:{qps} max_group_channels:{channels}, num_trees:{trees})")


def granted(osts=51, payload=128, groups=51, qps=1, channels=1, tree=0):
    return (f"[nemo01:0:1 - context.c:628] INFO tree_info: tree idx:{tree} quota: ( osts:{osts} user_data_per_ost:{payload} max_groups:{groups} "
            f"max_qps:{qps} max_group_channels:{channels})")


def group(size, osts=2, payload=128, index=0, address="subnet prefix: 0xff12a01bfe800000 interface id: 0x4c590e000007 ) mlid:c005"):
    return (f"[nemo01:0:1 - comm.c:417] INFO [group#:{index}] group id: 7 tree idx:{index} rail_idx:{index} group size:{size} quota: ( osts:{osts} "
            f"user_data_per_ost:{payload} ) mgid: ( {address}")


DEFAULTS = (request(), granted(), group(8))
ONE_GROUP = (request(groups=1), granted(groups=1), group(8, osts=51),
             "[nemo01:1:0][common_sharp.c:360:comm_sharp_coll_comm_init] SHArP: sharp group create failed:SHArP Group alloc error(-4)",
             "[nemo01:0:1 - comm.c:242] WARN sharp_alloc_groups_info failed: No available groups(-11)",
             "[nemo01:0:1 unique id 0] WARN No available groups in sharp_alloc_groups_info.")
CONTINUING = "[nemo01:1:0][common_sharp.c:369:comm_sharp_coll_comm_init] SHArP: continuing without sharp on this communicator.."
EXITING = "[nemo01:1:0][common_sharp.c:365:comm_sharp_coll_comm_init] SHArP: Fallback disabled, exiting.."
TO_2048 = tuple(4 << i for i in range(10))
BARRIERS = (("barrier", 12),)
ALLREDUCES = (("allreduce", 120),)
SOCKETS = (("HWLOC_SYNTHETIC", "package:2 core:8 pu:1"),)
# Open MPI sees 16 cores on each host and lets ranks spin, but all hosts share this machine's cores. Without it 72 ranks on two cores take
# minutes, without Sumac too.
SHARED_CORES = (*SOCKETS, ("OMPI_MCA_mpi_yield_when_idle", "1"))
ONE_TREE, TWO_TREES = "../../lab/fabrics/channels-1tree.yaml", "hosts-4x16-2rails.yaml"

EIGHT = "mpirun -map-by node -np 8 -x HCOLL_MAIN_IB=mlx5_1:1 -x HCOLL_ENABLE_SHARP="
MANY = (" -np 64 {}-x HCOLL_MAIN_IB={} -x HCOLL_ENABLE_SHARP=2 -x SHARP_COLL_LOG_LEVEL=3 -x HCOLL_BCOL_P2P_ALLREDUCE_SHARP_MAX={} "
        "-x SHARP_COLL_JOB_QUOTA_OSTS=128 -x SHARP_COLL_JOB_QUOTA_MAX_GROUPS=16 -x SHARP_COLL_JOB_QUOTA_PAYLOAD_PER_OST=256 {}./osu_allreduce -m :2048")
BY_SOCKET = "-x HCOLL_SBGP=basesmsocket,p2p -x HCOLL_BCOL=basesmuma,ucx_p2p "
TUNED = {"osts": 128, "payload": 256, "groups": 16}
IMB = "$HPCX_MPI_TESTS_DIR/imb/IMB-MPI1 Barrier -npmin 4"

LINES = (
    Line(DECK, "Enabling HCOLL", "mpirun ... -mca coll_hcoll_enable 1 -mca coll_hcoll_np 0 ./osu_barrier", OUT, "it has an ellipsis"),
    Line(DECK, "HCOLL: Topology aware Collectives: Allreduce",
         "mpirun -np 144 -mca coll_hcoll_enable 1 -mca coll_hcoll_np 0 -x HCOLL_SBGP=basesmssocket,basesmuma,p2p "
         "-x HCOLL_BCOL=basesmuma,basesmuma,ucx_p2p ./osu_barrier", LARGE, "16 ranks on each of 9 hosts of two sockets", "hosts-9x16.yaml",
         environment=SHARED_CORES),
    Line(DECK, "SHArP: Configuring Subnet Manager", "opensm -F <opensm configuration file> -B", OUT, "a subnet manager's, and it has a placeholder"),
    Line(DECK, "SHARP: Configuring Aggregation Manager",
         "cat > $HPCX_SHARP_DIR/conf/sharp_am.conf << EOF root_guids_file $HPCX_SHARP_DIR/conf/root_guid.cfg "
         "ib_port_guid <PortGUID of the relevant HCA port or 0x0> EOF", CONFIG,
         "`sharp_am` starts with the file (0x0 in place of the placeholder); two lines of its log say what stands in"),
    Line(DECK, "SHARP: Running SHARP Daemons", "$HPCX_SHARP_DIR/sbin/sharp_daemons_setup.sh -s $HPCX_SHARP_DIR -d sharp_am", OUT,
         "it changes the machine's services; tests/tools tries it in a scratch root, and what the unit starts"),
    Line(DECK, "SHARP: Running SHARP Daemons", "service sharp_am start", OUT, "the system's own command; the log is `/var/log/sharp_am.log`, as the slide has it"),
    Line(DECK, "SHARP: Running SHARP Daemons", "pdsh -w <hostlist> $HPCX_SHARP_DIR/sbin/sharp_daemons_setup.sh -s $HPCX_SHARP_DIR -d sharpd", OUT,
         "it has a placeholder"),
    Line(DECK, "SHARP: Running SHARP Daemons", "pdsh -w jupiter[001-032] service sharpd start", OUT, "the system's own command"),
    Line(DECK, "HCOLL_ENABLE_SHARP", EIGHT + "0 -x SHARP_COLL_LOG_LEVEL=3 ./osu_barrier", SMALL, hosts="hosts-8.yaml"),
    Line(DECK, "HCOLL_ENABLE_SHARP; SHARP Multicast result distribution", EIGHT + "1 -x SHARP_COLL_LOG_LEVEL=3 ./osu_barrier", SMALL, hosts="hosts-8.yaml",
         log=DEFAULTS, by_tree=BARRIERS),
    Line(DECK, "HCOLL_ENABLE_SHARP", EIGHT + "2 -x SHARP_COLL_LOG_LEVEL=3 -x SHARP_COLL_JOB_QUOTA_MAX_GROUPS=1 " + IMB, SMALL,
         hosts="hosts-8.yaml", log=(*ONE_GROUP, CONTINUING), by_tree=(("barrier", 22),)),
    Line(DECK, "HCOLL_ENABLE_SHARP", EIGHT + "3 -x SHARP_COLL_LOG_LEVEL=3 -x SHARP_COLL_JOB_QUOTA_MAX_GROUPS=1 " + IMB, SMALL,
         "the job ends, as it shall", hosts="hosts-8.yaml", log=(*ONE_GROUP, EXITING), ends_well=False),
    Line(DECK, "SHARP Group size threshold", EIGHT + "3 -x SHARP_COLL_LOG_LEVEL=3 " + IMB, SMALL, hosts="hosts-8.yaml", log=(*DEFAULTS, group(4)),
         by_tree=(("barrier", 42),)),
    Line(DECK, "SHARP Group size threshold", EIGHT + "3 -x HCOLL_SHARP_NP=6 -x SHARP_COLL_LOG_LEVEL=3 " + IMB, SMALL, hosts="hosts-8.yaml", log=DEFAULTS,
         by_tree=(("barrier", 22),)),
    Line(DECK, "SHARP Job Quota Resources", EIGHT + "2 -x SHARP_COLL_LOG_LEVEL=3 ./osu_barrier", SMALL, hosts="hosts-8.yaml", log=DEFAULTS,
         by_tree=BARRIERS),
    Line(DECK, "SHARP Job Quota Resources",
         EIGHT + "2 -x SHARP_COLL_LOG_LEVEL=3 -x SHARP_COLL_JOB_QUOTA_OSTS=128 -x SHARP_COLL_JOB_QUOTA_MAX_GROUPS=8 "
         "-x SHARP_COLL_JOB_QUOTA_PAYLOAD_PER_OST=256 ./osu_barrier", SMALL, "the text at hand has lost the stroke of `./`", hosts="hosts-8.yaml",
         log=(request(128, 256, 8), granted(128, 256, 8), group(8, 16, 256)), by_tree=BARRIERS),
    Line(DECK, "SHARP Fragmentation, Pipelining",
         EIGHT + "2 -x SHARP_COLL_LOG_LEVEL=3 -x HCOLL_BCOL_P2P_ALLREDUCE_SHARP_MAX=2048 ./osu_allreduce -m :2048", SMALL, hosts="hosts-8.yaml",
         log=DEFAULTS, sizes=TO_2048, by_tree=ALLREDUCES),
    Line(DECK, "SHARP Fragmentation, Pipelining",
         EIGHT + "2 -x SHARP_COLL_LOG_LEVEL=3 -x HCOLL_BCOL_P2P_ALLREDUCE_SHARP_MAX=2048 -x SHARP_COLL_JOB_QUOTA_OSTS=128 "
         "-x SHARP_COLL_JOB_QUOTA_MAX_GROUPS=16 -x SHARP_COLL_JOB_QUOTA_PAYLOAD_PER_OST=256 ./osu_allreduce -m :2048", SMALL, hosts="hosts-8.yaml",
         log=(request(128, 256, 16), granted(128, 256, 16), group(8, 8, 256)), sizes=TO_2048, by_tree=ALLREDUCES),
    Line(DECK, "SHARP Multichannel: without", "mpirun -map-by node" + MANY.format("", "mlx5_1:1", 2048, ""), LARGE, hosts=ONE_TREE,
         log=(request(128, 256, 16, 16), granted(128, 256, 16, 16), group(4, 8, 256)), sizes=TO_2048, by_tree=ALLREDUCES, environment=SOCKETS),
    Line(DECK, "SHARP Multichannel: one port", "mpirun -map-by node" + MANY.format("", "mlx5_1:1", 2048, BY_SOCKET), LARGE, hosts=ONE_TREE,
         log=(request(128, 256, 16, 16, 2), granted(128, 256, 16, 16, 2), group(8, 8, 256)), sizes=TO_2048, by_tree=ALLREDUCES, environment=SOCKETS),
    Line(DECK, "SHARP Multichannel: two ports", "mpirun -map_by node" + MANY.format("", "mlx5_2:1,mlx5_1:1", 2048, BY_SOCKET), SMALL,
         "Open MPI itself refuses `-map_by`; with `-map-by` it is one of the five cases of [channels.md](channels.md)", hosts="hosts-8.yaml",
         ends_well=False),
    Line(DECK, "SHARP Multi-rail",
         "mpirun -map-by node" + MANY.format("-H nemo01,nemo02,nemo03,nemo04 ", "mlx5_1:1,mlx5_2:1", 4096, "-x SHARP_COLL_GROUPS_PER_COMM=2 "), LARGE,
         hosts=TWO_TREES, environment=SOCKETS, sizes=TO_2048, by_tree=ALLREDUCES,
         log=(request(128, 256, 16, 16, trees=2), granted(128, 256, 16, 16), granted(128, 256, 16, 16, tree=1), group(4, 8, 256), group(4, 8, 256, 1))),
    Line(DECK, "SHARP Multicast result distribution", EIGHT + "1 -x SHARP_COLL_LOG_LEVEL=3 -x SHARP_COLL_ENABLE_MCAST_TARGET=0 ./osu_barrier", SMALL,
         hosts="hosts-8.yaml", by_tree=BARRIERS, log=(request(), granted(), group(8, address="subnet prefix: 0x0 interface id: 0x0 ) mlid:0"))),
    Line(DECK, "SHARP Config utility", "/opt/mellanox/sharp/bin/sharp_coll_dump_config (-f for FULL description)", CONFIG,
         "every variable of the published output is printed; started where Sumac has it"),
    Line(DECK, "UCX", "mpirun –mca pml ucx ...", OUT, "it has an ellipsis; tests/component runs programs of the lab so"),
    Line(DECK, "UCX", "$HPCX_UCX_DIR/bin/ucx_info –f", OUT, "UCX's own program; `sumac-init.sh` and `module load hpcx-stack` set the variable where it is"),
    Line(TUTORIAL, "SHARP: Configuring Subnet Manager", "opensm-F <opensmconfiguration file> -B", OUT, "a subnet manager's, and it has a placeholder"),
    Line(TUTORIAL, "MPI Collective offloads using SHARP", "$HPCX_SHARP_DIR/bin/sharp_coll_dump_config-f", CONFIG,
         "the text at hand has lost the blank; each variable has its description"),
    Line(XCCL, "Run", "mpirun -np $((nnodes*ppn)) --map-by ppr:$ppn:node --bind-to core ./osu_allreduce -f", LARGE,
         "28 ranks on each of two hosts; where the machine has fewer than 28 cores Open MPI itself refuses `--bind-to core`, and the test expects that. "
         "Downloads and builds of other software, which the page pastes before, are left out", hosts="hosts-2x28.yaml", cores=28,
         sizes=tuple(4 << i for i in range(19)),
         environment=(("nnodes", "2"), ("ppn", "28"), ("OMPI_MCA_coll_hcoll_enable", "1"))),
)
