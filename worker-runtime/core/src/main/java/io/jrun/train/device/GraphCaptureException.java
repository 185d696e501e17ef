package io.jrun.train.device;

import java.io.Serial;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Work cannot be recorded into a graph. The message has one line, and names the place where a call has failed. */
public final class GraphCaptureException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    private static final List<String> INNER = List.of("java.", "jdk.", "org.bytedeco.", "io.jrun.train.tensor.");

    private GraphCaptureException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }

    /** An error that no call of the work has caused, or that the runtime reports only after the work. */
    static GraphCaptureException withoutPlace(@Nullable String message) {
        return new GraphCaptureException(String.valueOf(message), null);
    }

    /** The exception of a failure while work was recorded. */
    static GraphCaptureException of(RuntimeException failure) {
        String text = String.valueOf(failure.getMessage()).lines().findFirst().orElse("");
        return new GraphCaptureException(text + place(failure.getStackTrace()), failure);
    }

    /** The call that has failed, for the reader of a program: not within Java, libtorch and the classes of tensors. */
    private static String place(StackTraceElement[] stack) {
        return Arrays.stream(stack)
                .filter(call -> INNER.stream().noneMatch(call.getClassName()::startsWith))
                .findFirst()
                .map(call -> ", in " + call.getClassName() + "." + call.getMethodName() + " (" + call.getFileName()
                        + ":" + call.getLineNumber() + ")")
                .orElse("");
    }
}
