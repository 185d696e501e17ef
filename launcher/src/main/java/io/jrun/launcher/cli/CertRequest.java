package io.jrun.launcher.cli;

import io.jrun.launcher.job.UsageException;
import java.nio.file.Path;
import java.util.List;

/**
 * The command line of {@code jrun cert}.
 *
 * @param folder of the authority
 * @param names of the node or user that gets a certificate; empty to make the authority
 * @param days for which the certificate is valid
 */
public record CertRequest(Path folder, List<String> names, int days) {
    private static final String DAYS = "825";
    private static final int MAX_DAYS = 3650;

    public CertRequest {
        names = List.copyOf(names);
    }

    /**
     * Reads the command line.
     *
     * @throws UsageException with one line for the user, if the command line is impossible
     */
    public static CertRequest of(ParsedCommand line, CommandContext commandContext) {
        String folder = line.value(CommandOption.DIR).orElse("");
        if (line.has(CommandOption.DIR) && folder.isBlank()) {
            throw OptionValues.refused(CommandOption.DIR.longName(), folder, "a folder");
        }
        int days = OptionValues.count(
                line.value(CommandOption.DAYS).orElse(DAYS), CommandOption.DAYS.longName(), 1, MAX_DAYS);
        Path directory = folder.isEmpty() ? defaultFolder(commandContext) : commandContext.resolve(folder);
        if (line.words().equals(List.of("init"))) {
            return new CertRequest(directory, List.of(), days);
        }
        if (line.words().size() == 2 && line.word("").equals("node")) {
            return new CertRequest(directory, names(line.words().getLast()), days);
        }
        throw new UsageException("cert: '" + String.join(" ", line.words()) + "' is not 'init' or 'node NAME'; usage: "
                + SubCommand.CERT.usage() + ".");
    }

    private static List<String> names(String text) {
        List<String> names = List.of(text.split(",", -1));
        if (!names.stream().allMatch(name -> name.matches("[A-Za-z0-9][A-Za-z0-9.:_-]*"))
                || names.getFirst().equals("ca")) {
            throw OptionValues.refused(
                    "jrun cert node", text, "host names or numeric addresses: gpu1,gpu1.lan,10.0.0.1");
        }
        return names;
    }

    private static Path defaultFolder(CommandContext commandContext) {
        String config = commandContext.variable("XDG_CONFIG_HOME", "");
        String home = commandContext.variable("HOME", "");
        if (config.isEmpty() && home.isEmpty()) {
            throw new UsageException("no folder for certificates: HOME and XDG_CONFIG_HOME are unset. Give --dir.");
        }
        return config.isEmpty()
                ? commandContext.resolve(home).resolve(".config/jrun")
                : commandContext.resolve(config).resolve("jrun");
    }
}
