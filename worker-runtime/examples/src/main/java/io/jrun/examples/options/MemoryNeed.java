package io.jrun.examples.options;

import io.jrun.comm.file.UserFile;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The least memory that a computation needs, compared with the memory of this machine. Stateless. */
public final class MemoryNeed {
    private static final Path MEMORY = Path.of("/proc/meminfo");
    private static final Pattern TOTAL = Pattern.compile("MemTotal: +(\\d+) kB");
    private static final double GIGABYTE = 1e9;

    private MemoryNeed() {}

    /**
     * Refuses a computation that cannot fit. The allocation would fail after minutes, or the kernel would end another
     * process.
     *
     * @param what the need in words, such as {@code the parameters of --width=1000000}
     * @throws InvalidArgumentException in one line, if {@code bytes} are more than all memory of this machine
     */
    public static void check(String what, double bytes) {
        double all = total();
        if (bytes > all) {
            throw new InvalidArgumentException(String.format(
                    Locale.ROOT,
                    "%s need at least %.0f GB of memory on a rank, this machine has %.0f GB. Give smaller sizes.",
                    what,
                    bytes / GIGABYTE,
                    all / GIGABYTE));
        }
    }

    /** The bytes of memory of this machine; infinite if the kernel does not say. */
    private static double total() {
        try {
            Matcher total = TOTAL.matcher(UserFile.text(MEMORY, 1 << 16));
            return total.find() ? 1024.0 * Long.parseLong(total.group(1)) : Double.POSITIVE_INFINITY;
        } catch (IOException _) {
            return Double.POSITIVE_INFINITY;
        }
    }
}
