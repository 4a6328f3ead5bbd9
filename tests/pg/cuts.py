#!/usr/bin/env python3
"""The connection to PostgreSQL is cut before and after each message.

A proxy stands between weft and its server, takes the messages of the protocol
apart and cuts at the n-th one of one direction: before it is passed on, or
after it.  Whatever is cut: an append that is acknowledged is there once, one
that is not is there at most once, and asking again with the same operation id
makes it once.  Or what follows the n-th message comes late: when weft has given
up waiting, and has done it again elsewhere.  Started by with-server.sh.
"""
import atexit
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading

WEFT = os.environ["WEFT"]
URL = os.environ["WEFT_TEST_PG"]
SOCKET_DIR = re.search(r"host=([^&]*)", URL).group(1)
NAME = ".s.PGSQL.5432"


class Proxy:
    """Passes messages on until the one at which it is to cut."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="weft-cuts-")
        atexit.register(shutil.rmtree, self.dir)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(os.path.join(self.dir, NAME))
        self.listener.listen(64)
        self.lock = threading.Lock()
        self.arm(None)
        threading.Thread(target=self.accept, daemon=True).start()

    def arm(self, cut, from_start=False):
        """cut: (direction, n, before), counted from the first message after
        BEGIN, or from the first one of all; (0, n, "late"): from that one on
        messages are held back; None: only count."""
        with self.lock:
            self.held = None  # (to the server, what it has not got yet)
            self.over = threading.Event()  # the server has ended that connection
            self.cut = cut
            self.counts = [0, 0]
            self.begun = from_start
            self.done = False

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(os.path.join(SOCKET_DIR, NAME))
            for direction, pair in enumerate([(client, server), (server, client)]):
                threading.Thread(
                    target=self.pump, args=(direction, *pair), daemon=True
                ).start()

    def must_cut(self, direction, kind, body):
        """Is it this message?  None, "before" or "after"."""
        with self.lock:
            if direction == 0 and b"BEGIN\0" in body[:7] and not self.begun:
                self.begun = True
            if not self.begun or self.done:
                return None
            self.counts[direction] += 1
            if self.cut and self.cut[:2] == (direction, self.counts[direction]):
                self.done = True
                if self.cut[2] == "late":
                    return "late"
                return "before" if self.cut[2] else "after"
            return None

    def hold(self, source, sink, data):
        """Take all that comes until the client goes."""
        self.held = (sink, data)
        while data:
            try:
                data = source.recv(65536)
            except OSError:
                break
            self.held = (sink, self.held[1] + data)
        source.close()

    def deliver(self):
        sink, data = self.held
        sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
        assert self.over.wait(20)
        sink.close()

    def pump(self, direction, source, sink):
        def read(n):
            data = b""
            while len(data) < n:
                more = source.recv(n - len(data))
                if not more:
                    raise OSError
                data += more
            return data

        first = direction == 0
        try:
            while True:
                if first:
                    head = b""
                    length = read(4)
                else:
                    head = read(1)
                    length = read(4)
                body = read(struct.unpack("!I", length)[0] - 4)
                when = None if first else self.must_cut(direction, head, body)
                first = False
                if when == "late":
                    self.hold(source, sink, head + length + body)
                    return
                if self.held and source is self.held[0]:
                    continue  # nobody listens any more
                if when != "before":
                    sink.sendall(head + length + body)
                if when:
                    raise OSError
        except OSError:
            if self.held and source is self.held[0]:
                self.over.set()
                return
            for s in (source, sink):
                try:
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
                s.close()


def weft(url, *args):
    p = subprocess.run(
        [WEFT, "--json", "--store", url, *args], capture_output=True, text=True, timeout=60
    )
    return p.returncode, p.stdout, p.stderr


def texts(key):
    code, out, err = weft(URL, "history", key)
    assert code == 0, err
    return [m["parts"][0]["text"] for m in map(json.loads, out.splitlines())]


# What is done once whatever is cut, and what is seen afterwards.
ACTS = [
    ["new", "--key", "KEY", "--op", "KEY"],
    ["alias", "add", "k", "KEY"],
    ["fork", "k", "--slug", "KEY", "--op", "KEY"],
    ["history", "k", "--last", "1"],
]


def cut_anywhere(proxy, through):
    """From the first message on, opening and closing included: it is done, or
    it says that it is not, and done again it is done once."""
    n_cuts = refused = 0
    for i, act in enumerate(ACTS):
        proxy.arm(None, from_start=True)
        code, _, err = weft(through, *[x.replace("KEY", f"a{i}") for x in act])
        assert code == 0, err
        counts = list(proxy.counts)
        for direction in (0, 1):
            # Not all of them: most places are the same in every act.
            for n in range(1 + i, counts[direction] + 1, max(1, counts[direction] // 5)):
                name = f"a{i}d{direction}n{n}"
                args = [x.replace("KEY", name) for x in act]
                proxy.arm((direction, n, n % 2 == 0), from_start=True)
                code, out, err = weft(through, *args)
                n_cuts += proxy.done
                if code:
                    refused += 1
                    error = json.loads(err)["error"]["code"]
                    assert error in ("busy", "io", "unknown"), f"{args}: {err}"
                    # Nothing was done, or it says that it may have been.
                    if error != "unknown" and act[0] != "history":
                        assert weft(URL, "show", name)[0] == 3, f"{args}: {err}"
                    code, out, err = weft(URL, *args)
                    assert code == 0, f"{args} again: {err}"
                assert out, args
    code, out, _ = weft(URL, "list", "--limit", "1000")
    assert code == 0
    keys = [s["key"] for s in json.loads(out)["sessions"] if s["key"]]
    slugs = [s["slug"] for s in json.loads(out)["sessions"] if s["forked_from"]]
    assert len(keys) == len(set(keys)) and len(keys) > 5, keys
    assert len(slugs) == len(set(slugs)) and len(slugs) > 5, slugs
    return n_cuts, refused


def late_anywhere(proxy, through):
    """A server that gets the rest when weft has given up: what it does then
    must not be done twice."""
    through += "&answer_ms=150&busy_ms=300"
    n_late = 0
    for act in (["new", "--slug", "NAME"], ["append", "k", "NAME"]):
        proxy.arm(None)
        code, _, err = weft(URL.replace(SOCKET_DIR, proxy.dir), *[x.replace("NAME", "in time") for x in act])
        assert code == 0, err
        # Around the commit all of them; before it most places are the same.
        counts = proxy.counts[0]
        for n in [*range(5, counts - 12, 9), *range(counts - 12, counts + 1)]:
            name = f"{act[0]} {n} late"
            proxy.arm((0, n, "late"))
            code, _, err = weft(through, *[x.replace("NAME", name) for x in act])
            error = json.loads(err)["error"]["code"] if code else None
            assert error in (None, "busy", "unknown"), f"{name}: {err}"
            if proxy.held:
                n_late += 1
                proxy.deliver()
            _, out, _ = weft(URL, "list", "--limit", "1000")
            slugs = [s["slug"] for s in json.loads(out)["sessions"]]
            times = slugs.count(name) + texts("k").count(name)
            allowed = {None: (1,), "busy": (0,), "unknown": (0, 1)}[error]
            assert times in allowed, f"{name}: {error}, {times} times"
    assert n_late > 20, n_late
    return n_late


def main():
    proxy = Proxy()
    through = URL.replace("host=" + SOCKET_DIR, "host=" + proxy.dir)
    code, _, err = weft(URL, "new", "--key", "k")
    assert code == 0, err
    # How many messages a write is, each way.
    proxy.arm(None)
    code, _, err = weft(through, "append", "k", "first", "--op", "first")
    assert code == 0, err
    counts = list(proxy.counts)
    assert proxy.begun and counts[0] >= 5 and counts[1] >= 10, counts
    expected = ["first"]
    n_cuts = 0
    for direction in (0, 1):
        for n in range(1, counts[direction] + 1):
            for before in (True, False):
                name = f"d{direction}n{n}{'b' if before else 'a'}"
                proxy.arm((direction, n, before))
                code, _, err = weft(through, "append", "k", name, "--op", name)
                n_cuts += proxy.done
                # Lost connections are no failures while the server is there.
                assert code == 0, f"{name}: {err}"
                expected.append(name)
    assert texts("k") == expected, f"{texts('k')} and not {expected}"
    # All of them again: they are known.
    lines = "".join(
        json.dumps({"role": "user", "content": name, "op": name}) + "\n"
        for name in expected
    )
    subprocess.run(
        [WEFT, "--store", URL, "append", "k", "--jsonl"],
        input=lines, text=True, check=True, stdout=subprocess.DEVNULL,
    )
    assert texts("k") == expected
    assert n_cuts >= 2 * sum(counts) - 8, f"{n_cuts} cuts at {counts} messages"
    more, refused = cut_anywhere(proxy, through)
    assert more > 25, more
    late = late_anywhere(proxy, through)
    code, _, err = weft(URL, "verify")
    assert code == 0, err
    print(f"{n_cuts} cuts at {counts[0]} + {counts[1]} messages, {more} elsewhere, "
          f"{refused} refused, {late} late", file=sys.stderr)


main()
