package io.jrun.launcher.slurm;

import java.util.List;
import java.util.stream.Collectors;

/**
 * A script for {@code sbatch} that runs one jrun job.
 *
 * @param options options of sbatch, such as {@code --time=1:00:00}
 * @param command the jrun command line
 */
public record BatchScript(List<String> options, List<String> command) {
    public BatchScript {
        options = List.copyOf(options);
        command = List.copyOf(command);
    }

    /** The script, with a newline at the end. The script runs jrun by exec, so signals to the script reach jrun. */
    public String text() {
        String directives = options.stream()
                .map(option -> "#SBATCH " + quoted(option) + "\n")
                .collect(Collectors.joining());
        return "#!/bin/sh\n" + directives + "\nexec "
                + command.stream().map(BatchScript::quoted).collect(Collectors.joining(" ")) + "\n";
    }

    /** Quotes a word. sbatch reads quotes in its lines as a shell does. */
    private static String quoted(String word) {
        return word.matches("[A-Za-z0-9_@%+=:,./\\[\\]-]+") ? word : "'" + word.replace("'", "'\\''") + "'";
    }
}
