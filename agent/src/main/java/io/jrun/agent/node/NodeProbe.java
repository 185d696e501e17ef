package io.jrun.agent.node;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * Finds the resources of this machine. The probe reads a few small files of /proc and /sys, and opens NVML only if the
 * machine may have MIG slices. Else a probe takes about a millisecond. Stateless.
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

    /**
     * Probes this machine with the environment of this process.
     *
     * @throws GpuListException if a variable names the GPUs in a form that cannot be used
     */
    public static NodeResources probeHere() throws GpuListException {
        return new NodeProbe(Path.of("/"), System.getenv()).probe();
    }

    /** The same without a look at the GPUs. */
    public static NodeResources probeHereWithoutGpus() {
        return new NodeProbe(Path.of("/"), System.getenv()).withGpus(List.of());
    }

    /**
     * Returns the resources of the machine now. Blocks at most 20 s, for the names of MIG slices.
     *
     * @throws GpuListException if a variable names the GPUs in a form that cannot be used
     */
    public NodeResources probe() throws GpuListException {
        return withGpus(new GpuProbe(root, environment).visible());
    }

    private NodeResources withGpus(List<String> gpus) {
        return new NodeResources(host(), LOOPBACK, cores(), MemoryLimit.usableBytes(root), gpus);
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
