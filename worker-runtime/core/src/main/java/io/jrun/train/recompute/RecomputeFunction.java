package io.jrun.train.recompute;

import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.autograd.AutogradFunction;
import io.jrun.train.autograd.FunctionContext;
import io.jrun.train.precision.Autocast;
import io.jrun.train.precision.AutocastState;
import io.jrun.train.precision.RepeatedScales;
import io.jrun.train.tensor.OwnedResults;
import io.jrun.train.tensor.ResultScope;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.AutoGradMode;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * One call of a {@link RecomputedSegment}. The saved tensors are: inputs and parameters, states of the generators, the
 * outputs of kept linear layers, the scales of operands of 8 bits, and the outputs if their bits are compared.
 */
final class RecomputeFunction implements AutogradFunction {
    private final String name;
    private final int inputCount;
    private final UnaryOperator<List<Tensor>> segment;
    private final DeterminismCheck check;
    /** Generators of the segment's own. */
    private final List<Generator> generators;
    /** The program's own tensors: inputs, then parameters. The graph keeps the parameters alive. */
    private final List<Tensor> parameters;

    private List<String> forms = List.of();
    private int keptCount;
    private int scaleCount;
    private final AutocastState autocast = AutocastState.current();

    RecomputeFunction(
            String name,
            int inputCount,
            UnaryOperator<List<Tensor>> segment,
            DeterminismCheck check,
            List<Generator> generators,
            List<Tensor> inputsAndParameters) {
        this.name = name;
        this.inputCount = inputCount;
        this.segment = segment;
        this.check = check;
        this.generators = generators;
        this.parameters = List.copyOf(inputsAndParameters.subList(inputCount, inputsAndParameters.size()));
    }

    @Override
    public String name() {
        return "the recomputed segment '" + name + "'";
    }

    @Override
    public List<Tensor> forward(FunctionContext context, List<Tensor> all) {
        context.save(all.toArray(Tensor[]::new));
        context.save(GeneratorStates.save(GeneratorStates.of(all, generators)));
        List<Tensor> outputs;
        KeptOutputs kept = KeptOutputs.recorder();
        RepeatedScales scales = RepeatedScales.recorder();
        try (Autocast _ = autocast.uncached().open();
                KeptOutputs.Scope _ = kept.open();
                RepeatedScales.Scope _ = scales.open()) {
            outputs = segment.apply(all.subList(0, inputCount));
            keptCount = kept.outputs().size();
            context.save(kept.outputs().toArray(Tensor[]::new));
            scaleCount = scales.scales().size();
            context.save(scales.scales().toArray(Tensor[]::new));
        } finally {
            kept.free();
            scales.free();
        }
        forms = outputs.stream().map(TensorMemory::form).toList();
        if (check == DeterminismCheck.BITS) {
            context.save(outputs.toArray(Tensor[]::new));
        }
        return outputs;
    }

    @Override
    public List<@Nullable Tensor> backward(FunctionContext context, List<@Nullable Tensor> gradients) {
        List<Tensor> leaves = new ArrayList<>();
        for (int i = 0; i < inputCount; i++) {
            leaves.add(context.saved(i).detach().set_requires_grad(context.needsGradient(i)));
        }
        for (int i = 0; i < parameters.size(); i++) {
            Tensor _ = context.saved(inputCount + i); // Throws if the optimizer has stepped since the forward pass.
        }
        List<Tensor> outputs;
        try (OwnedResults owned = new OwnedResults()) {
            outputs = computeAgain(context, leaves);
            requireNoOthers(owned.countBeside(outputs));
        }
        requireSame(context, outputs);
        List<Tensor> roots = new ArrayList<>();
        List<Tensor> rootGradients = new ArrayList<>();
        for (int i = 0; i < outputs.size(); i++) {
            Tensor gradient = gradients.get(i);
            if (gradient != null && outputs.get(i).requires_grad()) {
                roots.add(outputs.get(i));
                rootGradients.add(gradient);
            }
        }
        return gradientsOf(context, leaves, roots, rootGradients);
    }

    private List<Tensor> computeAgain(FunctionContext context, List<Tensor> leaves) {
        List<Tensor> all = new ArrayList<>(leaves);
        all.addAll(parameters);
        List<Generator> used = GeneratorStates.of(all, generators);
        Tensor[] now = GeneratorStates.save(used);
        int firstState = inputCount + parameters.size();
        int firstKept = firstState + used.size();
        GeneratorStates.restore(used, saved(context, firstState, used.size()).toArray(Tensor[]::new));
        try (ResultScope scope = new ResultScope();
                AutoGradMode _ = new AutoGradMode(true);
                Autocast _ = autocast.open();
                KeptOutputs.Scope _ =
                        KeptOutputs.of(saved(context, firstKept, keptCount)).open();
                RepeatedScales.Scope _ = RepeatedScales.of(saved(context, firstKept + keptCount, scaleCount))
                        .open()) {
            return segment.apply(Collections.unmodifiableList(leaves)).stream()
                    .map(scope::result)
                    .toList();
        } finally {
            GeneratorStates.restore(used, now);
        }
    }

    private static List<Tensor> saved(FunctionContext context, int first, int count) {
        return IntStream.range(first, first + count).mapToObj(context::saved).toList();
    }

    private void requireNoOthers(long kept) {
        if (kept > 0) {
            throw new RecomputeException(name() + " keeps " + kept + " tensors with a gradient beside its outputs, by"
                    + " TensorMemory.own. Code outside of the segment would use them, and their gradients would be lost."
                    + " Detach such a tensor, or return it as an output of the segment.");
        }
    }

    private void requireSame(FunctionContext context, List<Tensor> outputs) {
        if (check == DeterminismCheck.NONE) {
            return;
        }
        List<String> again = outputs.stream().map(TensorMemory::form).toList();
        if (!again.equals(forms)) {
            throw different("the outputs were " + forms + " first and " + again + " later");
        }
        if (check == DeterminismCheck.BITS) {
            int first = context.savedCount() - outputs.size();
            for (int i = 0; i < outputs.size(); i++) {
                if (!bytes(outputs.get(i)).equal(bytes(context.saved(first + i)))) {
                    throw different("the elements of output " + i + " have changed");
                }
            }
        }
    }

    /** The bytes of the elements: NaN does not equal NaN, but has equal bytes. */
    private static Tensor bytes(Tensor tensor) {
        return tensor.detach().contiguous().view(-1).view(torch.ScalarType.Byte);
    }

    private RecomputeException different(String what) {
        return new RecomputeException(name() + " does not compute the same result again: " + what
                + ". The forward method must depend on its inputs, the parameters and torch's random numbers alone.");
    }

    private List<@Nullable Tensor> gradientsOf(
            FunctionContext context, List<Tensor> leaves, List<Tensor> roots, List<Tensor> rootGradients) {
        List<@Nullable Tensor> results = new ArrayList<>();
        for (int i = 0; i < inputCount + parameters.size(); i++) {
            results.add(null);
        }
        if (roots.isEmpty()) {
            return results;
        }
        List<Tensor> wanted = new ArrayList<>();
        List<Integer> places = new ArrayList<>();
        for (int i = 0; i < results.size(); i++) {
            if (context.needsGradient(i)) {
                wanted.add(i < inputCount ? leaves.get(i) : parameters.get(i - inputCount));
                places.add(i);
            }
        }
        AutogradBridge bridge = AutogradBridge.instance();
        int undeclared = bridge.countOtherLeaves(roots, wanted);
        if (undeclared > 0) {
            throw new RecomputeException(
                    name() + " uses " + undeclared + " tensors that require a gradient and are neither"
                            + " inputs nor declared parameters. Declare all parameters that the forward method uses.");
        }
        List<@Nullable Tensor> found = bridge.gradients(roots, rootGradients, wanted);
        for (int i = 0; i < places.size(); i++) {
            results.set(places.get(i), found.get(i));
        }
        return results;
    }
}
