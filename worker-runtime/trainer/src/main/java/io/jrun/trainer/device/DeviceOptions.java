package io.jrun.trainer.device;

import io.jrun.comm.Device;
import io.jrun.comm.World;
import io.jrun.train.Libtorch;
import io.jrun.train.device.DeviceRequest;
import io.jrun.trainer.arguments.CommandLineArguments;
import io.jrun.trainer.arguments.InvalidArgumentException;
import java.util.List;
import java.util.function.Consumer;
import org.bytedeco.pytorch.global.torch;

/**
 * The device of the computation.
 *
 * @param usesTf32 whether products of float32 matrices on a GPU round their operands to TF32
 * @param usesGraph whether a CUDA graph repeats the passes of a step
 * @param device of this rank; the CPU before {@link #choose}
 */
public record DeviceOptions(DeviceRequest request, boolean usesTf32, boolean usesGraph, Device device) {
    /** The names of the options with a value. */
    public static final List<String> VALUED = List.of("--device");

    /** The names of the options without a value. */
    public static final List<String> FLAGS = List.of("--tf32", "--cuda-graph");

    /** Reads the options. */
    public static DeviceOptions of(CommandLineArguments given) {
        try {
            return new DeviceOptions(
                    given.text("--device").map(DeviceRequest::parse).orElse(DeviceRequest.AUTO),
                    given.has("--tf32"),
                    given.has("--cuda-graph"),
                    Device.CPU);
        } catch (IllegalArgumentException e) {
            throw new InvalidArgumentException("--device is " + e.getMessage());
        }
    }

    /**
     * The same with the device of this rank. Sets the precision of matrix products. Collective.
     *
     * @param notes takes a line about the choice, on all ranks
     * @throws InvalidArgumentException on every rank, if a rank cannot use the device
     */
    public DeviceOptions choose(World world, Consumer<String> notes) {
        try {
            DeviceRequest.Choice choice = request.choose(world);
            choice.note().ifPresent(note -> notes.accept("note: " + note));
            if (usesTf32 && choice.device().isCpu()) {
                throw new InvalidArgumentException(
                        "--tf32 is a precision of GPUs, and the ranks train on the CPU: give no --tf32");
            }
            if (usesGraph && choice.device().isCpu()) {
                throw new InvalidArgumentException(
                        "--cuda-graph records the work of a GPU, and the ranks train on the CPU: give no --cuda-graph");
            }
            if (usesTf32) {
                Libtorch.load();
                torch.globalContext().setAllowTF32CuBLAS(true);
            }
            return new DeviceOptions(request, usesTf32, usesGraph, choice.device());
        } catch (InvalidArgumentException e) {
            throw e;
        } catch (IllegalArgumentException e) {
            throw new InvalidArgumentException(String.valueOf(e.getMessage()));
        }
    }
}
