package io.jrun.train.optim;

import java.util.List;
import java.util.Map;
import java.util.function.BiPredicate;
import org.bytedeco.pytorch.Tensor;

/**
 * Parameters that share options.
 *
 * @param members decides by name and tensor; a parameter belongs to the first group that accepts the parameter
 * @param rateFactor factor of the schedule's learning rate
 * @param weightDecay weight decay; AdamW applies the decay to the parameters, SGD adds the decay to the gradient
 */
public record ParameterGroup(BiPredicate<String, Tensor> members, double rateFactor, double weightDecay) {
    public ParameterGroup {
        if (!(rateFactor >= 0)) {
            throw new IllegalArgumentException("rateFactor must be 0 or more, not " + rateFactor);
        }
        if (!(weightDecay >= 0)) {
            throw new IllegalArgumentException("weightDecay must be 0 or more, not " + weightDecay);
        }
    }

    /** One group of all parameters. */
    public static List<ParameterGroup> all(double weightDecay) {
        return List.of(new ParameterGroup((_, _) -> true, 1, weightDecay));
    }

    /** Two groups: tensors of two dimensions or more have weight decay, biases and norms have none. */
    public static List<ParameterGroup> decayMatrices(double weightDecay) {
        return List.of(
                new ParameterGroup((_, tensor) -> tensor.dim() >= 2, 1, weightDecay),
                new ParameterGroup((_, _) -> true, 1, 0));
    }

    /** The number of the group of a parameter. */
    static int of(List<ParameterGroup> groups, Map.Entry<String, Tensor> parameter) {
        for (int i = 0; i < groups.size(); i++) {
            if (groups.get(i).members().test(parameter.getKey(), parameter.getValue())) {
                return i;
            }
        }
        throw new IllegalArgumentException("parameter '" + parameter.getKey()
                + "' is in no parameter group. Add a last group that takes all parameters.");
    }
}
