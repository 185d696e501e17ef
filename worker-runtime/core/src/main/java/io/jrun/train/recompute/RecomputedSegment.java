package io.jrun.train.recompute;

import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.layer.CompositeModule;
import io.jrun.train.layer.DropoutLayer;
import io.jrun.train.layer.LinearLayer;
import io.jrun.train.tensor.ModuleTensors;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.GradMode;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/**
 * A part of a model that keeps its inputs, frees its activations, and computes the activations again in the backward
 * pass. Loss and gradients have the same bits as without recomputation: the recomputation restores the random number
 * generators and the autocast scopes.
 *
 * <pre>{@code
 * RecomputedSegment segment = RecomputedSegment.of("block0", block, block::forward);
 * Tensor y = segment.forward(x);
 * }</pre>
 *
 * <p>A segment runs its forward method twice in a step. If the method changes buffers, such as running means, the
 * buffers change twice. A tensor with a gradient that the method leaves in a field by {@code TensorMemory.own} is an
 * error of the backward pass, because its gradient would be lost: detach it, or return it as an output. Segments may be
 * nested. Each level computes its inner levels again. Above 60 levels libtorch's engine runs backward passes, and
 * therefore forward methods, on threads of its own.
 *
 * <p>All parameters that the forward method uses must be declared: the gradients of declared parameters flow through
 * the graph around the segment. A parameter may therefore be shared with other parts of the model, and hooks on
 * parameters ({@code DistributedDataParallel}) run once. With an undeclared parameter the backward pass throws.
 *
 * <p>Random numbers come from the process-wide generators, or from those of {@link DropoutLayer}s. Ranks that are
 * threads of one JVM share the process-wide generators: with dropout of libtorch's own each rank needs a process of its
 * own.
 */
public final class RecomputedSegment {
    private final String name;
    private final List<Tensor> parameters;
    private final UnaryOperator<List<Tensor>> forward;
    private final DeterminismCheck check;
    private final List<DropoutLayer> dropouts;

    /**
     * A segment of any number of inputs and outputs.
     *
     * @param name name of the segment in errors
     * @param parameters all leaves that {@code forward} uses, except its inputs
     * @param forward computes the outputs from the inputs; must give the same result for the same inputs, parameters
     *     and random numbers
     */
    public RecomputedSegment(
            String name, Collection<Tensor> parameters, UnaryOperator<List<Tensor>> forward, DeterminismCheck check) {
        this(name, parameters, forward, check, List.of());
    }

    private RecomputedSegment(
            String name,
            Collection<Tensor> parameters,
            UnaryOperator<List<Tensor>> forward,
            DeterminismCheck check,
            Collection<DropoutLayer> dropouts) {
        this.dropouts = List.copyOf(dropouts);
        this.name = name;
        this.parameters = List.copyOf(parameters);
        this.forward = forward;
        this.check = check;
    }

    /**
     * A segment of one input and one output that uses the parameters of {@code module} alone. The random numbers of the
     * {@link DropoutLayer}s of a {@link CompositeModule} are repeated too.
     */
    public static RecomputedSegment of(String name, Module module, UnaryOperator<Tensor> forward) {
        return new RecomputedSegment(
                name,
                ModuleTensors.parameters(module).values(),
                inputs -> List.of(forward.apply(inputs.getFirst())),
                DeterminismCheck.FORM,
                module instanceof CompositeModule composite
                        ? composite.descendants(DropoutLayer.class).values()
                        : List.of());
    }

    /**
     * A segment that keeps its input and the outputs of some linear layers. The backward pass computes everything
     * again except the products of these layers: normalisation, activations, attention and dropout.
     *
     * @param keeps chooses the layers by their dotted names in {@code module}. The layers must not be parallel: a later
     *     {@link LinearLayer#setOperation} ends the choice.
     */
    public static RecomputedSegment keeping(
            String name, CompositeModule module, UnaryOperator<Tensor> forward, Predicate<String> keeps) {
        module.descendants(LinearLayer.class).forEach((layerName, layer) -> {
            if (keeps.test(layerName)) {
                layer.setOperation(KeptOutputs.OPERATION);
            }
        });
        return of(name, module, forward);
    }

    /** The same segment with another comparison of both computations. */
    public RecomputedSegment withCheck(DeterminismCheck newCheck) {
        return new RecomputedSegment(name, parameters, forward, newCheck, dropouts);
    }

    /** The output of a segment of one input and one output. */
    public Tensor forward(Tensor input) {
        return forward(List.of(input)).getFirst();
    }

    /** The outputs of a segment. Without a required gradient the segment keeps no inputs and computes nothing again. */
    public List<Tensor> forward(List<Tensor> inputs) {
        List<Tensor> all = new ArrayList<>(inputs);
        parameters.stream().filter(Tensor::requires_grad).forEach(all::add);
        if (!GradMode.is_enabled() || all.stream().noneMatch(Tensor::requires_grad)) {
            return forward.apply(inputs);
        }
        List<Generator> generators =
                dropouts.stream().map(DropoutLayer::generator).toList();
        return AutogradBridge.instance()
                .apply(new RecomputeFunction(name, inputs.size(), forward, check, generators, all), all);
    }
}
