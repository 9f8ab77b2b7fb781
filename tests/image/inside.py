"""The image as an engine would run it, without one. Run by run.sh in mount, network and process namespaces of its own.

The last stage of the Dockerfile is followed into a folder; its program runs there under chroot, read-only but for /data, as the
image's user, with no capabilities, as process 1 of its own process namespace, with the files that an engine mounts (/etc/hosts,
/etc/resolv.conf) and with a name server where Docker's is (127.0.0.11).
"""

import ctypes
import fcntl
import http.server
import json
import os
import re
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWPID = 0x20000000
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38
# Of what the Dockerfile builds; CI runs this with a binary that took less time to build and is larger.
LIMIT_MB = float(os.environ.get("CCFLEET_IMAGE_MAX_MB", "inf"))
MODEL_SERVER = "127.0.0.21"
NAME_SERVER = "127.0.0.11"


# -- the Dockerfile


class Image:
    """What the last stage says."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"^\s*#.*\n", "", file.read(), flags=re.M).replace("\\\n", " ")
        lines = [line.split(None, 1) for line in text.splitlines() if line.strip()]
        last = max(at for at, line in enumerate(lines) if line[0] == "FROM")
        assert lines[last][1] == "scratch", "the last stage begins with nothing"
        self.copies, self.env, self.command = [], {}, []
        for word, rest in lines[last + 1 :]:
            if word == "COPY":
                flags = dict(part[2:].split("=") for part in rest.split() if part.startswith("--"))
                source, target = [part for part in rest.split() if not part.startswith("--")]
                self.copies.append((source, target, flags.get("chown")))
            elif word == "ENV":
                self.env.update(part.split("=", 1) for part in shlex.split(rest))
            elif word == "USER":
                self.uid, self.gid = (int(part) for part in rest.split(":"))
            elif word == "WORKDIR":
                self.folder = rest
            elif word == "VOLUME":
                self.volume = rest
            elif word == "HEALTHCHECK":
                self.health = json.loads(rest[rest.index("[") :])
            elif word in ("ENTRYPOINT", "CMD"):
                setattr(self, word.lower(), json.loads(rest))
            elif word == "STOPSIGNAL":
                self.stop = getattr(signal, rest)
            else:
                assert word == "EXPOSE", f"what is {word}?"
                self.port = int(rest)

    def lay_out(self, work, root):
        """Does the stage's COPY lines."""
        for source, target, owner in self.copies:
            assert source.startswith("/out/"), source
            source, target = work + source, root + target
            shutil.copytree(source, target, dirs_exist_ok=True)
            if owner:
                uid, gid = (int(part) for part in owner.split(":"))
                os.chown(target, uid, gid)


# -- what an engine does


def mount(*words):
    subprocess.run(["mount", *words], check=True)


def mount_all(root, data, hosts):
    """Everything but the data volume is read-only; of the devices those that the program opens, which every engine gives."""
    for name in ("etc/hosts", "etc/resolv.conf", "dev/null", "dev/random", "dev/urandom"):
        os.makedirs(os.path.dirname(f"{root}/{name}"), exist_ok=True)
        open(f"{root}/{name}", "a").close()
    os.makedirs(f"{root}/proc", exist_ok=True)
    mount("--bind", root, root)
    mount("--bind", "/dev/null", f"{root}/dev/null")
    for name in ("dev/random", "dev/urandom"):
        mount("--bind", f"/{name}", f"{root}/{name}")
    mount("-t", "proc", "proc", f"{root}/proc")
    mount("-o", "remount,bind,ro", root)
    write_hosts(root, hosts)
    resolv = f"{data}.resolv"
    with open(resolv, "w") as file:
        file.write(f"nameserver {NAME_SERVER}\noptions ndots:0\n")
    mount("--bind", resolv, f"{root}/etc/resolv.conf")


def write_hosts(root, lines):
    with open(f"{root}.hosts", "w") as file:
        file.write("127.0.0.1 localhost\n" + lines)
    mount("--bind", f"{root}.hosts", f"{root}/etc/hosts")


def loopback_up():
    """SIOCSIFFLAGS with IFF_UP."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, 0x8914, struct.pack("16sH14x", b"lo", 1))


class Box:
    """Runs commands of the image."""

    def __init__(self, image, root):
        self.image, self.root = image, root

    def enter(self):
        os.chroot(self.root)
        os.chdir(self.image.folder)
        for capability in range(64):
            LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
        assert LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
        os.setgroups([])
        os.setresgid(self.image.gid, self.image.gid, self.image.gid)
        os.setresuid(self.image.uid, self.image.uid, self.image.uid)

    def run(self, *command, **env):
        return subprocess.run(
            command,
            preexec_fn=self.enter,
            env={**self.image.env, **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
        )

    def start(self, **env):
        return Server(self, {**self.image.env, **env})


class Server:
    """The image's command as process 1."""

    def __init__(self, box, env):
        self.port = box.image.port
        self.stop_signal = box.image.stop
        command = box.image.entrypoint + box.image.cmd
        reads, writes = os.pipe()
        tell, told = os.pipe()
        began = time.monotonic()
        self.keeper = os.fork()
        if self.keeper == 0:
            self.keep(box, env, command, writes, told)
        os.close(writes)
        os.close(told)
        self.pid = int(os.read(tell, 32))
        os.close(tell)
        self.said = ""
        self.reader = threading.Thread(target=self.read, args=(reads,))
        self.reader.start()
        self.ready_ms = self.wait_ready(began)

    @staticmethod
    def keep(box, env, command, writes, told):
        """Its parent outside of its process namespace; ends as it does."""
        try:
            assert LIBC.unshare(CLONE_NEWPID) == 0
            child = os.fork()
            if child == 0:
                os.dup2(writes, 1)
                os.dup2(writes, 2)
                box.enter()
                os.execve(command[0], command, env)
            os.write(told, str(child).encode())
            os.close(writes)
            _, status = os.waitpid(child, 0)
            os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
        finally:
            os._exit(99)

    def read(self, reads):
        with os.fdopen(reads, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                self.said += line

    def wait_ready(self, began):
        while time.monotonic() < began + 20:
            try:
                if self.get("/readyz")[0] == 200:
                    return (time.monotonic() - began) * 1000
            except OSError:
                pass
            time.sleep(0.002)
        raise AssertionError(f"not ready within 20 s:\n{self.said}")

    def get(self, path, token=None):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}")
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def memory_mb(self):
        with open(f"/proc/{self.pid}/status") as file:
            kilobytes = re.search(r"VmRSS:\s+(\d+)", file.read())[1]
        return int(kilobytes) / 1024

    def stop(self):
        began = time.monotonic()
        os.kill(self.pid, self.stop_signal)
        _, status = os.waitpid(self.keeper, 0)
        self.reader.join()
        return os.waitstatus_to_exitcode(status), time.monotonic() - began


# -- who is asked for by name


class Models(http.server.BaseHTTPRequestHandler):
    """A model server that knows one model and notes by which name it was called."""

    called = []

    def answer(self, body):
        Models.called.append(self.headers["Host"])
        text = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        model = {"name": "qwen2.5-coder:7b", "model": "qwen2.5-coder:7b", "details": {}}
        self.answer({"version": "0.0.0"} if self.path == "/api/version" else {"models": [model]})

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        done = {"message": {"role": "assistant", "content": "{}"}, "done": True, "done_reason": "stop"}
        self.answer(done if self.path == "/api/chat" else {"capabilities": ["completion"]})

    def log_message(self, *_):
        pass


class Names(threading.Thread):
    """A name server for the names of the compose file; what else it was asked for is noted, too."""

    def __init__(self, known):
        super().__init__(daemon=True)
        self.known, self.asked = known, []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((NAME_SERVER, 53))

    def run(self):
        while True:
            query, sender = self.socket.recvfrom(512)
            at, labels = 12, []
            while query[at]:
                labels.append(query[at + 1 : at + 1 + query[at]].decode())
                at += 1 + query[at]
            name, kind = ".".join(labels), struct.unpack("!H", query[at + 1 : at + 3])[0]
            question = query[12 : at + 5]
            self.asked.append(name)
            address = self.known.get(name)
            answers = b""
            if address and kind == 1:
                answers = struct.pack("!HHHIH", 0xC00C, 1, 1, 60, 4) + socket.inet_aton(address)
            flags = 0x8180 if address else 0x8183
            head = query[:2] + struct.pack("!HHHHH", flags, 1, bool(answers), 0, 0)
            self.socket.sendto(head + question + answers, sender)


# -- the checks


def size_of(root):
    return sum(
        os.path.getsize(os.path.join(folder, name))
        for folder, _, names in os.walk(root)
        for name in names
    )


def check_what_is_writable(box):
    """By a child that enters the box as its programs do."""
    for path, may in [("/x", False), ("/etc/hosts", False), ("/usr/bin/x", False), ("/data/x", True)]:
        child = os.fork()
        if child == 0:
            box.enter()
            try:
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT))
                os._exit(0)
            except OSError:
                os._exit(1)
        wrote = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert wrote == may, f"{path}: written {wrote}"
    os.remove(f"{box.root}/data/x")


def check_names(box, root):
    """A model server is found by a name of /etc/hosts, and by one that only the name server knows."""
    names = Names({"ollama": MODEL_SERVER})
    names.start()
    server = http.server.ThreadingHTTPServer((MODEL_SERVER, 11434), Models)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    local = http.server.ThreadingHTTPServer(("127.0.0.1", 11434), Models)
    threading.Thread(target=local.serve_forever, daemon=True).start()
    for name, asks_server in [("ollama", True), ("of-the-file", False), ("localhost", False)]:
        if name == "of-the-file":
            write_hosts(root, f"{MODEL_SERVER} of-the-file\n")
        Models.called.clear()
        names.asked.clear()
        url = f"http://{name}:11434"
        said = box.run(
            *box.image.entrypoint, "doctor", "--json", CCFLEET__MODELS__PLANNER__BASE_URL=url
        ).stdout
        assert f"{name}:11434" in Models.called, f"{url} was not reached:\n{said}"
        assert (name in names.asked) == asks_server, f"{name}: {names.asked}"
    said = box.run(
        *box.image.entrypoint, "doctor", CCFLEET__MODELS__PLANNER__BASE_URL="http://nobody:11434"
    ).stdout
    assert "FAIL" in said and "nobody" in said, said


def main(work, dockerfile):
    image = Image(dockerfile)
    root, data = f"{work}/root", f"{work}/volume"
    image.lay_out(work, root)
    size = size_of(root)
    print(f"image: {size / 1e6:.1f} MB, files: {sum(len(names) for _, _, names in os.walk(root))}")
    assert size <= LIMIT_MB * 1e6, f"over {LIMIT_MB} MB"

    # An engine fills a new volume with what the image has there, its owner included.
    shutil.copytree(f"{root}{image.volume}", data)
    stat = os.stat(f"{root}{image.volume}")
    os.chown(data, stat.st_uid, stat.st_gid)
    loopback_up()
    mount_all(root, data, "")
    box = Box(image, root)

    refused = box.run(*image.entrypoint, *image.cmd)
    assert refused.returncode == 4 and "/data" in refused.stdout, refused.stdout
    print("ok: without a volume at /data it ends with 4 and says so")

    mount("--bind", data, f"{root}{image.volume}")
    check_what_is_writable(box)
    print(f"ok: user {image.uid} writes to /data and nowhere else")

    server = box.start()
    tokens = re.findall(r"^  (you|computers) +(ccf_\S+)$", server.said, re.M)
    assert [name for name, _ in tokens] == ["you", "computers"], server.said
    admin = tokens[0][1]
    assert server.get("/api/v1/tokens")[0] == 401
    assert server.get("/api/v1/tokens", admin)[0] == 200
    assert server.get("/")[0] == 200 and server.get("/install.lua")[0] == 200
    print(f"ok: the first start takes {server.ready_ms:.0f} ms and prints its two tokens, which are needed and count")

    health = box.run(*image.health)
    assert health.returncode == 0, health.stdout
    token = box.run(*image.entrypoint, "token", "create", "prometheus", "--role", "viewer")
    assert token.returncode == 0, token.stdout
    viewer = token.stdout.split()[-1]
    assert server.get("/metrics", viewer)[0] == 200
    print("ok: the image's health check, and `token create` beside the server as docs/deploy.md has it")

    check_names(box, root)
    print("ok: names are found in /etc/hosts and by the name server; one that nobody has is said")

    print(f"   {server.memory_mb():.1f} MiB resident")
    code, seconds = server.stop()
    assert code == 0 and seconds < 10, (code, seconds, server.said)
    health = box.run(*image.health)
    assert health.returncode != 0, health.stdout
    print(f"ok: as process 1 it ends with 0 on {image.stop.name}, {seconds * 1000:.0f} ms later; the health check sees it")

    server = box.start()
    assert "ccf_" not in server.said, server.said
    assert server.get("/api/v1/tokens", admin)[0] == 200
    print(f"ok: the second start takes {server.ready_ms:.0f} ms, makes no tokens, and knows the first")
    assert server.stop()[0] == 0


main(*sys.argv[1:])
