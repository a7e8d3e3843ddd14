"""The plot of a comparison: both times above, their ratio below, over the size, each with its 95 % interval."""

import io
import textwrap

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot, ticker, transforms  # noqa: E402  pylint: disable=wrong-import-position

from results import ranks_text, size_text  # noqa: E402  pylint: disable=wrong-import-position

SUMAC, MPI, PAPER, GRID, INK, SOFT, ALARM = "#1b6e3c", "#b5651d", "#ffffff", "#e4e6ea", "#22262b", "#5d646d", "#b3261e"
SUBTITLE_WIDTH, SUBTITLE_LINE = 100, 11  # characters of the grey lines, and points from one to the next
FACE = {"font.family": "sans-serif", "font.size": 10, "axes.edgecolor": "#9aa1a9", "axes.labelcolor": INK, "text.color": INK, "xtick.color": SOFT,
        "ytick.color": SOFT, "svg.fonttype": "path", "svg.hashsalt": "sumac"}


def bars(values, intervals):
    """Returns the lengths of the bars below and above each value; none where there is no interval."""
    return [[max(0.0, value - (span[0] if span else value)) for value, span in zip(values, intervals)],
            [max(0.0, (span[1] if span else value) - value) for value, span in zip(values, intervals)]]


def plain_number(value, _):
    return f"{value:g}"


def style(axes):
    axes.grid(True, which="major", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def label_sizes(axes, rows, positions):
    """Every size has a tick while they fit, else every second or third."""
    step = -(-len(rows) // 12)
    axes.set_xticks(positions[::step], ["" if row.bytes == 0 and len(rows) == 1 else size_text(row.bytes) for row in rows][::step])
    axes.set_xlim(positions[0] - 0.5, positions[-1] + 0.5)
    has_size = len(rows) > 1 or rows[0].bytes > 0
    axes.set_xlabel("message size (bytes; K, M: powers of 1024)" if has_size else "a barrier carries no data")


def draw_times(axes, rows, positions):
    for label, colour, shift, values, spans in (
            ("MPI alone", MPI, 0.06, [row.mpi for row in rows], [row.spread(row.mpi_us) for row in rows]),
            ("MPI with Sumac", SUMAC, -0.06, [row.sumac for row in rows], [row.spread(row.sumac_us) for row in rows])):
        # The two are set apart a little, so that neither interval hides the other.
        axes.errorbar([at + shift for at in positions], values, yerr=bars(values, spans), label=label, color=colour, marker="o", markersize=4.5,
                      linewidth=1.6, elinewidth=1.1, capsize=3)
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(ticker.LogLocator(base=10, subs=(1, 2, 5), numticks=12))
    axes.yaxis.set_major_formatter(ticker.FuncFormatter(plain_number))
    axes.yaxis.set_minor_formatter(ticker.NullFormatter())
    axes.set_ylabel("time of a call (µs)" if rows[0].overlap(0) is None else "communication alone (µs)")


def draw_ratio(axes, rows, positions):
    known = [(at, row) for at, row in zip(positions, rows) if row.ratio]
    values = [row.ratio for _, row in known]
    axes.axhline(1, color=SOFT, linewidth=1, linestyle=(0, (4, 3)))
    axes.errorbar([at for at, _ in known], values, yerr=bars(values, [row.interval for _, row in known]), color=SUMAC, marker="o", markersize=4.5,
                  linewidth=1.6, elinewidth=1.1, capsize=3)
    ends = [end for _, row in known for end in (row.interval or (row.ratio,))] + [1]
    if max(ends) / min(ends) > 8:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(ticker.LogLocator(base=10, subs=(1, 2, 5)))
        axes.yaxis.set_minor_formatter(ticker.NullFormatter())
        axes.set_ylim(min(ends) * 0.8, max(ends) * 1.25)
    else:
        axes.set_ylim(max(0, min(ends) - 0.12 * (max(ends) - min(ends)) - 0.05), max(ends) + 0.12 * (max(ends) - min(ends)) + 0.05)
    axes.yaxis.set_major_formatter(ticker.FuncFormatter(plain_number))
    axes.set_ylabel("MPI / Sumac")
    axes.text(1.0, 1.02, "above 1: Sumac is faster", transform=axes.transAxes, ha="right", va="bottom", fontsize=8.5, color=SOFT)


def subtitle(comparison):
    """Returns its lines, none wider than the axes."""
    bars_are = ", bars: 95 % intervals of the medians" if comparison.has_intervals else ""
    pairs = f"{comparison.pairs} pairs in turns{bars_are}"
    lines = [f"{comparison.title}; {pairs}"]
    if len(lines[0]) > SUBTITLE_WIDTH:
        lines = [*wrapped(comparison.title), pairs]
    return lines + wrapped("; ".join(comparison.warnings))


def wrapped(text):
    return textwrap.wrap(text, SUBTITLE_WIDTH, max_lines=2, placeholder=" ...", break_on_hyphens=False)


def draw_group(comparison, group, rows):
    benchmark, ranks = group
    figure, (times, ratio) = pyplot.subplots(2, 1, figsize=(7.6, 6.4), sharex=True, height_ratios=(3, 2), layout="constrained")
    figure.patch.set_facecolor(PAPER)
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.1)
    positions = list(range(len(rows)))
    for axes in (times, ratio):
        style(axes)
    draw_times(times, rows, positions)
    draw_ratio(ratio, rows, positions)
    label_sizes(ratio, rows, positions)
    small = subtitle(comparison)
    further = SUBTITLE_LINE * (len(small) - 1)
    times.set_title(f"{benchmark}, {ranks_text(ranks)}", loc="left", fontsize=13, fontweight="bold", pad=24 + further)
    small_text = times.text(0, 1.03, "\n".join(small), transform=times.transAxes, fontsize=8.5, color=ALARM if comparison.warnings else SOFT, va="bottom")
    small_text.set_in_layout(False)  # The title above it keeps its place; a wide line must not squeeze the axes.
    above = times.transAxes + transforms.ScaledTranslation(0, further / 72, figure.dpi_scale_trans)
    times.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1.08), bbox_transform=above, ncol=2, borderaxespad=0)
    return figure


def draw(comparison, name):
    """Yields (path, bytes) of NAME.png and NAME.svg, with the benchmark and ranks in the name where there are several."""
    groups = list(comparison.groups())
    with pyplot.rc_context(FACE):
        for group, rows in groups:
            figure = draw_group(comparison, group, rows)
            base = name if len(groups) == 1 else f"{name}-{group[0]}-{group[1]}ranks"
            for kind in ("png", "svg"):
                file = io.BytesIO()
                figure.savefig(file, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else None)
                yield f"{base}.{kind}", file.getvalue()
            pyplot.close(figure)
