package io.jrun.launcher.cli;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The arguments of {@code jrun bench}, parted: jrun's options are jrun's, wherever they stand, but for those few that a
 * benchmark has itself.
 *
 * @param own jrun's
 * @param programs the benchmark's
 */
record BenchArguments(List<String> own, List<String> programs) {
    /** Options that the benchmark has under the same name, with a meaning of its own. */
    private static final Set<LaunchOption> THE_BENCHMARKS = Set.of(LaunchOption.BACKEND, LaunchOption.JSON);

    /** The benchmark's own option, not {@link LaunchOption#BACKEND}: it takes several. */
    private static final String BACKEND = "--backend";

    private static final String MPI = "mpi";

    /** Whether one of the backends to measure is MPI's. */
    boolean needsMpi() {
        for (int i = 0; i < programs.size(); i++) {
            String arg = programs.get(i);
            boolean hasValue = arg.equals(BACKEND) && i + 1 < programs.size();
            String value = hasValue ? programs.get(i + 1) : arg.startsWith(BACKEND + "=") ? arg : "";
            if (List.of(value.replace(BACKEND + "=", "").split(",", -1)).contains(MPI)) {
                return true;
            }
        }
        return false;
    }

    static BenchArguments split(List<String> args) {
        List<String> own = new ArrayList<>();
        List<String> programs = new ArrayList<>();
        for (int i = 0; i < args.size(); i++) {
            String arg = args.get(i);
            String name = OptionScanner.dashed(arg.replaceFirst("(?s)=.*", ""));
            Optional<LaunchOption> taken = Arrays.stream(LaunchOption.values())
                    .filter(option ->
                            !THE_BENCHMARKS.contains(option) && option.names().contains(name))
                    .findFirst();
            if (taken.isEmpty()) {
                programs.add(arg);
                continue;
            }
            own.add(arg);
            if (!taken.get().isSwitch() && !arg.contains("=") && i + 1 < args.size()) {
                i++;
                own.add(args.get(i));
            }
        }
        return new BenchArguments(own, programs);
    }
}
