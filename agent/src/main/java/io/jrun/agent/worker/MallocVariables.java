package io.jrun.agent.worker;

import java.util.Map;

/**
 * Settings of glibc's malloc for a JVM that runs libtorch: freed memory is kept for the next step. The threads of a JVM
 * allocate from heaps of at most 64 MiB. By default glibc unmaps a heap when all its memory is free. A training step
 * then maps the memory of its tensors again, and pays a page fault for each page. With these settings a heap has its
 * full size from its start, so that glibc keeps the last free heap; up to 128 MiB of free memory stay at the end of a
 * heap; and tensors of up to 32 MiB come from heaps. Other C libraries ignore the variables. Source: {@code heap_trim}
 * in glibc's malloc/arena.c, mallopt(3).
 */
public final class MallocVariables {
    private static final Map<String, String> DEFAULTS = Map.of(
            "MALLOC_TOP_PAD_", Integer.toString(64 << 20),
            "MALLOC_TRIM_THRESHOLD_", Integer.toString(128 << 20),
            "MALLOC_MMAP_THRESHOLD_", Integer.toString(32 << 20));

    private MallocVariables() {}

    /** Adds the variables that the environment of a worker lacks. A value of the user stays. */
    public static void addTo(Map<String, String> environment) {
        DEFAULTS.forEach(environment::putIfAbsent);
    }
}
