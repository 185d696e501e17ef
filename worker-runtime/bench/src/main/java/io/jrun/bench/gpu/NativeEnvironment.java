package io.jrun.bench.gpu;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.util.Map;

/** Variables of this process as C sees them. A JVM cannot change its own environment. */
final class NativeEnvironment {
    /**
     * NCCL refuses two ranks with the same GPU and the same host. With names of their own the ranks count as ranks of
     * different hosts, and use sockets.
     */
    private static final Map<String, String> SOCKETS =
            Map.of("NCCL_SOCKET_IFNAME", "lo", "NCCL_NET", "Socket", "NCCL_IB_DISABLE", "1");

    private NativeEnvironment() {}

    /** Lets ranks of NCCL share one GPU. */
    static void shareGpu(int rank) {
        set("NCCL_HOSTID", "rank" + rank);
        SOCKETS.forEach(NativeEnvironment::set);
    }

    /** Sets a variable for the libraries that read it later. */
    static void set(String name, String value) {
        Linker linker = Linker.nativeLinker();
        try (Arena arena = Arena.ofConfined()) {
            int code = (int) linker.downcallHandle(
                            linker.defaultLookup().find("setenv").orElseThrow(),
                            FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_INT))
                    .invokeExact(arena.allocateFrom(name), arena.allocateFrom(value), 1);
            GpuCheck.require(code == 0, "setenv failed for " + name);
        } catch (RuntimeException e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }
}
