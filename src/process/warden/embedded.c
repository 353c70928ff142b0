// The warden's binary inside the library, for programs installed without the file.
__asm__(
    ".section .rodata,\"a\",@progbits\n"
    ".balign 16\n"
    ".global patchbay_warden_begin\n"
    ".global patchbay_warden_end\n"
    "patchbay_warden_begin:\n"
    ".incbin \"" PATCHBAY_WARDEN_FILE
    "\"\n"
    "patchbay_warden_end:\n"
    ".byte 0\n"
    ".previous\n");
