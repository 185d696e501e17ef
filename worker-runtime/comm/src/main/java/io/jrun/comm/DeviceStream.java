package io.jrun.comm;

/**
 * A queue of one device that runs its work in order, such as a CUDA stream.
 *
 * @param handle handle of the stream in the device's driver (a {@code cudaStream_t}); 0 for the default stream
 */
public record DeviceStream(Device device, long handle) {
    /**
     * Returns the default stream of {@code device}. libtorch computes on this stream until a program chooses another
     * stream.
     */
    public static DeviceStream defaultOf(Device device) {
        return new DeviceStream(device, 0);
    }
}
