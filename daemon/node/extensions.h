/* The protocol's extensions that every front end has, as server metadata tell them. RLX_EXTENSION(name) */
#ifndef RLX_DAEMON_NODE_EXTENSIONS_H
#define RLX_DAEMON_NODE_EXTENSIONS_H

#define RLX_EXTENSIONS(X) \
    X("binary_tensor_data") X("model_configuration") X("model_repository") X("parameters") X("schedule_policy") X("statistics") \
    X("system_shared_memory")

#endif
