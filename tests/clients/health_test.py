"""grpc.health.v1 and server reflection, through grpcio's own packages."""
import threading

import grpc
import tritonclient.grpc as triton
from google.protobuf import descriptor_pool
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from harness import bundles, expect_error, test, until
from rlxd import Rlxd

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
UNKNOWN = health_pb2.HealthCheckResponse.SERVICE_UNKNOWN


@test
def check_answers_for_the_server_and_for_models(server):
    with grpc.insecure_channel(server.url) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        for service in ("", "inference.GRPCInferenceService", "sum"):
            assert stub.Check(health_pb2.HealthCheckRequest(service=service)).status == SERVING
        expect_error(lambda: stub.Check(health_pb2.HealthCheckRequest(service="nobody")), "NOT_FOUND", "nobody")


@test
def watch_tells_every_change():
    with Rlxd(bundles("sum")) as own, triton.InferenceServerClient(own.url) as c, grpc.insecure_channel(own.url) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        seen = []
        call = stub.Watch(health_pb2.HealthCheckRequest(service="sum"))

        def follow():
            try:
                for answer in call:
                    seen.append(answer.status)
            except grpc.RpcError:
                pass

        thread = threading.Thread(target=follow)
        thread.start()
        until(lambda: seen == [SERVING], "serving")
        c.unload_model("sum")
        until(lambda: len(seen) == 2 and seen[1] in (UNKNOWN, NOT_SERVING), f"gone: {seen}")
        c.load_model("sum")
        until(lambda: seen[-1] == SERVING, "serving again")
        later = stub.Watch(health_pb2.HealthCheckRequest(service="nobody"))
        assert next(later).status == UNKNOWN
        later.cancel()
        call.cancel()
        thread.join()


@test
def reflection_describes_the_services(server):
    with grpc.insecure_channel(server.url) as channel:
        database = ProtoReflectionDescriptorDatabase(channel)
        assert {"inference.GRPCInferenceService", "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
                "grpc.reflection.v1alpha.ServerReflection"} <= set(database.get_services())
        pool = descriptor_pool.DescriptorPool(database)
        service = pool.FindServiceByName("inference.GRPCInferenceService")
        methods = {method.name for method in service.methods}
        assert methods >= {"ModelInfer", "ModelStreamInfer", "RepositoryIndex", "SystemSharedMemoryRegister"}
        request = pool.FindMessageTypeByName("inference.ModelInferRequest")
        assert request.fields_by_name["raw_input_contents"].number == 7
        assert pool.FindMessageTypeByName("inference.ModelInferRequest.InferInputTensor").fields_by_name["contents"].number == 5


@test
def reflection_v1_answers_like_v1alpha_and_misses_are_errors_in_the_answer(server):
    requests = [reflection_pb2.ServerReflectionRequest(list_services=""),
                reflection_pb2.ServerReflectionRequest(file_by_filename="proto/health.proto"),
                reflection_pb2.ServerReflectionRequest(file_containing_symbol="grpc.health.v1.Health.Check"),
                reflection_pb2.ServerReflectionRequest(file_containing_symbol="no.such.Symbol")]
    with grpc.insecure_channel(server.url) as channel:
        def ask(service):
            call = channel.stream_stream(f"/{service}/ServerReflectionInfo",
                                         request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
                                         response_deserializer=reflection_pb2.ServerReflectionResponse.FromString)
            return list(call(iter(requests)))

        old, new = ask("grpc.reflection.v1alpha.ServerReflection"), ask("grpc.reflection.v1.ServerReflection")
        assert old == new and len(old) == 4
        assert old[1].file_descriptor_response.file_descriptor_proto[0] == old[2].file_descriptor_response.file_descriptor_proto[0]
        assert old[3].error_response.error_code == grpc.StatusCode.NOT_FOUND.value[0]
        assert old[3].original_request == requests[3]
