package io.jrun.train.pipeline;

import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.train.mesh.ParameterNotes;
import io.jrun.train.mesh.UnreducedGradients;
import io.jrun.train.module.PipelineLayer;
import io.jrun.train.pipeline.schedule.PipelineSchedule;
import io.jrun.train.tensor.TensorCollectives;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Parameters that several stages use, as an embedding that is also the output layer. The gradient of each stage is
 * added up by itself, over all micro-batches in their order; then the sums of the stages are added. So the bits do not
 * depend on the schedule, and not on whether the stages are on one rank. Megatron does the same in its all-reduce of
 * the gradients of embeddings.
 */
final class TiedParameters implements UnreducedGradients, AutoCloseable {
    /** One parameter, as this rank sees it. */
    private static final class Tied {
        private final Tensor parameter;
        private final List<Integer> stagesHere;
        private final @Nullable ProcessGroup holders;
        /** Identity of the tensor that the optimizer has; 0 before {@link #keep}. */
        private long kept;
        /** Gradients of the stages that do not own {@code .grad}. */
        private final Map<Integer, Tensor> setAside = new HashMap<>();

        Tied(Tensor parameter, List<Integer> stagesHere, @Nullable ProcessGroup holders) {
            this.parameter = parameter;
            this.stagesHere = stagesHere;
            this.holders = holders;
        }
    }

    private final List<Tied> tied = new ArrayList<>();
    private final List<ProcessGroup> groups = new ArrayList<>();

    private TiedParameters() {}

    /**
     * Finds the parameters that are tied, and gives all their ranks the values of the first.
     *
     * @param layersOfStages of all stages
     */
    static TiedParameters of(
            List<List<PipelineLayer>> layersOfStages, PipelineSchedule schedule, ProcessGroup pipeline) {
        Map<Long, Tensor> tensors = new LinkedHashMap<>();
        Map<Long, TreeSet<Integer>> stages = new HashMap<>();
        for (int stage = 0; stage < layersOfStages.size(); stage++) {
            for (PipelineLayer layer : layersOfStages.get(stage)) {
                for (Tensor parameter : layer.parameters().values()) {
                    long address = TensorMemory.identity(parameter);
                    tensors.put(address, parameter);
                    stages.computeIfAbsent(address, _ -> new TreeSet<>()).add(stage);
                }
            }
        }
        TiedParameters all = new TiedParameters();
        Map<List<Integer>, ProcessGroup> groups = new HashMap<>();
        tensors.forEach((address, tensor) -> {
            TreeSet<Integer> uses = Objects.requireNonNull(stages.get(address));
            List<Integer> here = uses.stream()
                    .filter(stage -> schedule.rankOf(stage) == pipeline.groupRank())
                    .toList();
            List<Integer> ranks =
                    uses.stream().map(schedule::rankOf).distinct().sorted().toList();
            if (uses.size() > 1 && !here.isEmpty()) {
                ProcessGroup holders = ranks.size() == 1 ? null : groups.computeIfAbsent(ranks, pipeline::newGroup);
                all.tied.add(new Tied(tensor, here, holders));
                if (holders != null) {
                    new TensorCollectives(holders).broadcast(tensor, 0);
                }
            }
        });
        all.groups.addAll(groups.values());
        return all;
    }

    /**
     * Exchanges {@code .grad} and the stage's own gradients. Called before and after each backward pass of a stage. The
     * first stage of a rank owns {@code .grad} between passes.
     */
    void exchange(int stage) {
        for (Tied each : tied) {
            if (isSetAside(each, stage)) {
                exchange(each, stage);
            }
        }
    }

    private static boolean isSetAside(Tied each, int stage) {
        return each.stagesHere.contains(stage) && each.stagesHere.getFirst() != stage;
    }

    private static void exchange(Tied each, int stage) {
        try (PointerScope _ = new PointerScope()) {
            Tensor present = each.parameter.mutable_grad();
            Tensor kept = TensorMemory.own(present);
            Tensor before = each.setAside.remove(stage);
            if (before == null) {
                present.reset();
            } else {
                present.put(before);
                before.close();
            }
            each.setAside.put(stage, kept);
        }
    }

    /** The parameters that this rank holds and other stages use too. */
    List<Tensor> parameters() {
        return tied.stream().map(each -> each.parameter).toList();
    }

    boolean contains(Tensor parameter) {
        return tied.stream()
                .anyMatch(each -> each.parameter.unsafeGetTensorImpl().equals(parameter.unsafeGetTensorImpl()));
    }

    /** Says which tensor of a parameter the optimizer has. {@link #drop} drops by that tensor. */
    void keep(Tensor parameter, Tensor kept) {
        for (Tied each : tied) {
            if (each.stagesHere.size() > 1
                    && TensorMemory.identity(each.parameter) == TensorMemory.identity(parameter)) {
                each.kept = TensorMemory.identity(kept);
                ParameterNotes.setUnreduced(List.of(kept), this);
            }
        }
    }

    /** Between two passes the gradient of the first stage is {@code .grad}, which others drop. */
    @Override
    public void drop(Set<Long> parameters) {
        for (Tied each : tied) {
            if (parameters.contains(each.kept)) {
                each.setAside.values().forEach(Tensor::close);
                each.setAside.clear();
            }
        }
    }

    /** Adds the gradients of all stages up. All ranks of the pipeline call it after the last backward pass. */
    void reduce() {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            for (Tied each : tied) {
                Tensor gradient = each.parameter.mutable_grad();
                for (Tensor other : new TreeMap<>(each.setAside).values()) {
                    if (other.defined()) {
                        gradient.add_(other);
                    }
                    other.close();
                }
                each.setAside.clear();
                if (each.holders != null && each.parameter.requires_grad()) {
                    new TensorCollectives(each.holders).allReduce(gradient, ReduceOp.SUM);
                }
            }
        }
    }

    @Override
    public void close() {
        groups.forEach(ProcessGroup::close);
        tied.forEach(each -> each.setAside.values().forEach(Tensor::close));
    }
}
