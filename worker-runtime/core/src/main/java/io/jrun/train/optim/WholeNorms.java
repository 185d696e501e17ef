package io.jrun.train.optim;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.train.mesh.AxisPlacement;
import io.jrun.train.mesh.GradientStore;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.OnRanks;
import io.jrun.train.mesh.ParameterNotes;
import io.jrun.train.mesh.ShardedTensor;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.DoubleUnaryOperator;

/** The norms of whole gradients, from the norms of the parts that each rank keeps. Squares are added in float64. */
final class WholeNorms {
    private WholeNorms() {}

    /**
     * Adds the parts of all ranks up. Collective on the groups of the parameters.
     *
     * @param parts a norm for each parameter; 0 where this rank has no element
     */
    static double[] of(double[] parts, List<ShardedTensor> parameters) {
        double[] norms = parts.clone();
        List<List<ProcessGroup>> groups =
                parameters.stream().map(WholeNorms::groups).toList();
        sum(norms, groups, square -> square * square, Math::sqrt);
        List<List<ProcessGroup>> holders = new ArrayList<>();
        for (int i = 0; i < norms.length; i++) {
            List<ProcessGroup> ofParameter = new ArrayList<>();
            for (AxisPlacement each : parameters.get(i).placements()) {
                if (each.placement() instanceof OnRanks(List<Integer> coordinates)) {
                    ofParameter.add(each.axis().group());
                    norms[i] = coordinates.getFirst() == each.axis().coordinate() ? norms[i] : 0;
                }
            }
            holders.add(ofParameter);
        }
        sum(norms, holders, norm -> norm, norm -> norm); // One rank has the norm. Its bits stay.
        return norms;
    }

    /** Whether this rank has all elements of all gradients, so that their norm needs no other rank. */
    static boolean areHere(List<ShardedTensor> parameters) {
        return parameters.stream()
                .allMatch(parameter -> groups(parameter).isEmpty()
                        && parameter.placements().stream()
                                .noneMatch(each -> each.placement() instanceof OnRanks
                                        && each.axis().size() > 1));
    }

    /** The groups of which each rank keeps other elements of the gradient, from the last division to the first. */
    static List<ProcessGroup> groups(ShardedTensor parameter) {
        List<ProcessGroup> groups = new ArrayList<>();
        if (parameter.isHeld()) {
            ParameterNotes.gradients(parameter.local())
                    .flatMap(GradientStore::ranks)
                    .ifPresent(groups::add);
            parameter.divided().reversed().stream().map(MeshAxis::group).forEach(groups::add);
        }
        return groups;
    }

    /** Adds the norms of the parameters of each group up over the ranks of the group, one group after the other. */
    private static void sum(
            double[] norms,
            List<List<ProcessGroup>> groups,
            DoubleUnaryOperator toSummand,
            DoubleUnaryOperator fromSum) {
        Set<ProcessGroup> distinct = new LinkedHashSet<>();
        groups.forEach(distinct::addAll);
        for (ProcessGroup group : distinct) {
            double[] summands = new double[norms.length];
            for (int i = 0; i < norms.length; i++) {
                summands[i] = groups.get(i).contains(group) ? toSummand.applyAsDouble(norms[i]) : 0;
            }
            group.allReduce(MemorySegment.ofArray(summands), DataType.F64, summands.length, ReduceOp.SUM);
            for (int i = 0; i < norms.length; i++) {
                norms[i] = groups.get(i).contains(group) ? fromSum.applyAsDouble(summands[i]) : norms[i];
            }
        }
    }
}
