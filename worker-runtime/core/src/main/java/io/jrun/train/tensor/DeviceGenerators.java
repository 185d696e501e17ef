package io.jrun.train.tensor;

import io.jrun.comm.Device;
import org.bytedeco.pytorch.Generator;
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
