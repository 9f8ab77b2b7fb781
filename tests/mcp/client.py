"""What an MCP client can do with a fleet, checked with the official Python SDK.

usage: client.py HOST:PORT BINARY FOLDER
"""

import json
import subprocess
import sys
import time

import anyio
import httpx2
import mcp_types as types
from mcp import Client, MCPError

ADDRESS, BINARY, FOLDER = sys.argv[1:4]
URL = f"http://{ADDRESS}/mcp"
OLD, NEW = "2025-11-25", "2026-07-28"
WITHIN = 60

BUMP = """
local file = fs.open("/count", "r")
local count = file and tonumber(file.readAll()) or 0
if file then file.close() end
file = fs.open("/count", "w")
file.write(tostring(count + 1))
file.close()
"""


def check(condition, what):
    if not condition:
        raise AssertionError(what)


async def now(value):
    return value


async def until(what, look):
    """Asks again until there is an answer; only the time limit of the whole test ends it otherwise."""
    with anyio.fail_after(WITHIN):
        while True:
            found = await look()
            if found:
                return found
            await anyio.sleep(0.1)


def content(result):
    check(result.structured_content is not None, result)
    return result.structured_content


class Fleet:
    """One client, and what it heard."""

    def __init__(self, version):
        self.version = version
        self.heard = []
        mode = "legacy" if version == OLD else "auto"
        self.client = Client(URL, mode=mode, message_handler=self.hear, read_timeout_seconds=WITHIN)

    async def hear(self, message):
        self.heard.append(type(message).__name__)

    async def call(self, name, **arguments):
        result = await self.client.call_tool(name, arguments)
        return result

    async def done(self, name, **arguments):
        """A call that has to succeed: its outcome, waited for through its task if it takes long."""
        result = await self.call(name, **arguments)
        check(not result.is_error, f"{name}: {result.content}")
        told = content(result)
        while told.get("pending"):
            told = content(await self.call("task_wait", task_id=told["task_id"], timeout_s=20))
        return told.get("call", told)

    async def tools(self):
        found, cursor = {}, None
        while True:
            page = await self.client.list_tools(cursor=cursor, cache_mode="bypass")
            found.update({tool.name: tool for tool in page.tools})
            cursor = page.next_cursor
            if cursor is None:
                return found


async def lists_and_hints(fleet):
    check(fleet.client.protocol_version == fleet.version, fleet.client.protocol_version)
    check(fleet.client.server_info.name == "ccfleet", fleet.client.server_info)

    async def there():
        tools = await fleet.tools()
        return tools if "fs_read" in tools else None

    tools = await until("the simulated computer", there)
    own = "task_create task_status task_wait task_cancel task_list question_list question_answer".split()
    check(set(own) <= set(tools), sorted(tools))
    read, run = tools["fs_read"], tools["run_program"]
    check(read.annotations.read_only_hint and not read.annotations.destructive_hint, read)
    check(not run.annotations.read_only_hint and run.annotations.destructive_hint, run)
    check(not run.annotations.idempotent_hint, run)
    check("idempotency_key" in run.input_schema["properties"], run)
    check("path" in read.input_schema["required"], read)
    check("sim-1 (online)" in read.description, read.description)


async def read_and_refuse(fleet):
    listed = await fleet.done("fs_list", path="/")
    check(listed["outcome"] == "done" and "entries" in listed["result"], listed)
    result = await fleet.call("fs_read", path="/nowhere")
    check(result.is_error and "nowhere" in result.content[0].text, result)
    result = await fleet.call("fs_read")
    check(result.is_error and content(result)["code"] == "bad_args", result)
    try:
        await fleet.call("no_such_tool")
        raise AssertionError("an unknown tool was called")
    except MCPError as error:
        check("no_such_tool" in str(error), error)


async def one_effect_for_one_key(fleet):
    await fleet.done("fs_write", path="/bump.lua", content=BUMP)
    await fleet.done("fs_delete", path="/count")
    tasks = set()
    for key in ["one", "one", "two"]:
        key = f"{fleet.version}-{key}"
        ran = await fleet.done("run_program", path="/bump.lua", idempotency_key=key)
        check(ran["result"]["success"], ran)
        tasks.add(ran["task_id"])
    count = (await fleet.done("sim-1__fs_read", path="/count"))["result"]["content"]
    check((count, len(tasks)) == ("2", 2), f"{count} effects in {len(tasks)} tasks")


async def a_long_call_becomes_a_task(fleet):
    await fleet.done("fs_write", path="/slow.lua", content="sleep(4) print('slept')")
    result = await fleet.call("run_program", path="/slow.lua", idempotency_key=f"{fleet.version}-slow")
    handle = content(result)
    check(not result.is_error and handle["pending"], result)
    check(handle["next"] == {"tool": "task_wait", "arguments": {"task_id": handle["task_id"]}}, handle)
    task = content(await fleet.call("task_wait", **handle["next"]["arguments"]))
    check(task["status"] == "completed" and "slept" in task["call"]["result"]["output"], task)


async def asked(fleet, task_id):
    async def look():
        items = content(await fleet.call("question_list"))["items"]
        return [item for item in items if item["task_id"] == task_id]

    return (await until("the question", look))[0]


async def a_task_with_a_question(fleet):
    made = content(await fleet.call("task_create", prompt="name a file", kind="general_agent", client_id="sim-1"))
    question = await asked(fleet, made["task_id"])
    check(question["why"] == "It has no name yet.", question)
    told = []

    async def progress(number, _total, message):
        told.append((number, message))

    ended = []

    async def wait():
        arguments = {"task_id": made["task_id"], "timeout_s": 50}
        result = await fleet.client.call_tool("task_wait", arguments, progress_callback=progress)
        ended.append(content(result))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await until("the first progress", lambda: now(told))
        answer = {"question_id": question["question_id"], "answer": "todo"}
        given = await fleet.call("question_answer", **answer)
        check(content(given)["accepted"], given)
    check(ended[0]["status"] == "completed", ended)
    numbers = [number for number, _ in told]
    check(numbers == sorted(set(numbers)) and len(numbers) > 1, told)
    listed = content(await fleet.call("task_list", status="completed", limit=200))["items"]
    check(made["task_id"] in [task["task_id"] for task in listed], listed)
    return made["task_id"]


async def cancel(fleet):
    made = content(await fleet.call("task_create", prompt="name a file", kind="general_agent", client_id="sim-1"))
    await asked(fleet, made["task_id"])
    await fleet.call("task_cancel", task_id=made["task_id"], reason="enough")
    status = content(await fleet.call("task_status", task_id=made["task_id"]))
    check((status["status"], status["error"]) == ("cancelled", "enough"), status)


async def newest_call(fleet, path):
    """The task of the last call that names this program, once it runs."""

    async def look():
        tasks = content(await fleet.call("task_list", kind="call", limit=5))["items"]
        for task in tasks:
            if "run_program" in task["prompt"] and task["task_id"] not in path:
                return task["task_id"]

    return await until("the call", look)


async def closing_and_cancelling(fleet):
    """A client that goes away leaves the call running; where the protocol has a cancel, that ends it."""
    await fleet.done("fs_write", path="/long.lua", content="sleep(30)")
    known = {task["task_id"] for task in content(await fleet.call("task_list", limit=500))["items"]}

    async with httpx2.AsyncClient() as raw:
        body = {
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "run_program", "arguments": {"path": "/long.lua"}, "_meta": {
                "io.modelcontextprotocol/protocolVersion": NEW,
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
            }},
        }
        headers = {
            "accept": "application/json, text/event-stream", "mcp-protocol-version": NEW,
            "mcp-method": "tools/call", "mcp-name": "run_program",
        }
        async with anyio.create_task_group() as group:

            async def ask():
                await raw.post(URL, json=body, headers=headers)

            group.start_soon(ask)
            task_id = await newest_call(fleet, known)
            group.cancel_scope.cancel()
    # Whatever a lost connection does to the call, a whole other call later it would have done it.
    await fleet.done("fs_list", path="/")
    status = content(await fleet.call("task_status", task_id=task_id))
    check(status["status"] not in ("cancelled", "failed", "completed"), status)
    await fleet.call("task_cancel", task_id=task_id)

    if fleet.version == OLD:
        known.add(task_id)
        async with anyio.create_task_group() as group:

            async def call():
                await fleet.call("run_program", path="/long.lua")

            group.start_soon(call)
            second = await newest_call(fleet, known)
            # The SDK tells the server with notifications/cancelled.
            group.cancel_scope.cancel()

        async def ended():
            task = content(await fleet.call("task_status", task_id=second))
            return task["status"] == "cancelled"

        await until("the cancel", ended)


async def resources(fleet, task_id):
    listed = await fleet.client.list_resources(cache_mode="bypass")
    uris = [str(resource.uri) for resource in listed.resources]
    check("ccfleet://computers/sim-1/files/" in uris, uris)
    templates = (await fleet.client.list_resource_templates()).resource_templates
    check(len(templates) == 3, templates)

    async def text(uri):
        return (await fleet.client.read_resource(uri)).contents[0].text

    journal = [json.loads(line) for line in (await text(f"ccfleet://tasks/{task_id}/journal")).splitlines()]
    kinds = [event["type"] for event in journal]
    check(kinds[0] == "task_created" and "task_completed" in kinds, kinds)
    task = json.loads(await text(f"ccfleet://tasks/{task_id}"))
    check(task["status"] == "completed", task)
    entries = json.loads(await text("ccfleet://computers/sim-1/files/"))["entries"]
    check("bump.lua" in [entry["name"] for entry in entries], entries)
    check("count" in await text("ccfleet://computers/sim-1/files/bump.lua"), "the program")
    for wrong in ["ccfleet://tasks/tsk_NONE", "ccfleet://computers/sim-1/files/none"]:
        try:
            await text(wrong)
            raise AssertionError(f"{wrong} was read")
        except MCPError:
            pass


async def changes(fleet, number):
    """A new computer is told of, however the client listens."""
    name = f"late{number}-"
    arguments = [BINARY, "sim", "--server", f"ws://{ADDRESS}/ws", "--dir", f"{FOLDER}/{name}", "--prefix", name]
    started = []

    def start():
        started.append(subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    try:
        if fleet.version == NEW:
            with anyio.fail_after(WITHIN):
                async with fleet.client.listen(tools_list_changed=True, resources_list_changed=True) as heard:
                    start()
                    wanted = {"ToolsListChanged", "ResourcesListChanged"}
                    async for event in heard:
                        wanted.discard(type(event).__name__)
                        if not wanted:
                            break
        else:
            fleet.heard.clear()
            start()
            wanted = {"ToolListChangedNotification", "ResourceListChangedNotification"}
            await until("the notices", lambda: now(wanted <= set(fleet.heard)))

        async def offered():
            tools = await fleet.tools()
            return f"{name}1 (online)" in tools.get("fs_read", tools["task_wait"]).description

        await until("the new computer's tools", offered)
        check("on_computer" in (await fleet.tools())["fs_read"].input_schema["properties"], "on_computer")
        where = await fleet.done("fs_list", path="/", on_computer=f"{name}1")
        check(where["outcome"] == "done", where)
    finally:
        for program in started:
            program.terminate()
            program.wait()


def foreign_pages_are_refused():
    for headers in [{"origin": "http://evil.example"}, {"host": "evil.example"}]:
        answer = httpx2.post(URL, headers=headers, json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
        check(answer.status_code == 403, answer.text)


async def main():
    foreign_pages_are_refused()
    for number, version in enumerate([OLD, NEW]):
        began = time.monotonic()
        fleet = Fleet(version)
        async with fleet.client:
            await lists_and_hints(fleet)
            await read_and_refuse(fleet)
            await one_effect_for_one_key(fleet)
            await a_long_call_becomes_a_task(fleet)
            task_id = await a_task_with_a_question(fleet)
            await cancel(fleet)
            await closing_and_cancelling(fleet)
            await resources(fleet, task_id)
            await changes(fleet, number)
        print(f"MCP {version}: all checks passed in {time.monotonic() - began:.1f} s")


anyio.run(main)
