package io.jrun.train.fsdp;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.train.tensor.TensorTypes;
import java.util.Map;
import java.util.function.Consumer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/** Parameters that are gathered, freed and reduced together. Confined to the training thread. */
final class FsdpUnit {
    private final String name;
    private final FsdpGroups groups;
    private final Consumer<CommunicationSpan> spans;
    private final ShardLayout layout;
    private final UnitParameters parameters;
    private final UnitGather fromAll;
    private final @Nullable UnitGather fromNeighbours;
    private final torch.ScalarType reduceType;
    private @Nullable Tensor neighbourPart;

    /**
     * Shards parameters.
     *
     * @param offload where the shards lie; null for memory
     * @param number of the unit
     * @param neighbours the group that gathers in the backward pass; null for all ranks that share the model
     */
    FsdpUnit(
            String name,
            Map<String, Tensor> parameters,
            FsdpGroups groups,
            @Nullable ProcessGroup neighbours,
            MixedPrecisionPolicy precision,
            @Nullable ShardOffload offload,
            int number,
            Consumer<CommunicationSpan> spans) {
        this.name = name;
        this.groups = groups;
        this.spans = spans;
        this.layout = UnitParameters.layout(parameters, groups.shards().size());
        this.parameters =
                new UnitParameters(parameters, layout, groups.shard(), precision.parameterType(), offload, number);
        this.fromAll = new UnitGather(name, this.parameters, layout, groups.shards(), spans);
        this.fromNeighbours = neighbours == null
                ? null
                : new UnitGather(
                        name,
                        this.parameters,
                        new ShardLayout(this.parameters.shapes(), neighbours.size()),
                        neighbours,
                        spans);
        DataType reduce = precision.reduceType();
        this.reduceType = reduce == null ? this.parameters.type() : TensorTypes.scalarType(reduce);
    }

    String name() {
        return name;
    }

    UnitParameters parameters() {
        return parameters;
    }

    boolean isWhole() {
        return parameters.whole().isAllocated();
    }

    /** Begins to gather, if the unit is not whole and not being gathered. */
    void beginGather() {
        if (isWhole() || fromAll.isRunning() || (fromNeighbours != null && fromNeighbours.isRunning())) {
            return;
        }
        Tensor kept = neighbourPart;
        if (fromNeighbours != null && kept != null) {
            fromNeighbours.begin(kept);
            kept.close();
            neighbourPart = null;
        } else {
            try (Tensor part = fromAll.partOfShards()) {
                fromAll.begin(part);
            }
        }
    }

    /** Makes the unit whole. */
    void gather() {
        beginGather();
        if (fromAll.isRunning()) {
            fromAll.finish();
        } else if (fromNeighbours != null && fromNeighbours.isRunning()) {
            fromNeighbours.finish();
        } else {
            return;
        }
        parameters.show();
    }

    /** Frees the whole parameters, and keeps a part for the neighbours if the backward pass gathers from them. */
    void reshardAfterForward() {
        if (fromNeighbours != null && isWhole()) {
            neighbourPart = fromNeighbours.partOfWhole();
        }
        free();
    }

    /** Frees the whole parameters; a gather under way ends first. */
    void reshard() {
        if (fromAll.isRunning() || (fromNeighbours != null && fromNeighbours.isRunning())) {
            gather();
        }
        free();
        if (neighbourPart != null) {
            neighbourPart.close();
            neighbourPart = null;
        }
    }

    private void free() {
        parameters.hide();
        parameters.whole().free();
    }

    UnitReduction reduce() {
        return new UnitReduction(name, parameters, layout, groups, reduceType, spans);
    }
}
