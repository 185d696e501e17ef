package io.jrun.launcher.cli;

import io.jrun.launcher.job.UsageException;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The options of a command as text, each with its source. Layers are added from the strongest to the weakest: command
 * line, job file, JRUN_*, PET_* and PYXIS_*, and the variables of Kubernetes. Confined to one thread.
 */
final class ResolvedOptions {
    /**
     * The text of one option.
     *
     * @param values one or more; the last counts unless the option is a list
     * @param called the name of the option in the source
     * @param source the source, empty for the command line
     */
    record Setting(List<String> values, String called, String source) {
        Setting {
            values = List.copyOf(values);
        }

        /** The name for messages, with the source if the source is not the command line. */
        String name() {
            return source.isEmpty() ? called : called + " (from " + source + ")";
        }

        String last() {
            return values.getLast();
        }
    }

    /** Options with which the pods of a job of Kubernetes are not the nodes of the job. */
    private static final Set<LaunchOption> OTHER_NODES = EnumSet.of(
            LaunchOption.HOSTS,
            LaunchOption.HOSTFILE,
            LaunchOption.LAUNCH,
            LaunchOption.STANDALONE,
            LaunchOption.MASTER_ADDR);

    private final Map<LaunchOption, Setting> settings = new EnumMap<>(LaunchOption.class);
    /** A variable without a value has the value of jrun's own environment. */
    private final Map<String, Optional<String>> workerVariables = new HashMap<>();

    /** Sets an option unless a stronger layer has set it. Treats each variable of {@code --env} separately. */
    void add(LaunchOption option, Setting setting) {
        if (option == LaunchOption.ENV) {
            addWorkerVariables(setting);
        } else if (settings.putIfAbsent(option, setting) == null) {
            OptionForm.check(option, setting);
        }
    }

    private void addWorkerVariables(Setting setting) {
        Map<String, Optional<String>> layer = new HashMap<>();
        for (String pair : setting.values()) {
            int equals = pair.indexOf('=');
            String name = equals < 0 ? pair : pair.substring(0, equals);
            if (name.isEmpty() || !isName(name)) {
                throw OptionValues.refused(
                        setting.name(), pair, "NAME=VALUE, or NAME for the value that jrun's environment has");
            }
            layer.put(name, equals < 0 ? Optional.empty() : Optional.of(pair.substring(equals + 1)));
        }
        layer.forEach(workerVariables::putIfAbsent);
    }

    /** Refuses a blank in the name of a variable, because no shell can set or read such a variable. */
    private static boolean isName(String name) {
        return name.chars().noneMatch(c -> Character.isWhitespace(c) || Character.isISOControl(c));
    }

    /** The variables of {@code --env} from all layers. */
    Map<String, String> workerVariables() {
        Map<String, String> variables = new HashMap<>();
        workerVariables.forEach((name, value) -> variables.put(name, value.orElseThrow()));
        return variables;
    }

    /** Gives the variables without a value the value of {@code environment}. */
    private void takeValues(Map<String, String> environment) {
        workerVariables.replaceAll((name, value) -> value.or(() -> {
            String own = environment.get(name);
            if (own == null) {
                throw new UsageException(
                        LaunchOption.ENV.longName() + "=" + name + ": jrun's environment has no variable " + name
                                + "; give " + LaunchOption.ENV.longName() + "=" + name + "=VALUE.");
            }
            return Optional.of(own);
        }));
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

    /** The option's name for a message, with its source if the source is not the command line. */
    String name(LaunchOption option) {
        Setting setting = settings.get(option);
        return setting == null ? option.longName() : setting.name();
    }

    /** The options of the command line. */
    static ResolvedOptions ofCommandLine(ParsedCommand line) {
        ResolvedOptions settings = new ResolvedOptions();
        line.options().forEach((option, values) -> {
            if (option instanceof LaunchOption ofJob) {
                settings.addTyped(ofJob, new Setting(values, line.called(option), ""), line);
            }
        });
        return settings;
    }

    /** Explains a wrong value of a short option: users overlook that the option takes the next word as its value. */
    private void addTyped(LaunchOption option, Setting setting, ParsedCommand line) {
        try {
            add(option, setting);
        } catch (UsageException e) {
            throw line.shortNameBeforeValue(option)
                    .map(name -> new UsageException(name + " takes the word after it as its value. " + e.getMessage()))
                    .orElse(e);
        }
    }

    /** Adds the variables JRUN_*, then PET_* and PYXIS_*, and then those of Kubernetes, of {@code environment}. */
    void addEnvironment(Map<String, String> environment) {
        ContainerVariables.check(environment);
        RuntimeVariables.check(environment);
        UnknownOption.refuseFilters(environment);
        for (LaunchOption option : LaunchOption.values()) {
            for (String variable : variables(option, environment)) {
                String value = environment.get(variable);
                if (value != null && !value.isEmpty()) {
                    add(option, new Setting(values(option, value, variable), option.longName(), variable));
                }
            }
        }
        takeValues(environment);
        if (!isInsideWorker(environment) && OTHER_NODES.stream().noneMatch(this::has)) {
            KubernetesVariables.of(environment)
                    .forEach((option, found) ->
                            add(option, new Setting(List.of(found.value()), option.longName(), found.variable())));
        }
    }

    /** The values of a variable. JRUN_ENV holds all of {@code --env}: NAME=VALUE words, quoted as for a shell. */
    private static List<String> values(LaunchOption option, String value, String variable) {
        return option == LaunchOption.ENV
                ? OptionValues.shellWords(value, option.longName() + " (from " + variable + ")")
                : List.of(value);
    }

    private static List<String> variables(LaunchOption option, Map<String, String> environment) {
        List<String> names = new ArrayList<>();
        option.jrunVariable().ifPresent(names::add);
        option.torchVariable().ifPresent(names::add);
        option.elasticVariable().ifPresent(names::add);
        option.pyxisVariable().ifPresent(names::add);
        // A worker that starts jrun inherits these variables from its job. The inner job must not use them.
        boolean insideWorker = isInsideWorker(environment);
        if (insideWorker && (option == LaunchOption.RUN_ID || option == LaunchOption.LOG_DIR)) {
            names.removeIf(name -> name.startsWith("JRUN_"));
        }
        if (insideWorker && option.group() == OptionGroup.CONTAINER) {
            return List.of(); // the inner job already runs in the container of the outer job
        }
        return names;
    }

    /** Whether a worker has started this process. */
    static boolean isInsideWorker(Map<String, String> environment) {
        return environment.containsKey("JRUN_AGENT_SOCKET");
    }
}
