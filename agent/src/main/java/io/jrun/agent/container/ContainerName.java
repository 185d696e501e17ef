package io.jrun.agent.container;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * {@code --container-name=NAME[:auto|create|exec|no_exec]}: a root that stays on the node. The job's workers on the
 * node share the root.
 *
 * @param name name of the root
 * @param mode the use of an existing or a missing root
 */
public record ContainerName(String name, Mode mode) {
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_][A-Za-z0-9_.+-]{0,127}");

    /** The use of an existing root, and of a missing root. */
    public enum Mode {
        /**
         * Join a running container. Without a running container use the existing root. Without a root make the root
         * from the image.
         */
        AUTO,
        /** Make the root from the image. The root must not exist. */
        CREATE,
        /** Join a running container. */
        EXEC,
        /** Use the existing root, or make the root. Never join a running container. */
        NO_EXEC;

        String word() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * Reads the option.
     *
     * @throws ContainerFormatException if the text has another form
     */
    public static ContainerName parse(String text) {
        int colon = text.indexOf(':');
        String name = colon < 0 ? text : text.substring(0, colon);
        if (!isName(name)) {
            throw new ContainerFormatException("'" + name
                    + "' is not a name of a container; a name has up to 128 letters, digits, _ . + -;"
                    + " the first is a letter, a digit or _");
        }
        return new ContainerName(name, colon < 0 ? Mode.AUTO : mode(text.substring(colon + 1)));
    }

    /**
     * The names of a container without a name: the run id, and in Slurm the job with its step, as {@code squeue --steps}
     * shows the step.
     */
    public static List<String> ofJob(String runId, Map<String, String> environment) {
        String job = environment.getOrDefault("SLURM_JOB_ID", "");
        String step = environment.getOrDefault("SLURM_STEP_ID", "batch"); // a batch script has no number
        return Stream.of(runId, job.isEmpty() ? "" : job + "." + step)
                .filter(ContainerName::isName)
                .toList();
    }

    private static boolean isName(String text) {
        return NAME.matcher(text).matches();
    }

    private static Mode mode(String word) {
        for (Mode mode : Mode.values()) {
            if (mode.word().equals(word)) {
                return mode;
            }
        }
        throw new ContainerFormatException(
                "'" + word + "': the word after the colon must be auto, create, exec or no_exec");
    }

    /** The text of the option. */
    public String text() {
        return name + ":" + mode.word();
    }
}
