"""System shared memory, through tritonclient: register, use, status, unregister, and the ranges that must be refused (B201, B202)."""
import threading
import time

import numpy
import tritonclient.grpc as triton
import tritonclient.utils.shared_memory as shared

from harness import bundles, expect_error, test
from rlxd import Rlxd

A = numpy.arange(8, dtype=numpy.float32).reshape(2, 4)
B = numpy.ones((2, 4), dtype=numpy.float32)


class Region:
    """A POSIX shared-memory object of `size` bytes."""

    def __init__(self, name, size):
        self.key = f"/rlx-test-{name}"
        self.handle = shared.create_shared_memory_region(name, self.key, size)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shared.destroy_shared_memory_region(self.handle)


def placed(name, shape, region, size, offset=0):
    entry = triton.InferInput(name, list(shape), "FP32")
    entry.set_shared_memory(region, size, offset)
    return entry


@test
def inputs_and_outputs_in_shared_memory(server):
    b = triton.InferInput("b", [2, 4], "FP32")
    b.set_data_from_numpy(B)
    total = triton.InferRequestedOutput("total")
    total.set_shared_memory("both", 32, 64)
    with triton.InferenceServerClient(server.url) as c, Region("both", 4096) as region:
        shared.set_shared_memory_region(region.handle, [A])
        c.register_system_shared_memory("both", region.key, 4096)
        try:
            assert c.get_system_shared_memory_status("both").regions["both"].byte_size == 4096
            answer = c.infer("sum", [placed("a", A.shape, "both", 32), b], outputs=[total, triton.InferRequestedOutput("difference")])
            assert (answer.as_numpy("difference") == A - B).all()
            assert answer.get_output("total").parameters["shared_memory_region"].string_param == "both"
            assert (shared.get_contents_as_numpy(region.handle, numpy.float32, [2, 4], 64) == A + B).all()
            expect_error(lambda: c.register_system_shared_memory("both", region.key, 4096), "ALREADY_EXISTS", "RLX-1615", "both")
        finally:
            c.unregister_system_shared_memory("both")
        assert not c.get_system_shared_memory_status().regions
        expect_error(lambda: c.get_system_shared_memory_status("both"), "NOT_FOUND", "RLX-1612")
        expect_error(lambda: c.unregister_system_shared_memory("both"), "NOT_FOUND", "RLX-1612", "both")
        expect_error(lambda: c.infer("sum", [placed("a", A.shape, "both", 32), b]), "NOT_FOUND", "RLX-1612", "both")


@test
def offsets_are_applied_once_and_never_wrap(server):
    """B202"""
    x = numpy.arange(1024, dtype=numpy.float32)
    with triton.InferenceServerClient(server.url) as c, Region("offset", 8192) as region:
        shared.set_shared_memory_region(region.handle, [numpy.zeros(1024, numpy.float32), x])
        c.register_system_shared_memory("offset", region.key, 4096, offset=4096)
        try:
            answer = c.infer("plus", [placed("x", [1024], "offset", 4096)])
            assert (answer.as_numpy("y") == x + 1).all()
            expect_error(lambda: c.infer("plus", [placed("x", [1024], "offset", 4096, 1)]), "INVALID_ARGUMENT", "RLX-1613", "4096")
            far = placed("x", [512], "offset", 2048)
            far._input.parameters["shared_memory_offset"].uint64_param = 2**64 - 1024
            expect_error(lambda: c.infer("plus", [far]), "INVALID_ARGUMENT", "RLX-1613")
            expect_error(lambda: c.infer("plus", [placed("x", [1024], "offset", 2048)]), "INVALID_ARGUMENT", "2048", "4096")
        finally:
            c.unregister_system_shared_memory("offset")
        expect_error(lambda: c.register_system_shared_memory("large", region.key, 8193), "INVALID_ARGUMENT", "RLX-161", "8192")
        expect_error(lambda: c.register_system_shared_memory("wrap", region.key, 2048, offset=2**64 - 1024), "INVALID_ARGUMENT", "RLX-161")
        expect_error(lambda: c.register_system_shared_memory("none", "/rlx-test-no-such-object", 16), "INVALID_ARGUMENT", "RLX-1616")
        assert not c.get_system_shared_memory_status().regions


@test
def a_region_in_use_stays_until_its_request_is_answered():
    """B201"""
    x = numpy.eye(512, dtype=numpy.float32)
    got = []
    with Rlxd(bundles("slow")) as own, triton.InferenceServerClient(own.url) as c, Region("busy", x.nbytes) as region:
        shared.set_shared_memory_region(region.handle, [x])
        c.register_system_shared_memory("busy", region.key, x.nbytes)
        plain = triton.InferInput("x", [512, 512], "FP32")
        plain.set_data_from_numpy(x)
        expected = c.infer("slow", [plain]).as_numpy("y")
        done = threading.Event()
        c.async_infer("slow", [placed("x", [512, 512], "busy", x.nbytes)],
                      callback=lambda result, error: (got.append((result, error)), done.set()))
        time.sleep(0.1)
        expect_error(lambda: c.unregister_system_shared_memory("busy"), "FAILED_PRECONDITION", "RLX-1614", "1")
        c.unregister_system_shared_memory()  # all that are not in use
        assert "busy" in c.get_system_shared_memory_status().regions
        assert done.wait(60)
        assert got[0][1] is None, got[0][1]
        assert (got[0][0].as_numpy("y") == expected).all()
        c.unregister_system_shared_memory("busy")
        assert not c.get_system_shared_memory_status().regions
