    .section .bare_input,"a"
    .incbin "input.bin"
