"""terminal.py COLUMNS TITLE: a screen as tmux prints it (capture-pane -e) on stdin, the same as SVG on stdout."""
import html
import re
import sys

COLUMN, LINE, GAP, LEFT, TOP = 7.4, 17, 8, 16, 44
PLAIN, DIM = "#d8dee9", "#8a94a6"
COLOURS = {31: "#f07178", 32: "#a3d977", 33: "#ffcb6b", 34: "#82aaff", 35: "#c792ea", 36: "#89ddff", 90: DIM}


def pieces(line):
    """The line as (text, colour, bold): SGR sequences are taken out and followed."""
    colour, bold = PLAIN, False
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if not part.startswith("\x1b"):
            if part:
                yield part, colour, bold
            continue
        for code in (int(number or 0) for number in part[2:-1].split(";")):
            if code == 0:
                colour, bold = PLAIN, False
            elif code == 1:
                bold = True
            elif code == 2:
                colour = DIM
            elif code == 22:
                bold, colour = False, PLAIN if colour == DIM else colour
            elif code == 39:
                colour = PLAIN
            elif code in COLOURS or code - 60 in COLOURS:
                colour = COLOURS.get(code) or COLOURS[code - 60]


def main():
    columns = int(sys.argv[1])
    lines = sys.stdin.read().rstrip("\n").split("\n")
    while lines and re.sub(r"\x1b\[[0-9;]*m", "", lines[-1]).strip() in ("", "$"):
        lines.pop()
    # A little air above what was typed.
    tops, y = [], TOP + 4
    for row, line in enumerate(lines):
        y += GAP if row and line.startswith("$ ") else 0
        tops.append(y)
        y += LINE
    width, height = round(columns * COLUMN + 2 * LEFT), y
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">')
    print(f"<title>{html.escape(sys.argv[2])}</title>")
    print(f'<rect width="{width}" height="{height}" rx="8" fill="#1e222a"/>')
    for index, dot in enumerate(("#ff5f57", "#febc2e", "#28c840")):
        print(f'<circle cx="{22 + 20 * index}" cy="19" r="6" fill="{dot}"/>')
    print("<g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"12.3\">")
    for row, line in enumerate(lines):
        column = 0
        typed = line.startswith("$ ")
        for text, colour, bold in pieces(line):
            # Runs of blanks would be joined: what is between them is placed by itself, and its width is
            # given, so that columns are straight whatever font there is.
            for word in re.finditer(r"\S+(?: \S+)*", text):
                x, length = LEFT + (column + word.start()) * COLUMN, len(word[0]) * COLUMN
                weight = ' font-weight="bold"' if bold or typed else ""
                fill = "#ffffff" if typed else colour
                print(f'<text x="{x:.1f}" y="{tops[row]}" fill="{fill}"{weight} textLength="{length:.1f}"'
                      f' lengthAdjust="spacingAndGlyphs">{html.escape(word[0], quote=False)}</text>')
            column += len(text)
    print("</g>\n</svg>")


main()
