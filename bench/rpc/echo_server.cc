// The peer of the overhead benchmark: an echo on libgrpc++ (callback API) that speaks the Open Inference Protocol. It answers ModelMetadata, so
// that `rlx bench --url` can drive it as it drives rlxd, and returns the first input's bytes as output "output". Built by bench/rpc/run only.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>

#include <grpcpp/grpcpp.h>

#include "oip.grpc.pb.h"

class Echo final : public inference::GRPCInferenceService::CallbackService {
public:
    explicit Echo(std::int64_t elements) : elements_(elements) {}

    grpc::ServerUnaryReactor *ModelMetadata(grpc::CallbackServerContext *context, const inference::ModelMetadataRequest *request,
                                            inference::ModelMetadataResponse *response) override
    {
        response->set_name(request->name());
        response->add_versions("1");
        for (auto *tensor : {response->add_inputs(), response->add_outputs()}) {
            tensor->set_name(tensor == &response->inputs(0) ? "input" : "output");
            tensor->set_datatype("FP32");
            tensor->add_shape(1);
            tensor->add_shape(elements_);
        }
        return finish(context);
    }

    grpc::ServerUnaryReactor *ModelInfer(grpc::CallbackServerContext *context, const inference::ModelInferRequest *request,
                                         inference::ModelInferResponse *response) override
    {
        auto *output = response->add_outputs();

        response->set_model_name(request->model_name());
        response->set_model_version("1");
        output->set_name("output");
        output->set_datatype("FP32");
        if (request->inputs_size() > 0)
            *output->mutable_shape() = request->inputs(0).shape();
        if (request->raw_input_contents_size() > 0)
            *response->add_raw_output_contents() = request->raw_input_contents(0);
        return finish(context);
    }

private:
    static grpc::ServerUnaryReactor *finish(grpc::CallbackServerContext *context)
    {
        auto *reactor = context->DefaultReactor();

        reactor->Finish(grpc::Status::OK);
        return reactor;
    }

    std::int64_t elements_;
};

int main(int argc, char **argv)
{
    if (argc != 3) {
        std::cerr << "usage: echo_server ADDRESS ELEMENTS\n";
        return 2;
    }
    Echo service(std::atoll(argv[2]));
    grpc::ServerBuilder builder;
    int port = 0;

    builder.AddListeningPort(argv[1], grpc::InsecureServerCredentials(), &port);
    builder.SetMaxReceiveMessageSize(-1);
    builder.SetMaxSendMessageSize(-1);
    builder.RegisterService(&service);
    auto server = builder.BuildAndStart();
    if (server == nullptr || port == 0) {
        std::cerr << "echo_server: cannot listen on " << argv[1] << "\n";
        return 1;
    }
    std::cout << "listening on port " << port << std::endl;
    server->Wait();
    return 0;
}
