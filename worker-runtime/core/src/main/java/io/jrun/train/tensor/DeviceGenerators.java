package io.jrun.train.tensor;

import io.jrun.comm.Device;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** The random number generators of devices. Stateless. */
public final class DeviceGenerators {
    private DeviceGenerators() {}

    /**
     * libtorch's default generator of a device, which operations without a generator use. It belongs to the process. In
     * the innermost PointerScope.
     */
    public static Generator ofDevice(Device device) {
        Device computing = TensorMemory.computing(device);
        if (computing.isCpu()) {
            return torch.getDefaultCPUGenerator();
        }
        try (org.bytedeco.pytorch.Device place = new org.bytedeco.pytorch.Device(computing.toString())) {
            return torch.globalContext().defaultGenerator(place);
        }
    }

    /**
     * Runs code whose random numbers begin with a seed. The default generators of the CPU and of a device then go on
     * as if the code had not run. One thread at a time uses the generators.
     */
    public static <T> T seeded(Device device, long seed, Supplier<T> code) {
        List<Device> devices = Stream.of(Device.CPU, device).distinct().toList();
        Map<Device, Tensor> states = new HashMap<>();
        try (PointerScope _ = new PointerScope()) {
            for (Device each : devices) {
                Generator generator = ofDevice(each);
                states.put(each, TensorMemory.own(generator.get_state()));
                generator.set_current_seed(seed);
            }
        }
        try {
            return code.get(); // in no scope: it may keep what it makes
        } finally {
            try (PointerScope _ = new PointerScope()) {
                states.forEach((each, state) -> {
                    ofDevice(each).set_state(state);
                    state.close();
                });
            }
        }
    }

    /** A new generator. It lives until the caller closes it. */
    public static Generator create(Device device, long seed) {
        Device computing = TensorMemory.computing(device);
        Generator made;
        if (computing.isCpu()) {
            made = torch.createCPUGenerator(seed);
        } else {
            made = torch.getCUDAHooks().getNewGenerator((byte) computing.index());
            made.set_current_seed(seed);
        }
        made.retainReference();
        return made;
    }
}
