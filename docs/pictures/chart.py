"""chart.py: the row "one call after the other, p50" of docs/performance.md as bars, SVG on stdout.

    python3 docs/pictures/chart.py > docs/pictures/calls.svg
"""
import html
import pathlib
import re

ROW = "one call after the other, p50"
PAGE = pathlib.Path(__file__).resolve().parent.parent / "performance.md"
WIDTH, LEFT, TOP, STEP, BAR = 720, 130, 58, 27, 17
INK = "#6e7781"  # can be read on white and on black


def figures():
    """The row of the first table that has it: the unit, and (client, value) with the fastest first."""
    table = [line.strip("| ").split("|") for line in PAGE.read_text().splitlines() if line.startswith("|")]
    head = next(cells for cells in table if "Patchbay" in map(str.strip, cells))
    row = next(cells for cells in table if cells[0].strip() == ROW)
    # The head begins with an empty cell, which strip() took away.
    names = [cell.strip() for cell in head][-(len(row) - 2):]
    values = [re.match(r"[\d.,]+", cell.strip()) for cell in row[2:]]
    bars = [(name, float(value[0].replace(",", ""))) for name, value in zip(names, values, strict=True) if value]
    return row[1].strip(), sorted(bars, key=lambda pair: pair[1])


def main():
    unit, bars = figures()
    height = TOP + STEP * len(bars) + 6
    scale = (WIDTH - LEFT - 80) / max(value for _, value in bars)
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">')
    print("<title>" + html.escape(f"One tool call in {unit}: " + ", ".join(f"{name} {value:g}" for name, value in bars)) + "</title>")
    print(f'<g font-family="system-ui, -apple-system, \'Segoe UI\', \'DejaVu Sans\', sans-serif" font-size="13" fill="{INK}">')
    print(f'<text x="0" y="18" font-size="15" font-weight="bold">One tool call over stdio, median, in {unit}</text>')
    print('<text x="0" y="38" font-size="12">The same server for every client. "raw pipe" only moves bytes: nobody can be below it.</text>')
    for index, (name, value) in enumerate(bars):
        y = TOP + index * STEP
        colour = {"Patchbay": "#2f81f7", "raw pipe": "#c3c9d0"}.get(name, "#8c959f")
        weight = ' font-weight="bold"' if name == "Patchbay" else ""
        print(f'<text x="{LEFT - 10}" y="{y + 13}" text-anchor="end"{weight}>{html.escape(name)}</text>')
        print(f'<rect x="{LEFT}" y="{y}" width="{value * scale:.1f}" height="{BAR}" rx="2" fill="{colour}"/>')
        print(f'<text x="{LEFT + value * scale + 8:.1f}" y="{y + 13}"{weight}>{value:g}</text>')
    print("</g>\n</svg>")


main()
