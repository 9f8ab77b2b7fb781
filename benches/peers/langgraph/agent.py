"""An agent in LangGraph with its SQLite checkpointer, as a peer of the bench `tasks`: agent.py TASKS CALLS THREADS MODEL_MS

The usual graph: a model node, a tool node, back to the model until it answers without a call. The model is scripted and takes
MODEL_MS milliseconds, which are no part of a step; its one tool is a Python function that answers at once. Every checkpoint is durable before the next node runs
(`durability="sync"`), in a WAL database with `synchronous=FULL`, as our journal is. Threads take tasks from one list.
The last line says how it went, as JSON.
"""

import json
import sqlite3
import sys
import tempfile
import threading
import time
from pathlib import Path

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

RESULT = {
    "success": True,
    "output": "harvested 3 rows of wheat, replanted 27 of 27, fuel 8123, position 104 64 -233",
    "truncated": False,
}
tasks, calls, threads, model_ms = (int(arg) for arg in sys.argv[1:5])
steps: list[int] = []
answered: dict[str, int] = {}


@tool
def shell_exec(command: str) -> str:
    """What shell_exec does, told in one sentence to whoever plans with it."""
    return json.dumps(RESULT)


def model(state: MessagesState, config) -> dict:
    task = config["configurable"]["thread_id"]
    before = answered.pop(task, None)
    if before is not None:
        steps.append(time.perf_counter_ns() - before)
    if model_ms:
        time.sleep(model_ms / 1000)
    made = sum(1 for message in state["messages"] if isinstance(message, AIMessage))
    if made >= calls:
        said = AIMessage("FINAL ANSWER: done")
    else:
        call = {"id": f"call_{made}", "name": "shell_exec", "args": {"command": f"farm/harvest field{made}"}}
        said = AIMessage("", tool_calls=[call])
    answered[task] = time.perf_counter_ns()
    return {"messages": [said]}


def where(state: MessagesState) -> str:
    return "tools" if state["messages"][-1].tool_calls else END


def compiled(saver: SqliteSaver):
    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_node("tools", ToolNode([shell_exec]))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", where)
    graph.add_edge("tools", "model")
    return graph.compile(checkpointer=saver)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        connection = sqlite3.connect(str(Path(folder) / "checkpoints.sqlite"), check_same_thread=False)
        saver = SqliteSaver(connection)
        saver.setup()
        connection.execute("PRAGMA synchronous=FULL")
        mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
        assert mode == "wal", mode
        agent = compiled(saver)
        todo = list(range(tasks))
        lock = threading.Lock()

        def work() -> None:
            while True:
                with lock:
                    if not todo:
                        return
                    number = todo.pop()
                asked = {"messages": [HumanMessage(f"Harvest the farm, job-{number:05}.")]}
                config = {"configurable": {"thread_id": f"job-{number:05}"}, "recursion_limit": 4 * calls + 10}
                ended = agent.invoke(asked, config, durability="sync")
                assert ended["messages"][-1].content == "FINAL ANSWER: done"

        began = time.perf_counter()
        workers = [threading.Thread(target=work) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        seconds = time.perf_counter() - began
        connection.close()
    steps.sort()
    assert len(steps) == tasks * calls, (len(steps), tasks * calls)
    at = lambda share: steps[int((len(steps) - 1) * share)] / 1000
    told = {"steps_per_s": len(steps) / seconds, "step_p50_us": at(0.5), "step_p99_us": at(0.99)}
    print(json.dumps(told))


main()
