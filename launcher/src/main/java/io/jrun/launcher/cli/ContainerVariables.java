package io.jrun.launcher.cli;

import io.jrun.comm.spelling.SimilarName;
import io.jrun.launcher.job.UsageException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Finds misspelt and unknown variables of container options. A job whose misspelt variable is ignored runs without its container or
 * without its mounts. Stateless.
 */
public final class ContainerVariables {
    /** The limit of edits for a variable with another beginning, such as JRUN_CONTANER_IMAGE. */
    private static final int EDITS = 3;

    private static final List<String> TOOLS = List.of("JRUN_", "PYXIS_");

    /** Variables that Pyxis sets itself, for the programs that fetch images. */
    private static final Set<String> OF_THE_PLUGIN = Set.of("PYXIS_RUNTIME_PATH", "PYXIS_VERSION");

    private static final int MOST_SHOWN = 8;

    private ContainerVariables() {}

    /** Returns one line about the variables PYXIS_* that no option has, empty if there are none. */
    public static Optional<String> note(Map<String, String> environment) {
        if (ResolvedOptions.isInsideWorker(environment)) {
            return Optional.empty(); // the outer job has said it
        }
        List<String> known = known();
        List<String> unknown = environment.entrySet().stream()
                .filter(variable -> !variable.getValue().isEmpty())
                .map(Map.Entry::getKey)
                .filter(name -> name.startsWith("PYXIS_") && !known.contains(name) && !OF_THE_PLUGIN.contains(name))
                .sorted()
                .toList();
        int more = unknown.size() - MOST_SHOWN;
        return unknown.isEmpty()
                ? Optional.empty()
                : Optional.of("no option has the environment variable "
                        + unknown.stream().limit(MOST_SHOWN).collect(Collectors.joining(", "))
                        + (more > 0 ? " and " + more + " more" : "")
                        + "; jrun ignores what neither Pyxis nor jrun reads. Containers have PYXIS_CONTAINER_*.");
    }

    private static List<String> known() {
        return Arrays.stream(LaunchOption.values())
                .filter(option -> option.group() == OptionGroup.CONTAINER)
                .flatMap(option -> Stream.of(option.jrunVariable(), option.pyxisVariable()))
                .flatMap(Optional::stream)
                .toList();
    }

    /** @throws UsageException if a variable has the beginning or nearly the name of a variable of a container option */
    static void check(Map<String, String> environment) {
        if (ResolvedOptions.isInsideWorker(environment)) {
            return; // the variables of containers are ignored there
        }
        List<String> known = known();
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
