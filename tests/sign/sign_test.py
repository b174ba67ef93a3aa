"""Keys, signatures and trust as a user and an operator meet them."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import numpy
import onnx
from onnx import TensorProto, helper

import cases
import graphs
import models
from cases import test
from command import expect, rlx
from daemon import BUILD, RLXD, Daemon


class Kit:
    """Two pairs of keys, of which alice's is trusted; a model; its bundle unsigned, signed by alice, and signed by bob."""

    def __init__(self, folder):
        self.folder = folder
        self.trusted = folder / "trusted"
        self.trusted.mkdir()
        for name in ("alice", "bob"):
            expect(rlx("keygen", "-o", folder / name, "--comment", f"{name}'s key"), 0)
        shutil.copy(folder / "alice.pub", self.trusted)
        self.plain = models.add_one(folder)
        self.model = folder / "add.onnx"
        self.input = folder / "in.npz"
        numpy.savez(self.input, x=numpy.array([1, 2], numpy.float32))
        self.alice, self.bob = (self.signed(name) for name in ("alice", "bob"))

    def key(self, name):
        return self.folder / f"{name}.key"

    def signed(self, name):
        path = self.folder / f"by-{name}.rlxb"
        expect(rlx("sign", self.plain, "--key", self.key(name), "-o", path), 0, "signed by key", f"{name}'s key")
        return path

    def infer(self, bundle):
        return rlx("infer", bundle, "--input", self.input, "--output", self.folder / "out.npz", "--verify-signature", "--trusted-keys", self.trusted)


def changed(source, to, at, byte=None):
    data = bytearray(source.read_bytes())
    data[at] = data[at] ^ 1 if byte is None else byte
    to.write_bytes(data)
    return to


@test
def a_pair_of_keys_is_made_once_and_only_its_owner_reads_the_secret(kit):
    prefix = kit.folder / "pair"
    expect(rlx("keygen", "-o", prefix), 0, "pair.key", "pair.pub")
    assert (kit.folder / "pair.key").stat().st_mode & 0o777 == 0o600
    before = (kit.folder / "pair.key").read_bytes()
    expect(rlx("keygen", "-o", prefix), 1, "RLX-1003", "never replaced")
    assert (kit.folder / "pair.key").read_bytes() == before
    public = expect(rlx("keygen", "--public", f"{prefix}.key"), 0).stdout
    assert public == (kit.folder / "pair.pub").read_text()
    os.chmod(f"{prefix}.key", 0o644)
    expect(rlx("sign", kit.plain, "--key", f"{prefix}.key", "-o", kit.folder / "x.rlxb"), 1, "RLX-1307", "chmod 600")
    expect(rlx("sign", kit.plain, "--key", f"{prefix}.pub", "-o", kit.folder / "x.rlxb"), 1, "RLX-1307")
    assert not (kit.folder / "x.rlxb").exists()
    expect(rlx("keygen", "--comment", "two\nlines", "-o", kit.folder / "y"), 2, "RLX-1001")


@test
def verify_says_who_signed_and_who_is_trusted(kit):
    both = kit.folder / "both.rlxb"
    shutil.copy(kit.alice, both)
    expect(rlx("sign", both, "--key", kit.key("bob")), 0, "2 signatures")
    text = expect(rlx("verify", both, "--trusted", kit.trusted), 0, "whole", "not trusted").stdout
    assert text.count("signed by key") == 2 and text.count(": trusted, alice's key") == 1, text
    expect(rlx("verify", kit.bob), 0, "whole", "signed by key")
    expect(rlx("verify", kit.bob, "--trusted", kit.trusted), 1, "RLX-1305", "none of the 1 trusted keys")
    expect(rlx("verify", kit.plain), 0, "not signed")
    expect(rlx("verify", kit.plain, "--trusted", kit.trusted), 1, "RLX-1305", "not signed")


@test
def signing_again_gives_the_same_bytes(kit):
    before = kit.alice.read_bytes()
    expect(rlx("sign", kit.alice, "--key", kit.key("alice")), 0)
    assert kit.alice.read_bytes() == before
    out = kit.folder / "compiled.rlxb"
    expect(rlx("compile", "--model", kit.model, "--output", out, "--key", kit.key("alice")), 0, "signed by key")
    expect(rlx("verify", out, "--trusted", kit.trusted), 0, ": trusted")
    unsigned = out.read_bytes()[:56] + bytes(4096 - 56) + out.read_bytes()[4096:]
    expect(rlx("compile", "--model", kit.model, "--output", kit.folder / "plain.rlxb"), 0)
    assert unsigned == (kit.folder / "plain.rlxb").read_bytes()


@test
def infer_takes_trusted_bundles_only_when_asked(kit):
    expect(rlx("infer", kit.plain, "--input", kit.input, "--output", kit.folder / "out.npz"), 0)
    expect(kit.infer(kit.alice), 0, "2 3")
    expect(kit.infer(kit.plain), 1, "RLX-1305", "not signed")
    expect(kit.infer(kit.bob), 1, "RLX-1305")
    expect(rlx("infer", kit.alice, "--input", kit.input, "--output", kit.folder / "out.npz", "--verify-signature"), 2, "--trusted-keys")


@test
def what_was_changed_is_named(kit):
    data = kit.alice.read_bytes()
    bad = kit.folder / "bad.rlxb"
    segments = {"program": 2, "code image": len(data) // 2}
    expect(kit.infer(changed(kit.alice, bad, 9)), 1, "RLX-1303", "format")
    expect(kit.infer(changed(kit.alice, bad, 10)), 1, "different versions")
    expect(kit.infer(changed(kit.alice, bad, 70)), 1, "RLX-1306", "signature block")
    expect(kit.infer(changed(kit.alice, bad, 3000)), 1, "header page")
    expect(kit.infer(changed(kit.alice, bad, 4100)), 1, "RLX-1302", "manifest")
    expect(kit.infer(changed(kit.alice, bad, segments["code image"])), 1, "RLX-1302", "code image for x86-64", "MiB")
    bad.write_bytes(data[:-1])
    expect(kit.infer(bad), 1, "cut off")
    bad.write_bytes(data + b"\0")
    expect(kit.infer(bad), 1, "made longer")
    expect(rlx("sign", bad, "--key", kit.key("alice")), 1, "made longer")
    unsigned = data[:56] + bytes(1600 - 56) + data[1600:]
    bad.write_bytes(unsigned)
    expect(kit.infer(bad), 1, "RLX-1305", "not signed")


@test
def a_source_is_signed_over_what_it_means(kit):
    model, bundle = kit.folder / "source.onnx", kit.folder / "source.rlxb"
    shutil.copy(kit.model, model)
    expect(rlx("sign", "--model", model, "--key", kit.key("alice")), 0, "source.onnx.sig")
    expect(rlx("sign", "--model", model, "--key", kit.key("bob")), 0)
    expect(rlx("verify", "--model", model, "--trusted", kit.trusted), 0, ": trusted", "not trusted")
    graph = onnx.load(model)
    graph.doc_string, graph.producer_name = "the same model, written down in another way", "another program"
    onnx.save(graph, model)
    text = expect(rlx("compile", "--model", model, "--output", bundle), 0) and expect(rlx("verify", bundle, "--trusted", kit.trusted), 1, "its source is").stdout
    assert text.count("source signed by key") == 2, text
    first = expect(rlx("compile", "--model", model, "--output", bundle, "--opt-level", "1"), 0) and rlx("verify", bundle).stdout
    assert [line for line in first.splitlines() if "source " in line] == [line.split(": trusted")[0].split(": not")[0] for line in text.splitlines()
                                                                         if "source " in line]
    graph.graph.initializer[0].CopyFrom(graphs.constant("c", numpy.array([1.0000001], numpy.float32)))
    onnx.save(graph, model)
    expect(rlx("compile", "--model", model, "--output", bundle), 1, "RLX-1306", "source.onnx.sig", "not what key")
    expect(rlx("verify", "--model", model), 1, "RLX-1306")
    expect(rlx("sign", "--model", model, "--key", kit.key("alice")), 0, "older signatures", "go")
    expect(rlx("compile", "--model", model, "--output", bundle), 0)
    signatures = model.with_suffix(".onnx.sig")
    text = signatures.read_text()
    signatures.write_text(text.replace("signature: ", "signature: 00", 1)[:-3] + "\n")
    expect(rlx("compile", "--model", model, "--output", bundle), 1, "RLX-1306", "does not fit")
    signatures.write_text("nothing\n")
    expect(rlx("compile", "--model", model, "--output", bundle), 1, "RLX-1307", "source.onnx.sig:1")


@test
def signatures_of_a_source_go_along_to_other_targets(kit):
    model, alone, beside = kit.folder / "targets.onnx", kit.folder / "alone", kit.folder / "beside"
    shutil.copy(kit.model, model)
    expect(rlx("sign", "--model", model, "--key", kit.key("alice")), 0)
    expect(rlx("compile", "--model", model, "--shape", "x=2", "--target", "c", "--output", alone), 0)
    expect(rlx("compile", "--model", model, "--shape", "x=2", "--target", "x86_64,c", "--output", beside), 0)
    lines = [line for line in model.with_suffix(".onnx.sig").read_text().splitlines() if not line.startswith("comment")]
    assert (alone / "c" / "source.sig").read_text().splitlines() == lines
    assert (beside / "c" / "source.sig").read_bytes() == (alone / "c" / "source.sig").read_bytes()
    signatures = model.with_suffix(".onnx.sig")
    signatures.write_text(signatures.read_text().replace("signature: ", "signature: 00", 1)[:-3] + "\n")
    for words in (["c"], ["c", "--freestanding"], ["x86_64,c"]):
        expect(rlx("compile", "--model", model, "--shape", "x=2", "--target", *words, "--output", kit.folder / "refused"), 1, "RLX-1306", "does not fit")
        assert not (kit.folder / "refused").exists()
    signatures.unlink()
    expect(rlx("compile", "--model", model, "--shape", "x=2", "--target", "c", "--output", alone), 0)
    assert not (alone / "c" / "source.sig").exists()


@test
def only_sources_of_trusted_keys_are_compiled_when_asked(kit):
    model, words = kit.folder / "trusted.onnx", ["--verify-signature", "--trusted-keys", kit.trusted]
    shutil.copy(kit.model, model)
    for target in ("x86_64", "c"):
        compile = ["compile", "--model", model, "--shape", "x=2", "--target", target, "--output", kit.folder / f"trusted_{target}"]
        expect(rlx(*compile, *words), 1, "RLX-1305", "signed by none", "rlx sign --model")
    expect(rlx("sign", "--model", model, "--key", kit.key("bob")), 0)
    expect(rlx(*compile, *words), 1, "RLX-1305")
    expect(rlx("sign", "--model", model, "--key", kit.key("alice")), 0)
    expect(rlx(*compile, *words), 0)
    expect(rlx(*compile, "--verify-signature"), 2, "belong together")


@test
def the_text_of_a_model_is_the_same_source(kit):
    text = kit.folder / "text.rlxir"
    expect(rlx("dump", kit.model, "--output", text), 0)
    digests = [expect(rlx("verify", "--model", path), 0).stdout.split()[2] for path in (kit.model, text)]
    assert digests[0] == digests[1] and len(digests[0]) == 64, digests
    expect(rlx("sign", "--model", text, "--key", kit.key("alice")), 0, "text.rlxir.sig")
    text.write_text(text.read_text().replace(";", " ;"))  # written down in another way
    expect(rlx("verify", "--model", text, "--trusted", kit.trusted), 0, ": trusted")


@test
def run_refuses_what_it_would_have_to_compile(kit):
    expect(rlx("run", "--model", kit.model, "--port", "0", "--verify-signature", "--trusted-keys", kit.trusted), 1, "RLX-1305", "compile --key")


def repository_of(kit, **bundles):
    folder = pathlib.Path(tempfile.mkdtemp(dir=kit.folder))
    for name, path in bundles.items():
        shutil.copy(path, folder / f"{name}.rlxb")
    return folder


@test
def the_daemon_serves_trusted_bundles_only(kit):
    repository = repository_of(kit, good=kit.alice, plain=kit.plain, bob=kit.bob)
    config = kit.folder / "signed.yaml"
    config.write_text(f"models: {{repository: {repository}, store: {kit.folder / 'store'}, verify_signature: true, trusted_keys: {kit.trusted}}}\n")
    with Daemon("--config", config, "--port", 0) as daemon:
        assert daemon.infer("good", [1], [1])[0] == 200
        for name in ("plain", "bob"):
            code, text = daemon.infer(name, [1], [1])
            assert code == 503 and ("not signed" if name == "plain" else "trusted keys") in text, (code, text)
        assert daemon.stop() == 0
    checked = subprocess.run([RLXD, "--config", config, "--check"], capture_output=True, text=True, timeout=60)
    assert checked.returncode == 1 and checked.stderr.count("RLX-1305") == 2 and "'good' version 1 is good" in checked.stdout, checked
    broken = subprocess.run([RLXD, "--config", config, "--port", "0", "--trusted-keys", str(kit.folder / "nowhere")], capture_output=True, text=True,
                            timeout=60)
    assert broken.returncode != 0 and "nowhere" in broken.stderr, broken


@test
def keys_that_come_and_go_count_from_the_next_reload_on(kit):
    repository, trusted = repository_of(kit, a=kit.alice, b=kit.bob), kit.folder / "reloaded"
    shutil.copytree(kit.trusted, trusted)
    with Daemon("--models", repository, "--port", 0, "--store", kit.folder / "store2", "--verify-signature", "--trusted-keys", trusted) as daemon:
        def reloaded(want):
            daemon.signal(signal.SIGHUP)
            end = time.monotonic() + 20
            while (have := [daemon.infer(name, [1], [1])[0] for name in "ab"]) != want:
                assert time.monotonic() < end, (have, want, daemon.log())
                time.sleep(0.05)

        assert [daemon.infer(name, [1], [1])[0] for name in "ab"] == [200, 503]
        shutil.copy(kit.folder / "bob.pub", trusted)
        reloaded([200, 200])
        (trusted / "alice.pub").unlink()
        reloaded([503, 200])
        assert "no longer trusted" in daemon.log()
        expect(rlx("sign", repository / "a.rlxb", "--key", kit.key("bob")), 0)
        reloaded([200, 200])
        trusted.rename(kit.folder / "moved")  # a folder that cannot be read changes nothing
        daemon.signal(signal.SIGHUP)
        end = time.monotonic() + 20
        while "failures=0" in daemon.log().splitlines()[-1] or "reloaded " not in daemon.log().splitlines()[-1]:
            assert time.monotonic() < end, daemon.log()
            time.sleep(0.05)
        assert [daemon.infer(name, [1], [1])[0] for name in "ab"] == [200, 200]
        assert daemon.stop() == 0


@test
def every_byte_of_a_bundle_of_two_mib_is_under_its_signature(kit):
    """In the file and opened: all of header, signatures, manifest, text, program and gaps, and a sample of the rest, whose other bytes are refused by
    the digest that the reader computes. `tamper FILE --open I/N` opens the file for each byte: two hours of CPU."""
    if "--all" not in sys.argv:
        raise cases.Skip("two minutes; with --all")
    bundle = kit.folder / "two.rlxb"
    subprocess.run([BUILD / "tests/bundle/tamper", "--make", bundle], check=True)
    assert bundle.stat().st_size > 1.9e6
    parts = [subprocess.Popen([BUILD / "tests/bundle/tamper", bundle, "--all", f"{i}/2"], stdout=subprocess.PIPE, text=True) for i in range(2)]
    said = [part.communicate(timeout=1800)[0] for part in parts]
    assert all(part.returncode == 0 for part in parts), said
    opened, digested = (sum(int(text.split()[at]) for text in said) for at in (2, 11))
    print(f"    {opened} opened, {digested} by their digest, of {bundle.stat().st_size}")
    assert opened + digested >= bundle.stat().st_size
    run = subprocess.run([BUILD / "tests/bundle/tamper", bundle, "--random", "2000"], capture_output=True, text=True, timeout=900)
    assert run.returncode == 0, run.stderr


@test
def any_of_five_thousand_bytes_of_a_large_bundle_is_refused(kit):
    if "--all" not in sys.argv:
        raise cases.Skip("a minute; with --all")
    source = kit.folder / "large.onnx"
    weights = numpy.random.default_rng(1).standard_normal((2048, 2048), dtype=numpy.float32)
    graphs.save(source, [helper.make_node("MatMul", ["x", "w"], ["y"])], [graphs.value("x", TensorProto.FLOAT, "n", 2048)],
                [graphs.value("y", TensorProto.FLOAT, "n", 2048)], [graphs.constant("w", weights)])
    large = kit.folder / "large.rlxb"
    expect(rlx("compile", "--model", source, "--output", large, "--key", kit.key("alice")), 0)
    assert large.stat().st_size > 18e6
    run = subprocess.run([BUILD / "tests/bundle/tamper", large, "--random", "5000"], capture_output=True, text=True, timeout=900)
    print(run.stdout, run.stderr)
    assert run.returncode == 0 and "5000 changed in the file and refused" in run.stdout


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RLX_CACHE_DIR"] = f"{folder}/cache"
        return cases.finish(*cases.run(Kit(pathlib.Path(folder))))


if __name__ == "__main__":
    sys.exit(main())
