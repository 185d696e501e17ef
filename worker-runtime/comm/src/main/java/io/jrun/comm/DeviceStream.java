package io.jrun.comm;

/**
 * A queue of one device that runs what programs queue on it in order: a CUDA stream.
 *
 * @param handle what the driver of the device calls the stream (a {@code cudaStream_t}); 0 for the default stream
 */
public record DeviceStream(Device device, long handle) {
    /** The stream on which libtorch computes until a program chooses another. */
    public static DeviceStream defaultOf(Device device) {
        return new DeviceStream(device, 0);
    }
}
