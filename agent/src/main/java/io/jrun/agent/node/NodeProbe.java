package io.jrun.agent.node;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/**
 * Finds out what this machine offers. Reads a few small files of /proc and /sys and asks nvidia-smi only where an
 * NVIDIA device file exists, so that a probe costs about a millisecond on a machine without GPUs. Stateless.
 */
public final class NodeProbe {
    /** For a job of this machine alone, where nothing leaves the loopback interface; see {@link NodeResources#address}. */
    private static final String LOOPBACK = "127.0.0.1";

    private final Path root;
    private final Map<String, String> environment;

    /**
     * A probe with its sources given.
     *
     * @param root where /proc, /sys and /dev are found
     * @param environment source of CUDA_VISIBLE_DEVICES and NVIDIA_VISIBLE_DEVICES
     */
    public NodeProbe(Path root, Map<String, String> environment) {
        this.root = root;
        this.environment = Map.copyOf(environment);
    }

    /** Probes this machine with this process's environment. */
    public static NodeResources probeHere() {
        return new NodeProbe(Path.of("/"), System.getenv()).probe();
    }

    /** What the machine offers now. Blocks at most 10 s, for nvidia-smi. */
    public NodeResources probe() {
        return new NodeResources(
                host(), LOOPBACK, cores(), MemoryLimit.usableBytes(root), new GpuProbe(root, environment).visible());
    }

    private int cores() {
        int found = Runtime.getRuntime().availableProcessors();
        return Math.min(found, SlurmStep.cpus(environment).orElse(found));
    }

    /** This machine's name, without a look at anything else. */
    public static String hostHere() {
        return new NodeProbe(Path.of("/"), System.getenv()).host();
    }

    private String host() {
        try {
            String name =
                    Files.readString(root.resolve("proc/sys/kernel/hostname")).strip();
            return name.isEmpty() ? "localhost" : name;
        } catch (IOException e) {
            return environment.getOrDefault("HOSTNAME", "localhost");
        }
    }
}
