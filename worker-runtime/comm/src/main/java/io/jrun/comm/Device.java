package io.jrun.comm;

/**
 * Where the elements of a {@link Buffer} lie.
 *
 * @param type {@code cpu}, {@code cuda}, or another name that libtorch gives a kind of device; lower case
 * @param index the number of the device among those of its type that this process sees, from 0; 0 for {@code cpu}
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

    /** The name as libtorch writes it: {@code cpu}, {@code cuda:0}. */
    @Override
    public String toString() {
        return isCpu() ? type : type + ":" + index;
    }
}
