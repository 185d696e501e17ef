package io.jrun.train.offload;

import io.jrun.train.ShardedTraining;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Trains with states in files until step {@code args[2]}, on {@code args[1]} ranks, and prints the bits of the
 * parameters.
 */
final class OffloadMain {
    private OffloadMain() {}

    public static void main(String[] args) {
        List<Map<String, float[]>> ranks = ShardedTraining.run(
                Integer.parseInt(args[1]),
                world -> ShardedTraining.offloaded(world, Path.of(args[0]), Integer.parseInt(args[2])));
        System.out.println(bits(ranks.getFirst()));
        Runtime.getRuntime().halt(0);
    }

    /** A line for each parameter. */
    static String bits(Map<String, float[]> parameters) {
        return parameters.entrySet().stream()
                .map(each -> "bits " + each.getKey() + " " + Arrays.hashCode(each.getValue()))
                .collect(Collectors.joining("\n"));
    }
}
