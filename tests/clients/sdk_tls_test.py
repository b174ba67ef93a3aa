"""rlx_client over TLS and mutual TLS: what is trusted is served, what is not is refused with the reason."""
import pathlib
import subprocess
import tempfile

import numpy as np

import sdk
from harness import bundles, test
from rlxd import Rlxd

import rlx_client  # after sdk, which says where it is


def openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


def authority(folder, name):
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", f"/CN={name}",
            "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem")


def certificate(folder, name, issuer, alternative):
    (folder / "extensions").write_text(f"subjectAltName={alternative}\n")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/CN={name}", "-keyout",
            folder / f"{name}.key", "-out", folder / f"{name}.csr")
    openssl("x509", "-req", "-in", folder / f"{name}.csr", "-CA", folder / f"{issuer}.pem", "-CAkey", folder / f"{issuer}.key", "-CAcreateserial",
            "-days", "2", "-extfile", folder / "extensions", "-out", folder / f"{name}.pem")


def refused(client, *words):
    try:
        client.infer("plus", {"x": np.float32([1])}, connect_timeout=3)
    except rlx_client.Unavailable as error:
        for word in words:
            assert word in str(error), f"'{word}' is not in: {error}"
        return
    raise AssertionError("served")


@test
def tls_checks_authority_name_and_client_certificate():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        authority(folder, "good")
        authority(folder, "other")
        certificate(folder, "server", "good", "DNS:rlx.example,IP:127.0.0.1")
        certificate(folder, "client", "good", "DNS:client")
        certificate(folder, "stranger", "other", "DNS:client")
        words = ["--tls-certificate", str(folder / "server.pem"), "--tls-key", str(folder / "server.key")]

        def client(url, ca="good", mine=None, **options):
            if mine:
                options.update(certificate=str(folder / f"{mine}.pem"), key=str(folder / f"{mine}.key"))
            return rlx_client.RLXClient(f"https://{url}", ca=str(folder / f"{ca}.pem"), **options)

        with Rlxd(bundles("plus"), words=words) as own:
            x = np.arange(300000, dtype=np.float32)
            with client(own.url) as good:
                assert (good.infer("plus", {"x": x})["y"] == x + 1).all()
                assert (good.infer("plus", {"x": x[:3]})["y"] == x[:3] + 1).all()
            with client(own.url, server_name="rlx.example") as named:
                assert (named.infer("plus", {"x": x})["y"] == x + 1).all()
            refused(client(own.url, ca="other"), "certificate")
            refused(client(own.url, server_name="elsewhere.example"), "certificate")
            refused(rlx_client.RLXClient(f"http://{own.url}"))
            with client(own.url, ca="other", insecure=True) as blind:
                assert (blind.infer("plus", {"x": x})["y"] == x + 1).all()
        with Rlxd(bundles("plus"), words=[*words, "--tls-client-ca", str(folder / "good.pem")]) as own:
            with client(own.url, mine="client") as known:
                assert (known.infer("plus", {"x": x})["y"] == x + 1).all()
            refused(client(own.url))
            refused(client(own.url, mine="stranger"))
        try:
            rlx_client.RLXClient(f"https://{own.url}", ca="/nowhere.pem")
            raise AssertionError("accepted")
        except rlx_client.FailedPrecondition as error:
            assert "/nowhere.pem" in str(error)
