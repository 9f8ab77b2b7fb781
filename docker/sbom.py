"""Adds the page's libraries to a bill of materials, takes this machine's paths out, and looks whether every crate is in it.

    cargo tree … | sbom.py BILL README      README: the table of the page's libraries
"""

import json
import re
import sys
from pathlib import Path

ROW = re.compile(
    r"^\| `(?P<file>[^`]+)` \| (?P<name>\S+) (?P<version>[\d.]+), [^|]* \| (?P<licence>[^|,]+)[^|]* \|"
    r" `[0-9a-f]{64}` \| `(?P<sha256>[0-9a-f]{64})` \|$"
)
# In the table, for the licence of the row above: a package's first file has its own.
SAME = "the same"


def libraries(readme):
    """One component for each npm package, with the files that were taken from it."""
    packages = {}
    licence = None
    for row in filter(None, map(ROW.match, readme.splitlines())):
        if row["licence"] != SAME:
            licence = row["licence"]
        purl = "pkg:npm/{name}@{version}".format(name=row["name"].replace("@", "%40"), version=row["version"])
        package = packages.setdefault(
            purl,
            {
                "type": "library",
                "bom-ref": purl,
                "name": row["name"],
                "version": row["version"],
                "licenses": [{"expression": licence}],
                "purl": purl,
                "components": [],
            },
        )
        content = {"type": "file", "name": row["file"], "hashes": [{"alg": "SHA-256", "content": row["sha256"]}]}
        package["components"].append(content)
    return list(packages.values())


def main():
    bill, readme = map(Path, sys.argv[1:3])
    wanted = {tuple(line.split()[:2]) for line in sys.stdin if line.strip()}
    page = libraries(readme.read_text())
    if not page:
        sys.exit(f"{readme} has no table of libraries any more")
    text = bill.read_text()
    own = f"path+file://{Path.cwd()}#"
    told = json.loads(text.replace(own, "").replace("?download_url=file://.", ""))
    told["components"] += page
    there = {(part["name"], "v" + part["version"]) for part in told["components"]}
    main_part = told["metadata"]["component"]
    there.add((main_part["name"], "v" + main_part["version"]))
    if missing := wanted - there:
        sys.exit(f"crates are missing in the bill of materials: {sorted(missing)}")
    bill.write_text(json.dumps(told, indent=1) + "\n")
    print(f"{bill.name}: {len(told['components'])} components, {len(page)} of them of the page")


main()
