package io.jrun.trainer;

import io.jrun.train.checkpoint.sharded.ShardedState;
import io.jrun.train.data.Batch;
import io.jrun.train.ddp.JoinOptions;
import io.jrun.train.device.StepGraph;
import io.jrun.train.expert.ExpertParallel;
import io.jrun.train.expert.MixtureOfExperts;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.metrics.StepMetrics;
import io.jrun.train.model.InitialValues;
import io.jrun.train.model.ModelDefinition;
import io.jrun.train.model.TrainableModel;
import io.jrun.train.module.ModelBlock;
import io.jrun.train.step.NoSync;
import io.jrun.train.step.Step;
import io.jrun.trainer.TrainingRecipe.ParameterType;
import io.jrun.trainer.arguments.InvalidArgumentException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/** The model and its optimizer, as the ranks share them. Confined to the training thread. */
interface TrainedModel extends AutoCloseable {
    /** The model's own module. */
    TrainableModel module();

    /** The optimizer of this rank's states. */
    TrainingOptimizer optimizer();

    /** The parameters and buffers, for checkpoints. */
    ShardedState state();

    /** The parameters, in the same order on all ranks. */
    default Map<String, ShardedTensor> parameters() {
        return Parameters.of(module());
    }

    /**
     * The whole parameters by name, which the caller frees. Collective.
     *
     * @param keeps whether this rank gets the parameters; the map is empty on the other ranks
     */
    default Map<String, Tensor> wholeParameters(boolean keeps) {
        return WholeParameters.gather(state(), keeps);
    }

    /** The state that only this rank has, besides its parts. Empty for most models. The caller frees the tensors. */
    default Map<String, Tensor> ownState() {
        return Map.of();
    }

    /** Takes a state of {@link #ownState}, and ignores unknown names. Called before the first step. */
    default void loadOwnState(Map<String, Tensor> state) {}

    /** The part of the state that a rank can save when the groups of the job have ended. */
    Holding holding();

    /** The part of the parameters and of the optimizer's states that a rank holds. */
    enum Holding {
        /** Everything. */
        ALL,
        /** Its parts of everything. */
        PARTS
    }

    /** The number of parameters of the whole model. */
    default long parameterCount() {
        return parameters().values().stream().mapToLong(ShardedTensor::elements).sum();
    }

    /** The mean loss of a batch on this rank, without gradients. Collective. */
    default double evaluate(Batch batch) {
        return module().loss(batch.inputs(), batch.targets()).item_double();
    }

    /**
     * The model that generates text: on all ranks, which compute together, or on rank 0 alone. Collective. All ranks
     * with a model generate the same text.
     */
    default Optional<TrainableModel> generator(TrainingArguments options) {
        return Optional.of(module());
    }

    /** A line about the training so far, for its end. Collective. */
    default Optional<String> summary() {
        return Optional.empty();
    }

    /** Opens a step, or an evaluation. */
    Step step();

    /**
     * Runs a training in which the ranks may have unequal numbers of steps. Collective.
     *
     * @param update the end of a step without a batch of this rank
     */
    default void join(JoinOptions how, Runnable update, Runnable training) {
        throw new IllegalStateException("ranks that share a model have equal numbers of steps");
    }

    /** Opens a scope in which gradients add up on each rank. */
    NoSync noSync();

    /** Ends a step after the optimizer. Collective. */
    default void stepDone() {}

    /** Ends the training: all ranks then have equal parameters. Collective. */
    default void trainingDone() {}

    /** Adds to the metrics the communication for which the last step has waited. Called once after each step. */
    void recordCommunication(StepMetrics metrics);

    /** The time for which all steps have waited for communication. */
    Duration exposedCommunication();

    @Override
    void close();

    /**
     * The model that the options ask for. Collective.
     *
     * @param checks get the module before the parallelism adds hooks to it
     * @param graph on whose stream the model is trained; null for the default stream
     */
    static TrainedModel of(TrainingArguments options, DeviceMesh mesh, FiniteSteps checks, @Nullable StepGraph graph) {
        if (options.parallel().sharesLayers()) {
            return new MeshModel(options, mesh, checks);
        }
        return switch (options.parallel().zeroStage()) {
            case 0, 1, 2 -> new DdpModel(options, mesh, checks, graph);
            default -> new FsdpModel(options, mesh, checks::watch);
        };
    }

    /**
     * Builds the module with its first values, in the type of the parameters. A block has its values, its type and this
     * rank's experts when it goes to {@code sharing}; later blocks take no memory yet, unless the values are those of
     * files. Collective.
     */
    static TrainableModel build(TrainingArguments options, DeviceMesh mesh, Consumer<ModelBlock> sharing) {
        ModelDefinition definition = options.definition();
        ParameterType type = options.recipe().parameters();
        Optional<ExpertParallel> experts = ParallelOptions.expertAxis(mesh).map(ExpertParallel::new);
        Consumer<ModelBlock> ofValues = block -> {
            type.convert(block.module());
            options.recipe().recompute().apply(block);
            experts.ifPresent(parallel -> parallel.apply(block));
            sharing.accept(block);
        };
        Optional<TrainableModel> pretrained = definition.load(mesh.world());
        pretrained.ifPresent(model -> model.blocks().forEach(ofValues));
        TrainableModel model = pretrained.orElseGet(() -> {
            InitialValues values = new InitialValues(options.seed(), definition.blockCount());
            Consumer<ModelBlock> fill = values::fill;
            TrainableModel built = definition.build(fill.andThen(ofValues));
            values.fill(built);
            return built;
        });
        type.convert(model);
        Map<String, MixtureOfExperts> layers = Experts.layers(model);
        if (!layers.isEmpty() && !options.model().factory().hasExperts()) {
            throw new InvalidArgumentException("the model has a layer of experts, '"
                    + layers.keySet().iterator().next() + "', but hasExperts() of its ModelFactory returns false, so"
                    + " options that do not work with experts were not refused. Implement hasExperts.");
        }
        return model;
    }
}
