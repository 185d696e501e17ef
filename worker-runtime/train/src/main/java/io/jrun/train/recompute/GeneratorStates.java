package io.jrun.train.recompute;

import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * The states of the default random number generators of the CPU and of each other device of a set of tensors.
 * Stateless.
 */
final class GeneratorStates {
    private GeneratorStates() {}

    /**
     * The default generators that operations on {@code tensors} may use, the CPU's first; then {@code others}. In the
     * innermost PointerScope.
     */
    static List<Generator> of(List<Tensor> tensors, List<Generator> others) {
        Map<io.jrun.comm.Device, Generator> generators = new LinkedHashMap<>();
        generators.put(io.jrun.comm.Device.CPU, torch.getDefaultCPUGenerator());
        for (Tensor tensor : tensors) {
            io.jrun.comm.Device device = TensorMemory.device(tensor);
            generators.computeIfAbsent(device, GeneratorStates::defaultGenerator);
        }
        List<Generator> all = new ArrayList<>(generators.values());
        all.addAll(others);
        return all;
    }

    private static Generator defaultGenerator(io.jrun.comm.Device device) {
        return torch.globalContext().defaultGenerator(new Device(device.toString()));
    }

    static Tensor[] save(List<Generator> generators) {
        return generators.stream().map(Generator::get_state).toArray(Tensor[]::new);
    }

    static void restore(List<Generator> generators, Tensor[] states) {
        for (int i = 0; i < states.length; i++) {
            generators.get(i).set_state(states[i]);
        }
    }
}
