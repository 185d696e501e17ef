package io.jrun.launcher.cli;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

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
     */
    record Scanned(
            Map<LaunchOption, List<String>> options,
            Map<LaunchOption, String> names,
            List<String> words,
            boolean help,
            boolean version) {}

    /** What other launchers call their options. */
    private static final Map<String, LaunchOption> FOREIGN = Map.of(
            "-n", LaunchOption.NPROC_PER_NODE,
            "-np", LaunchOption.NPROC_PER_NODE,
            "--np", LaunchOption.NPROC_PER_NODE,
            "--nproc", LaunchOption.NPROC_PER_NODE,
            "--ntasks-per-node", LaunchOption.NPROC_PER_NODE,
            "-N", LaunchOption.NNODES,
            "--nodes", LaunchOption.NNODES,
            "-H", LaunchOption.HOSTS,
            "--host", LaunchOption.HOSTS,
            "-w", LaunchOption.HOSTS);

    private final List<String> args;
    private final Map<String, LaunchOption> byName = new HashMap<>();
    private final Map<LaunchOption, List<String>> options = new EnumMap<>(LaunchOption.class);
    private final Map<LaunchOption, String> names = new EnumMap<>(LaunchOption.class);
    private int next;
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
                case "-h", "--help" -> help = true;
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
        if (option == null && !arg.startsWith("--") && arg.length() > 2 && !FOREIGN.containsKey(name)) {
            name = arg.substring(0, 2); // a short option with its value, as -r3
            value = Optional.of(arg.substring(arg.charAt(2) == '=' ? 3 : 2));
            option = byName.get(name);
        }
        if (option == null) {
            throw unknown(name);
        }
        options.computeIfAbsent(option, _ -> new ArrayList<>()).add(value(option, name, value));
        if (name.startsWith("--")) {
            names.put(option, dashed(name));
        }
    }

    private String value(LaunchOption option, String name, Optional<String> given) {
        if (given.isPresent()) {
            return given.get();
        }
        if (option.isSwitch()) {
            return "true";
        }
        if (next < args.size() && !byName.containsKey(dashed(args.get(next)))) {
            next++;
            return args.get(next - 1);
        }
        String follows = next < args.size() ? ", but '" + args.get(next) + "' follows" : "";
        throw new UsageException(
                name + " needs a value" + follows + ": " + option.longName() + "=" + option.parameter() + ".");
    }

    /** One letter is near to every other. */
    private static String hint(String name) {
        if (FOREIGN.containsKey(name)) {
            return " Did you mean '" + FOREIGN.get(name).longName() + "'?";
        }
        List<String> known = new ArrayList<>(List.of("--help", "--version"));
        Arrays.stream(LaunchOption.values()).forEach(option -> known.addAll(option.names()));
        return name.startsWith("--") ? Suggestion.didYouMean(name, known) : "";
    }

    /** torchrun takes both spellings. */
    static String dashed(String name) {
        return name.startsWith("--") ? "--" + name.substring(2).replace('_', '-') : name;
    }

    private UsageException unknown(String name) {
        String hint = hint(dashed(name));
        return new UsageException(
                "unknown option '" + name + "'." + (hint.isEmpty() ? " 'jrun --help' lists them." : hint));
    }
}
