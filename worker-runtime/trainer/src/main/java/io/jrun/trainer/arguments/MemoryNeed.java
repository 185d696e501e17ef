package io.jrun.trainer.arguments;

import com.sun.management.OperatingSystemMXBean;
import io.jrun.comm.World;
import java.lang.management.ManagementFactory;
import java.util.Locale;

/** The least memory that a computation needs, compared with the memory that there is. Stateless. */
public final class MemoryNeed {
    private static final double GIGABYTE = 1e9;

    /** Every machine has this memory. To look at the machine takes 50 ms of CPU time. */
    private static final double LEAST = 1e8;

    private MemoryNeed() {}

    /**
     * Refuses a computation whose tensors cannot fit. The allocation would fail after minutes, or the kernel would end
     * another process.
     *
     * @param what the need in words, such as {@code the parameters of --width=1000000}
     * @param bytes the need of each rank
     * @param world the ranks on a node share the memory of the node
     * @throws InvalidArgumentException in one line, if the ranks of this node need more than all memory that the
     *     processes of the job may use: that of the machine, or the limit of the control group
     */
    public static void check(String what, double bytes, World world) {
        int ranks = world.localSize();
        if (bytes * ranks < LEAST) {
            return;
        }
        double all = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class)
                .getTotalMemorySize(); // knows the limit of the control group
        if (bytes * ranks > all) {
            throw new InvalidArgumentException(String.format(
                    Locale.ROOT,
                    "%s need at least %s of memory on a rank%s, this machine has %s. Give smaller sizes.",
                    what,
                    gigabytes(bytes),
                    ranks > 1 ? " and " + gigabytes(bytes * ranks) + " on the " + ranks + " ranks of a node" : "",
                    gigabytes(all)));
        }
    }

    /**
     * Refuses a computation whose Java objects do not fit into the heap of this JVM.
     *
     * @throws InvalidArgumentException in one line, with the option that gives a larger heap
     */
    public static void checkHeap(String what, double bytes) {
        double most = Runtime.getRuntime().maxMemory();
        if (bytes > most) {
            throw new InvalidArgumentException(String.format(
                    Locale.ROOT,
                    "%s need at least %s of Java heap on a rank, the JVM of a rank has %s. Give smaller sizes, more"
                            + " ranks, or a larger heap: jrun --jvm-opts=-Xmx%.0fg",
                    what,
                    gigabytes(bytes),
                    gigabytes(most),
                    Math.ceil(1.25 * bytes / (1L << 30))));
        }
    }

    private static String gigabytes(double bytes) {
        return String.format(Locale.ROOT, bytes < 10 * GIGABYTE ? "%.1f GB" : "%.0f GB", bytes / GIGABYTE);
    }
}
