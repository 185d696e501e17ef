package io.jrun.launcher.job;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * What workers are started with besides their program.
 *
 * @param environment the user's variables
 * @param workingDirectory absolute
 * @param masterPort the port to reserve, 0 for any
 * @param staged files and folders below the working directory that are sent to nodes that lack them
 */
public record WorkerSettings(
        Map<String, String> environment,
        Path workingDirectory,
        GpuVisibility gpuVisibility,
        boolean virtualLocalRank,
        String role,
        int masterPort,
        List<Path> staged) {
    public WorkerSettings {
        staged = List.copyOf(staged);
        environment = Map.copyOf(environment);
    }

    /** The GPUs a worker sees. */
    public enum GpuVisibility {
        /** Its own one; workers share when there are more of them. Not asked for by the user. */
        ONE_BY_DEFAULT,
        /** Its own one, and there must be enough. */
        ONE,
        /** All of the node. */
        ALL
    }
}
