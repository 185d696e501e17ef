package io.jrun.train.reducer;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.mesh.GradientStore;
import io.jrun.train.mesh.ParameterNotes;
import io.jrun.train.mesh.ShardRange;
import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.TensorMemory;
import java.util.Arrays;
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

/** The gradients of the parameters of the buckets of one group, of which each rank has the means of its part. */
final class PartGradients implements GradientStore, AutoCloseable {
    /** The elements {@code offset} to {@code offset + length - 1} of this rank's part of a bucket. */
    private record Place(int bucket, long offset, long length) {}

    private final BucketMemory memory;
    private final ProcessGroup group;
    private final List<Tensor> parameters;
    private final Map<Long, Place> places = new HashMap<>();

    /** The stores of the gradients of all parameters: one for each group. */
    static List<PartGradients> of(List<Parameter> all, BucketMemory memory) {
        return all.stream()
                .map(Parameter::group)
                .distinct()
                .map(group -> new PartGradients(all, memory, group))
                .toList();
    }

    /** Notes that the means of the parameters of a group are in this store. */
    private PartGradients(List<Parameter> all, BucketMemory memory, ProcessGroup group) {
        this.memory = memory;
        this.group = group;
        this.parameters = all.stream()
                .filter(parameter -> parameter.group().equals(group))
                .map(Parameter::tensor)
                .toList();
        for (int bucket = 0; bucket < memory.buckets().size(); bucket++) {
            if (!memory.buckets().get(bucket).group().equals(group)) {
                continue;
            }
            List<Parameter> members = memory.buckets().get(bucket).parameters().stream()
                    .map(all::get)
                    .toList();
            ShardRange part = division(members, group.size()).part(group.groupRank());
            long at = 0;
            for (Parameter member : members) {
                long begin = Math.max(at, part.offset());
                long end = Math.min(at + member.elements(), part.offset() + part.length());
                if (begin < end) {
                    places.put(
                            TensorMemory.identity(member.tensor()),
                            new Place(bucket, begin - part.offset(), end - begin));
                }
                at += member.paddedElements();
            }
        }
        ParameterNotes.setGradients(parameters, this);
    }

    /** The division of a bucket of these parameters. */
    static BucketDivision division(List<Parameter> members, int ranks) {
        return new BucketDivision(
                members.stream().mapToLong(Parameter::paddedElements).sum(),
                BucketDivision.ALIGNMENT_BYTES / members.getFirst().type().sizeBytes(),
                ranks);
    }

    @Override
    public Tensor elements(Tensor parameter) {
        Place place = places.get(TensorMemory.identity(parameter));
        return place == null ? new Tensor() : memory.part(place.bucket()).narrow(0, place.offset(), place.length());
    }

    @Override
    public double[] norms(List<Tensor> some) {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            double[] norms = new double[some.size()];
            int[] places = IntStream.range(0, norms.length)
                    .filter(i -> elements(some.get(i)).defined())
                    .toArray();
            if (places.length > 0) {
                double[] found = DeviceWaits.numbers(Arrays.stream(places)
                        .mapToObj(i ->
                                torch.linalg_vector_norm(elements(some.get(i)).to(torch.ScalarType.Double)))
                        .toList());
                for (int i = 0; i < found.length; i++) {
                    norms[places[i]] = found[i];
                }
            }
            return norms;
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
