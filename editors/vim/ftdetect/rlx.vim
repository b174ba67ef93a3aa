autocmd BufNewFile,BufRead *.rlx setfiletype rlx
autocmd BufNewFile,BufRead *.rlxir setfiletype rlxir
