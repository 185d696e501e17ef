package io.jrun.train;

import io.jrun.comm.Buffer;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.Work;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A real group whose calls with buffers are recorded: name, bytes of the first buffer, and when the call began and was
 * awaited.
 */
public final class CountingGroup {
    /** One call. {@code awaited} is 0 for a blocking call. */
    public record Call(String operation, long bytes, long begun, AtomicLong awaited) {}

    private final List<Call> calls = new ArrayList<>();
    private final ProcessGroup group;

    public CountingGroup(ProcessGroup real) {
        group = (ProcessGroup) Proxy.newProxyInstance(
                ProcessGroup.class.getClassLoader(), new Class<?>[] {ProcessGroup.class}, (_, method, arguments) -> {
                    try {
                        if (arguments == null || !(arguments[0] instanceof Buffer buffer)) {
                            return method.invoke(real, arguments);
                        }
                        Call call = new Call(
                                method.getName(),
                                buffer.count() * buffer.type().sizeBytes(),
                                System.nanoTime(),
                                new AtomicLong());
                        calls.add(call);
                        Object result = method.invoke(real, arguments);
                        return result instanceof Work work ? timed(work, call) : result;
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    private static Work timed(Work real, Call call) {
        return (Work) Proxy.newProxyInstance(
                Work.class.getClassLoader(), new Class<?>[] {Work.class}, (_, method, arguments) -> {
                    if (method.getName().equals("await")) {
                        call.awaited().set(System.nanoTime());
                    }
                    try {
                        return invoke(method, real, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    private static @Nullable Object invoke(Method method, Work real, Object @Nullable [] arguments)
            throws InvocationTargetException, IllegalAccessException {
        return method.invoke(real, arguments);
    }

    public ProcessGroup group() {
        return group;
    }

    public List<Call> calls() {
        return calls;
    }

    /** The bytes of each operation. */
    public Map<String, Long> bytes() {
        return calls.stream().collect(Collectors.groupingBy(Call::operation, Collectors.summingLong(Call::bytes)));
    }
}
