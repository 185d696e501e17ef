package io.jrun.launcher.cli;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What was asked for, still as text, each with the place it came from. Layers are added from the strongest to the
 * weakest: command line, job file, JRUN_*, PET_* and PYXIS_*. Confined to one thread.
 */
final class ResolvedOptions {
    /**
     * The text of one option.
     *
     * @param values one or more; the last counts unless the option is a list
     * @param called what the option was called
     * @param source where it came from, empty for the command line
     */
    record Setting(List<String> values, String called, String source) {
        Setting {
            values = List.copyOf(values);
        }

        /** For messages, with the source if that is not the command line. */
        String name() {
            return source.isEmpty() ? called : called + " (from " + source + ")";
        }

        String last() {
            return values.getLast();
        }
    }

    private final Map<LaunchOption, Setting> settings = new EnumMap<>(LaunchOption.class);
    private final Map<String, String> workerVariables = new HashMap<>();

    /** Sets an option unless a stronger layer has done so; of {@code --env}, each variable by itself. */
    void add(LaunchOption option, Setting setting) {
        if (option == LaunchOption.ENV) {
            addWorkerVariables(setting);
        } else if (settings.putIfAbsent(option, setting) == null) {
            OptionForm.check(option, setting);
        }
    }

    private void addWorkerVariables(Setting setting) {
        Map<String, String> layer = new HashMap<>();
        for (String pair : setting.values()) {
            int equals = pair.indexOf('=');
            if (equals < 1 || !isName(pair.substring(0, equals))) {
                throw OptionValues.refused(setting.name(), pair, "NAME=VALUE");
            }
            layer.put(pair.substring(0, equals), pair.substring(equals + 1));
        }
        layer.forEach(workerVariables::putIfAbsent);
    }

    /** No shell can set or read a variable whose name has a blank. */
    private static boolean isName(String name) {
        return name.chars().noneMatch(c -> Character.isWhitespace(c) || Character.isISOControl(c));
    }

    /** What {@code --env} says, in all layers. */
    Map<String, String> workerVariables() {
        return workerVariables;
    }

    Optional<Setting> get(LaunchOption option) {
        return Optional.ofNullable(settings.get(option));
    }

    boolean has(LaunchOption option) {
        return settings.containsKey(option);
    }

    /** The value of an option, or {@code fallback}. */
    String text(LaunchOption option, String fallback) {
        Setting setting = settings.get(option);
        return setting == null ? fallback : setting.last();
    }

    /** All values of a list option. */
    List<String> all(LaunchOption option) {
        Setting setting = settings.get(option);
        return setting == null ? List.of() : setting.values();
    }

    /** Whether a switch is on. */
    boolean isOn(LaunchOption option) {
        Setting setting = settings.get(option);
        return setting != null && OptionValues.isTrue(setting.last(), name(option));
    }

    /** The option's name for a message, with its source if that is not the command line. */
    String name(LaunchOption option) {
        Setting setting = settings.get(option);
        return setting == null ? option.longName() : setting.name();
    }

    /** The command line's layer. */
    static ResolvedOptions ofCommandLine(ParsedCommand line) {
        ResolvedOptions settings = new ResolvedOptions();
        line.options().forEach((option, values) -> {
            if (option instanceof LaunchOption ofJob) {
                settings.addTyped(ofJob, new Setting(values, line.called(option), ""), line);
            }
        });
        return settings;
    }

    /** A short option looks as if it took no value, and takes PROGRAM. */
    private void addTyped(LaunchOption option, Setting setting, ParsedCommand line) {
        try {
            add(option, setting);
        } catch (UsageException e) {
            throw line.shortNameBeforeValue(option)
                    .map(name -> new UsageException(name + " takes the word after it as its value. " + e.getMessage()))
                    .orElse(e);
        }
    }

    /** Adds JRUN_*, and then PET_* and PYXIS_*, of {@code environment}. */
    void addEnvironment(Map<String, String> environment) {
        for (LaunchOption option : LaunchOption.values()) {
            for (String variable : variables(option, environment)) {
                String value = environment.get(variable);
                if (value != null && !value.isEmpty()) {
                    add(option, new Setting(values(option, value, variable), option.longName(), variable));
                }
            }
        }
    }

    /** One variable holds all of {@code --env}: NAME=VALUE words, quoted as for a shell. */
    private static List<String> values(LaunchOption option, String value, String variable) {
        return option == LaunchOption.ENV
                ? OptionValues.shellWords(value, option.longName() + " (from " + variable + ")")
                : List.of(value);
    }

    private static List<String> variables(LaunchOption option, Map<String, String> environment) {
        List<String> names = new ArrayList<>();
        option.jrunVariable().ifPresent(names::add);
        option.torchVariable().ifPresent(names::add);
        option.pyxisVariable().ifPresent(names::add);
        // A worker that starts jrun again has these of its own job, which the inner job must not take for its own.
        boolean insideWorker = environment.containsKey("JRUN_AGENT_SOCKET");
        if (insideWorker && (option == LaunchOption.RUN_ID || option == LaunchOption.LOG_DIR)) {
            names.removeIf(name -> name.startsWith("JRUN_"));
        }
        if (insideWorker && option.group() == OptionGroup.CONTAINER) {
            return List.of(); // the inner job is in the container of the outer one already
        }
        return names;
    }
}
