package io.jrun.train.autograd;

import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Gradients of weights that a backward pass leaves for later. {@link DeferredLinear} fills the object while a {@link
 * Scope} is open around the forward pass; {@link #compute} then adds the gradients to {@code .grad}. The backward pass
 * itself computes the gradients of inputs only. Source: Qi et al. 2023, "Zero Bubble Pipeline Parallelism", arXiv
 * 2401.10241, section 2.
 *
 * <p>The bits equal those of a backward pass that puts nothing off. Confined to one thread at a time.
 */
public final class DeferredGradients implements AutoCloseable {
    private static final ThreadLocal<@Nullable DeferredGradients> CURRENT = new ThreadLocal<>();

    /** One call of a linear map: output = input * weight + bias, with the gradient of the output. */
    private record DeferredProduct(
            Tensor weight, @Nullable Tensor bias, boolean isTransposed, Tensor input, Tensor outputGradient) {
        Tensor weightGradient() {
            return isTransposed
                    ? input.t().mm(outputGradient)
                    : outputGradient.t().mm(input);
        }

        void free() {
            input.close();
            outputGradient.close();
        }
    }

    private final List<DeferredProduct> products = new ArrayList<>();

    /** The object whose scope is open on this thread; null without one. */
    public static @Nullable DeferredGradients current() {
        return CURRENT.get();
    }

    /**
     * Lets the linear maps of forward passes on this thread put the gradients of their weights off, until the scope
     * ends.
     */
    public Scope open() {
        DeferredGradients before = CURRENT.get();
        CURRENT.set(this);
        return () -> CURRENT.set(before);
    }

    /** The time in which gradients are put off. */
    @FunctionalInterface
    public interface Scope extends AutoCloseable {
        @Override
        void close();
    }

    /**
     * Keeps what the gradients of a map need.
     *
     * @param weight a leaf: [outputs, inputs], or [inputs, outputs] if {@code isTransposed}
     * @param bias a leaf; null for a map without one, and for a bias whose gradient is computed elsewhere
     * @param input [rows, inputs], of the type of {@code outputGradient}
     * @param outputGradient [rows, outputs]
     */
    public void add(Tensor weight, @Nullable Tensor bias, boolean isTransposed, Tensor input, Tensor outputGradient) {
        products.add(new DeferredProduct(
                weight, bias, isTransposed, TensorMemory.own(input), TensorMemory.own(outputGradient)));
    }

    /** Number of gradients of weights that are put off. */
    public int size() {
        return products.size();
    }

    /** Computes the gradients and adds them to the {@code .grad} of weights and biases. */
    public void compute() {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            Map<Long, GradientSum> sums = new LinkedHashMap<>();
            for (DeferredProduct product : products) {
                add(sums, product.weight(), product.weightGradient());
                Tensor bias = product.bias();
                if (bias != null && bias.requires_grad()) {
                    add(sums, bias, product.outputGradient().sum(0));
                }
            }
            sums.values().forEach(GradientSum::accumulate);
        } finally {
            close();
        }
    }

    /** All uses of a parameter in one pass are added up before they are added to the gradient, as the engine does. */
    private static void add(Map<Long, GradientSum> sums, Tensor parameter, Tensor gradient) {
        Tensor typed = gradient.to(parameter.scalar_type());
        sums.merge(
                TensorMemory.identity(parameter),
                new GradientSum(parameter, typed),
                (first, second) -> new GradientSum(parameter, first.gradient().add(second.gradient())));
    }

    private record GradientSum(Tensor parameter, Tensor gradient) {
        void accumulate() {
            Tensor present = parameter.mutable_grad();
            if (present.defined()) {
                present.add_(gradient);
            } else {
                present.put(gradient);
            }
        }
    }

    /** Drops what was put off. */
    @Override
    public void close() {
        products.forEach(DeferredProduct::free);
        products.clear();
    }
}
