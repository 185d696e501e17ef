package io.jrun.trainer;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.expert.ExpertOptions;
import io.jrun.train.expert.MixtureOfExperts;
import io.jrun.train.expert.RoutingReport;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.model.TrainableModel;
import java.util.Locale;
import java.util.Map;
import java.util.Map.Entry;
import java.util.Optional;

/** The layers of experts of a model, on any mesh. */
final class Experts {
    private Experts() {}

    /** The layers by name, also those of other stages of a pipeline. */
    static Map<String, MixtureOfExperts> layers(TrainableModel module) {
        return module.descendants(MixtureOfExperts.class);
    }

    /**
     * The number of parameters that a token uses, for the floating point operations of a step.
     *
     * @param parameters of the whole model
     */
    static long activeParameters(TrainableModel module, Map<String, ShardedTensor> parameters) {
        Map<String, MixtureOfExperts> layers = layers(module);
        return parameters.entrySet().stream()
                .mapToLong(
                        entry -> activeElements(entry.getKey(), entry.getValue().elements(), layers))
                .sum();
    }

    private static long activeElements(String name, long elements, Map<String, MixtureOfExperts> layers) {
        for (Entry<String, MixtureOfExperts> layer : layers.entrySet()) {
            if (name.startsWith(layer.getKey() + ".experts.")) {
                ExpertOptions options = layer.getValue().options();
                return elements * options.topK() / options.experts();
            }
        }
        return elements;
    }

    /**
     * A line about the choices of all tokens. Ranks that share a layer or a sequence count its choices alike, so shares
     * are those of the data ranks. Collective; empty without experts, and if no step has been made.
     *
     * @param all all ranks
     */
    static Optional<String> summary(TrainableModel module, ProcessGroup all) {
        return layers(module).values().stream()
                .map(MixtureOfExperts::report)
                .reduce(RoutingReport::plus)
                .map(report -> report.overRanks(all))
                .filter(report -> report.choices() > 0)
                .map(report -> String.format(
                        Locale.ROOT,
                        "experts: %.1f %% of the choices were dropped; the fullest expert had %.2f times an equal share",
                        100 * report.droppedShare(),
                        report.imbalance()));
    }
}
