/* The services of this program as a serialised FileDescriptorSet (google/protobuf/descriptor.proto), made by protoc when RLX is built. For
 * server reflection. Constant. */
#ifndef RLX_PROTO_DESCRIPTORS_H
#define RLX_PROTO_DESCRIPTORS_H

#include <stddef.h>
#include <stdint.h>

const uint8_t *rlx_proto_descriptors(size_t *out_bytes);

#endif
