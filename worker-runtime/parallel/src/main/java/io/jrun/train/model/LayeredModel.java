package io.jrun.train.model;

import io.jrun.comm.Device;
import io.jrun.train.layer.TokenLoss;
import io.jrun.train.module.ModelBlock;
import io.jrun.train.module.PipelineLayer;
import io.jrun.train.tensor.DeviceGenerators;
import io.jrun.train.tensorparallel.ParallelStyle;
import io.jrun.train.tensorparallel.TransformerPlan;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/**
 * A model of one's own: a first layer, equal blocks and a last layer, each from one tensor to one tensor. The
 * constructor of a subclass names the layers, and {@link #build} builds them one at a time, so that ranks can share
 * each block before the next block takes memory.
 *
 * <pre>{@code
 * final class OwnModel extends LayeredModel {
 *     OwnModel(ModelSetup setup) {
 *         super(setup);
 *         first("embedding", () -> new TokenEmbedding(setup.vocabulary(), 128, setup.device()), TokenEmbedding::forward);
 *         for (int i = 0; i < 4; i++) {
 *             block(() -> new Block(setup), Block::forward);
 *         }
 *         last("head", () -> new LinearLayer(128, setup.vocabulary(), false, LINEAR, setup.device()), LinearLayer::forward);
 *     }
 * }
 * }</pre>
 *
 * <p>The parameters of layer {@code NAME} are named {@code NAME.}, then the name in the layer. The blocks are named
 * {@code block0}, {@code block1} and so on; {@code loss} is taken. Parts may be jrun's layers or libtorch's. jrun's layers can also be shared
 * along the axes of tensor and context parallelism.
 */
public abstract class LayeredModel extends TrainableModel implements ModelDefinition {
    private static final String BLOCK = "block";
    private static final String LOSS = "loss";
    private static final Object GENERATOR = new Object();

    private final Device device;
    private final long seed;

    private final List<NamedLayer<?>> blocks = new ArrayList<>();
    private final List<PipelineLayer> layers = new ArrayList<>();
    private final TokenLoss tokenLoss = add(LOSS, new TokenLoss());
    private NamedLayer<?> first = new NamedLayer<>("", () -> this, (_, x) -> x);
    private NamedLayer<?> last = first;
    private Map<String, ParallelStyle> plan = Map.of();
    private boolean isTransformer;

    private record NamedLayer<M extends Module>(String name, Supplier<M> part, BiFunction<M, Tensor, Tensor> forward) {
        /** Builds the part and adds it to the model. */
        ModelBlock build(LayeredModel model, int number) {
            M built = model.add(name, part(model.device, model.seed));
            return new ModelBlock(name, number, built, x -> forward.apply(built, x));
        }

        /** Layers of libtorch take their values from the one generator of the process. */
        private M part(Device device, long seed) {
            synchronized (GENERATOR) {
                long ofLayer = new SplittableRandom((seed << Integer.SIZE) + name.hashCode()).nextLong();
                return DeviceGenerators.seeded(device, ofLayer, part);
            }
        }
    }

    /**
     * A model for a setup. Equal setups give equal first values of libtorch's layers, on each rank. The random numbers
     * of the program do not change. jrun's layers get their values from {@link InitialValues}.
     */
    protected LayeredModel(ModelSetup setup) {
        device = setup.device();
        seed = setup.seed();
    }

    /** Names the layer that gets the input of the model. */
    protected final <M extends Module> void first(
            String name, Supplier<M> part, BiFunction<M, Tensor, Tensor> forward) {
        first = new NamedLayer<>(checked(name, first), part, forward);
    }

    private String checked(String name, NamedLayer<?> before) {
        if (!before.name().isEmpty()) {
            throw new IllegalStateException(className() + " has the layer '" + before.name() + "' in the place of '"
                    + name + "' already: a model has one first and one last layer");
        }
        if (!name.matches("\\w+") || name.equals(LOSS) || name.startsWith(BLOCK) || name.equals(first.name())) {
            throw new IllegalArgumentException("a layer of " + className() + " cannot have the name '" + name
                    + "': a name has letters, digits and underscores, differs from the other layers, is not " + LOSS
                    + ", and does not begin with " + BLOCK);
        }
        return name;
    }

    /** Adds a block. */
    protected final <M extends Module> void block(Supplier<M> part, BiFunction<M, Tensor, Tensor> forward) {
        blocks.add(new NamedLayer<>(BLOCK + blocks.size(), part, forward));
    }

    /** Names the layer that gives the output of the model. */
    protected final <M extends Module> void last(String name, Supplier<M> part, BiFunction<M, Tensor, Tensor> forward) {
        last = new NamedLayer<>(checked(name, last), part, forward);
    }

    @Override
    public final int blockCount() {
        return blocks.size();
    }

    @Override
    protected final ModelBlock buildBlock(int number) {
        return blocks.get(number).build(this, number);
    }

    @Override
    public final LayeredModel build() {
        return build(_ -> {});
    }

    /** @throws IllegalStateException if the model is built, or if the first layer, a block or the last layer is missing */
    @Override
    public final LayeredModel build(Consumer<ModelBlock> built) {
        if (first.name().isEmpty() || blocks.isEmpty() || last.name().isEmpty()) {
            throw new IllegalStateException(className()
                    + " needs a first layer, at least one block and a last layer: call first, block and last");
        }
        requireNotBuilt();
        layers.add(first.build(this, 0).layer());
        super.build(built);
        blocks().forEach(block -> layers.add(block.layer()));
        layers.add(last.build(this, 0).layer());
        return this;
    }

    @Override
    public final Tensor forward(Tensor inputs) {
        Tensor x = inputs;
        for (PipelineLayer layer : pipelineLayers()) {
            x = layer.forward().apply(x);
        }
        return x;
    }

    /**
     * The cross entropy of outputs [..., V] for targets [...] of type Long. A subclass may have another loss. The outputs
     * are then whole on each rank, see {@link ParallelStyle#GATHERED_COLUMN}.
     */
    @Override
    public Tensor outputLoss(Tensor outputs, Tensor targets) {
        return tokenLoss.mean(outputs, targets);
    }

    /** Whether a subclass overrides {@link #outputLoss}. */
    @Override
    public final boolean hasOwnLoss() {
        try {
            return getClass()
                            .getMethod("outputLoss", Tensor.class, Tensor.class)
                            .getDeclaringClass()
                    != LayeredModel.class;
        } catch (NoSuchMethodException e) {
            throw new IllegalStateException("the class LayeredModel has no method outputLoss", e);
        }
    }

    @Override
    public final List<PipelineLayer> pipelineLayers() {
        requireBuilt();
        return Collections.unmodifiableList(layers);
    }

    /**
     * Says that the parts have the names and the types of {@link TransformerPlan}: ranks can then share the layers, and
     * also the sequences. Each rank gets the logits of all tokens if the model overrides {@link #outputLoss}.
     *
     * @param heads of each attention
     */
    protected final void transformer(long heads) {
        plan = hasOwnLoss() ? TransformerPlan.withWholeLogits(heads) : TransformerPlan.of(heads);
        isTransformer = true;
    }

    /** The plan of {@link #transformer}, or none: a subclass names the styles of its layers. */
    @Override
    public Map<String, ParallelStyle> tensorParallelPlan() {
        return plan;
    }

    /** Whether the model is a {@link #transformer}; a subclass may know better. */
    @Override
    public boolean sharesSequences() {
        return isTransformer;
    }

    /** The name of the class and the number of blocks. */
    @Override
    public String summary() {
        return className() + ", " + blocks.size() + " blocks";
    }
}
