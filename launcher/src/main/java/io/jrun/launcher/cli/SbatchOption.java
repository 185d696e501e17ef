package io.jrun.launcher.cli;

import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * An option of sbatch that {@code jrun submit} passes on.
 *
 * @param longName the name with its dashes
 * @param parameter "VALUE", or empty for a switch
 */
record SbatchOption(String longName, String parameter) implements CommandLineOption {
    /** The options of sbatch that jobs of jrun need, in alphabetic order. */
    static final List<SbatchOption> ALL = Stream.concat(
                    options(
                            "VALUE",
                            "--account --array --begin --clusters --comment --constraint --cpus-per-gpu --cpus-per-task"
                                    + " --deadline --dependency --error --gpus --gpus-per-node --gpus-per-task --gres"
                                    + " --job-name --licenses --mail-type --mail-user --mem --mem-per-cpu --mem-per-gpu"
                                    + " --nice --nodelist --nodes --ntasks-per-node --open-mode --output --partition"
                                    + " --priority --qos --reservation --signal --switches --time --time-min --tmp"
                                    + " --wckey"),
                    options("", "--exclusive --hold --no-kill --no-requeue --requeue"))
            .sorted((left, right) -> left.longName.compareTo(right.longName))
            .toList();

    private static Stream<SbatchOption> options(String parameter, String names) {
        return Stream.of(names.split(" ")).map(name -> new SbatchOption(name, parameter));
    }

    /** The option called {@code name}. */
    static Optional<SbatchOption> of(String name) {
        return ALL.stream().filter(option -> option.longName.equals(name)).findFirst();
    }

    @Override
    public List<String> names() {
        return List.of(longName);
    }

    @Override
    public String description() {
        return "See the manual page of sbatch.";
    }
}
