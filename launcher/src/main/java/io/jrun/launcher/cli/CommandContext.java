package io.jrun.launcher.cli;

import io.jrun.launcher.job.TerminalStreams;
import io.jrun.launcher.job.UsageException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * The environment in which a command line is read. Tests inject their own.
 *
 * @param directory the working directory, absolute
 * @param home the folder of the installation, with {@code lib/}
 * @param command the jrun command itself, absolute
 * @param terminals which of jrun's streams are terminals
 */
public record CommandContext(
        Map<String, String> environment, Path directory, Path home, Path command, TerminalStreams terminals) {
    /** The longest path that Linux accepts. */
    private static final int MOST_PATH_CHARS = 4095;

    public CommandContext {
        environment = Map.copyOf(environment);
    }

    /** The value of a variable, or {@code fallback} if the variable is unset or empty. */
    String variable(String name, String fallback) {
        String value = environment.get(name);
        return value == null || value.isEmpty() ? fallback : value;
    }

    /**
     * {@code text} as an absolute path. A relative path is resolved against the working directory.
     *
     * @throws UsageException if {@code text} cannot be a path
     */
    public Path resolve(String text) {
        if (text.length() > MOST_PATH_CHARS) {
            throw new UsageException("'" + text + "' is not a path: longer than " + MOST_PATH_CHARS + " characters.");
        }
        try {
            return directory.resolve(text).normalize();
        } catch (InvalidPathException e) {
            throw new UsageException("'" + text + "' is not a path: " + e.getReason() + ".");
        }
    }

    /**
     * The folder of jrun's state, such as the index of jobs; empty if XDG_STATE_HOME and HOME are unset.
     */
    public Optional<Path> stateFolder() {
        String state = variable("XDG_STATE_HOME", "");
        if (!state.isEmpty()) {
            return Optional.of(resolve(state).resolve("jrun"));
        }
        String user = variable("HOME", "");
        return user.isEmpty() ? Optional.empty() : Optional.of(resolve(user).resolve(".local/state/jrun"));
    }
}
