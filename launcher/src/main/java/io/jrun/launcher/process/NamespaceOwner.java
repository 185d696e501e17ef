package io.jrun.launcher.process;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;
import java.util.Optional;

/** Finds the user namespace that owns a namespace. Stateless. Source: ioctl_ns(2). */
public final class NamespaceOwner {
    private static final long NS_GET_USERNS = 0xb701;
    private static final Linker LINKER = Linker.nativeLinker();

    /** open and ioctl have variable arguments behind the second one. */
    private static final Linker.Option VARIADIC = Linker.Option.firstVariadicArg(2);

    private NamespaceOwner() {}

    /**
     * The owner of a namespace, as a file of this process that stays open until its end; empty if the kernel does not
     * say.
     *
     * @param namespace a file such as {@code /proc/1/ns/mnt}
     */
    public static Optional<Path> of(Path namespace) {
        try (Arena arena = Arena.ofConfined()) {
            MethodHandle open =
                    handle("open", ValueLayout.ADDRESS, ValueLayout.JAVA_INT); // O_RDONLY is 0, without a mode
            int file = (int) open.invokeExact(arena.allocateFrom(namespace.toString()), 0);
            if (file < 0) {
                return Optional.empty();
            }
            MethodHandle ioctl = handle("ioctl", ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG);
            int owner = (int) ioctl.invokeExact(file, NS_GET_USERNS);
            return owner < 0
                    ? Optional.empty()
                    : Optional.of(Path.of("/proc/" + ProcessHandle.current().pid() + "/fd/" + owner));
        } catch (Throwable e) {
            return Optional.empty(); // without native access
        }
    }

    private static MethodHandle handle(String name, MemoryLayout first, MemoryLayout second) {
        MemorySegment function = LINKER.defaultLookup().findOrThrow(name);
        return LINKER.downcallHandle(function, FunctionDescriptor.of(ValueLayout.JAVA_INT, first, second), VARIADIC);
    }
}
