package io.jrun.train.zero;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.mesh.GradientStore;
import io.jrun.train.mesh.ParameterNotes;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** The gradients of the parameters of buckets: each rank has the means of its part of each bucket. */
final class PartGradients implements GradientStore, AutoCloseable {
    /** A parameter in a bucket. */
    private record Place(int bucket, int index) {}

    private final PartitionedGradients gradients;
    private final ProcessGroup group;
    private final List<Tensor> parameters = new ArrayList<>();
    private final Map<Long, Place> places = new HashMap<>();

    PartGradients(PartitionedGradients gradients, ProcessGroup group) {
        this.gradients = gradients;
        this.group = group;
        for (int bucket = 0; bucket < gradients.partitions().size(); bucket++) {
            BucketPartition partition = gradients.partitions().get(bucket);
            for (int i = 0; i < partition.parameters(); i++) {
                parameters.add(partition.parameter(i));
                places.put(TensorMemory.identity(partition.parameter(i)), new Place(bucket, i));
            }
        }
        ParameterNotes.setGradients(parameters, this);
    }

    /** The division of the buckets among the ranks. */
    List<BucketPartition> partitions() {
        return gradients.partitions();
    }

    ProcessGroup group() {
        return group;
    }

    /** The means of this rank's part of a bucket, of one dimension. */
    Tensor part(int bucket) {
        return gradients.part(bucket);
    }

    /** The means of all parts of this rank. */
    List<Tensor> parts() {
        return IntStream.range(0, partitions().size()).mapToObj(this::part).toList();
    }

    @Override
    public Tensor elements(Tensor parameter) {
        Place place = places.get(TensorMemory.identity(parameter));
        return place == null
                ? new Tensor()
                : partitions()
                        .get(place.bucket())
                        .elements(place.index(), group.groupRank(), part(place.bucket()))
                        .orElseGet(Tensor::new);
    }

    @Override
    public double[] norms(List<Tensor> some) {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            return some.stream()
                    .map(this::elements)
                    .mapToDouble(elements -> elements.defined()
                            ? torch.linalg_vector_norm(elements.to(torch.ScalarType.Double))
                                    .item_double()
                            : 0)
                    .toArray();
        }
    }

    @Override
    public void scale(List<Tensor> some, double factor) {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            Scalar scalar = new Scalar(factor);
            some.stream().map(this::elements).filter(Tensor::defined).forEach(elements -> elements.mul_(scalar));
        }
    }

    @Override
    public Optional<ProcessGroup> ranks() {
        return Optional.of(group);
    }

    /** The gradients of the parameters are in {@code .grad} from now on. */
    @Override
    public void close() {
        ParameterNotes.clearGradients(parameters, this);
    }
}
