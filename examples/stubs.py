"""Makes the Python modules of the hub's protocol, as the package `agenthub_wire`. `docs/AGENTS.md` says what for.

    python examples/stubs.py FOLDER

The package has a name of its own: protoc would call it `proto`, as the folder of the files is called, and so is a package that other
libraries of Google's bring along.
"""

import pathlib
import re
import sys
import tempfile

import grpc_tools
from grpc_tools import protoc

PACKAGE = "agenthub_wire"
ROOT = pathlib.Path(__file__).resolve().parent.parent


def main(folder):
    files = [f"proto/{file.name}" for file in sorted((ROOT / "proto").glob("*.proto"))]
    # Where the types of Google's own are.
    known = pathlib.Path(grpc_tools.__file__).parent / "_proto"
    package = pathlib.Path(folder) / PACKAGE
    package.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        paths = [f"-I{ROOT}", f"-I{known}"]
        outputs = [f"--python_out={made}", f"--grpc_python_out={made}"]
        if protoc.main(["protoc", *paths, *outputs, *files]) != 0:
            sys.exit("protoc cannot make the modules")
        for module in pathlib.Path(made, "proto").glob("*.py"):
            text = module.read_text(encoding="utf-8")
            text = re.sub(r"^from proto import", f"from {PACKAGE} import", text, flags=re.M)
            (package / module.name).write_text(text, encoding="utf-8")
    (package / "__init__.py").touch()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
