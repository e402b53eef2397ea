# Makes the symbol table of kernel/symbol.c from `nm -n` of the image: the
# functions in order of their addresses, one name for each address.

BEGIN {
    offset = 0
    last = ""
}

($2 == "t" || $2 == "T") && $1 != last && $3 !~ /^[.$]/ {
    last = $1
    printf ".section .ksyms, \"a\", @progbits\n"
    printf ".long 0x%s, %d\n", substr($1, length($1) - 7), offset
    printf ".section .ksymstr, \"a\", @progbits\n"
    printf ".asciz \"%s\"\n", $3
    offset += length($3) + 1
}

END {
    printf ".section .note.GNU-stack, \"\", @progbits\n"
}
