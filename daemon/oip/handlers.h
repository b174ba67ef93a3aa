/* Handlers of the small calls, by subject. RLX_OIP_CALL(id, package.Service, Method, request message in C, its schema, handler, streams)
 */
#ifndef RLX_DAEMON_OIP_HANDLERS_H
#define RLX_DAEMON_OIP_HANDLERS_H

#include "daemon/oip/unary.h"

#define RLX_OIP_SERVICE "inference.GRPCInferenceService"
#define RLX_OIP_SMALL_CALLS(X) \
    X(server_live, RLX_OIP_SERVICE, ServerLive, inference__server_live_request, empty, rlx_oip_server_live, false) \
    X(server_ready, RLX_OIP_SERVICE, ServerReady, inference__server_ready_request, empty, rlx_oip_server_ready, false) \
    X(server_metadata, RLX_OIP_SERVICE, ServerMetadata, inference__server_metadata_request, empty, rlx_oip_server_metadata, false) \
    X(model_ready, RLX_OIP_SERVICE, ModelReady, inference__model_ready_request, strings, rlx_oip_model_ready, false) \
    X(model_metadata, RLX_OIP_SERVICE, ModelMetadata, inference__model_metadata_request, strings, rlx_oip_model_metadata, false) \
    X(model_config, RLX_OIP_SERVICE, ModelConfig, inference__model_config_request, strings, rlx_oip_model_config, false) \
    X(model_statistics, RLX_OIP_SERVICE, ModelStatistics, inference__model_statistics_request, strings, rlx_oip_model_statistics, false) \
    X(repository_index, RLX_OIP_SERVICE, RepositoryIndex, inference__repository_index_request, index, rlx_oip_repository_index, false) \
    X(model_load, RLX_OIP_SERVICE, RepositoryModelLoad, inference__repository_model_load_request, load, rlx_oip_model_load, false) \
    X(model_unload, RLX_OIP_SERVICE, RepositoryModelUnload, inference__repository_model_unload_request, load, rlx_oip_model_unload, \
      false) \
    X(memory_status, RLX_OIP_SERVICE, SystemSharedMemoryStatus, inference__system_shared_memory_status_request, strings, \
      rlx_oip_memory_status, false) \
    X(memory_register, RLX_OIP_SERVICE, SystemSharedMemoryRegister, inference__system_shared_memory_register_request, region, \
      rlx_oip_memory_register, false) \
    X(memory_unregister, RLX_OIP_SERVICE, SystemSharedMemoryUnregister, inference__system_shared_memory_unregister_request, strings, \
      rlx_oip_memory_unregister, false) \
    X(cuda_status, RLX_OIP_SERVICE, CudaSharedMemoryStatus, inference__cuda_shared_memory_status_request, strings, rlx_oip_no_cuda, \
      false) \
    X(cuda_register, RLX_OIP_SERVICE, CudaSharedMemoryRegister, inference__cuda_shared_memory_register_request, region, rlx_oip_no_cuda, \
      false) \
    X(cuda_unregister, RLX_OIP_SERVICE, CudaSharedMemoryUnregister, inference__cuda_shared_memory_unregister_request, strings, \
      rlx_oip_no_cuda, false) \
    X(trace_setting, RLX_OIP_SERVICE, TraceSetting, inference__trace_setting_request, settings, rlx_oip_no_trace, false) \
    X(log_settings, RLX_OIP_SERVICE, LogSettings, inference__log_settings_request, settings, rlx_oip_no_log, false) \
    X(health_check, "grpc.health.v1.Health", Check, grpc__health__v1__health_check_request, strings, rlx_oip_health_check, false) \
    X(health_watch, "grpc.health.v1.Health", Watch, grpc__health__v1__health_check_request, strings, rlx_oip_health_watch, false) \
    X(reflection, "grpc.reflection.v1.ServerReflection", ServerReflectionInfo, grpc__reflection__v1__server_reflection_request, \
      reflection, rlx_oip_reflection, true) \
    X(reflection_alpha, "grpc.reflection.v1alpha.ServerReflection", ServerReflectionInfo, \
      grpc__reflection__v1__server_reflection_request, reflection, rlx_oip_reflection, true)

#define RLX_OIP_CALL(id, service, method, request, schema, handler, streams) rlx_oip_handler_fn_t handler;
RLX_OIP_SMALL_CALLS(RLX_OIP_CALL)
#undef RLX_OIP_CALL

/* The answer for what this server does not have: UNIMPLEMENTED. */
void rlx_oip_unary_lacks(rlx_oip_unary_t *unary, const char *what, const char *instead);

#endif
