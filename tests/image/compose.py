"""What docs/deploy.md promises of compose.yaml, beyond its schema. Run by run.sh."""

import os
import re
import sys

from ruamel.yaml import YAML

path = sys.argv[1]
folder = os.path.dirname(path)


def filled(text, given):
    """${NAME:-default} as Compose fills it in, innermost first."""
    inner = re.compile(r"\$\{(\w+)(?::-([^${}]*))?\}")
    while inner.search(text):
        text = inner.sub(lambda found: given.get(found[1]) or found[2] or "", text)
    return text.replace("$$", "$")


def read(given):
    with open(path, encoding="utf-8") as file:
        return YAML(typ="safe").load(filled(file.read(), given))


compose = read({})
services = compose["services"]

for name, service in services.items():
    # Nothing is reached from other machines unless that is asked for.
    for port in service.get("ports", []):
        assert port.startswith("127.0.0.1:"), f"{name}: {port}"
    for needed in service.get("depends_on", {}):
        assert needed in services, f"{name} needs {needed}"
    for volume in service.get("volumes", []):
        source = volume.split(":")[0]
        if source.startswith("."):
            assert os.path.exists(os.path.join(folder, source)), f"{name}: {source}"
        else:
            assert source in compose["volumes"], f"{name}: {source}"
    image = service["image"]
    assert re.search(r":v?\d", image), f"{name}: {image} is of no version"

server = services["ccfleet"]
assert server["read_only"] and server["cap_drop"] == ["ALL"]
assert "no-new-privileges:true" in server["security_opt"]
assert server["volumes"] == ["data:/data"], "a journal outlives its container"
assert server["depends_on"]["ollama"]["condition"] == "service_healthy"
assert "healthcheck" in services["ollama"]
assert not services["ollama"].get("ports"), "Ollama lets everybody in"

# What is fetched is what is used, whichever of the two variables is set.
for given in [{}, {"PLANNER_MODEL": "a:1"}, {"PLANNER_MODEL": "a:1", "EXECUTOR_MODEL": "b:2"}]:
    chosen = read(given)["services"]
    used = chosen["ccfleet"]["environment"]
    fetched = chosen["fetch-models"]["environment"]
    for role in ["PLANNER", "EXECUTOR"]:
        model = used[f"CCFLEET__MODELS__{role}__MODEL"]
        assert model and model == fetched[f"{role}_MODEL"], (given, role, model)
        assert model == given.get(f"{role}_MODEL", used["CCFLEET__MODELS__PLANNER__MODEL"])

# Monitoring is there when it is asked for alone.
for name, service in services.items():
    wanted = ["monitoring"] if name in ("prometheus", "grafana") else []
    assert service.get("profiles", []) == wanted, name

# One version everywhere.
with open(os.path.join(folder, "..", "Cargo.toml"), encoding="utf-8") as file:
    version = re.search(r'^version = "(.*)"', file.read(), re.M)[1]
assert server["image"] == f"ccfleet:{version}"
with open(os.path.join(folder, "..", "rust-toolchain.toml"), encoding="utf-8") as file:
    toolchain = re.search(r'^channel = "(.*)"', file.read(), re.M)[1]
with open(os.path.join(folder, "Dockerfile"), encoding="utf-8") as file:
    dockerfile = file.read()
assert f"FROM rust:{toolchain}-" in dockerfile and f"RUSTUP_TOOLCHAIN={toolchain}" in dockerfile
print("compose.yaml keeps what docs/deploy.md promises")
