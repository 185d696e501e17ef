package io.jrun.launcher.report;

import io.jrun.agent.container.ContainerMount;
import io.jrun.agent.container.ContainerName;
import io.jrun.agent.container.ContainerSpec;
import io.jrun.agent.container.EngineChoice;
import io.jrun.agent.container.JavaChoice;
import io.jrun.agent.container.UnsharedNamespace;
import io.jrun.agent.node.NetworkVariables;
import io.jrun.launcher.files.JobFiles;
import io.jrun.launcher.job.NodePolicy;
import io.jrun.launcher.layout.Placement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Prints the rank map as a table. Stateless. */
public final class DryRun {
    private DryRun() {}

    /**
     * Returns a line of headings and one line for each rank.
     *
     * @param commands the commands, by rank
     */
    public static List<String> table(List<Placement> placements, List<List<String>> commands) {
        int hostWidth = width("NODE", placements.stream().map(Placement::host).toList());
        int deviceWidth =
                width("DEVICE", placements.stream().map(DryRun::device).toList());
        String format = "%4s  %-" + hostWidth + "s  %10s  %-" + deviceWidth + "s  %s";
        List<String> lines = new ArrayList<>();
        lines.add(format.formatted("RANK", "NODE", "LOCAL RANK", "DEVICE", "COMMAND"));
        for (Placement place : placements) {
            lines.add(format.formatted(
                    place.rank(), place.host(), place.localRank(), device(place), quoted(commands.get(place.rank()))));
        }
        return lines;
    }

    /**
     * Returns how many nodes the job may have, if the number may change.
     *
     * @param standingBy hosts without ranks at the start
     */
    public static List<String> nodes(NodePolicy policy, List<String> standingBy) {
        List<String> lines = new ArrayList<>();
        if (policy.min() < policy.max()) {
            lines.add("continues with " + policy.min() + " to " + policy.max()
                    + " nodes: if a node is missing, the ranks behind the gap move up");
        }
        if (!standingBy.isEmpty()) {
            lines.add("standby hosts, for lost nodes: " + String.join(", ", standingBy));
        }
        return lines;
    }

    /** Returns one line about the variables of NCCL, libfabric and UCX that all workers get. */
    public static List<String> network(Map<String, String> environment) {
        List<String> variables = NetworkVariables.texts(environment);
        return variables.isEmpty() ? List.of() : List.of("all workers get " + quoted(variables));
    }

    /** Returns one line about hosts whose numbers of workers depend on their GPUs. */
    public static List<String> uncounted(List<String> hosts) {
        return hosts.isEmpty()
                ? List.of()
                : List.of("one worker is shown on "
                        + (hosts.size() == 1 ? hosts.getFirst() : "each of " + hosts.size() + " hosts")
                        + ": a host with GPUs gets one worker for each GPU; --nproc-per-node=N sets the number");
    }

    /** Returns one line about the containers of the workers. */
    public static List<String> container(Optional<ContainerSpec> container) {
        return container.stream()
                .map(spec -> "each worker runs in a container: " + quoted(words(spec)))
                .toList();
    }

    /** Returns the options of a container that differ from the defaults, as a user types them. */
    static List<String> words(ContainerSpec spec) {
        List<String> words = new ArrayList<>();
        spec.image().ifPresent(image -> words.add("--container-image=" + image.text()));
        if (!spec.mounts().isEmpty()) {
            words.add("--container-mounts="
                    + String.join(
                            ",",
                            spec.mounts().stream().map(ContainerMount::text).toList()));
        }
        text(words, "--container-workdir", spec.workdir());
        text(words, "--container-name", spec.name().map(ContainerName::text).orElse(""));
        text(words, "--container-save", spec.save());
        isOn(words, "--container-mount-home", spec.mountHome());
        isOn(words, "--container-remap-root", spec.remapRoot());
        isOn(words, "--container-readonly", !spec.writable());
        isOn(words, "--container-entrypoint", spec.entrypoint());
        isOn(words, "--container-entrypoint-log", spec.entrypointLog());
        text(words, "--container-env", String.join(",", spec.environment()));
        text(
                words,
                "--container-unshare",
                String.join(
                        ",",
                        spec.unshare().stream().map(UnsharedNamespace::word).toList()));
        text(
                words,
                "--container-runtime",
                spec.engine() == EngineChoice.AUTO ? "" : spec.engine().word());
        text(
                words,
                "--container-java",
                spec.java() == JavaChoice.AUTO ? "" : spec.java().word());
        return words;
    }

    private static void text(List<String> words, String name, String value) {
        if (!value.isEmpty()) {
            words.add(name + "=" + value);
        }
    }

    private static void isOn(List<String> words, String name, boolean value) {
        if (value) {
            words.add(name);
        }
    }

    /** Returns one line for each file or folder that jrun sends to nodes that lack it. */
    public static List<String> files(JobFiles files) {
        List<String> lines = new ArrayList<>();
        for (JobFiles.Tree tree : files.trees()) {
            int count = tree.entries().size();
            lines.add("sent to hosts that lack it: " + tree.path() + " (" + (count == 1 ? "" : count + " files, ")
                    + tree.bytes() + " bytes)");
        }
        return lines;
    }

    private static String device(Placement place) {
        return place.gpu().isEmpty() ? "-" : "gpu " + place.gpu();
    }

    private static int width(String heading, List<String> texts) {
        return texts.stream().mapToInt(String::length).reduce(heading.length(), Math::max);
    }

    /** Returns a command as a user types it in a shell. */
    public static String quoted(List<String> command) {
        return String.join(" ", command.stream().map(DryRun::quoted).toList());
    }

    private static String quoted(String word) {
        return word.matches("[A-Za-z0-9_@%+=:,./-]+") ? word : "'" + word.replace("'", "'\\''") + "'";
    }
}
