package io.jrun.launcher.job;

import io.jrun.agent.container.ContainerSpec;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The settings with which workers start, besides their program.
 *
 * @param environment the user's environment variables
 * @param workingDirectory absolute path
 * @param masterPort the port to reserve, 0 for any
 * @param staged files and folders below the working directory, which jrun sends to nodes that lack them
 * @param container in which each worker runs; empty for none
 */
public record WorkerSettings(
        Map<String, String> environment,
        Path workingDirectory,
        GpuVisibility gpuVisibility,
        boolean virtualLocalRank,
        String role,
        int masterPort,
        List<Path> staged,
        Optional<ContainerSpec> container) {
    public WorkerSettings {
        staged = List.copyOf(staged);
        environment = Map.copyOf(environment);
    }

    /** The GPUs that a worker sees. */
    public enum GpuVisibility {
        /** One GPU for each worker, by default. Workers share GPUs if there are more workers than GPUs. */
        ONE_BY_DEFAULT,
        /** One GPU for each worker, by the user's choice. Too few GPUs are an error. */
        ONE,
        /** All GPUs of the node. */
        ALL
    }
}
