"""A FastAPI server of the same protocol, as a peer of the bench `http_calls`.

Computers connect to /ws and say hello; `POST /api/v1/tools/call` passes a call on to one of them and answers with its
result, in our server's shape. Nothing is stored, checked against a schema, numbered again or sent twice: what it does is
the least that such a server can do. uvicorn runs it on uvloop and httptools; JSON is orjson's.

It is spoken to as `benches/common/control.rs` says: its first line is its address, then an answer a line.
"""

import asyncio
import itertools
import resource
import socket
import sys
import threading
import time

import orjson
import uvicorn
from fastapi import FastAPI, HTTPException, WebSocket, WebSocketDisconnect
from fastapi.responses import Response
from pydantic import BaseModel

app = FastAPI()
computers: dict[str, "Computer"] = {}
waiting: dict[str, asyncio.Future] = {}
numbers = itertools.count(1)
WARM_UP = 0.1
# The tools that computers of the bench register, with the arguments of their calls (benches/common/tools.rs).
TOOLS = [
    ("fs_list", "read", {"path": "/farm"}),
    ("fs_write", "idempotent", {"path": "/farm/plan", "content": "wheat"}),
    ("shell_exec", "effect", {"command": "farm/harvest 3"}),
    ("fs_read", "read", {"path": "/farm/log", "offset": 0, "max_bytes": 512}),
    ("run_program", "effect", {"path": "/farm/go.lua", "args": ["3"]}),
    ("fs_delete", "idempotent", {"path": "/farm/old"}),
    ("fs_move", "effect", {"from": "/a.lua", "to": "/farm/a.lua"}),
    ("write_and_run", "effect", {"path": "/t.lua", "content": "print(1)"}),
]


class Computer:
    def __init__(self, socket: WebSocket, tools: dict[str, str]):
        self.socket = socket
        self.tools = tools
        self.sent = 0
        self.seq = 0

    async def call(self, tool: str, args: dict, timeout_s: float) -> dict:
        number = next(numbers)
        call_id = f"cal_01HZX4W1V70000000000000001_1_{number}_0"
        answer = asyncio.get_running_loop().create_future()
        waiting[call_id] = answer
        self.sent += 1
        seq = None
        if self.tools[tool] == "effect":
            self.seq += 1
            seq = self.seq
        frame = {
            "type": "command_call",
            "task_id": "tsk_01HZX4W1V70000000000000001",
            "call_id": call_id,
            "command": tool,
            "args": args,
            "seq": seq,
            "tool_rev": "rev_0123456789abcdef",
            "args_hash": "arg_0123456789abcdef",
            "deadline_ms": 60000,
            "delivery": 1,
            "n": self.sent,
        }
        await self.socket.send_text(orjson.dumps(frame).decode())
        try:
            async with asyncio.timeout(timeout_s):
                return await answer
        finally:
            waiting.pop(call_id, None)


@app.websocket("/ws")
async def connection(socket: WebSocket):
    await socket.accept()
    hello = orjson.loads(await socket.receive_text())
    name = hello["client_id"]
    tools = {command["name"]: command["effect"] for command in hello["commands"]}
    computers[name] = Computer(socket, tools)
    welcome = {"type": "welcome", "client_id": name, "session_secret": "none", "accepted": list(tools)}
    await socket.send_text(orjson.dumps(welcome).decode())
    try:
        while True:
            message = orjson.loads(await socket.receive_text())
            if message["type"] == "command_result":
                answer = waiting.get(message["call_id"])
                if answer is not None and not answer.done():
                    answer.set_result(message)
    except WebSocketDisconnect:
        computers.pop(name, None)


class Call(BaseModel):
    command: str
    args: dict = {}
    timeout_ms: int = 30000


@app.post("/api/v1/tools/call")
async def call(wanted: Call):
    name, _, tool = wanted.command.partition("/")
    computer = computers.get(name)
    if computer is None or tool not in computer.tools:
        raise HTTPException(404, "nobody has this tool")
    result = await computer.call(tool, wanted.args, wanted.timeout_ms / 1000)
    body = {
        "outcome": "done" if result["ok"] else "failed",
        "result": result["result"],
        "duration_ms": result["duration_ms"],
        "truncated": False,
        "task_id": result["task_id"],
        "call_id": result["call_id"],
        "ok": result["ok"],
    }
    return Response(orjson.dumps(body), media_type="application/json")


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def resident_bytes() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


async def run(connections: int, in_flight: int, millis: int) -> dict:
    """Keeps so many calls under way within the server, without HTTP."""
    all_of_them = [computers[f"turtle-{index:05}"] for index in range(connections)]
    nanos: list[int] = []
    state = {"counts": False, "ends": False, "failed": 0}

    async def slot(index: int):
        made = 0
        while not state["ends"]:
            made += 1
            computer = all_of_them[(index + made * in_flight) % connections]
            tool, _, args = TOOLS[(index + made) % len(TOOLS)]
            began = time.perf_counter_ns()
            result = await computer.call(tool, args, 60)
            if not result["ok"] or result.get("result") is None:
                state["failed"] += 1
            elif state["counts"]:
                nanos.append(time.perf_counter_ns() - began)

    slots = [asyncio.create_task(slot(index)) for index in range(in_flight)]
    await asyncio.sleep(WARM_UP)
    began, cpu = time.perf_counter(), cpu_seconds()
    state["counts"] = True
    await asyncio.sleep(millis / 1000)
    state["counts"] = False
    seconds, cpu = time.perf_counter() - began, cpu_seconds() - cpu
    state["ends"] = True
    await asyncio.gather(*slots)
    nanos.sort()
    at = lambda share: nanos[int((len(nanos) - 1) * share)] / 1000 if nanos else 0.0
    return {
        "calls_per_s": len(nanos) / seconds,
        "p50_us": at(0.5),
        "p99_us": at(0.99),
        "cpu_us": cpu * 1e6 / max(len(nanos), 1),
        "failed": state["failed"],
    }


async def answer(ask) -> object:
    match ask:
        case "Memory":
            return resident_bytes()
        case {"Run": what}:
            return await run(what["connections"], what["in_flight"], what["millis"])
    raise ValueError(f"not asked so: {ask}")


def say(what) -> None:
    print(orjson.dumps(what).decode(), flush=True)


async def main() -> None:
    listening = socket.create_server(("127.0.0.1", 0), backlog=1024)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, http="httptools", ws_per_message_deflate=False, lifespan="off"
    )
    serving = asyncio.create_task(uvicorn.Server(config).serve(sockets=[listening]))
    asks: asyncio.Queue = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def read():
        for line in sys.stdin:
            loop.call_soon_threadsafe(asks.put_nowait, orjson.loads(line))
        loop.call_soon_threadsafe(serving.cancel)

    threading.Thread(target=read, daemon=True).start()
    say("127.0.0.1:%d" % listening.getsockname()[1])
    while True:
        say(await answer(await asks.get()))


if __name__ == "__main__":
    import uvloop

    uvloop.run(main())
