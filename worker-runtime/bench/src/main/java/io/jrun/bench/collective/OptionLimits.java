package io.jrun.bench.collective;

import com.sun.management.OperatingSystemMXBean;
import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.World;
import java.lang.management.ManagementFactory;
import java.util.Locale;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;

/** The limits of the numbers of options. Beyond them a benchmark would run for days, or end with a stack. Stateless. */
public final class OptionLimits {
    /** The limit of calls, samples and steps. */
    public static final int MOST_CALLS = 1_000_000;

    /** The limit of the factor from one size to the next. */
    static final int MOST_FACTOR = 1 << 16;

    private OptionLimits() {}

    /**
     * Refuses a number that is not in a range.
     *
     * @throws ParameterException in one line with the range
     */
    public static void check(CommandSpec spec, String option, long number, long least, long most) {
        if (number < least || number > most) {
            throw new ParameterException(
                    spec.commandLine(), option + "=" + number + " must be from " + least + " to " + most);
        }
    }

    /**
     * Refuses a size that cannot fit. Only a rank knows its machine.
     *
     * @param copies how often each rank holds the bytes
     * @throws CommException in one line, if the ranks of this node need more than all memory that the processes of the
     *     job may use: that of the machine, or the limit of the control group
     */
    public static void checkMemory(String option, long bytes, double copies, World world) {
        double need = bytes * copies * world.localSize();
        double all =
                ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getTotalMemorySize();
        if (need > all) {
            throw new CommException(
                    ErrorCode.USAGE,
                    String.format(
                            Locale.ROOT,
                            "%s=%d needs %.1f GB of memory for the %d ranks of a node, this machine has %.1f GB",
                            option,
                            bytes,
                            need / 1e9,
                            world.localSize(),
                            all / 1e9));
        }
    }
}
