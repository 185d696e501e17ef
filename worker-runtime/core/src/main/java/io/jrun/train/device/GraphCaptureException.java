package io.jrun.train.device;

import java.io.Serial;
import java.util.Arrays;
import java.util.List;

/** Work cannot be recorded into a graph. The message has one line and names the place. */
public final class GraphCaptureException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    private static final List<String> INNER = List.of("java.", "jdk.", "org.bytedeco.", "io.jrun.train.tensor.");

    private GraphCaptureException(String message, Throwable cause) {
        super(message, cause);
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
