package io.jrun.agent.node;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/**
 * Finds the resources of this machine. The probe reads a few small files of /proc and /sys, and runs nvidia-smi only if
 * an NVIDIA device file exists. A probe takes about a millisecond on a machine without GPUs. Stateless.
 */
public final class NodeProbe {
    /**
     * The address in a job of only this machine, which uses only the loopback interface; see {@link
     * NodeResources#address}.
     */
    private static final String LOOPBACK = "127.0.0.1";

    private final Path root;
    private final Map<String, String> environment;

    /**
     * A probe with the given sources.
     *
     * @param root the folder with /proc, /sys and /dev
     * @param environment source of CUDA_VISIBLE_DEVICES and NVIDIA_VISIBLE_DEVICES
     */
    public NodeProbe(Path root, Map<String, String> environment) {
        this.root = root;
        this.environment = Map.copyOf(environment);
    }

    /** Probes this machine with the environment of this process. */
    public static NodeResources probeHere() {
        return new NodeProbe(Path.of("/"), System.getenv()).probe();
    }

    /** Returns the resources of the machine now. Blocks at most 10 s, for nvidia-smi. */
    public NodeResources probe() {
        return new NodeResources(
                host(), LOOPBACK, cores(), MemoryLimit.usableBytes(root), new GpuProbe(root, environment).visible());
    }

    private int cores() {
        int found = Runtime.getRuntime().availableProcessors();
        return Math.min(found, SlurmStep.cpus(environment).orElse(found));
    }

    /** The name of this machine, without a probe. */
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
