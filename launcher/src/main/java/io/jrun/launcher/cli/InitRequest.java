package io.jrun.launcher.cli;

import java.nio.file.Path;
import java.util.List;

/**
 * What {@code jrun init} was asked for.
 *
 * @param folder of the new project, absolute
 */
public record InitRequest(Path folder) {
    private static final String USAGE = "jrun init DIR";

    /**
     * Reads the words after {@code init}.
     *
     * @throws UsageException in one line, if they are not one folder
     */
    public static InitRequest parse(List<String> args, CommandContext commandContext) {
        for (String word : args) {
            if (word.startsWith("-")) {
                throw new UsageException("unknown option '" + word + "'; usage: " + USAGE + ".");
            }
        }
        if (args.size() != 1 || args.getFirst().isEmpty()) {
            throw new UsageException(
                    (args.size() > 1 ? "one DIR is expected, but '" + args.get(1) + "' follows" : "DIR is missing")
                            + "; usage: " + USAGE + ".");
        }
        return new InitRequest(commandContext.resolve(args.getFirst()));
    }

    /** What {@code jrun init --help} prints. */
    public static String help() {
        return new HelpPage(USAGE)
                .about(
                        "Makes a Maven project: a pom.xml, a small program that trains on all ranks, and a .gitignore.",
                        "'mvn package' builds it, 'jrun --nproc-per-node=2 target/NAME.jar' runs it.")
                .word("DIR", "A new or an empty folder. Its name becomes the name of the project.")
                .option(HelpPage.help())
                .text();
    }
}
