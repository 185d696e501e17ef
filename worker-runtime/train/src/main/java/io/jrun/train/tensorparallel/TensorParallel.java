package io.jrun.train.tensorparallel;

import io.jrun.train.layer.CompositeModule;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.ShardedNorm;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.optim.GradientClipping;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Pattern;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/**
 * Makes several ranks share the layers of a model.
 *
 * <pre>{@code
 * Map<String, ShardedTensor> parameters = TensorParallel.parallelize(model, tp, true, Map.of(
 *         "block*.queriesKeysValues", ParallelStyle.jointHeads(heads),
 *         "block*.projection", ParallelStyle.ROW,
 *         "block*.up", ParallelStyle.COLUMN,
 *         "block*.down", ParallelStyle.ROW));
 * }</pre>
 *
 * <p>The model consists of the layers of {@code io.jrun.train.layer} and is equal on all ranks before the call. Each
 * layer keeps its name and its parameters as objects; the elements become this rank's part. Make optimizers and wrap
 * the model afterwards.
 */
public final class TensorParallel {
    private TensorParallel() {}

    /**
     * Replaces layers by parallel ones. The method sends nothing. If a size does not divide, the model is unchanged.
     *
     * @param axis the ranks that share the layers
     * @param isSequenceParallel whether each rank has a part of the sequence between the layers of the styles COLUMN
     *     and ROW. The forward pass then gets whole sequences, of a length that is a multiple of the number of ranks
     * @param plan styles by the dotted names of layers; {@code *} stands for any part of one word
     * @return all parameters of the model by their names, with their placements on the axis
     * @throws IllegalArgumentException if a name fits no layer, if a style does not fit a layer, or if a size does not
     *     divide; the message names the layer, the size and the number of ranks
     */
    public static Map<String, ShardedTensor> parallelize(
            CompositeModule model, MeshAxis axis, boolean isSequenceParallel, Map<String, ParallelStyle> plan) {
        Map<String, Module> modules = model.descendants();
        Map<String, ParallelStyle> styles = new LinkedHashMap<>();
        plan.forEach((pattern, style) -> names(pattern, modules.keySet()).forEach(name -> {
            ParallelStyle other = styles.put(name, style);
            if (other != null && !other.equals(style)) {
                throw new IllegalArgumentException("layer '" + name + "' has two styles in the plan");
            }
        }));
        LayerStyler styler = new LayerStyler(axis, isSequenceParallel);
        styles.forEach((name, style) -> styler.check(name, Objects.requireNonNull(modules.get(name)), style));
        styler.checkTogether();
        styles.forEach((name, style) -> styler.apply(name, Objects.requireNonNull(modules.get(name)), style));
        Map<String, ShardedTensor> parameters = new LinkedHashMap<>();
        ModuleTensors.parameters(model)
                .forEach((name, tensor) ->
                        parameters.put(name, styler.sharded().getOrDefault(name, replicated(name, tensor))));
        return parameters;
    }

    /**
     * Multiplies all gradients by {@code maximum / (norm + 1e-6)} if this is less than 1. The norm includes the parts
     * of all ranks. A tensor that all ranks hold counts once. Parameters without a gradient do not count. Collective on
     * the axis.
     *
     * @param maximum the largest norm, more than 0
     * @return the global norm before, the same on all ranks
     */
    public static double clipByGlobalNorm(Collection<ShardedTensor> parameters, MeshAxis axis, double maximum) {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            List<ShardedTensor> gradients = parameters.stream()
                    .filter(parameter -> parameter.local().mutable_grad().defined())
                    .map(parameter -> new ShardedTensor(
                            parameter.name(),
                            parameter.globalShape(),
                            parameter.placements(),
                            parameter.local().mutable_grad()))
                    .toList();
            double norm = ShardedNorm.of(gradients, axis);
            GradientClipping.scaleToNorm(
                    gradients.stream().map(ShardedTensor::local).toList(), norm, maximum);
            return norm;
        }
    }

    private static ShardedTensor replicated(String name, Tensor tensor) {
        return new ShardedTensor(
                name, Arrays.stream(TensorMemory.sizes(tensor)).boxed().toList(), Map.of(), tensor);
    }

    private static Set<String> names(String pattern, Set<String> modules) {
        Pattern expression = Pattern.compile(Pattern.quote(pattern).replace("*", "\\E[^.]*\\Q"));
        Set<String> found = new LinkedHashSet<>(modules);
        found.removeIf(name -> !expression.matcher(name).matches());
        if (found.isEmpty()) {
            throw new IllegalArgumentException("the plan names '" + pattern
                    + "', but the model has no such layer. Its layers are " + String.join(", ", modules));
        }
        return found;
    }
}
