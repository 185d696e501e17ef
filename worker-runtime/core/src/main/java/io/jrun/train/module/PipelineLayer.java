package io.jrun.train.module;

import io.jrun.train.tensor.ModuleTensors;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/**
 * A part of a model that is not cut: one tensor in, one tensor out. A tensor that is a parameter of two layers is tied:
 * the gradients of both uses are added up.
 *
 * @param name in errors and reports
 * @param parameters all leaves that {@code forward} uses, by their names in the model
 * @param forward the output for an input; the input of the first layer is the input of the model
 */
public record PipelineLayer(String name, Map<String, Tensor> parameters, UnaryOperator<Tensor> forward) {
    /** Copies the map. */
    public PipelineLayer {
        parameters = Collections.unmodifiableMap(new LinkedHashMap<>(parameters));
    }

    /** A layer that is one module; its parameters are named {@code name.}, then the name in the module. */
    public static PipelineLayer of(String name, Module module, UnaryOperator<Tensor> forward) {
        Map<String, Tensor> parameters = new LinkedHashMap<>();
        ModuleTensors.parameters(module).forEach((inner, tensor) -> parameters.put(name + "." + inner, tensor));
        return new PipelineLayer(name, parameters, forward);
    }
}
