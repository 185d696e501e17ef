package io.jrun.launcher.cli;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

/**
 * What {@code jrun cert} was asked for.
 *
 * @param folder of the authority
 * @param names of the node or user to admit; empty to make the authority
 * @param days how long its certificate is good for
 */
public record CertRequest(Path folder, List<String> names, int days) {
    private static final String USAGE =
            "jrun cert init [--dir=DIR] | jrun cert node NAME[,NAME...] [--dir=DIR] [--days=N]";
    private static final int DAYS = 825;
    private static final int MAX_DAYS = 3650;

    public CertRequest {
        names = List.copyOf(names);
    }

    /**
     * Reads the words after {@code cert}.
     *
     * @throws UsageException in one line, if it cannot be done
     */
    public static CertRequest parse(List<String> args, CommandContext commandContext) {
        String folder = "";
        int days = DAYS;
        List<String> words = new ArrayList<>();
        Iterator<String> rest = args.iterator();
        while (rest.hasNext()) {
            String word = rest.next();
            if (!word.startsWith("-")) {
                words.add(word);
                continue;
            }
            int equals = word.indexOf('=');
            String name = equals < 0 ? word : word.substring(0, equals);
            String value = equals >= 0 ? word.substring(equals + 1) : rest.hasNext() ? rest.next() : "";
            switch (name) {
                case "--dir" -> folder = value;
                case "--days" -> days = OptionValues.count(value, name, 1, MAX_DAYS);
                default -> throw new UsageException("unknown option '" + word + "'; usage: " + USAGE + ".");
            }
            if (value.isEmpty()) {
                throw new UsageException(name + " needs a value; usage: " + USAGE + ".");
            }
        }
        Path directory = folder.isEmpty() ? defaultFolder(commandContext) : commandContext.resolve(folder);
        if (words.equals(List.of("init"))) {
            return new CertRequest(directory, List.of(), days);
        }
        if (words.size() == 2 && words.getFirst().equals("node")) {
            return new CertRequest(directory, names(words.getLast()), days);
        }
        throw new UsageException("usage: " + USAGE + ".");
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

    /** What {@code jrun cert --help} prints. */
    public static String help() {
        return new HelpPage(USAGE.split(" \\| ", -1))
                .about(HelpText.sentence(SubCommand.CERT))
                .word("init", "Make an authority, DIR/ca.pem. Keep it where you admit hosts and users.")
                .word(
                        "node NAME",
                        "Make DIR/NAME.pem, the --secret-file of the host or user NAME. Add the other names and addresses of a"
                                + " host after commas: those by which launchers call the host.")
                .option(HelpPage.value(List.of("--dir"), "DIR", "Folder of the authority. Default: ~/.config/jrun."))
                .option(HelpPage.value(
                        List.of("--days"), "N", "Days for which the certificate is valid. Default: " + DAYS + "."))
                .option(HelpPage.help())
                .text();
    }
}
