/* libocoms.so.0 has nothing. Programs that were linked for HCOLL need a library of this name to start. */
extern int sumac_ocoms;
