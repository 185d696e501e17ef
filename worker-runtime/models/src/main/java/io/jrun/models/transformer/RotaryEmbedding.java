package io.jrun.models.transformer;

import io.jrun.comm.Device;
import io.jrun.train.tensor.DeviceTensors;
import io.jrun.train.tensor.TensorMemory;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/**
 * Rotary position embedding (Su et al. 2021, RoFormer, 3.4.2). The embedding rotates pair i of a head at position p by
 * the angle p * theta^(-2i/E). Meta's and Hugging Face's files of the same model differ in the pairs, and in the order
 * of the rows of the query and key projections. The object keeps its frequencies on each device that it has seen: a copy
 * from the host in each pass would let the host wait for a GPU. Confined to one thread at a time.
 */
public final class RotaryEmbedding {
    private final long width;
    private final double theta;
    private final Pairs pairs;
    private final Optional<RotaryScaling> scaling;
    private final Map<Place, Tensor> frequencies = new HashMap<>();

    private record Place(Device device, torch.ScalarType type) {}

    /** The choice of the elements of a head that make a pair. */
    public enum Pairs {
        /** Element i and element i + E/2, as in Hugging Face's files. */
        HALVES,
        /** Elements 2i and 2i + 1, as in Meta's files. */
        INTERLEAVED
    }

    /**
     * An embedding for heads of one width.
     *
     * @param width E, the even width of a head
     * @param theta the base of the angles
     * @param scaling a change of the frequencies; empty for none
     */
    public RotaryEmbedding(long width, double theta, Pairs pairs, Optional<RotaryScaling> scaling) {
        if (width % 2 != 0) {
            throw new IllegalArgumentException("the width of a head is " + width + ", expected an even number");
        }
        this.width = width;
        this.theta = theta;
        this.pairs = pairs;
        this.scaling = scaling;
    }

    /**
     * The turned vectors.
     *
     * @param positions_S of type Long and on the device of the vectors: the position of each vector in the whole
     *     sequence
     */
    public Tensor turn(Tensor x_BHSE, Tensor positions_S) {
        Tensor angles_Si = angles(positions_S, x_BHSE.scalar_type().intern());
        Tensor cos = torch.cos(angles_Si).to(x_BHSE.scalar_type());
        Tensor sin = torch.sin(angles_Si).to(x_BHSE.scalar_type());
        long half = width / 2;
        if (pairs == Pairs.HALVES) {
            Tensor first = x_BHSE.narrow(3, 0, half);
            Tensor second = x_BHSE.narrow(3, half, half);
            return torch.cat(
                    new TensorVector(
                            first.mul(cos).sub(second.mul(sin)), second.mul(cos).add(first.mul(sin))),
                    3);
        }
        Tensor x_BHSi2 = x_BHSE.reshape(x_BHSE.size(0), x_BHSE.size(1), x_BHSE.size(2), half, 2);
        Tensor even = x_BHSi2.select(4, 0);
        Tensor odd = x_BHSi2.select(4, 1);
        return torch.stack(
                        new TensorVector(
                                even.mul(cos).sub(odd.mul(sin)), odd.mul(cos).add(even.mul(sin))),
                        4)
                .flatten(3, 4);
    }

    /** In float64 for vectors of float64, else in float32. */
    private Tensor angles(Tensor positions_S, torch.ScalarType ofVectors) {
        torch.ScalarType type = ofVectors == torch.ScalarType.Double ? torch.ScalarType.Double : torch.ScalarType.Float;
        Tensor frequencies_i =
                frequencies.computeIfAbsent(new Place(TensorMemory.device(positions_S), type), this::frequencies);
        return torch.outer(positions_S.to(type), frequencies_i);
    }

    private Tensor frequencies(Place place) {
        double[] values = new double[(int) width / 2];
        for (int i = 0; i < values.length; i++) {
            double frequency = StrictMath.pow(theta, -2.0 * i / width);
            values[i] = scaling.isPresent() ? scaling.get().scaled(frequency) : frequency;
        }
        try (Tensor wide = DeviceTensors.of(place.device(), values)) {
            return TensorMemory.own(wide.to(place.type()));
        }
    }
}
