package io.jrun.agent.worker;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * Everything needed to start one worker.
 *
 * @param rank for names and messages
 * @param command program and arguments
 * @param environment all of its variables
 * @param workingDir where it starts
 * @param neededFiles what must be on this node besides the program itself
 * @param logDir the rank's log folder, created if missing
 * @param mark a limit that all of its processes inherit, by which they are found
 * @param dropIncubatorLine whether the JVM's notice about the Vector API is of our making
 */
public record WorkerPlan(
        int rank,
        List<String> command,
        Map<String, String> environment,
        Path workingDir,
        List<Path> neededFiles,
        Path logDir,
        long mark,
        boolean dropIncubatorLine) {
    /** Copies lists and map. */
    public WorkerPlan {
        command = List.copyOf(command);
        neededFiles = List.copyOf(neededFiles);
        environment = Map.copyOf(environment);
    }
}
