package io.jrun.train.tensorparallel;

import io.jrun.train.layer.CompositeModule;
import io.jrun.train.layer.DropoutLayer;
import io.jrun.train.layer.TokenEmbedding;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.module.AppliedLayers;
import io.jrun.train.module.BlockModel;
import io.jrun.train.module.ModelBlock;
import io.jrun.train.tensor.ModuleTensors;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.bytedeco.pytorch.EmbeddingImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Makes several ranks share the layers of a model.
 *
 * <pre>{@code
 * TensorParallel.apply(model, mesh.axis("tp"), true, Map.of(
 *         "embedding", ParallelStyle.VOCABULARY,
 *         "*norm", ParallelStyle.SEQUENCE,
 *         "*.*norm", ParallelStyle.SEQUENCE,
 *         "block*.queriesKeysValues", ParallelStyle.jointHeads(heads),
 *         "block*.projection", ParallelStyle.ROW,
 *         "block*.up", ParallelStyle.COLUMN,
 *         "block*.down", ParallelStyle.ROW));
 * Map<String, ShardedTensor> parameters = Parameters.of(model);       // with their placements on the axis
 * }</pre>
 *
 * <p>The model consists of the layers of {@code io.jrun.train.layer} and is equal on all ranks before the call. Each
 * layer keeps its name and its parameters as objects; the elements become this rank's part. Make optimizers and wrap
 * the model afterwards.
 *
 * <p>An object shares each block of a model as soon as the block is built:
 *
 * <pre>{@code
 * var parallel = new TensorParallel(tp, true, plan);
 * model.build(parallel::apply);
 * parallel.apply(model);               // the layers outside of all blocks
 * }</pre>
 */
public final class TensorParallel {
    private final Map<String, ParallelStyle> plan;
    private final boolean isSequenceParallel;
    private final LayerStyler styler;
    private final AppliedLayers shared = new AppliedLayers("TensorParallel");

    /**
     * Ranks that share the layers of one model.
     *
     * @param axis the ranks that share the layers
     * @param isSequenceParallel whether each rank has a part of the sequence between the layers of the styles COLUMN
     *     and ROW. The forward pass then gets whole sequences, of a length that is a multiple of the number of ranks
     * @param plan styles by the dotted names of layers; {@code *} stands for any part of one word
     */
    public TensorParallel(MeshAxis axis, boolean isSequenceParallel, Map<String, ParallelStyle> plan) {
        this.plan = new TreeMap<>(plan);
        this.isSequenceParallel = isSequenceParallel;
        this.styler = new LayerStyler(axis, isSequenceParallel);
    }

    /** Shares the layers of a built model, without sequence parallelism. */
    public static void apply(CompositeModule model, MeshAxis axis, Map<String, ParallelStyle> plan) {
        apply(model, axis, false, plan);
    }

    /**
     * Shares the layers of a built model, as {@link #TensorParallel} and {@link #apply(CompositeModule)} do. If a size
     * does not divide, the model is unchanged.
     */
    public static void apply(
            CompositeModule model, MeshAxis axis, boolean isSequenceParallel, Map<String, ParallelStyle> plan) {
        new TensorParallel(axis, isSequenceParallel, plan).apply(model);
    }

    /**
     * Shares the layers of a block. Sends nothing. {@link #apply(CompositeModule)} must follow after the last block: it
     * shares the other layers, and checks the plan.
     *
     * @throws IllegalArgumentException if a style does not fit a layer, or if a size does not divide; the message names
     *     the layer, the size and the number of ranks
     */
    public void apply(ModelBlock block) {
        Map<String, Module> layers = new LinkedHashMap<>(Map.of(block.name(), block.module()));
        if (block.module() instanceof CompositeModule composite) {
            composite.descendants().forEach((inner, module) -> layers.put(block.name() + "." + inner, module));
        }
        share(layers, styles(layers.keySet()), () -> {});
    }

    /**
     * Shares the layers that this object has not shared yet. Sends nothing.
     *
     * @throws IllegalArgumentException if a name of the plan fits no layer, if a style does not fit a layer, if a layer
     *     is shared already, if the model has a loss of its own and the plan gives that loss a part of the logits, if
     *     sequence parallelism needs more styles, or if a size does not divide; the message names the layer, the size
     *     and the number of ranks
     * @throws IllegalStateException if the model is not built
     */
    public void apply(CompositeModule model) {
        BlockModel.requireBuilt(model);
        Map<String, Module> layers = model.descendants();
        Map<String, ParallelStyle> styles = styles(layers.keySet());
        plan.keySet().forEach(pattern -> requireLayer(pattern, layers.keySet()));
        share(layers, styles, () -> {
            styler.checkTogether(layers, styles.keySet(), ownLossOf(model));
            if (isSequenceParallel && styles.values().stream().anyMatch(ParallelStyle.Column.class::isInstance)) {
                requireSequenceStyles(ModuleTensors.parameters(model), layers, styles.keySet());
            }
        });
        styler.modelDone();
    }

    private static @Nullable String ownLossOf(CompositeModule model) {
        return model instanceof BlockModel blocks && blocks.hasOwnLoss()
                ? model.getClass().getName()
                : null;
    }

    /** The layers of the plan with their styles, in the order of the model: all ranks report the same layer. */
    private Map<String, ParallelStyle> styles(Set<String> layers) {
        Map<String, ParallelStyle> found = new HashMap<>();
        plan.forEach((pattern, style) -> names(pattern, layers).forEach(name -> {
            ParallelStyle other = found.put(name, style);
            if (other != null && !other.equals(style)) {
                throw new IllegalArgumentException("layer '" + name + "' has two styles in the plan");
            }
        }));
        Map<String, ParallelStyle> styles = new LinkedHashMap<>();
        for (String name : layers) {
            ParallelStyle style = found.get(name);
            if (style != null) {
                styles.put(name, style);
            }
        }
        return styles;
    }

    /** Checks all layers before the first is changed. */
    private void share(Map<String, Module> layers, Map<String, ParallelStyle> styles, Runnable lastCheck) {
        Map<String, ParallelStyle> remaining = new LinkedHashMap<>(styles);
        remaining.keySet().removeIf(name -> shared.contains(name, layer(layers, name)));
        requireOneStyle(layers, styles);
        Map<String, Module> others = new LinkedHashMap<>(layers);
        others.keySet().retainAll(remaining.keySet());
        shared.requireDistinct(others);
        remaining.forEach((name, style) -> styler.check(name, layer(layers, name), style));
        lastCheck.run();
        remaining.forEach((name, style) -> {
            styler.apply(name, layer(layers, name), style);
            shared.add(name, layer(layers, name));
        });
    }

    /** A dropout layer has one generator and one rule for its masks, under all its names. */
    private static void requireOneStyle(Map<String, Module> layers, Map<String, ParallelStyle> styles) {
        Map<Module, String> names = new HashMap<>();
        layers.forEach((name, layer) -> {
            String first = layer instanceof DropoutLayer ? names.putIfAbsent(layer, name) : null;
            if (first != null && !Objects.equals(styles.get(first), styles.get(name))) {
                throw new IllegalArgumentException("layer '" + name + "' is the same dropout layer as layer '" + first
                        + "', but the plan does not give both names the same style. Make a DropoutLayer of its own"
                        + " for each.");
            }
        });
    }

    private static Module layer(Map<String, Module> layers, String name) {
        return Objects.requireNonNull(layers.get(name));
    }

    /**
     * Between the layers of the styles COLUMN and ROW a rank has a part of the sequence. An embedding divides the
     * sequence, and the gradients of parameters that all ranks hold are then sums over the ranks. The frozen
     * parameter of another layer has no gradient.
     */
    private static void requireSequenceStyles(
            Map<String, Tensor> parameters, Map<String, Module> layers, Set<String> styled) {
        for (Map.Entry<String, Tensor> each : parameters.entrySet()) {
            String parameter = each.getKey();
            String layer = parameter.substring(0, Math.max(0, parameter.lastIndexOf('.')));
            boolean isEmbedding =
                    layers.get(layer) instanceof TokenEmbedding || layers.get(layer) instanceof EmbeddingImpl;
            boolean needsStyle = isEmbedding || each.getValue().requires_grad();
            if (needsStyle && styled.stream().noneMatch(name -> (layer + ".").startsWith(name + "."))) {
                throw new IllegalArgumentException("parameter '" + parameter + "' is in no layer with a style, but with"
                        + " sequence parallelism each rank computes on a part of the sequence. Give an embedding the"
                        + " style VOCABULARY or SEQUENCE, a norm SEQUENCE, and a linear layer COLUMN, ROW, VOCABULARY"
                        + " or GATHERED_COLUMN;"
                        + " '*' in a plan stands for a part of one word, so name '*norm' and '*.*norm'.");
            }
        }
    }

    private static Set<String> names(String pattern, Set<String> layers) {
        Pattern expression = Pattern.compile(Pattern.quote(pattern).replace("*", "\\E[^.]*\\Q"));
        Set<String> found = new LinkedHashSet<>(layers);
        found.removeIf(name -> !expression.matcher(name).matches());
        return found;
    }

    private void requireLayer(String pattern, Set<String> layers) {
        if (names(pattern, layers).isEmpty()) {
            throw new IllegalArgumentException("the plan names '" + pattern
                    + "', but the model has no such layer. Its layers are " + String.join(", ", layers)
                    + TransformerPlan.advice(plan.keySet()));
        }
    }
}
