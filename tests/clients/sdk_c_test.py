"""librlx (C) against a real rlxd: sdk_exercise.c does the work; here it gets servers, good and dead ones."""
import os
import pathlib
import subprocess
import tempfile

import sdk
from harness import bundles, test
from rlxd import Rlxd


def exercise(urls, socket, seed):
    run = subprocess.run([sdk.EXERCISE, ",".join(urls), socket, str(seed)], capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@test
def calls_from_many_threads_callbacks_cancellation_shared_memory():
    with tempfile.TemporaryDirectory() as folder:
        socket = f"{folder}/memory.sock"
        with Rlxd(bundles("plus", "slow"), words=["--memory-socket", socket]) as own:
            for seed in (1, 2, 3):
                said = exercise([f"http://{own.url}"], socket, seed)
                assert "1600 calls from 8 threads" in said and "320 calls on streams" in said, said
            assert own.get("/readyz")[0] == 200


@test
def a_dead_endpoint_beside_a_good_one_costs_nothing():
    with tempfile.TemporaryDirectory() as folder:
        socket, unix = f"{folder}/memory.sock", f"{folder}/rlxd.sock"
        with Rlxd(bundles("plus", "slow"), words=["--memory-socket", socket, "--unix", unix]) as own:
            exercise([f"unix:{unix}", f"grpc://{own.url}", "http://127.0.0.1:9", "http://no-such-host.invalid:80"], socket, 4)


@test
def the_public_header_stands_alone_in_c_and_in_cpp():
    header = sdk.ROOT / "sdk" / "c" / "rlx.h"
    library = pathlib.Path(os.environ["RLX_LIBRARY"])
    with tempfile.TemporaryDirectory() as folder:
        for compiler, ending, standard in (("cc", "c", "c99"), ("c++", "cc", "c++11")):
            if subprocess.run(["which", compiler], capture_output=True).returncode != 0:
                continue
            source = pathlib.Path(folder) / f"one.{ending}"
            source.write_text(f'#include "{header}"\nint main(void) {{ return rlx_client_version()[0] == 0; }}\n')
            subprocess.run([compiler, f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-pedantic", source, "-o", f"{folder}/one", library,
                            f"-Wl,-rpath,{library.parent}"], check=True)
            subprocess.run([f"{folder}/one"], check=True)


@test
def librlx_exports_its_public_functions_only():
    names = subprocess.run(["nm", "-D", "--defined-only", os.environ["RLX_LIBRARY"]], capture_output=True, text=True, check=True).stdout
    exported = {line.split()[-1] for line in names.splitlines()}
    declared = set()
    for line in (sdk.ROOT / "sdk" / "c" / "rlx.h").read_text().splitlines():
        if line.startswith("RLX_CLIENT_API"):
            declared.add(line.split("(")[0].split()[-1].lstrip("*"))
    assert exported == declared, exported ^ declared
