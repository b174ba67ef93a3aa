/* For machines without fused multiply-add, by --determinism stable: product and sum, each rounded, in the same order. */
#ifndef RLX_STABLE_H
#define RLX_STABLE_H

#define RLX_STABLE 1
#define __builtin_fmaf(a, b, c) ((a) * (b) + (c))
#define __builtin_fma(a, b, c) ((a) * (b) + (c))
#define __builtin_elementwise_fma(a, b, c) ((a) * (b) + (c))

#endif
