/* The constants, as they lie in weights.bin. Assembled in its folder, or with -Wa,-I and its folder. */
#if defined(__APPLE__)
    .section __TEXT,__const
    .globl _@NAME@_weights
    .p2align 12
_@NAME@_weights:
    .incbin "weights.bin"
#elif defined(_WIN32)
    .section .rdata,"dr"
    .globl @NAME@_weights
    .p2align 12
@NAME@_weights:
    .incbin "weights.bin"
#elif defined(__wasm__)
    .section .rodata.@NAME@_weights,"",@
    .globl @NAME@_weights
    .hidden @NAME@_weights
    .type @NAME@_weights,@object
    .p2align @ALIGN_POWER@
@NAME@_weights:
    .incbin "weights.bin"
    .size @NAME@_weights, @WEIGHTS_BYTES@
#else
    .section .rodata.@NAME@_weights,"a"
    .globl @NAME@_weights
    .hidden @NAME@_weights
    .p2align @ALIGN_POWER@
@NAME@_weights:
    .incbin "weights.bin"
#if defined(__linux__) && defined(__ELF__)
    .section .note.GNU-stack,""
#endif
#endif
