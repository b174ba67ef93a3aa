"""rlx_client: inference requests to rlxd, or to any server of the Open Inference Protocol v2 over gRPC. Numpy in, numpy out.

    import numpy as np, rlx_client
    client = rlx_client.RLXClient(endpoints=["http://127.0.0.1:8080"], timeout=30.0)
    result = client.infer("resnet18", {"input": np.zeros((1, 3, 224, 224), np.float32)})
    print(result["output"].shape, result.device)
"""
from . import _library
from .aio import AsyncRLXClient
from .client import RLXClient
from .errors import (AlreadyExists, Cancelled, DataLoss, DeadlineExceeded, FailedPrecondition, Internal, InvalidArgument, NotFound, OutOfRange,
                     ResourceExhausted, RLXError, Unavailable, Unimplemented)
from .result import InferResult
from .tensors import SharedArray

__version__ = _library.version().decode()
__all__ = ["RLXClient", "AsyncRLXClient", "InferResult", "SharedArray", "RLXError", "AlreadyExists", "Cancelled", "DataLoss",
           "DeadlineExceeded", "FailedPrecondition", "Internal", "InvalidArgument", "NotFound", "OutOfRange", "ResourceExhausted",
           "Unavailable", "Unimplemented"]
