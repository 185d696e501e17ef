package io.jrun.agent.image.pull;

import io.jrun.agent.container.ContainerException;
import io.jrun.comm.file.FileError;
import io.jrun.comm.file.UserFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Reads a file in the form of netrc. Enroot's credentials have this form:
 * {@code machine HOST login USER password PASSWORD}. Stateless.
 */
final class NetrcFile {
    private static final int MAX_FILE_BYTES = 1 << 20;

    private NetrcFile() {}

    /**
     * The first matching entry.
     *
     * @param machines the names, of which one must match
     * @param user the user; empty for any user
     */
    static Optional<Credential> find(Path file, List<String> machines, String user) throws ContainerException {
        if (!Files.exists(file)) {
            return Optional.empty();
        }
        try {
            String text = UserFile.text(file, MAX_FILE_BYTES)
                    .lines()
                    .filter(line -> !line.strip().startsWith("#"))
                    .collect(Collectors.joining("\n"));
            return find(Arrays.asList(text.strip().split("\\s+")).iterator(), machines, user, file);
        } catch (IOException e) {
            throw new ContainerException(
                    "the credentials in " + file + " cannot be read: " + FileError.reason(e, file), e);
        }
    }

    private static Optional<Credential> find(Iterator<String> words, List<String> machines, String user, Path file) {
        boolean fits = false;
        String login = "";
        while (words.hasNext()) {
            switch (words.next()) {
                case "machine" -> {
                    fits = words.hasNext() && machines.contains(words.next());
                    login = "";
                }
                case "default" -> fits = true;
                case "login" -> login = words.hasNext() ? words.next() : "";
                case "password" -> {
                    String password = words.hasNext() ? words.next() : "";
                    if (fits && (user.isEmpty() || user.equals(login))) {
                        return Optional.of(new Credential(login, password, file.toString()));
                    }
                }
                default -> {
                    // Other words of netrc (account, macdef) are ignored.
                }
            }
        }
        return Optional.empty();
    }
}
