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
 * @param masterAddress the MASTER_ADDR of the workers, empty for the address of node 0
 * @param masterPort the port to reserve, 0 for any
 * @param stdin the workers that read jrun's standard input
 * @param staged files and folders below the working directory, which jrun sends to nodes that lack them
 * @param container in which each worker runs; empty for none
 */
public record WorkerSettings(
        Map<String, String> environment,
        Path workingDirectory,
        GpuVisibility gpuVisibility,
        boolean virtualLocalRank,
        String role,
        String masterAddress,
        int masterPort,
        StdinChoice stdin,
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
