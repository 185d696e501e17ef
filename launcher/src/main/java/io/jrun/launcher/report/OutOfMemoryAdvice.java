package io.jrun.launcher.report;

import java.util.Optional;

/** The remedy for an OutOfMemoryError of a worker. Stateless. */
final class OutOfMemoryAdvice {
    private static final String ERROR = "java.lang.OutOfMemoryError";

    private OutOfMemoryAdvice() {}

    /**
     * Returns the remedy, by the resource that ran out.
     *
     * @param message an exception and its message, as Throwable.toString() writes them
     */
    static Optional<String> of(String message) {
        String line = message.lines().findFirst().orElse("");
        return line.startsWith(ERROR) ? Optional.of(remedy(line)) : Optional.empty();
    }

    private static String remedy(String line) {
        if (line.contains("native thread")) {
            return "the limit of processes or threads is reached: see ulimit -u and the pids limit of the container";
        }
        if (line.contains("Metaspace") || line.contains("Compressed class space")) {
            return "the JVM has no room for classes: raise -XX:MaxMetaspaceSize with --jvm-opts";
        }
        if (line.contains("direct buffer memory")) {
            return "the limit of direct buffers is the heap size by default: raise the limit with"
                    + " --jvm-opts=-XX:MaxDirectMemorySize=4g";
        }
        if (line.contains("Physical memory usage is too high") || line.contains("maxPhysicalBytes")) {
            return "libtorch's tensors use the native memory of the node: fewer workers or smaller batches";
        }
        return "the Java heap of a worker is full. By default the heaps of all workers of a node share half of its"
                + " memory; raise the limit with --jvm-opts=-Xmx4g";
    }
}
