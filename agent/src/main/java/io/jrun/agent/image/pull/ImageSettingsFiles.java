package io.jrun.agent.image.pull;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/**
 * Writes the settings of an image's config to the files of Enroot's images, so that all prepared images have one form:
 * {@code /etc/environment} has the variables; {@code /etc/rc} changes to the working folder and runs the entrypoint.
 * The user of the config is not applied: programs run as the user of the job. Stateless.
 */
final class ImageSettingsFiles {
    private ImageSettingsFiles() {}

    /** @param config the member {@code config} of the OCI image config */
    static void write(ImageRoot root, JsonNode config) throws IOException {
        StringBuilder environment = new StringBuilder();
        for (JsonNode variable : config.path("Env")) {
            environment.append(line(variable.asText())).append('\n');
        }
        root.write("etc/environment", environment.toString().getBytes(StandardCharsets.UTF_8), 0644);
        String workdir = config.path("WorkingDir").asText();
        if (workdir.startsWith("/")) {
            root.folder(workdir); // Docker makes the working folder at the start of a container.
        }
        root.write("etc/rc", script(config, workdir).getBytes(StandardCharsets.UTF_8), 0755);
    }

    /** Quotes a variable. The reader of the file removes one pair of quotes. */
    private static String line(String variable) {
        String text = variable.replace('\n', ' ');
        int equals = text.indexOf('=');
        String value = text.substring(equals + 1);
        boolean quoted = value.length() > 1
                && value.charAt(0) == value.charAt(value.length() - 1)
                && (value.charAt(0) == '"' || value.charAt(0) == '\'');
        return quoted ? text.substring(0, equals + 1) + '"' + value + '"' : text;
    }

    private static String script(JsonNode config, String workdir) {
        String entrypoint = words(config.path("Entrypoint"));
        return "#!/bin/sh\n"
                + (workdir.startsWith("/") ? "cd \"" + escaped(workdir) + "\" || exit 1\n" : "")
                + "if [ -s /etc/rc.local ]; then . /etc/rc.local; fi\n"
                + "if [ $# -gt 0 ]; then\n"
                + "  exec " + entrypoint + "\"$@\"\n"
                + "else\n"
                + "  exec " + entrypoint + words(config.path("Cmd")) + "\n"
                + "fi\n";
    }

    private static String words(JsonNode array) {
        StringBuilder words = new StringBuilder();
        for (JsonNode word : array) {
            words.append('\'').append(word.asText().replace("'", "'\\''")).append("' ");
        }
        return words.toString();
    }

    private static String escaped(String text) {
        return text.replace("\\", "\\\\")
                .replace("\"", "\\\"")
                .replace("$", "\\$")
                .replace("`", "\\`");
    }
}
