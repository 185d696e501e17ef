package io.jrun.launcher.cli;

import io.jrun.comm.spelling.SimilarName;
import io.jrun.launcher.job.UsageException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * Finds misspelt variables of container options. A job whose misspelt variable is ignored runs without its container or
 * without its mounts. Stateless.
 */
final class ContainerVariables {
    /** The limit of edits for a variable with another beginning, such as JRUN_CONTANER_IMAGE. */
    private static final int EDITS = 3;

    private static final List<String> TOOLS = List.of("JRUN_", "PYXIS_");

    private ContainerVariables() {}

    /** @throws UsageException if a variable has the beginning or nearly the name of a variable of a container option */
    static void check(Map<String, String> environment) {
        if (ResolvedOptions.isInsideWorker(environment)) {
            return; // the variables of containers are ignored there
        }
        List<String> known = Arrays.stream(LaunchOption.values())
                .filter(option -> option.group() == OptionGroup.CONTAINER)
                .flatMap(option -> Stream.of(option.jrunVariable(), option.pyxisVariable()))
                .flatMap(Optional::stream)
                .toList();
        new TreeMap<>(environment).forEach((name, value) -> {
            if (!value.isEmpty() && !known.contains(name) && isMeant(name, known)) {
                String own = name.replaceFirst("^PYXIS_", "JRUN_"); // Pyxis lacks the option.
                throw new UsageException("no option has the environment variable '" + name + "'"
                        + Suggestion.didYouMean(known.contains(own) ? own : name, known));
            }
        });
    }

    private static boolean isMeant(String name, List<String> known) {
        return TOOLS.stream().anyMatch(name::startsWith)
                && (TOOLS.stream().anyMatch(tool -> name.startsWith(tool + "CONTAINER_"))
                        || known.stream().anyMatch(each -> isNear(name, each)));
    }

    /** Compares only names of a similar length, because a variable may have a very long name. */
    private static boolean isNear(String name, String known) {
        return Math.abs(name.length() - known.length()) <= EDITS && SimilarName.distance(name, known) <= EDITS;
    }
}
