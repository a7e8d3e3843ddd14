// The program's object file, as bytes of the loader.
asm(".section .rodata\n"
    ".balign 8\n"
    ".global sumac_hop_object\n"
    ".hidden sumac_hop_object\n"
    "sumac_hop_object:\n"
    ".incbin \"" SUMAC_HOP_OBJECT
    "\"\n"
    ".global sumac_hop_object_end\n"
    ".hidden sumac_hop_object_end\n"
    "sumac_hop_object_end:\n"
    ".previous\n");
