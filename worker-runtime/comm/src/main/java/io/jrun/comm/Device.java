package io.jrun.comm;

/**
 * The device that holds the elements of a {@link Buffer}.
 *
 * @param type {@code cpu}, {@code cuda}, or the lower-case name of another device type of libtorch
 * @param index index from 0 among the devices of this type that this process sees; 0 for {@code cpu}
 */
public record Device(String type, int index) {
    /** Host memory. */
    public static final Device CPU = new Device("cpu", 0);

    public Device {
        if (type.isEmpty() || index < 0) {
            throw new CommException(
                    ErrorCode.USAGE, "device '" + type + "' " + index + " (expected a type and an index from 0)");
        }
    }

    /** The NVIDIA GPU of this index. */
    public static Device cuda(int index) {
        return new Device("cuda", index);
    }

    /** Whether the JVM can read and write the memory of the device. */
    public boolean isCpu() {
        return type.equals("cpu");
    }

    /** Returns the name in libtorch's form: {@code cpu}, {@code cuda:0}. */
    @Override
    public String toString() {
        return isCpu() ? type : type + ":" + index;
    }
}
