package io.jrun.agent.worker;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;

/**
 * A seccomp filter for root of a container whose user is no root of the node. The container has one user id. Programs
 * that install packages change owners and user ids, and fail when the kernel refuses. With the filter these system calls
 * succeed without an effect, as in Enroot. Sources: seccomp(2), linux/filter.h and the system call tables of Linux 6.1.
 */
final class OwnerFilter {
    private static final int LOAD = 0x20; // BPF_LD | BPF_W | BPF_ABS
    private static final int IF_EQUAL = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
    private static final int RETURN = 0x06; // BPF_RET | BPF_K
    private static final int ALLOW = 0x7fff0000;
    private static final int SUCCEED = 0x00050000; // SECCOMP_RET_ERRNO with errno 0
    private static final int NUMBER = 0; // offsets in struct seccomp_data
    private static final int ARCHITECTURE = 4;
    private static final int FIRST_ARGUMENT = 16;
    private static final int INSTRUCTION_BYTES = 8;

    private static final int PR_SET_NO_NEW_PRIVS = 38;
    private static final int PR_SET_SECCOMP = 22;
    private static final long SECCOMP_MODE_FILTER = 2;

    /**
     * The system calls of one architecture.
     *
     * @param audit the architecture's number in linux/audit.h
     * @param changes numbers of chown, lchown, fchown, fchownat, setuid, setgid, setreuid, setregid, setresuid,
     *     setresgid and setgroups, as far as the architecture has them
     * @param queries numbers of setfsuid and setfsgid, which return the present id for the argument -1
     */
    private record Calls(int audit, List<Integer> changes, List<Integer> queries) {
        static final Calls X86_64 =
                new Calls(0xc000003e, List.of(92, 94, 93, 260, 105, 106, 113, 114, 117, 119, 116), List.of(122, 123));
        static final Calls AARCH64 =
                new Calls(0xc00000b7, List.of(55, 54, 146, 144, 145, 143, 147, 149, 159), List.of(151, 152));

        static Calls ofThisMachine() {
            return System.getProperty("os.arch").equals("aarch64") ? AARCH64 : X86_64;
        }
    }

    private OwnerFilter() {}

    /**
     * Installs the filter for this thread, and for all processes that this thread starts from now on. The filter cannot
     * be removed. The processes cannot gain privileges by setuid programs.
     *
     * @throws IOException if the kernel has no seccomp filters
     */
    static void install() throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            ByteBuffer program = program(Calls.ofThisMachine());
            MemorySegment filter = arena.allocate(program.capacity(), Long.BYTES);
            filter.asByteBuffer().put(program);
            MemorySegment described = arena.allocate(2 * Long.BYTES, Long.BYTES); // struct sock_fprog
            described.set(ValueLayout.JAVA_SHORT, 0, (short) (program.capacity() / INSTRUCTION_BYTES));
            described.set(ValueLayout.ADDRESS, Long.BYTES, filter);
            prctl(PR_SET_NO_NEW_PRIVS, 1, 0);
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, described.address());
        }
    }

    private static void prctl(int option, long first, long second) throws IOException {
        Linker linker = Linker.nativeLinker();
        MethodHandle call = linker.downcallHandle(
                linker.defaultLookup().findOrThrow("prctl"),
                FunctionDescriptor.of(
                        ValueLayout.JAVA_INT,
                        ValueLayout.JAVA_INT,
                        ValueLayout.JAVA_LONG,
                        ValueLayout.JAVA_LONG,
                        ValueLayout.JAVA_LONG,
                        ValueLayout.JAVA_LONG),
                Linker.Option.firstVariadicArg(1));
        int result;
        try {
            result = (int) call.invokeExact(option, first, second, 0L, 0L);
        } catch (Throwable e) {
            throw new IOException("--container-remap-root: prctl cannot be called: " + e.getMessage(), e);
        }
        if (result != 0) {
            throw new IOException("--container-remap-root: the kernel refuses the filter of system calls, without which"
                    + " programs that install packages fail; the kernel needs CONFIG_SECCOMP_FILTER");
        }
    }

    /** Each test jumps over the instructions between itself and the last one. Jumps are relative. */
    private static ByteBuffer program(Calls calls) {
        int changes = calls.changes().size();
        int queries = calls.queries().size();
        int argument = 4 + changes + queries; // the index of the instruction that loads the first argument
        int allow = argument + 2;
        int succeed = argument + 3;
        ByteBuffer program =
                ByteBuffer.allocateDirect((succeed + 1) * INSTRUCTION_BYTES).order(ByteOrder.nativeOrder());
        add(program, LOAD, 0, 0, ARCHITECTURE);
        add(program, IF_EQUAL, 1, 0, calls.audit());
        add(program, RETURN, 0, 0, ALLOW);
        add(program, LOAD, 0, 0, NUMBER);
        for (int number : calls.changes()) {
            add(program, IF_EQUAL, succeed - next(program), 0, number);
        }
        for (int i = 0; i < queries; i++) {
            boolean last = i == queries - 1;
            add(
                    program,
                    IF_EQUAL,
                    argument - next(program),
                    last ? allow - next(program) : 0,
                    calls.queries().get(i));
        }
        add(program, LOAD, 0, 0, FIRST_ARGUMENT);
        add(program, IF_EQUAL, 0, 1, -1);
        add(program, RETURN, 0, 0, ALLOW);
        add(program, RETURN, 0, 0, SUCCEED);
        return program.flip();
    }

    /** The index of the instruction after the one that is added next: a jump of 0 leads there. */
    private static int next(ByteBuffer program) {
        return program.position() / INSTRUCTION_BYTES + 1;
    }

    private static void add(ByteBuffer program, int code, int ifTrue, int ifFalse, int value) {
        program.putShort((short) code).put((byte) ifTrue).put((byte) ifFalse).putInt(value);
    }
}
