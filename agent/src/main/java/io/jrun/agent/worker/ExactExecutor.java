package io.jrun.agent.worker;

import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import org.apache.commons.exec.CommandLine;
import org.apache.commons.exec.DefaultExecutor;

/**
 * Starts processes whose inherited variables have the bytes that this process got. Names and values need not be UTF-8. A
 * {@code String} of such a value has other characters, so this class leaves each inherited variable in place whose
 * {@code String} is the wanted one.
 */
final class ExactExecutor extends DefaultExecutor {
    /** The character that stands for bytes that are not UTF-8. */
    static final char REPLACEMENT = '\uFFFD';

    @SuppressWarnings("deprecation") // the builder makes no subclass
    ExactExecutor(Path workingDirectory) {
        setWorkingDirectory(workingDirectory.toFile());
    }

    @Override
    protected Process launch(CommandLine command, Map<String, String> environment, Path workingDirectory)
            throws IOException {
        ProcessBuilder builder = new ProcessBuilder(command.toStrings()).directory(workingDirectory.toFile());
        change(builder.environment(), environment);
        return builder.start();
    }

    /** Makes {@code variables}, those of this process, equal to {@code wanted}. */
    private static void change(Map<String, String> variables, Map<String, String> wanted) {
        Map<String, String> missing = new HashMap<>(wanted);
        for (Iterator<Map.Entry<String, String>> each = variables.entrySet().iterator(); each.hasNext(); ) {
            Map.Entry<String, String> variable = each.next();
            String name = variable.getKey();
            boolean isKept = wanted.containsKey(name)
                    // two names of other bytes may have one String
                    && (variable.getValue().equals(wanted.get(name)) || name.indexOf(REPLACEMENT) >= 0);
            if (isKept) {
                missing.remove(name);
            } else {
                each.remove();
            }
        }
        variables.putAll(missing);
    }
}
