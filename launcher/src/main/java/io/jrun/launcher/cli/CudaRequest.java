package io.jrun.launcher.cli;

import io.jrun.launcher.job.UsageException;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * The command line of {@code jrun cuda}.
 *
 * @param isShared whether the files of the installation are meant, not those of the user
 * @param withLibraries whether CUDA's own libraries are wanted too
 */
public record CudaRequest(CudaAction action, boolean isShared, boolean withLibraries, boolean json) {
    /** The first word after {@code cuda}. */
    public enum CudaAction {
        /** Fetches the missing files. */
        INSTALL,
        /** Prints which build the workers of this machine use, and what is missing. */
        STATUS,
        /** Removes the files. */
        RM;

        private String word() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    private static final Map<CudaAction, Set<CommandOption>> OPTIONS = Map.of(
            CudaAction.INSTALL, Set.of(CommandOption.SHARED, CommandOption.WITH_LIBRARIES),
            CudaAction.STATUS, Set.of(CommandOption.JSON),
            CudaAction.RM, Set.of(CommandOption.SHARED));

    /**
     * Reads the command line.
     *
     * @throws UsageException in one line, if the command line is impossible
     */
    public static CudaRequest of(ParsedCommand line) {
        CudaAction action = Arrays.stream(CudaAction.values())
                .filter(each ->
                        each.word().equals(line.word("")) && line.words().size() == 1)
                .findFirst()
                .orElseThrow(() -> new UsageException("cuda: '" + String.join(" ", line.words())
                        + "' is not 'install', 'status' or 'rm'; usage: " + SubCommand.CUDA.usage() + "."));
        for (CommandLineOption option : line.options().keySet()) {
            if (!OPTIONS.getOrDefault(action, Set.of()).contains(option)) {
                throw new UsageException(option.longName() + " is not for 'jrun cuda " + action.word() + "'.");
            }
        }
        return new CudaRequest(
                action,
                line.has(CommandOption.SHARED),
                line.has(CommandOption.WITH_LIBRARIES),
                line.has(CommandOption.JSON));
    }
}
