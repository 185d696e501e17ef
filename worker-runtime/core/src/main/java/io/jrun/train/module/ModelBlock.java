package io.jrun.train.module;

import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.ResultScope;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/**
 * A built block of a model: its module and its forward pass, from one tensor to one tensor. Parallelisms and
 * recomputation put code around the forward pass, and the model calls {@link #forward}. libtorch has no hooks on modules
 * in C++. Confined to one thread at a time.
 */
public final class ModelBlock {
    private final String name;
    private final int number;
    private final Module module;
    private UnaryOperator<Tensor> forward;

    /**
     * A block without code around it.
     *
     * @param name of the block in the model, such as {@code block0}: the names of its parameters begin with it
     * @param number the place of the block among the blocks of the model, from 0
     * @param forward computes the output of the module from an input
     */
    public ModelBlock(String name, int number, Module module, UnaryOperator<Tensor> forward) {
        this.name = name;
        this.number = number;
        this.module = module;
        this.forward = forward;
    }

    /** The name of the block in the model. */
    public String name() {
        return name;
    }

    /** The place of the block among the blocks of the model, from 0. */
    public int number() {
        return number;
    }

    /** The module of the block. */
    public Module module() {
        return module;
    }

    /** The parameters of the block by their names in the model. */
    public Map<String, Tensor> parameters() {
        Map<String, Tensor> parameters = new LinkedHashMap<>();
        ModuleTensors.parameters(module).forEach((inner, tensor) -> parameters.put(name + "." + inner, tensor));
        return parameters;
    }

    /**
     * The output for an input, with all code that was put around the block. Frees the block's other tensors that the
     * backward pass does not need. A tensor that the block keeps in a field lives on if the field has
     * {@code TensorMemory.own(tensor)}.
     *
     * @throws IllegalStateException if the block uses a tensor whose memory is free
     */
    public Tensor forward(Tensor input) {
        return ResultScope.of(() -> forward.apply(input));
    }

    /**
     * Puts code around the forward pass. Call it before the first forward pass.
     *
     * @param code gets the forward pass so far, which it calls, and returns the new one
     */
    public void surround(UnaryOperator<UnaryOperator<Tensor>> code) {
        forward = code.apply(forward);
    }

    /** The block as a layer of a pipeline. Code that is put around the block later is part of the layer too. */
    public PipelineLayer layer() {
        return PipelineLayer.of(name, module, this::forward);
    }
}
