#!/usr/bin/env python3
"""Looks for secrets of the tests in all that was written while they ran. ./test runs it.

  leaks.py sample FILE                        command lines of processes, until it is ended; those seen first are added
  leaks.py search PLANTED KEPT LOG...         the search, with its control

PLANTED has the secrets, a line each: what sign-ins of the suites were given or sent (tests/support/planted.h and
tests/interop/auth_world.mjs note them). KEPT has what the program under test printed (output-*), the homes that it kept
things in (tree-*), and the command lines (processes). LOGs are those of stages that passed: a test that fails may
print what it compared.

A secret counts as found as it is, percent-encoded, or in base64 wherever it begins. Before anything else the search has
to find secrets of its own, in a copy of each kind of place.
"""
import base64
import os
import secrets
import subprocess
import sys
import tempfile
import time
import urllib.parse

LEAST = 20  # secrets: fewer means that the suites that plant them did not run


def sample(path):
    seen = set()
    mine = str(os.getpid())
    uid = os.getuid()
    with open(path, "ab", buffering=0) as out:
        while len(seen) < 200_000:
            for pid in os.listdir("/proc"):
                if not pid.isdigit() or pid == mine:
                    continue
                try:
                    if uid != 0 and os.stat(f"/proc/{pid}").st_uid != uid:
                        continue
                    with open(f"/proc/{pid}/cmdline", "rb") as file:
                        line = file.read(1 << 16)
                except OSError:
                    continue
                if line and line not in seen:
                    seen.add(line)
                    out.write(line.rstrip(b"\0").replace(b"\0", b" ").replace(b"\n", b" ") + b"\n")
            time.sleep(0.1)


def forms(secret):
    """Every way in which it is looked for."""
    raw = secret.encode()
    yield secret
    yield urllib.parse.quote(secret, safe="")
    for before in range(3):
        # What depends on the neighbours at either end is left out.
        coded = base64.b64encode(b"\0" * before + raw).decode()
        first = [0, 2, 3][before]
        last = len(coded) - [0, 3, 2][(before + len(raw)) % 3] - (1 if (before + len(raw)) % 3 else 0)
        middle = coded[first:last].rstrip("=")
        if len(middle) >= 16:
            yield middle
            yield middle.translate(str.maketrans("+/", "-_"))


def files_with(patterns, places):
    """The files below `places` that have one of the patterns in them."""
    with tempfile.NamedTemporaryFile("w", suffix=".patterns") as file:
        file.write("".join(one + "\n" for one in sorted(patterns)))
        file.flush()
        found = subprocess.run(
            # What the browser of a test keeps is its own: it has been at the address with the code.
            ["grep", "-rlaF", "-D", "skip", "--exclude-dir=browser", "--exclude-dir=chromium", "--exclude=browser.log",
             "-f", file.name, "--", *places],
            env={"LC_ALL": "C", "PATH": os.environ["PATH"]}, capture_output=True, text=True, errors="replace")
    if found.returncode not in (0, 1):
        sys.exit(f"the search itself failed:\n{found.stderr[:2000]}")
    return found.stdout.splitlines()


def core_files(places):
    for place in places:
        for directory, _, names in os.walk(place):
            for name in names:
                path = os.path.join(directory, name)
                if not (name == "core" or name.startswith("core.")) or not os.path.isfile(path):
                    continue
                with open(path, "rb") as file:
                    head = file.read(18)
                if head[:4] == b"\x7fELF" and head[16:18] == b"\x04\x00":
                    yield path


def control():
    """What is planted in each kind of place is found, in each form; what is not, is not."""
    secret = secrets.token_urlsafe(32) + "/+"
    shapes = {
        "tree-1/home/.local/state/patchbay/servers/kept.json": f'{{"token": "{secret}"}}',
        "tree-1/home/.cache/patchbay/log": f"GET /callback?code={urllib.parse.quote(secret, safe='')}",
        "tree-1/home/binary": f"\0\1\2{secret}\0",
        "output-7": f"Authorization: Basic {base64.b64encode(('client:' + secret).encode()).decode()}",
        "logs/net.log": f"Bearer {secret}\n",
    }
    with tempfile.TemporaryDirectory() as place:
        for name, text in {**shapes, "tree-1/innocent": secret[:20]}.items():
            path = os.path.join(place, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(text)
        processes = os.path.join(place, "processes")
        with subprocess.Popen([sys.executable, __file__, "sample", processes]) as sampler, \
                subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", secret]) as teller:
            for _ in range(300):
                if os.path.exists(processes):
                    with open(processes, errors="replace") as file:
                        if secret in file.read():
                            break
                time.sleep(0.1)
            sampler.kill()
            teller.kill()
        with open(os.path.join(place, "tree-1/core.1"), "wb") as file:
            file.write(b"\x7fELF" + b"\0" * 12 + b"\x04\x00")
        found = {os.path.relpath(path, place) for path in files_with(set(forms(secret)), [place])}
        wanted = set(shapes) | {"processes"}
        if found != wanted or not list(core_files([place])):
            sys.exit(f"the control failed: planted in {sorted(wanted)}, found in {sorted(found)}")


def search(planted, kept, logs):
    control()
    try:
        with open(planted, errors="replace") as file:
            secrets_ = {line.rstrip("\n") for line in file if line.strip()}
    except FileNotFoundError:
        secrets_ = set()
    if len(secrets_) < LEAST:
        sys.exit(f"{len(secrets_)} secrets were planted; run this with the stages process, net and interop")
    # Tests take rights away from directories.
    subprocess.run(["chmod", "-R", "u+rwX", kept], check=False)
    patterns = {form for one in secrets_ for form in forms(one)}
    hits = files_with(patterns, [kept, *logs])
    cores = list(core_files([kept]))
    for path in hits:
        print(f"a secret of a sign-in is in {path}")
    for path in cores:
        print(f"a core file was left: {path}")
    trees = sum(name.startswith("tree-") for name in os.listdir(kept))
    with open(os.path.join(kept, "processes"), "rb") as file:
        lines = file.read().count(b"\n")
    print(f"leaks: {len(secrets_)} secrets looked for in {trees} homes, the output of the program, {len(logs)} logs and "
          f"{lines} command lines: {len(hits)} found, {len(cores)} core files")
    if hits or cores:
        sys.exit(1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["sample"] and len(sys.argv) == 3:
        sample(sys.argv[2])
    elif sys.argv[1:2] == ["search"] and len(sys.argv) >= 4:
        search(sys.argv[2], sys.argv[3], sys.argv[4:])
    else:
        sys.exit(__doc__)
