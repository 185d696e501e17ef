package io.jrun.train.zero;

import io.jrun.train.ddp.DdpOptions;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.pipeline.PipelineLayer;
import io.jrun.train.pipeline.StageReplicas;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.bytedeco.pytorch.Tensor;

/**
 * The buckets of the stages of one pipeline rank. The parts of a parameter depend on its bucket. Ranks of other axes
 * that have the same parameter must have the same parts, so that a checkpoint can take the states of one of these
 * ranks. Parameters that ranks of another axis divide, and other parameters, are therefore in different buckets. A
 * parameter that several layers use is a bucket of its own.
 */
final class StageBuckets {
    private final List<BucketPartition> partitions = new ArrayList<>();
    private final List<Group> groups = new ArrayList<>();
    private final Map<Long, Place> places = new HashMap<>();

    /** The buckets {@code first} to {@code end - 1}, which are reduced in their order. */
    record Group(int first, int end, boolean isShared) {}

    /** A parameter in a bucket. */
    record Place(int bucket, int index) {}

    /**
     * Makes the buckets.
     *
     * @param stages the layers of each stage of the rank
     * @param isTied whether another stage uses a parameter too
     * @param ranks that share the states
     */
    StageBuckets(Map<Integer, List<PipelineLayer>> stages, Predicate<Tensor> isTied, int ranks) {
        Predicate<Tensor> isShared = StageReplicas.sharedParameters(stages, isTied);
        Set<Long> seen = new HashSet<>();
        Map<String, Tensor> shared = new LinkedHashMap<>();
        for (List<PipelineLayer> layers : new TreeMap<>(stages).values()) {
            Map<String, Tensor> divided = new LinkedHashMap<>();
            Map<String, Tensor> others = new LinkedHashMap<>();
            layers.forEach(layer -> layer.parameters().forEach((name, tensor) -> {
                if (seen.add(TensorMemory.identity(tensor))) {
                    (isShared.test(tensor) ? shared : isDivided(name, tensor) ? divided : others).put(name, tensor);
                }
            }));
            List<BucketPartition> ofStage = new ArrayList<>(plan(divided, ranks));
            ofStage.addAll(plan(others, ranks));
            add(ofStage, false);
        }
        shared.forEach((name, tensor) -> add(plan(Map.of(name, tensor), ranks), true));
    }

    private static boolean isDivided(String name, Tensor tensor) {
        return !ShardedTensor.of(name, tensor).divided().isEmpty();
    }

    private static List<BucketPartition> plan(Map<String, Tensor> named, int ranks) {
        return BucketPartition.plan(named, DdpOptions.DEFAULT.bucketBytes(), ranks);
    }

    private void add(List<BucketPartition> together, boolean isShared) {
        Group group = new Group(partitions.size(), partitions.size() + together.size(), isShared);
        for (BucketPartition partition : together) {
            for (int i = 0; i < partition.parameters(); i++) {
                places.put(TensorMemory.identity(partition.parameter(i)), new Place(partitions.size(), i));
            }
            partitions.add(partition);
            groups.add(group);
        }
    }

    /** The buckets of all stages. */
    List<BucketPartition> partitions() {
        return partitions;
    }

    /** The buckets that are reduced with a bucket: those of a stage, or the bucket of a shared parameter alone. */
    Group group(int bucket) {
        return groups.get(bucket);
    }

    /** The places of the trained parameters by {@link TensorMemory#identity}. */
    Map<Long, Place> places() {
        return places;
    }
}
