package io.jrun.train.optim;

import io.jrun.train.Libtorch;
import io.jrun.train.mesh.GradientStore;
import io.jrun.train.mesh.ParameterNotes;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.tensor.DeferredNumber;
import io.jrun.train.tensor.DeviceWaits;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * The global norm of gradients, the 2-norm of all gradients as one vector, and their bound. Right on every mesh: the norm
 * includes the parts of all ranks, and a replicated gradient once. All ranks that share the parameters call the methods
 * with the same parameters in the same order, and get the same norm. Ranks with whole copies of all gradients, as with
 * DistributedDataParallel, send nothing.
 *
 * <p>The norm of a whole gradient is torch's, in the type of the gradient. The norm of a part is computed in float64.
 * Source: Pascanu, Mikolov and Bengio, arXiv:1211.5063; torch's {@code clip_grad_norm_}. On a device a few kernels work
 * on all gradients.
 */
public final class Gradients {
    /** torch's constant, which prevents a division by zero. */
    private static final double EPSILON = 1e-6;

    private Gradients() {}

    /** Gradients that one store keeps, by their places in the list of parameters. */
    private record Stored(List<Integer> places, List<Tensor> parameters) {}

    /**
     * The global norm. A missing gradient counts as zero. The norm may be infinite or not a number. On a device the
     * method waits only if the ranks hold parts.
     *
     * @return the norm, in the innermost {@code PointerScope}; {@link DeferredNumber#value()} gives the number
     * @throws IllegalStateException if a parallelism has divided a parameter since the parameter was read
     */
    public static DeferredNumber norm(Collection<ShardedTensor> parameters) {
        return clip(parameters, Double.POSITIVE_INFINITY);
    }

    /**
     * Multiplies all gradients by {@code maximum / (norm + 1e-6)} if this factor is less than 1. Gradients that are not
     * finite stay not finite; the caller decides by the returned norm. On a device the method queues the work, and waits
     * only if the ranks hold parts.
     *
     * <pre>{@code
     * double norm = Gradients.clip(Parameters.of(model).values(), 1.0).value();   // value() waits for a device
     * }</pre>
     *
     * @param maximum the largest norm, more than 0; infinity changes no gradient
     * @return the global norm before the multiplication, in the innermost {@code PointerScope}
     * @throws IllegalStateException if a parallelism has divided a parameter since the parameter was read
     */
    public static DeferredNumber clip(Collection<ShardedTensor> parameters, double maximum) {
        if (!(maximum > 0)) {
            throw new IllegalArgumentException("the largest norm must be more than 0, not " + maximum);
        }
        Libtorch.load();
        List<ShardedTensor> ordered = List.copyOf(parameters);
        Parameters.requireCurrent(ordered);
        Map<GradientStore, Stored> stores = stores(ordered);
        try (NoGradGuard _ = new NoGradGuard()) {
            List<Tensor> own = own(ordered);
            List<Tensor> defined = own.stream().filter(Tensor::defined).toList();
            if (DeviceNorm.isOnDevice(defined) && stores.isEmpty() && WholeNorms.areHere(ordered)) {
                Tensor norm = DeviceNorm.of(defined);
                if (Double.isFinite(maximum)) {
                    DeviceNorm.scale(defined, norm, maximum, EPSILON);
                }
                return DeferredNumber.of(norm);
            }
            try (PointerScope _ = new PointerScope()) {
                double[] parts = norms(ordered, own);
                stores.forEach((store, stored) -> {
                    double[] ofStore = store.norms(stored.parameters());
                    for (int i = 0; i < ofStore.length; i++) {
                        parts[stored.places().get(i)] = ofStore[i];
                    }
                });
                double norm = norm(WholeNorms.of(parts, ordered));
                double factor = maximum / (norm + EPSILON);
                if (factor < 1) {
                    Scalar scalar = new Scalar(factor);
                    defined.forEach(gradient -> gradient.mul_(scalar));
                    stores.forEach((store, stored) -> store.scale(stored.parameters(), factor));
                }
                return DeferredNumber.of(norm);
            }
        }
    }

    private static Map<GradientStore, Stored> stores(List<ShardedTensor> parameters) {
        Map<GradientStore, Stored> stores = new LinkedHashMap<>();
        for (int i = 0; i < parameters.size(); i++) {
            int place = i;
            Tensor local = parameters.get(i).local();
            ParameterNotes.gradients(local).ifPresent(store -> {
                Stored stored = stores.computeIfAbsent(store, _ -> new Stored(new ArrayList<>(), new ArrayList<>()));
                stored.places().add(place);
                stored.parameters().add(local);
            });
        }
        return stores;
    }

    /** The gradients that are in {@code .grad}; undefined where this rank has no element, or a store has the gradient. */
    private static List<Tensor> own(List<ShardedTensor> parameters) {
        return parameters.stream()
                .map(parameter -> parameter.isHere()
                                && ParameterNotes.gradients(parameter.local()).isEmpty()
                        ? parameter.local().mutable_grad()
                        : new Tensor())
                .toList();
    }

    private static double[] norms(List<ShardedTensor> parameters, List<Tensor> gradients) {
        double[] norms = new double[gradients.size()];
        int[] defined = IntStream.range(0, norms.length)
                .filter(i -> gradients.get(i).defined())
                .toArray();
        if (DeviceNorm.isOnDevice(
                Arrays.stream(defined).mapToObj(gradients::get).toList())) {
            List<Integer> places = new ArrayList<>();
            List<Tensor> onDevice = new ArrayList<>();
            for (boolean areParts : new boolean[] {true, false}) {
                int[] alike = Arrays.stream(defined)
                        .filter(i -> isPart(parameters.get(i)) == areParts)
                        .toArray();
                if (alike.length > 0) {
                    Arrays.stream(alike).forEach(places::add);
                    onDevice.add(DeviceNorm.ofEach(
                            Arrays.stream(alike).mapToObj(gradients::get).toList(), areParts));
                }
            }
            double[] found = DeviceWaits.numbers(onDevice);
            for (int i = 0; i < found.length; i++) {
                norms[places.get(i)] = found[i];
            }
            return norms;
        }
        for (int i : defined) {
            norms[i] = norm(gradients.get(i), isPart(parameters.get(i)));
        }
        return norms;
    }

    private static boolean isPart(ShardedTensor parameter) {
        return !parameter.divided().isEmpty();
    }

    private static double norm(Tensor gradient, boolean isPart) {
        return DeviceWaits.number(
                isPart
                        ? torch.linalg_vector_norm(gradient.to(torch.ScalarType.Double))
                        : torch.linalg_vector_norm(gradient).to(torch.ScalarType.Double));
    }

    private static double norm(double[] ofWhole) {
        return ofWhole.length == 0 ? 0 : DeviceWaits.number(torch.linalg_vector_norm(Tensor.create(ofWhole)));
    }
}
