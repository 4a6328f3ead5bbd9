#!/usr/bin/env python3
"""Eight processes on one PostgreSQL, some killed, its server restarted, and at
last its synchronous standby promoted while they go on writing.

One watches, and misses nothing.  Four append to shared and separate sessions with operation ids, two to one
session with expectations, two under a lease.  Whoever is killed or gets an
error sends again, with the same operation ids, what was not acknowledged.  In
the end every acknowledged event is there once, in order, without a gap, and
nobody wrote under a lease while another held it.  Started by with-server.sh.
"""
import json
import os
import pwd
import random
import re
import subprocess
import sys
import threading
import time

WEFT = os.environ["WEFT"]
URL = os.environ["WEFT_TEST_PG"]
BIN = os.environ["WEFT_TEST_PG_BIN"]
DATA = os.environ["WEFT_TEST_PG_DATA"]
PRIMARY = re.search(r"host=([^&]*)", URL).group(1)
STANDBY = PRIMARY + "/standby"
BOTH = URL.replace(f"host={PRIMARY}", f"host={PRIMARY},{STANDBY}") + "&busy_ms=20000"
ROUNDS = int(os.environ.get("WEFT_TEST_SCALE", "1"))

# In a directory that is removed with the server.
WATCHED = PRIMARY + "/watched"

over = threading.Event()
problems = []


# ---- servers ----


def as_server(*args):
    """Run a program as the user the server runs as."""
    if os.getuid() == 0:
        uid = os.stat(DATA).st_uid
        gid = pwd.getpwuid(uid).pw_gid
        args = ("setpriv", f"--reuid={uid}", f"--regid={gid}", "--clear-groups", *args)
    p = subprocess.run(args, cwd="/", capture_output=True, text=True, timeout=60)
    assert p.returncode == 0, f"{args}: {p.stdout}{p.stderr}"


def ctl(data, *args):
    as_server(BIN + "/pg_ctl", "-D", data, "-w", "-t", "30", "-s", "-l", data + ".log", *args)


def sql(host, text):
    p = subprocess.run(
        ["psql", "-X", "-q", "-A", "-t", "-h", host, "-U", "weft", "postgres", "-c", text],
        capture_output=True, text=True, timeout=60,
    )
    assert p.returncode == 0, p.stderr
    return p.stdout.strip()


def until(host, query, answer):
    for _ in range(300):
        if sql(host, query) == answer:
            return
        time.sleep(0.1)
    raise AssertionError(f"{query}: never {answer}")


def start_standby():
    data = STANDBY + "/data"
    as_server("mkdir", "-p", STANDBY)
    as_server(BIN + "/pg_basebackup", "-h", PRIMARY, "-U", "weft", "-D", data, "-R",
              "-c", "fast", "--no-sync")
    with open(data + "/postgresql.conf", "a") as f:
        f.write(f"unix_socket_directories = '{STANDBY}'\n")
    with open(data + "/postgresql.auto.conf", "a") as f:
        f.write(f"primary_conninfo = 'host={PRIMARY} user=weft application_name=standby'\n")
    ctl(data, "start")
    sql(PRIMARY, "ALTER SYSTEM SET synchronous_standby_names='standby'")
    sql(PRIMARY, "SELECT pg_reload_conf()")
    until(PRIMARY, "SELECT sync_state FROM pg_stat_replication", "sync")


# ---- calling weft ----


def weft(*args, url=BOTH):
    p = subprocess.run(
        [WEFT, "--json", "--store", url, *args], capture_output=True, text=True, timeout=120
    )
    assert p.returncode >= 0, f"{args}: killed by signal {-p.returncode}"
    assert p.returncode == 0 or p.stderr.startswith("{"), f"{args}: {p.returncode} {p.stderr}"
    return p.returncode, p.stdout, p.stderr


def insist(*args):
    """Again until it is done; the operation id makes it one."""
    while True:
        code, out, err = weft(*args)
        if code == 0:
            return json.loads(out)
        error = json.loads(err)["error"]["code"]
        if error not in ("busy", "unknown", "io"):
            raise AssertionError(f"{args}: {err}")
        time.sleep(0.1)


def guarded(run):
    def thread(*args):
        try:
            run(*args)
        except Exception as e:  # pylint: disable=broad-except
            problems.append(f"{run.__name__}{args}: {e!r}")
            over.set()

    return thread


# ---- writers ----

acked = {}  # (session, op): seq
running = {}  # writer: its process
kills = 0
watcher = None


def send_some(me, pending):
    """Give a process of its own all that is pending; what it acknowledges is
    taken off the list."""
    p = subprocess.Popen(
        [WEFT, "--store", BOTH, "append", "--jsonl"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )
    running[me] = p
    lines = [
        json.dumps({"session": s, "role": "user", "content": f"{me}:{op}", "op": op})
        for s, op in pending
    ]

    def feed():
        try:
            for line in lines:
                p.stdin.write(line + "\n")
                p.stdin.flush()
            p.stdin.close()
        except OSError:
            pass

    feeder = threading.Thread(target=feed)
    feeder.start()
    done = []
    for i, line in enumerate(p.stdout):
        if not line.endswith("\n"):
            break
        answer = json.loads(line)
        if "seq" in answer:
            acked[pending[i]] = answer["seq"]
            done.append(pending[i])
        elif answer["error"]["code"] not in ("busy", "unknown", "io"):
            raise AssertionError(line)
    p.wait()
    feeder.join()
    return [x for x in pending if x not in set(done)]


@guarded
def append_many(me):
    n, pending = 0, []
    while not over.is_set() or pending:
        while len(pending) < 40 and not over.is_set():
            n += 1
            session = f"shared{n % 3}" if n % 2 else f"own{me}"
            pending.append((session, f"w{me}-{n}"))
        pending = send_some(me, pending)


expected = []  # what was acknowledged with an expectation


@guarded
def append_expecting(me):
    n = 0
    while not over.is_set():
        n += 1
        op = f"e{me}-{n}"
        while True:
            seen = insist("show", "versions")["content_seq"]
            code, _, err = weft("append", "versions", op, "--op", op, "--expect", str(seen))
            if code == 0:
                expected.append(op)
                break
            error = json.loads(err)["error"]["code"]
            if error not in ("busy", "unknown", "io", "stale"):
                raise AssertionError(err)


@guarded
def append_leased(me):
    n = 0
    while not over.is_set():
        n += 1
        op = f"l{me}-{n}"
        code, out, err = weft("lease", "acquire", "leased", "--owner", f"node{me}", "--ttl", "60",
                              "--op", op)
        if code:
            if json.loads(err)["error"]["code"] not in ("busy", "unknown", "io", "leased"):
                raise AssertionError(err)
            time.sleep(0.02)
            continue
        token = str(json.loads(out)["token"])
        for what in ("begin", "end"):
            insist("append", "leased", f"{what} {op}", "--token", token, "--op", f"{op}-{what}")
        insist("lease", "release", "leased", "--token", token, "--op", f"{op}-release")


# ---- a watcher ----


def start_watching():
    """Somebody who watches all the time, whatever happens to the server."""
    with open(WATCHED, "w") as out, open(WATCHED + ".err", "w") as err:
        return subprocess.Popen(
            [WEFT, "--json", "--store", BOTH, "tail", "shared0", "-f"], stdout=out, stderr=err
        )


def check_watched(url):
    """It has seen every event once, in order, and none is missing."""
    code, out, err = weft("show", "shared0", url=url)
    assert code == 0, err
    head = json.loads(out)["head_seq"]
    seen = []
    for _ in range(300):
        with open(WATCHED) as f:
            seen = [json.loads(x)["seq"] for x in f.read().split("\n")[:-1]]
        if seen and seen[-1] >= head:
            break
        assert watcher.poll() is None, open(WATCHED + ".err").read()
        time.sleep(0.1)
    assert seen == list(range(1, head + 1)), f"watched {seen} of {head}"


# ---- checking ----


def texts(session, url):
    code, out, err = weft("history", session, url=url)
    assert code == 0, err
    found = [json.loads(line) for line in out.splitlines()]
    return [(m["seq"], m["parts"][0]["text"]) for m in found]


def check(url):
    by_session = {}
    for (session, op), seq in acked.items():
        by_session.setdefault(session, {})[op] = seq
    for session, ops in by_session.items():
        found = texts(session, url)
        seqs = [seq for seq, _ in found]
        assert seqs == list(range(seqs[0], seqs[0] + len(seqs))), f"{session} has a gap"
        at = {text.split(":", 1)[1]: seq for seq, text in found}
        assert len(at) == len(found), f"{session}: something is there twice"
        for op, seq in ops.items():
            assert at.get(op) == seq, f"{session}: {op} was {seq}, is {at.get(op)}"
    found = [text for _, text in texts("versions", url)]
    assert sorted(found) == sorted(expected), "expectations"
    found = [text for _, text in texts("leased", url)]
    for begin, end in zip(found[::2], found[1::2]):
        assert begin.replace("begin", "end") == end, f"{begin}, then {end}"
    code, _, err = weft("verify", url=url)
    assert code == 0, err
    return found


def main():
    global kills, watcher
    start_standby()
    sessions = [f"shared{i}" for i in range(3)] + [f"own{i}" for i in range(4)]
    for session in sessions + ["versions", "leased"]:
        insist("new", "--key", session)
    watcher = start_watching()
    threads = [threading.Thread(target=append_many, args=(i,)) for i in range(4)]
    threads += [threading.Thread(target=append_expecting, args=(i,)) for i in range(2)]
    threads += [threading.Thread(target=append_leased, args=(i,)) for i in range(2)]
    for t in threads:
        t.start()
    try:
        for _ in range(6 * ROUNDS):
            time.sleep(0.2)
            victim = running.get(random.randrange(4))
            if victim and victim.poll() is None:
                victim.kill()
                kills += 1
        ctl(DATA, "-m", "fast", "restart")
        until(PRIMARY, "SELECT sync_state FROM pg_stat_replication", "sync")
        time.sleep(1)
        before = len(acked)
        ctl(DATA, "-m", "immediate", "stop")
        ctl(STANDBY + "/data", "promote")
        for _ in range(300):
            if len(acked) > before + 50 or over.is_set():
                break
            time.sleep(0.1)
        assert len(acked) > before + 50 or over.is_set(), "nobody writes to the new primary"
    finally:
        over.set()
        for t in threads:
            t.join()
    assert not problems, problems
    new = URL.replace(f"host={PRIMARY}", f"host={STANDBY}")
    leased = check(new)
    check_watched(new)
    assert len(leased) >= 4 and len(expected) >= 4 and kills >= 2, (leased, expected, kills)
    print(f"{len(acked)} appends, {len(expected)} expectations, {len(leased) // 2} leases, "
          f"{kills} kills", file=sys.stderr)


try:
    main()
finally:
    over.set()
    if watcher and watcher.poll() is None:
        watcher.kill()
    if os.path.exists(STANDBY + "/data/postmaster.pid"):
        ctl(STANDBY + "/data", "-m", "immediate", "stop")
