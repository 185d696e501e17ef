package io.jrun.trainer;

import io.jrun.comm.ProcessGroup;
import io.jrun.comm.World;
import io.jrun.train.context.ContextParallel;
import io.jrun.train.fsdp.FsdpOptions;
import io.jrun.train.fsdp.FullyShardedDataParallel;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.MeshShape;
import io.jrun.train.pipeline.schedule.ScheduleException;
import io.jrun.train.pipeline.schedule.ScheduleKind;
import io.jrun.train.reducer.GradientPlacement;
import io.jrun.trainer.arguments.CommandLineArguments;
import io.jrun.trainer.arguments.InvalidArgumentException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The division of the model and the data among the ranks: the sizes of the axes of the mesh, and the states that the
 * ranks of an axis share.
 *
 * @param tensor ranks that share each layer
 * @param pipeline ranks that share the layers
 * @param context ranks that share each sequence
 * @param shards ranks that share the states of one copy of the model, besides the ranks that share a sequence
 * @param copies copies of the model; 0 for as many as the ranks make
 * @param experts ranks that share the experts: a part of the copies, or with stages 1 and 2 a part of the ranks that
 *     share the states
 * @param zeroStage the states that are shared: 1 those of the optimizer, 2 also the gradients, 3 also the parameters;
 *     0 for none
 * @param reshardAfterForward for stage 3, see {@link FsdpOptions}
 * @param offload folder of the states of all ranks; for stage 3
 * @param globalBatch sequences of one step on all ranks together; 0 if {@code --accumulate} decides
 * @param schedule of the pipeline
 * @param virtualStages stages that each pipeline rank holds
 * @param isSequenceParallel whether tensor parallel ranks share the sequence between the layers
 * @param contextExchange how attention reaches the keys of other ranks
 */
public record ParallelOptions(
        int tensor,
        int pipeline,
        int context,
        int shards,
        int copies,
        int experts,
        int zeroStage,
        int reshardAfterForward,
        Optional<Path> offload,
        int globalBatch,
        ScheduleKind schedule,
        int virtualStages,
        boolean isSequenceParallel,
        ContextParallel.Exchange contextExchange) {
    /** Refuses numbers of ranks out of their ranges, with one line. */
    public ParallelOptions {
        ParallelChecks.refuse(
                Stream.of(tensor, pipeline, context, shards, experts).anyMatch(ranks -> ranks < 1),
                "a number of ranks is below 1: tensor " + tensor + ", pipeline " + pipeline + ", context " + context
                        + ", shards " + shards + ", experts " + experts);
    }

    /** The axes of the mesh, the slowest first. */
    static final String PIPELINE_AXIS = "pp";

    static final String COPY_AXIS = "dp";
    /** The mesh has this axis if several ranks share the experts. */
    static final String EXPERT_AXIS = "ep";

    static final String SHARD_AXIS = "shard";
    static final String CONTEXT_AXIS = "cp";
    static final String TENSOR_AXIS = "tp";

    static final List<String> VALUED = List.of(
            "--tp",
            "--pp",
            "--cp",
            "--dp",
            "--ep",
            "--shard",
            "--zero",
            "--reshard-after-forward",
            "--offload",
            "--global-batch",
            "--schedule",
            "--virtual-stages",
            "--cp-exchange");
    static final List<String> FLAGS = List.of("--sequence-parallel");

    static final int STAGES = 3;

    static ParallelOptions of(CommandLineArguments given) {
        int shards = given.number("--shard", 1, 1);
        return new ParallelOptions(
                given.number("--tp", 1, 1),
                given.number("--pp", 1, 1),
                given.number("--cp", 1, 1),
                shards,
                given.number("--dp", 0, 1),
                given.number("--ep", 1, 1),
                given.number("--zero", shards > 1 ? STAGES : 0, 0),
                reshardAfterForward(given),
                given.text("--offload").map(Path::of),
                given.number("--global-batch", 0, 1, 1 << 30),
                schedule(given),
                given.number("--virtual-stages", schedule(given).leastStagesPerRank(), 1, 10_000),
                given.has("--sequence-parallel"),
                given.word("--cp-exchange", ContextParallel.Exchange.RING));
    }

    private static int reshardAfterForward(CommandLineArguments given) {
        // A stage stays whole for its micro-batches: torchtitan's default too.
        String byDefault = given.number("--pp", 1, 1) > 1 ? "no" : "yes";
        String choice = given.text("--reshard-after-forward").orElse(byDefault);
        return switch (choice) {
            case "yes" -> FsdpOptions.RESHARD;
            case "no" -> FsdpOptions.KEEP;
            default -> given.number("--reshard-after-forward", 0, 2);
        };
    }

    private static ScheduleKind schedule(CommandLineArguments given) {
        try {
            return given.text("--schedule").map(ScheduleKind::parse).orElse(ScheduleKind.ONE_FORWARD_ONE_BACKWARD);
        } catch (ScheduleException e) {
            throw new InvalidArgumentException("--schedule: " + e.getMessage());
        }
    }

    /** The same with another number of ranks that share each layer. */
    public ParallelOptions withTensor(int ranks) {
        return with(ranks, context, shards, zeroStage, reshardAfterForward, offload, contextExchange);
    }

    /** The same with another number of ranks that share each sequence. */
    public ParallelOptions withContext(int ranks, ContextParallel.Exchange exchange) {
        return with(tensor, ranks, shards, zeroStage, reshardAfterForward, offload, exchange);
    }

    /** The same with other shared states. */
    public ParallelOptions withSharedStates(int stage, int ranks) {
        return with(tensor, context, ranks, stage, reshardAfterForward, offload, contextExchange);
    }

    /** The same with another treatment of a unit after its forward pass, see {@link FsdpOptions}. */
    public ParallelOptions withReshardAfterForward(int choice) {
        return with(tensor, context, shards, zeroStage, choice, offload, contextExchange);
    }

    /** The same with states in the files of a folder. */
    public ParallelOptions withOffload(Path folder) {
        return with(tensor, context, shards, zeroStage, reshardAfterForward, Optional.of(folder), contextExchange);
    }

    private ParallelOptions with(
            int newTensor,
            int newContext,
            int newShards,
            int newStage,
            int newReshard,
            Optional<Path> newOffload,
            ContextParallel.Exchange newExchange) {
        return new ParallelOptions(
                newTensor,
                pipeline,
                newContext,
                newShards,
                copies,
                experts,
                newStage,
                newReshard,
                newOffload,
                globalBatch,
                schedule,
                virtualStages,
                isSequenceParallel,
                newExchange);
    }

    /** Whether ranks share the layers, each layer, or each sequence. */
    boolean sharesLayers() {
        return tensor * pipeline * context > 1;
    }

    /** The gradients that a rank has after a reduction, if it has whole parameters. */
    GradientPlacement gradientPlacement() {
        return switch (zeroStage) {
            case 1 -> GradientPlacement.SHARDED_STATES;
            case 2 -> GradientPlacement.SHARDED_GRADIENTS;
            default -> GradientPlacement.REPLICATED;
        };
    }

    /** Whether ranks share states and keep whole parameters. */
    boolean sharesStatesInPart() {
        return zeroStage == 1 || zeroStage == 2;
    }

    /** Whether ranks share the parameters too. */
    boolean sharesParameters() {
        return zeroStage == STAGES;
    }

    /**
     * The mesh of this job, which the caller closes. Without {@code --dp} the job has as many copies of the model as
     * the ranks make.
     *
     * @throws InvalidArgumentException if the product of the sizes is not the number of ranks; the message has the
     *     equation
     */
    DeviceMesh mesh(World world) {
        int made = copies == 0 ? Math.max(1, world.size() / others()) : copies;
        ParallelChecks.checkCopies(this, made);
        ParallelChecks.checkExperts(this, made);
        Map<String, Integer> axes = new LinkedHashMap<>();
        axes.put(PIPELINE_AXIS, pipeline);
        if (experts == 1) {
            axes.put(COPY_AXIS, made);
        } else {
            axes.put(COPY_AXIS, sharesStatesInPart() ? made : made / experts);
            axes.put(EXPERT_AXIS, experts);
        }
        axes.put(SHARD_AXIS, sharesStatesInPart() ? shards / experts : shards);
        axes.put(CONTEXT_AXIS, context);
        axes.put(TENSOR_AXIS, tensor);
        try {
            return DeviceMesh.of(world, MeshShape.of(axes));
        } catch (IllegalArgumentException e) {
            throw new InvalidArgumentException(String.valueOf(e.getMessage()));
        }
    }

    /** The ranks of one copy of the model. */
    private int others() {
        long product = 1;
        for (int size : List.of(pipeline, shards, context, tensor)) {
            product *= size;
            if (product > Integer.MAX_VALUE) {
                throw new InvalidArgumentException("the mesh does not fit the job: --pp=" + pipeline + " x --shard="
                        + shards + " x --cp=" + context + " x --tp=" + tensor + " is too large");
            }
        }
        return (int) product;
    }

    /** The sharing of all states, along the axes of a mesh. */
    FullyShardedDataParallel fullySharded(DeviceMesh mesh) {
        return new FullyShardedDataParallel(
                shardAxis(mesh),
                axis(mesh, COPY_AXIS, EXPERT_AXIS),
                FsdpOptions.DEFAULT.withReshardAfterForward(reshardAfterForward));
    }

    /** The ranks that train on different samples. */
    static ProcessGroup dataGroup(DeviceMesh mesh) {
        return dataAxis(mesh).group();
    }

    /** The ranks of {@link #dataGroup} as an axis. */
    static MeshAxis dataAxis(DeviceMesh mesh) {
        return axis(mesh, COPY_AXIS, EXPERT_AXIS, SHARD_AXIS);
    }

    /** The ranks over which the mean of the loss and of the gradients is taken. */
    static MeshAxis gradientAxis(DeviceMesh mesh) {
        return mesh.shape().size(CONTEXT_AXIS) == 1
                ? axis(mesh, COPY_AXIS, EXPERT_AXIS, SHARD_AXIS)
                : axis(mesh, COPY_AXIS, EXPERT_AXIS, SHARD_AXIS, CONTEXT_AXIS);
    }

    /** The ranks that share the experts; empty if each rank has all experts. */
    static Optional<MeshAxis> expertAxis(DeviceMesh mesh) {
        return mesh.shape().names().contains(EXPERT_AXIS) ? Optional.of(mesh.axis(EXPERT_AXIS)) : Optional.empty();
    }

    private static MeshAxis axis(DeviceMesh mesh, String... names) {
        return mesh.axis(Stream.of(names).filter(mesh.shape().names()::contains).toArray(String[]::new));
    }

    /** The axis along which the parameters are shared: the ranks that share a sequence share the states too. */
    private static MeshAxis shardAxis(DeviceMesh mesh) {
        boolean hasContext = mesh.shape().size(CONTEXT_AXIS) > 1;
        return hasContext ? mesh.axis(SHARD_AXIS, CONTEXT_AXIS) : mesh.axis(SHARD_AXIS);
    }

    /**
     * The number of micro-batches of each data rank in one step.
     *
     * @param dataRanks ranks that train on different samples
     * @param microBatch sequences of one forward pass of a rank
     * @param accumulate the value of {@code --accumulate}; 0 without the option
     * @throws InvalidArgumentException if the numbers contradict each other; the message has the equation
     */
    int accumulate(int dataRanks, int microBatch, int accumulate) {
        if (globalBatch == 0) {
            return Math.max(1, accumulate);
        }
        int perPass = microBatch * dataRanks;
        int passes = accumulate == 0 ? Math.max(1, globalBatch / perPass) : accumulate;
        ParallelChecks.refuse(
                passes * perPass != globalBatch,
                "--global-batch=" + globalBatch + " is not --micro-batch x --accumulate x data ranks: " + microBatch
                        + " x " + passes + " x " + dataRanks + " = " + passes * perPass);
        return passes;
    }
}
