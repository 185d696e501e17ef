package io.jrun.launcher.cli;

import io.jrun.launcher.cli.ResolvedOptions.Setting;
import java.time.Duration;
import java.util.List;
import java.util.OptionalInt;
import java.util.regex.Pattern;

/**
 * Checks the form of every option's value as soon as the value is set, so that a value is refused also in a job in which the
 * option has no effect. Whether a value fits the job is checked where the job is made. Stateless.
 */
final class OptionForm {
    private static final int MOST_NODES = 65_536;
    private static final int MAX_PORT = 65_535;

    /** A class as the {@code java} command takes it; anything else would be an option of its own there. */
    private static final Pattern CLASS_NAME =
            Pattern.compile("\\p{javaJavaIdentifierStart}[\\p{javaJavaIdentifierPart}./]*");

    private OptionForm() {}

    /** @throws UsageException if a value is not of the option's form */
    static void check(LaunchOption option, Setting setting) {
        String name = setting.name();
        for (String text : option.isList() ? setting.values() : List.of(setting.last())) {
            if (option.isSwitch()) {
                var _ = OptionValues.isTrue(text, name);
            } else {
                check(option, text, name);
            }
        }
    }

    private static void check(LaunchOption option, String text, String name) {
        switch (option) {
            case NNODES -> NodeOptions.checkForm(text, name);
            case SPARES -> OptionValues.count(text, name, 0, MOST_NODES);
            case NODE_RANK -> OptionValues.count(text, name, 0, MOST_NODES - 1);
            case MAX_RESTARTS -> OptionValues.count(text, name, 0, Integer.MAX_VALUE);
            case AGENT_PORT -> OptionValues.count(text, name, 1, MAX_PORT);
            case MASTER_PORT -> OptionValues.count(text, name, 0, MAX_PORT);
            case JOIN_TIMEOUT, NODE_COOLDOWN, RESTART_WINDOW, TIMEOUT, SHUTDOWN_TIMEOUT, MONITOR_INTERVAL ->
                OptionValues.time(text, name);
            case WORKER_TIMEOUT, PROGRESS_TIMEOUT -> checkSilence(text, name);
            case REDIRECTS -> OptionValues.streams(text, name);
            case TEE -> OptionValues.tee(text, name);
            case LOCAL_RANKS_FILTER, RANKS_FILTER -> OptionValues.ranks(text, name);
            case RDZV_ENDPOINT -> {
                if (!text.isEmpty()) { // torchrun's default
                    HostAndPort.parse(text, name, OptionalInt.of(0));
                }
            }
            case MASTER_ADDR -> HostAndPort.checkHost(text, text, name);
            case LOCAL_ADDR -> {
                if (!text.isEmpty()) {
                    HostAndPort.checkHost(text, text, name);
                }
            }
            case RDZV_CONF -> RendezvousOptionsReader.conf(text, name);
            case RDZV_BACKEND -> RendezvousOptionsReader.checkBackend(text, name);
            case RUN_ID, RDZV_ID, ROLE -> checkVisible(text, name);
            case FILE, HOSTFILE, SECRET_FILE, JAVA, WORKDIR, STAGE, LOG_DIR, REMOTE_JRUN -> checkPath(text, name);
            case SSH_OPTIONS -> checkWords(text, name, "-", "options for ssh, which begin with a dash");
            case JVM_OPTS -> OptionValues.shellWords(text, name);
            case MAIN_CLASS -> {
                if (!CLASS_NAME.matcher(text).matches()) {
                    throw OptionValues.refused(name, text, "the name of a class, as app.Train");
                }
            }
            case NPROC_PER_NODE,
                    LAUNCH,
                    HOSTS,
                    INCLUDE,
                    EXCLUDE,
                    MAP_BY,
                    BIND_TO,
                    CLASSPATH,
                    BACKEND,
                    ENV,
                    GPU_VISIBILITY,
                    SIGNALS_TO_HANDLE -> {
                // read for every job
            }
            case STANDALONE, ENCRYPT, NO_JAVA, VIRTUAL_LOCAL_RANK, JSON, DETACH, DRY_RUN -> {
                // switches
            }
        }
    }

    private static void checkSilence(String text, String name) {
        Duration time = OptionValues.time(text, name);
        if (!time.isZero() && time.compareTo(Duration.ofSeconds(1)) < 0) {
            throw OptionValues.refused(name, text, "0 for never, or 1 s and more");
        }
    }

    /** Empty is torchrun's default. */
    private static void checkVisible(String text, String name) {
        if ((!text.isEmpty() && text.isBlank()) || text.chars().anyMatch(Character::isISOControl)) {
            throw OptionValues.refused(name, text, "visible characters");
        }
    }

    /** A name of blanks alone comes of a variable of the shell's that is not set. */
    private static void checkPath(String text, String name) {
        if (text.isBlank()) {
            throw OptionValues.refused(name, text, "a path");
        }
    }

    private static void checkWords(String text, String name, String first, String expected) {
        List<String> words = OptionValues.shellWords(text, name);
        if (!words.isEmpty() && !words.getFirst().startsWith(first)) {
            throw OptionValues.refused(name, text, expected);
        }
    }
}
