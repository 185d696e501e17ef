package io.jrun.train.device;

import io.jrun.comm.Codec;
import io.jrun.comm.Device;
import io.jrun.comm.World;
import io.jrun.train.Libtorch;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.bytedeco.pytorch.global.torch;

/**
 * The device that a user wants for the computation of the ranks: {@code auto}, {@code cpu}, {@code cuda} or
 * {@code cuda:N}. Immutable.
 */
public final class DeviceRequest {
    private static final String NO_GPU = " sees no GPU.";

    /** A GPU if each rank can use one, else the CPU. */
    public static final DeviceRequest AUTO = new DeviceRequest(Kind.AUTO, OptionalInt.empty());

    private static final Pattern FORM = Pattern.compile("(auto|cpu|cuda)|cuda:(\\d{1,3})");

    private final Kind kind;
    private final OptionalInt index;

    private enum Kind {
        AUTO,
        CPU,
        CUDA
    }

    private DeviceRequest(Kind kind, OptionalInt index) {
        this.kind = kind;
        this.index = index;
    }

    /**
     * Reads a request.
     *
     * @throws IllegalArgumentException if the text is no request; the message lists the forms
     */
    public static DeviceRequest parse(String text) {
        Matcher form = FORM.matcher(text);
        if (!form.matches()) {
            throw new IllegalArgumentException("'" + text + "', expected auto, cpu, cuda or cuda:N");
        }
        String number = form.group(2);
        if (number != null) {
            return new DeviceRequest(Kind.CUDA, OptionalInt.of(Integer.parseInt(number)));
        }
        return switch (text) {
            case "auto" -> AUTO;
            case "cpu" -> new DeviceRequest(Kind.CPU, OptionalInt.empty());
            default -> new DeviceRequest(Kind.CUDA, OptionalInt.empty());
        };
    }

    /**
     * The device that the ranks use.
     *
     * @param device of this rank; all ranks have a device of the same type
     * @param note why the ranks use the CPU although a rank sees a GPU, in one line; the same on all ranks
     */
    public record Choice(Device device, Optional<String> note) {}

    /**
     * Chooses the device of this rank, and makes it the current device of the calling thread. Loads libtorch.
     * Collective.
     *
     * @throws IllegalArgumentException on every rank, if a GPU is wanted and a rank cannot use one; the message is one
     *     line, names the rank and says what is missing
     */
    public Choice choose(World world) {
        if (kind == Kind.CPU) {
            return new Choice(Device.CPU, Optional.empty());
        }
        List<String> obstacles = world.group().objects().allGather(obstacle(world), Codec.STRING);
        Optional<String> first =
                obstacles.stream().filter(reason -> !reason.isEmpty()).findFirst();
        if (first.isEmpty()) {
            Device device = index.isPresent() ? Device.cuda(index.getAsInt()) : world.device();
            use(device);
            return new Choice(device, Optional.empty());
        }
        if (kind == Kind.CUDA) {
            throw new IllegalArgumentException(first.get());
        }
        boolean hasGpus = !obstacles.stream().allMatch(reason -> reason.contains(NO_GPU));
        return new Choice(
                Device.CPU, hasGpus ? first.map(reason -> "the ranks train on the CPU: " + reason) : Optional.empty());
    }

    /** The reason for which this rank cannot use the GPU; empty if it can. */
    private String obstacle(World world) {
        String rank = "rank " + world.rank() + " on " + world.host();
        Device own = world.device();
        if (own.isCpu()) {
            return rank + NO_GPU
                    + " Check nvidia-smi and CUDA_VISIBLE_DEVICES there, or train on CPUs with --device=cpu.";
        }
        if (index.isPresent() && world.size() > 1 && index.getAsInt() != own.index()) {
            return "--device=" + this + ": the GPU of " + rank + " is " + own
                    + ". Give --device=cuda: each rank then uses its own GPU.";
        }
        Optional<String> plain = Libtorch.whyWithoutCuda();
        if (plain.isPresent()) {
            return rank + " has a GPU, but " + plain.get() + ".";
        }
        Libtorch.load();
        int usable = torch.cuda_device_count();
        int wanted = index.orElse(own.index());
        if (usable == 0) {
            return rank + " has libtorch's CUDA build, but CUDA finds no GPU."
                    + " Check the driver with nvidia-smi; 'jrun cuda status' shows what is missing.";
        }
        if (wanted >= usable) {
            return "--device=cuda:" + wanted + ": " + rank + " can use " + usable
                    + (usable == 1 ? " GPU, cuda:0" : " GPUs, cuda:0 to cuda:" + (usable - 1)) + ".";
        }
        return "";
    }

    private static void use(Device device) {
        try (org.bytedeco.pytorch.Device place = new org.bytedeco.pytorch.Device(device.toString())) {
            torch.getDeviceGuardImpl(torch.DeviceType.CUDA).setDevice(place);
        }
    }

    /** The form in which the user writes the request. */
    @Override
    public String toString() {
        return switch (kind) {
            case AUTO -> "auto";
            case CPU -> "cpu";
            case CUDA -> index.isPresent() ? "cuda:" + index.getAsInt() : "cuda";
        };
    }
}
