package io.jrun.agent.container.builtin;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.ImageSettings;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads the settings in the form of Enroot's images: variables in /etc/environment, the working folder and the
 * entrypoint in /etc/rc. Stateless.
 */
final class ImageReader {
    private static final Pattern VARIABLE = Pattern.compile("(?:export )?([A-Za-z_][A-Za-z0-9_]*)=(.*)");
    private static final Pattern WORKDIR = Pattern.compile("(?m)^cd \"?(/[^\"\\n]*?)\"? ");

    /** The limit of bytes of a file. The files have a few lines, and a wrong file must not fill the memory. */
    private static final int MAX_BYTES = 1 << 20;

    private ImageReader() {}

    static ImageSettings read(ContainerRoot root) throws ContainerException {
        String script = text(root, "/etc/rc");
        Matcher workdir = WORKDIR.matcher(script);
        return new ImageSettings(
                variables(text(root, "/etc/environment")), workdir.find() ? workdir.group(1) : "", !script.isEmpty());
    }

    static Map<String, String> variables(String text) {
        Map<String, String> variables = new HashMap<>();
        for (String line : text.split("\n", -1)) {
            Matcher variable = VARIABLE.matcher(line.strip());
            if (variable.matches()) {
                variables.put(variable.group(1), unquoted(variable.group(2)));
            }
        }
        return variables;
    }

    private static String unquoted(String value) {
        boolean quoted = value.length() > 1
                && (value.charAt(0) == '"' || value.charAt(0) == '\'')
                && value.charAt(value.length() - 1) == value.charAt(0);
        return quoted ? value.substring(1, value.length() - 1) : value;
    }

    /** The text of a file; empty if the file does not exist. */
    static String text(ContainerRoot root, String path) throws ContainerException {
        Path file = root.find(path);
        if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
            return "";
        }
        try (InputStream in = Files.newInputStream(file)) {
            byte[] bytes = in.readNBytes(MAX_BYTES + 1);
            if (bytes.length > MAX_BYTES) {
                throw new ContainerException(path + " of the image has more than 1 MiB, so it is no such file."
                        + " Remove the file from the image.");
            }
            return new String(bytes, StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw LocalImage.damaged(file, e);
        }
    }
}
