package io.jrun.launcher.cli;

import io.jrun.launcher.job.TerminalStreams;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * What a command line is read in the light of; injected, so that tests choose it.
 *
 * @param directory the working directory, absolute
 * @param home where jrun is installed, the folder with {@code lib/}
 * @param command the jrun command itself, absolute
 * @param terminals which of jrun's streams are terminals
 */
public record CommandContext(
        Map<String, String> environment, Path directory, Path home, Path command, TerminalStreams terminals) {
    /** Linux takes no longer path. */
    private static final int MOST_PATH_CHARS = 4095;

    public CommandContext {
        environment = Map.copyOf(environment);
    }

    /** A variable's value, or {@code fallback} if it is unset or empty. */
    String variable(String name, String fallback) {
        String value = environment.get(name);
        return value == null || value.isEmpty() ? fallback : value;
    }

    /**
     * {@code text} as an absolute path, seen from the working directory.
     *
     * @throws UsageException if no file can be called so
     */
    public Path resolve(String text) {
        if (text.length() > MOST_PATH_CHARS) {
            throw new UsageException("'" + text + "' is no path: longer than " + MOST_PATH_CHARS + " characters.");
        }
        try {
            return directory.resolve(text).normalize();
        } catch (InvalidPathException e) {
            throw new UsageException("'" + text + "' is no path: " + e.getReason() + ".");
        }
    }

    /**
     * Where jrun keeps what outlives a job; empty if neither XDG_STATE_HOME nor HOME says where the user keeps such.
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
