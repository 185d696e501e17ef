package io.jrun.train.precision;

import io.jrun.comm.Codec;
import io.jrun.comm.ProcessGroup;
import io.jrun.train.mesh.ShardedTensor;
import java.util.Map;
import java.util.Optional;

/**
 * Checks before a save, and at the end of a training, that all parameters are finite. The check reads each parameter
 * once. Stateless.
 */
public final class FiniteParameters {
    private FiniteParameters() {}

    /**
     * Checks the parameters of all ranks. Waits for a device. Collective over the group.
     *
     * @param parameters by name; a rank may have other parameters than other ranks
     * @param step number of the last step for the message
     * @throws NonFiniteException on all ranks; the message names the first rank that has such a value, and the parameter
     */
    public static void require(Map<String, ShardedTensor> parameters, ProcessGroup group, long step) {
        String own = firstBad(parameters)
                .map(name ->
                        "rank " + group.worldRank(group.groupRank()) + ", step " + step + ": the parameter '" + name
                                + "' has a value that is not finite. The parameters are not saved. Lower the learning rate, clip"
                                + " gradients, or check the data.")
                .orElse("");
        group.objects().allGather(own, Codec.STRING).stream()
                .filter(message -> !message.isEmpty())
                .findFirst()
                .ifPresent(message -> {
                    throw new NonFiniteException(message);
                });
    }

    /** The name of the first parameter of this rank that has a value which is not finite. Waits for a device. */
    public static Optional<String> firstBad(Map<String, ShardedTensor> parameters) {
        return parameters.entrySet().stream()
                .filter(parameter -> parameter.getValue().isHere()
                        && !NonFiniteGuard.isFinite(parameter.getValue().local()))
                .map(Map.Entry::getKey)
                .findFirst();
    }
}
