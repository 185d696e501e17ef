package io.jrun.launcher.cli;

import java.util.ArrayList;
import java.util.List;

/**
 * The command line of {@code jrun exec}.
 *
 * @param job a run id, its unambiguous beginning, or a log folder; with {@code isHere} a run id
 * @param command the command and its arguments
 * @param isHere whether the worker must be on this host
 * @param sshOptions the user's options for ssh
 * @param remoteJrun the path of the jrun command on other hosts
 */
public record ExecRequest(
        String job, int rank, List<String> command, boolean isHere, List<String> sshOptions, String remoteJrun) {
    private static final String DEFAULT_COMMAND = "sh";

    public ExecRequest {
        command = List.copyOf(command);
        sshOptions = List.copyOf(sshOptions);
    }

    /** Reads the command line. */
    public static ExecRequest of(ParsedCommand line, CommandContext commandContext) {
        List<String> words = new ArrayList<>(line.words());
        String job = words.removeFirst();
        int rank = 0;
        if (!words.isEmpty() && words.getFirst().matches("[0-9]{1,9}")) {
            rank = Integer.parseInt(words.removeFirst());
        }
        if (!words.isEmpty() && words.getFirst().equals("--")) {
            words.removeFirst();
        }
        return new ExecRequest(
                job,
                rank,
                words.isEmpty() ? List.of(DEFAULT_COMMAND) : words,
                line.has(CommandOption.HERE),
                OptionValues.shellWords(
                        line.value(LaunchOption.SSH_OPTIONS).orElse(""), LaunchOption.SSH_OPTIONS.longName()),
                line.value(LaunchOption.REMOTE_JRUN)
                        .orElse(commandContext.command().toString()));
    }
}
