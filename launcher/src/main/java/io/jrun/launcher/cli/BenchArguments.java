package io.jrun.launcher.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * The arguments of {@code jrun bench}, parted: a benchmark has options of its own, so only these few of jrun's are taken,
 * wherever they stand.
 *
 * @param own jrun's
 * @param programs the benchmark's
 */
record BenchArguments(List<String> own, List<String> programs) {
    private static final Set<LaunchOption> TAKEN = Set.of(
            LaunchOption.NPROC_PER_NODE,
            LaunchOption.HOSTS,
            LaunchOption.HOSTFILE,
            LaunchOption.AGENT_PORT,
            LaunchOption.SECRET_FILE,
            LaunchOption.TIMEOUT,
            LaunchOption.JVM_OPTS,
            LaunchOption.ENV,
            LaunchOption.LOG_DIR);

    private static final Set<String> HELP = Set.of("-h", "--help", "-V", "--version");

    static BenchArguments split(List<String> args) {
        List<String> own = new ArrayList<>();
        List<String> programs = new ArrayList<>();
        for (int i = 0; i < args.size(); i++) {
            String arg = args.get(i);
            String name = OptionScanner.dashed(arg.replaceFirst("(?s)=.*", ""));
            if (TAKEN.stream().noneMatch(option -> option.names().contains(name))) {
                programs.add(arg);
                continue;
            }
            own.add(arg);
            if (!arg.contains("=") && i + 1 < args.size()) {
                i++;
                own.add(args.get(i));
            }
        }
        if (programs.isEmpty() || programs.stream().anyMatch(HELP::contains)) {
            own.add(LaunchOption.NPROC_PER_NODE.longName() + "=1"); // every worker would print the same text
        }
        return new BenchArguments(own, programs);
    }
}
