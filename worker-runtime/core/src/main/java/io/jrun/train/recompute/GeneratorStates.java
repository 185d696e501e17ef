package io.jrun.train.recompute;

import io.jrun.comm.Device;
import io.jrun.train.tensor.DeviceGenerators;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.Tensor;

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
        Map<Device, Generator> generators = new LinkedHashMap<>();
        generators.put(Device.CPU, DeviceGenerators.ofDevice(Device.CPU));
        for (Tensor tensor : tensors) {
            generators.computeIfAbsent(TensorMemory.device(tensor), DeviceGenerators::ofDevice);
        }
        List<Generator> all = new ArrayList<>(generators.values());
        all.addAll(others);
        return all;
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
