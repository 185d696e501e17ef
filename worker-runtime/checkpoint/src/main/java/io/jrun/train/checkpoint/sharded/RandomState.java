package io.jrun.train.checkpoint.sharded;

import io.jrun.comm.Device;
import io.jrun.train.Libtorch;
import io.jrun.train.tensor.DeviceGenerators;
import io.jrun.train.tensor.DeviceTensors;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.Tensor;

/**
 * The random numbers of one rank: libtorch's default generators of the CPU and of the rank's device, which dropout uses,
 * and a generator of the program in Java. Each rank has a state of its own, so a job with more ranks has ranks without a
 * saved state. One rank per process: libtorch's generators belong to the process.
 */
public final class RandomState {
    private RandomState() {}

    /**
     * Adds copies of this rank's generators to a state that is saved before the innermost PointerScope ends.
     *
     * @param device of the rank's computation
     */
    public static void save(StateDict state, int rank, Device device, SplitMix64Random program) {
        Libtorch.load();
        generators(rank, device).forEach((name, of) -> {
            try (Generator generator = DeviceGenerators.ofDevice(of)) {
                state.put(name, generator.get_state());
            }
        });
        state.put(name(rank, "java"), DeviceTensors.of(Device.CPU, new long[] {program.state()}, 1));
    }

    /**
     * Gives this rank's generators their saved states. Returns false, and changes nothing, if the checkpoint has no
     * state of this rank, or none of a device of this type.
     */
    public static boolean restore(SavedCheckpoint saved, int rank, Device device, SplitMix64Random program) {
        Libtorch.load();
        Map<String, Device> generators = generators(rank, device);
        if (!saved.tensors().keySet().containsAll(generators.keySet())) {
            return false;
        }
        generators.forEach((name, of) -> {
            try (Tensor torchState = saved.readOne(name);
                    Generator generator = DeviceGenerators.ofDevice(of)) {
                generator.set_state(torchState);
            }
        });
        try (Tensor javaState = saved.readOne(name(rank, "java"))) {
            program.restore(javaState.item_long());
        }
        return true;
    }

    /** The devices of libtorch's generators, by the names of their states. */
    private static Map<String, Device> generators(int rank, Device device) {
        Map<String, Device> generators = new LinkedHashMap<>();
        generators.put(name(rank, "torch"), Device.CPU);
        if (!device.isCpu()) {
            generators.put(name(rank, device.type()), device);
        }
        return generators;
    }

    private static String name(int rank, String generator) {
        return String.format(Locale.ROOT, "random.rank%05d.%s", rank, generator);
    }
}
