package io.jrun.launcher.cli;

import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.kubernetes.IndexedJob;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;

/** Reads the command line of {@code jrun submit} with {@code --to=kubernetes} or {@code --to=jobset}. Stateless. */
final class IndexedJobReader {
    /** The options of sbatch that have a field of the Job. */
    private static final Set<String> KNOWN = Set.of("--job-name", "--gpus-per-node", "--mem", "--time");

    private static final int MOST_PODS = 10_000;
    private static final int MOST_GPUS = 1024;
    private static final int SECRET_BYTES = 32;

    /** The time of jrun's own end after that of its workers. */
    private static final Duration OWN_END = Duration.ofSeconds(15);

    private IndexedJobReader() {}

    /** @throws UsageException if an option has no meaning for Kubernetes, or the image is missing */
    static IndexedJob read(ParsedCommand line, IndexedJob.Controller controller) {
        Map<String, String> requested = requested(line);
        String image = line.value(CommandOption.POD_IMAGE)
                .orElseThrow(() -> new UsageException("submit: " + to(line) + " needs "
                        + CommandOption.POD_IMAGE.longName() + "=IMAGE, an image with jrun and the program."));
        if (line.word("").isEmpty()) {
            throw new UsageException("PROGRAM is missing; usage: " + SubCommand.SUBMIT.usage() + ".");
        }
        int pods = count(line.value(LaunchOption.NNODES).orElse("1"), LaunchOption.NNODES.longName(), MOST_PODS);
        Duration grace = OptionValues.time(
                line.value(LaunchOption.SHUTDOWN_TIMEOUT).orElse(JobSpecBuilder.DEFAULT_GRACE),
                LaunchOption.SHUTDOWN_TIMEOUT.longName());
        byte[] secret = new byte[SECRET_BYTES];
        new SecureRandom().nextBytes(secret);
        return new IndexedJob(
                controller,
                name(requested.getOrDefault("--job-name", line.word(""))),
                image,
                pods,
                requested.containsKey("--gpus-per-node")
                        ? count(requested.get("--gpus-per-node"), "--gpus-per-node", MOST_GPUS)
                        : 0,
                Optional.ofNullable(requested.get("--mem")).map(IndexedJobReader::memory),
                requested.containsKey("--time")
                        ? OptionalLong.of(OptionValues.slurmTime(requested.get("--time"), "--time")
                                .toSeconds())
                        : OptionalLong.empty(),
                grace.plus(OWN_END).toSeconds(),
                HexFormat.of().formatHex(secret),
                command(line));
    }

    private static List<String> command(ParsedCommand line) {
        List<String> command = new ArrayList<>(List.of("jrun"));
        for (String option : line.texts(LaunchOption.class)) {
            if (!option.startsWith(LaunchOption.NNODES.longName() + "=")) { // JRUN_NNODES of the pod has the number
                command.add(option);
            }
        }
        if (line.word("").startsWith("-")) {
            command.add("--");
        }
        command.addAll(line.words());
        return command;
    }

    private static Map<String, String> requested(ParsedCommand line) {
        Map<String, String> values = new TreeMap<>();
        for (String option : line.texts(SbatchOption.class)) {
            String name = option.replaceFirst("(?s)=.*", "");
            if (!KNOWN.contains(name)) {
                throw new UsageException(name + " is an option of Slurm, and " + to(line) + " knows only "
                        + String.join(", ", KNOWN.stream().sorted().toList())
                        + ". Leave it out, and edit the manifest.");
            }
            values.put(name, option.substring(name.length() + 1));
        }
        return values;
    }

    private static String to(ParsedCommand line) {
        return CommandOption.TO.longName() + "=" + line.value(CommandOption.TO).orElse("");
    }

    private static int count(String text, String name, int most) {
        return OptionValues.count(text, name, 1, most);
    }

    /** Slurm's sizes are powers of two and without a unit MiB; Kubernetes writes them with an i. */
    private static String memory(String text) {
        String size = text.strip().toUpperCase(Locale.ROOT);
        if (!size.matches("[1-9][0-9]{0,9}[KMGT]?")) {
            throw OptionValues.refused("--mem", text, "a size as in Slurm: 64G");
        }
        return (Character.isDigit(size.charAt(size.length() - 1)) ? size + "M" : size) + "i";
    }

    /** A label of DNS made of the name of the program. */
    private static String name(String program) {
        String label = program.replaceFirst(".*/", "")
                .replaceFirst("[.][a-z]+$", "")
                .toLowerCase(Locale.ROOT)
                .replaceAll("[^a-z0-9]+", "-")
                .replaceAll("^[^a-z]+|-+$", "");
        String fitting = label.substring(0, Math.min(label.length(), 50)).replaceFirst("-+$", "");
        return fitting.isEmpty() ? "jrun" : fitting;
    }
}
