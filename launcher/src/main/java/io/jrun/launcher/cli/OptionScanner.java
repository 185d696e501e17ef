package io.jrun.launcher.cli;

import io.jrun.launcher.cli.ResolvedOptions.Setting;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Takes a command line apart at every start, by {@link LaunchOption}. Help and completion are picocli's; reading the line
 * with it too would cost a start 60 ms more, since its classes are in a format that a class-data archive does not take.
 * Confined to one thread.
 */
final class OptionScanner {
    /**
     * A command line taken apart.
     *
     * @param names how options were called that have several long names
     * @param words PROGRAM and what follows it, untouched
     * @param brief whether -h was given
     * @param help whether --help was given
     */
    record Scanned(
            Map<LaunchOption, List<String>> options,
            Map<LaunchOption, String> names,
            List<String> words,
            boolean brief,
            boolean help,
            boolean version) {}

    /** The names of the option that shows help: of a command anywhere, of jrun itself the first is the brief one. */
    static final Set<String> HELP = Set.of("-h", "--help");

    /** The names of the option that shows the version. */
    static final Set<String> VERSION = Set.of("-V", "--version");

    private final List<String> args;
    private final Map<String, LaunchOption> byName = new HashMap<>();
    private final Map<LaunchOption, List<String>> options = new EnumMap<>(LaunchOption.class);
    private final Map<LaunchOption, String> names = new EnumMap<>(LaunchOption.class);
    private int next;
    private boolean brief;
    private boolean help;
    private boolean version;

    private OptionScanner(List<String> args) {
        this.args = args;
        for (LaunchOption option : LaunchOption.values()) {
            option.names().forEach(name -> byName.put(name, option));
        }
    }

    /** Takes {@code args} apart; what follows the first word that is no option is left alone. */
    static Scanned scan(List<String> args) {
        OptionScanner scanner = new OptionScanner(args);
        scanner.scanOptions();
        return new Scanned(
                scanner.options,
                scanner.names,
                List.copyOf(args.subList(scanner.next, args.size())),
                scanner.brief,
                scanner.help,
                scanner.version);
    }

    private void scanOptions() {
        while (next < args.size()) {
            String arg = args.get(next);
            if (!arg.startsWith("-") || arg.equals("-")) {
                return;
            }
            next++;
            switch (arg) {
                case "--" -> {
                    return;
                }
                case "-h" -> brief = true;
                case "--help" -> help = true;
                case "-V", "--version" -> version = true;
                default -> scanOption(arg);
            }
        }
    }

    private void scanOption(String arg) {
        int equals = arg.indexOf('=');
        String name = equals < 0 ? arg : arg.substring(0, equals);
        Optional<String> value = equals < 0 ? Optional.empty() : Optional.of(arg.substring(equals + 1));
        LaunchOption option = byName.get(dashed(name));
        if (option == null && isShortWithValue(arg)) {
            name = arg.substring(0, 2);
            value = Optional.of(arg.substring(arg.charAt(2) == '=' ? 3 : 2));
            option = byName.get(name);
        }
        if (option == null && (brief || help)) {
            return; // help was asked for: that is the answer
        }
        if (option == null) {
            Optional<String> following = Optional.of(next)
                    .filter(index -> index < args.size())
                    .map(args::get)
                    .filter(word -> !word.startsWith("-"));
            throw UnknownOption.refused(arg, following, args);
        }
        String text = value(option, name, value);
        if (value.isEmpty() && !name.startsWith("--")) {
            checkSwallowed(option, name, text);
        }
        options.computeIfAbsent(option, _ -> new ArrayList<>()).add(text);
        if (name.startsWith("--")) {
            names.put(option, dashed(name));
        }
    }

    /** As -r3, but not as -hostfile, which other launchers have. */
    private boolean isShortWithValue(String arg) {
        return !arg.startsWith("--")
                && arg.length() > 2
                && byName.containsKey(arg.substring(0, 2))
                && ForeignOption.of(arg).isEmpty();
    }

    private boolean isOption(String word) {
        return HELP.contains(word) || VERSION.contains(word) || byName.containsKey(dashed(word));
    }

    /** A short option looks as if it took no value, and would take PROGRAM. */
    private static void checkSwallowed(LaunchOption option, String name, String next) {
        try {
            OptionForm.check(option, new Setting(List.of(next), option.longName(), ""));
        } catch (UsageException e) {
            throw new UsageException(name + " takes the word after it as its value. " + e.getMessage());
        }
    }

    private String value(LaunchOption option, String name, Optional<String> given) {
        if (given.isPresent()) {
            return given.get();
        }
        if (option.isSwitch()) {
            return "true";
        }
        if (next < args.size() && !isOption(args.get(next))) {
            next++;
            return args.get(next - 1);
        }
        String follows = next < args.size() ? ", but '" + args.get(next) + "' follows" : "";
        throw new UsageException(
                name + " needs a value" + follows + ": " + option.longName() + "=" + option.parameter() + ".");
    }

    /** torchrun takes both spellings. */
    static String dashed(String name) {
        return name.startsWith("--") ? "--" + name.substring(2).replace('_', '-') : name;
    }
}
