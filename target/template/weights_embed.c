/* The constants where there is no GNU assembler: instead of weights.S. For compilers with #embed (C23; clang 19, gcc 15). */
_Alignas(64) extern const unsigned char @NAME@_weights[];
_Alignas(64) const unsigned char @NAME@_weights[] = {
#embed "weights.bin"
};
