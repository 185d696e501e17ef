package io.jrun.train.weights;

import io.jrun.comm.Codec;
import io.jrun.train.checkpoint.CheckpointException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The order in which the tensors of a module are read, or the reason why the tensors cannot be read. The reading rank
 * makes the plan and sends the plan to the other ranks.
 *
 * @param failure the reason in one line; empty if all tensors can be read
 * @param untied the names that the module must untie before the transfer
 * @param names tensors of the module in the order of the files
 */
record WeightPlan(Optional<String> failure, List<String> untied, List<String> names) {
    /** Encodes the plan as text with zero characters between the names: names of modules have no zero characters. */
    static final Codec<WeightPlan> CODEC = new Codec<>() {
        private static final String SEPARATOR = "\0";

        @Override
        public byte[] encode(WeightPlan plan) {
            List<String> words = new ArrayList<>(List.of(plan.failure.orElse(""), String.valueOf(plan.untied.size())));
            words.addAll(plan.untied);
            words.addAll(plan.names);
            return String.join(SEPARATOR, words).getBytes(StandardCharsets.UTF_8);
        }

        @Override
        public WeightPlan decode(byte[] bytes) {
            List<String> words = List.of(new String(bytes, StandardCharsets.UTF_8).split(SEPARATOR, -1));
            String failure = words.getFirst();
            int names = 2 + Integer.parseInt(words.get(1));
            return new WeightPlan(
                    failure.isEmpty() ? Optional.empty() : Optional.of(failure),
                    words.subList(2, names),
                    words.subList(names, words.size()));
        }
    };

    static WeightPlan failed(CheckpointException failure) {
        return new WeightPlan(Optional.of(String.valueOf(failure.getMessage())), List.of(), List.of());
    }

    void requirePossible() {
        failure.ifPresent(message -> {
            throw new CheckpointException(message);
        });
    }
}
