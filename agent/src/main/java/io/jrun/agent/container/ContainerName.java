package io.jrun.agent.container;

import java.util.Locale;
import java.util.regex.Pattern;

/**
 * {@code --container-name=NAME[:auto|create|exec|no_exec]}: a root that stays on the node and that the job's workers there share.
 *
 * @param name of the root
 * @param mode what to do with a root that is there, or is not
 */
public record ContainerName(String name, Mode mode) {
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_][A-Za-z0-9_.+-]{0,127}");

    /** The use of a root that exists, and of a root that does not. */
    public enum Mode {
        /** Join a container that runs, else use the root that is there, else make it from the image. */
        AUTO,
        /** Make it from the image; it must not be there. */
        CREATE,
        /** Join a container that runs. */
        EXEC,
        /** Use the root that is there, else make it; never join a container that runs. */
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
        if (!NAME.matcher(name).matches()) {
            throw new ContainerFormatException(
                    "'" + name
                            + "' is no name of a container; up to 128 letters, digits, _ . + -, the first a letter, a digit or _");
        }
        return new ContainerName(name, colon < 0 ? Mode.AUTO : mode(text.substring(colon + 1)));
    }

    private static Mode mode(String word) {
        for (Mode mode : Mode.values()) {
            if (mode.word().equals(word)) {
                return mode;
            }
        }
        throw new ContainerFormatException(
                "'" + word + "': after the name's colon stands auto, create, exec or no_exec");
    }

    /** As the user would type it again. */
    public String text() {
        return name + ":" + mode.word();
    }
}
