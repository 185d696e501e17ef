package io.jrun.train.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.Buffer;
import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.Device;
import io.jrun.comm.DeviceStream;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.Transfer;
import io.jrun.comm.Work;
import io.jrun.comm.World;
import io.jrun.comm.cuda.DeviceMemory;
import io.jrun.comm.local.LocalWorld;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** jrun's own plane for memory of GPUs, on simulated devices. Slots are small, so that operations have several steps. */
@Timeout(60)
class DevicePlaneTest {
    private static final int RANKS = 3;
    private static final int COUNT = 2003;
    private static final long[] UNEVEN = {5, 0, 2003};
    private static final long UNEVEN_TOTAL = 2008;
    private static final String OWN = "jrun-only";

    @TempDir
    private Path folder;

    private String run(Class<?> program, Map<String, String> settings, String... arguments) throws Exception {
        Map<String, String> all = new HashMap<>(Map.of("JDK_JAVA_OPTIONS", "-Djrun.device.slotBytes=4096"));
        all.putAll(settings);
        return SimulatedCuda.start(folder, program, all, arguments).join();
    }

    private List<SimulatedCuda.LoggedCall> calls() throws Exception {
        return SimulatedCuda.calls(folder);
    }

    @Test
    void operationsHaveTheBitsOfHostMemoryAndTheProgramDoesNotWait() throws Exception {
        String printed = run(Compares.class, Map.of("SIMCUDA_DEVICES", "3", "SIMCUDA_COPY_MICROS", "300"));
        assertThat(printed).contains("rank 0 compared 76", "rank 1 compared 76", "rank 2 compared 76");
        // Each view with a queue of its own has pinned memory once, whatever the number of operations.
        assertThat(calls().stream().filter(call -> call.text().startsWith("cudaHostRegister")))
                .hasSize(2 * RANKS);
        assertThat(calls())
                .noneMatch(call -> call.text().startsWith("nccl"))
                .noneMatch(call -> call.text().matches("cuda\\w*Synchronize.*"));
    }

    /** Runs each collective on both kinds of memory. */
    public static final class Compares {
        private final ProcessGroup onHost;
        private final ProcessGroup onDevice;
        private final Device device;
        private int compared;

        private Compares(ProcessGroup onHost, ProcessGroup onDevice, Device device) {
            this.onHost = onHost;
            this.onDevice = onDevice;
            this.device = device;
        }

        /** Entry point. */
        public static void main(String[] args) {
            LocalWorld.run(RANKS, world -> {
                ProcessGroup host = world.group();
                try (ProcessGroup own =
                        host.split(0, world.rank(), host.options().withBackend(OWN))) {
                    // Ranks of one process share the default stream of a device, so each has a device.
                    Compares compares = new Compares(host, own, Device.cuda(world.localRank()));
                    compares.reductions();
                    for (DataType type : List.of(DataType.F32, DataType.I8, DataType.F16)) {
                        compares.moves(type);
                    }
                    compares.views();
                    System.out.println("rank " + world.rank() + " compared " + compares.compared);
                }
            });
        }

        private interface Collective {
            void run(ProcessGroup group, Buffer input, Buffer output);
        }

        private void reductions() {
            for (DataType type : DataType.values()) {
                for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.PROD, ReduceOp.MAX, ReduceOp.MIN)) {
                    inPlace("allReduce " + type + " " + op, type, (group, _, buffer) -> group.allReduce(buffer, op));
                }
            }
            inPlace("bits", DataType.I32, (group, _, buffer) -> group.allReduce(buffer, ReduceOp.BXOR));
            inPlace("average", DataType.F32, (group, _, buffer) -> group.allReduce(buffer, ReduceOp.AVG));
            inPlace("reduce", DataType.BF16, (group, _, buffer) -> group.reduce(buffer, ReduceOp.SUM, 2));
        }

        private void views() {
            double factor = onHost.groupRank() == 1 ? 1 : 0.5;
            inPlace(
                    "scaled",
                    DataType.F32,
                    (group, _, buffer) -> group.scaled(factor).allReduce(buffer, ReduceOp.SUM));
            inPlace(
                    "compressed",
                    DataType.F32,
                    (group, _, buffer) -> group.compressed(DataType.BF16).allReduce(buffer, ReduceOp.AVG));
            compare(
                    "scaled scatter",
                    DataType.F32,
                    (long) RANKS * COUNT,
                    COUNT,
                    (group, in, out) -> group.scaled(factor).reduceScatter(in, out, ReduceOp.SUM));
            inPlace(
                    "coalesced",
                    DataType.F32,
                    (group, _, buffer) ->
                            group.coalesced().allReduce(List.of(part(buffer, 1000), rest(buffer, 1000)), ReduceOp.SUM));
            inPlace("other stream", DataType.F32, (group, _, buffer) -> {
                Work work = group.allReduceAsync(buffer, ReduceOp.SUM);
                if (buffer.device().isCpu()) {
                    work.await();
                } else {
                    work.awaitOn(SimulatedCuda.stream(device));
                    work.await();
                }
            });
            inPlace("urgent", DataType.I64, (group, _, buffer) -> group.urgent().allReduce(buffer, ReduceOp.SUM));
            inPlace("nothing", DataType.I64, (group, _, buffer) -> group.allReduce(part(buffer, 0), ReduceOp.SUM));
        }

        private void moves(DataType type) {
            int rank = onHost.groupRank();
            long all = (long) RANKS * COUNT;
            inPlace("broadcast", type, (group, _, buffer) -> group.broadcast(buffer, 1));
            compare("allGather", type, COUNT, all, ProcessGroup::allGather);
            compare(
                    "allGatherV",
                    type,
                    UNEVEN[rank],
                    UNEVEN_TOTAL,
                    (group, in, out) -> group.allGatherV(in, out, UNEVEN));
            compare("reduceScatter", type, all, COUNT, (group, in, out) -> group.reduceScatter(in, out, ReduceOp.SUM));
            compare(
                    "reduceScatterV",
                    type,
                    UNEVEN_TOTAL,
                    UNEVEN[rank],
                    (group, in, out) -> group.reduceScatterV(in, out, ReduceOp.MAX, UNEVEN));
            compare("gather", type, COUNT, all, (group, in, out) -> group.gather(in, rank == 1 ? out : null, 1));
            compare("scatter", type, all, COUNT, (group, in, out) -> group.scatter(rank == 2 ? in : null, out, 2));
            compare("gatherV", type, UNEVEN[rank], UNEVEN_TOTAL, (group, in, out) -> group.gatherV(in, out, 0, UNEVEN));
            compare("allToAll", type, all, all, ProcessGroup::allToAll);
            // Rank r sends UNEVEN[q] elements to rank q.
            compare(
                    "allToAllV",
                    type,
                    UNEVEN_TOTAL,
                    RANKS * UNEVEN[rank],
                    (group, in, out) ->
                            group.allToAllV(in, UNEVEN, out, new long[] {UNEVEN[rank], UNEVEN[rank], UNEVEN[rank]}));
        }

        private void inPlace(String name, DataType type, Collective collective) {
            compare(name, type, 1, COUNT, collective);
        }

        /** Runs a collective on buffers of these lengths, and compares the whole output. */
        private void compare(String name, DataType type, long inputCount, long outputCount, Collective collective) {
            long inputBytes = Math.max(1, inputCount * type.sizeBytes());
            long outputBytes = Math.max(1, outputCount * type.sizeBytes());
            try (Arena arena = Arena.ofShared();
                    DeviceMemory input = new DeviceMemory(device, inputBytes);
                    DeviceMemory output = new DeviceMemory(device, outputBytes)) {
                MemorySegment hostInput = filled(arena, type, inputBytes, 1);
                MemorySegment hostOutput = filled(arena, type, outputBytes, 2);
                // The host does not wait for these copies. The collective must.
                DeviceStream stream = DeviceStream.defaultOf(device);
                SimulatedCuda.delay(stream, Duration.ofMillis(1));
                SimulatedCuda.copy(input.buffer(DataType.U8).memory(), hostInput, stream);
                SimulatedCuda.copy(output.buffer(DataType.U8).memory(), hostOutput, stream);
                collective.run(onDevice, part(input.buffer(type), inputCount), part(output.buffer(type), outputCount));
                MemorySegment found = arena.allocate(outputBytes);
                output.copyTo(found);
                collective.run(
                        onHost,
                        Buffer.ofHost(hostInput, type, inputCount),
                        Buffer.ofHost(hostOutput, type, outputCount));
                long different = found.mismatch(hostOutput);
                if (different >= 0) {
                    throw new AssertionError("rank " + onHost.groupRank() + " " + name + " of " + type + ": byte "
                            + different + " is " + found.get(ValueLayout.JAVA_BYTE, different) + ", on host memory "
                            + hostOutput.get(ValueLayout.JAVA_BYTE, different));
                }
                compared++;
            }
        }

        private static Buffer rest(Buffer whole, long begin) {
            MemorySegment memory = whole.memory().asSlice(begin * whole.type().sizeBytes());
            return new Buffer(memory, whole.type(), whole.count() - begin, whole.device());
        }

        private static Buffer part(Buffer whole, long count) {
            return new Buffer(whole.memory(), whole.type(), count, whole.device());
        }

        /** Small whole numbers, whose sums and products are exact in every type and in every order. */
        private MemorySegment filled(Arena arena, DataType type, long bytes, int salt) {
            MemorySegment memory = arena.allocate(bytes, Long.BYTES);
            for (long i = 0; i < bytes / type.sizeBytes(); i++) {
                int value = (int) ((i * 7 + onHost.groupRank() * 3L + salt) % 5);
                put(memory, type, i, type == DataType.BOOL ? value % 2 : value);
            }
            return memory;
        }

        private static void put(MemorySegment memory, DataType type, long i, int value) {
            switch (type) {
                case F32 -> memory.setAtIndex(ValueLayout.JAVA_FLOAT, i, value);
                case F64 -> memory.setAtIndex(ValueLayout.JAVA_DOUBLE, i, value);
                case I32 -> memory.setAtIndex(ValueLayout.JAVA_INT, i, value);
                case I64 -> memory.setAtIndex(ValueLayout.JAVA_LONG, i, value);
                case I8, U8, BOOL -> memory.set(ValueLayout.JAVA_BYTE, i, (byte) value);
                case F16 -> memory.setAtIndex(ValueLayout.JAVA_SHORT, i, Float.floatToFloat16(value));
                case BF16 ->
                    memory.setAtIndex(
                            ValueLayout.JAVA_SHORT, i, (short) (Float.floatToRawIntBits((float) value) >>> 16));
            }
        }
    }

    @Test
    void messagesOfDeviceMemoryArriveAndNothingGrows() throws Exception {
        String printed = run(Sends.class, Map.of("SIMCUDA_DEVICES", "2", "SIMCUDA_COPY_MICROS", "50"));
        assertThat(printed).contains("rank 0 is right", "rank 1 is right");
        List<SimulatedCuda.LoggedCall> calls = calls();
        // Three messages are under way at the same time, and there is one ring. On a busy machine a thread returns some
        // buffers late. A buffer for each message would be 600 registrations of a rank.
        assertThat(calls.stream().filter(call -> call.text().startsWith("cudaHostRegister")))
                .hasSizeLessThanOrEqualTo(2 * 20);
        assertThat(calls.stream().filter(call -> call.text().startsWith("cudaStreamCreate")))
                .hasSizeLessThanOrEqualTo(2 * 5);
        assertThat(calls.stream().filter(call -> call.text().startsWith("cudaEventCreate")))
                .hasSizeLessThanOrEqualTo(2 * 20);
        assertThat(calls).noneMatch(call -> call.text().startsWith("cudaStreamSynchronize"));
    }

    /** Exchanges messages of device memory and of host memory, then runs 300 operations of each kind. */
    public static final class Sends {
        private Sends() {}

        /** Entry point. */
        public static void main(String[] args) {
            LocalWorld.run(2, world -> {
                try (ProcessGroup group = world.group()
                                .split(0, world.rank(), world.group().options().withBackend(OWN));
                        Arena arena = Arena.ofShared();
                        DeviceMemory mine = new DeviceMemory(Device.cuda(world.localRank()), 4L * COUNT);
                        DeviceMemory theirs = new DeviceMemory(Device.cuda(world.localRank()), 4L * COUNT)) {
                    exchange(world, group, arena, mine.buffer(DataType.I32), theirs.buffer(DataType.I32));
                    MemorySegment host = arena.allocate(4L * COUNT, Long.BYTES);
                    theirs.copyTo(host);
                    check(world, host, 7);
                    int peer = 1 - world.rank();
                    for (int i = 0; i < 300; i++) {
                        group.allReduce(mine.buffer(DataType.I32), ReduceOp.MAX);
                        Work sent = group.messages().sendAsync(mine.buffer(DataType.I32), peer, i);
                        group.messages().recv(theirs.buffer(DataType.I32), peer, i);
                        sent.await();
                    }
                    theirs.copyTo(host);
                    check(world, host, -1);
                    System.out.println("rank " + world.rank() + " is right");
                }
            });
        }

        private static void exchange(World world, ProcessGroup group, Arena arena, Buffer mine, Buffer theirs) {
            int peer = 1 - world.rank();
            DeviceStream stream = DeviceStream.defaultOf(mine.device());
            MemorySegment host = arena.allocate(4L * COUNT, Long.BYTES);
            fill(host, world.rank(), 3);
            // The message waits for this copy, and the next copy waits for the message.
            SimulatedCuda.delay(stream, Duration.ofMillis(20));
            SimulatedCuda.copy(mine.memory(), host, stream);
            Work second = group.messages().recvAsync(theirs, peer, 2);
            group.messages().send(mine, peer, 1);
            fill(host, world.rank(), 7);
            SimulatedCuda.copy(mine.memory(), host, stream);
            group.messages().send(mine, peer, 2);
            MemorySegment found = arena.allocate(4L * COUNT, Long.BYTES);
            group.messages().recv(Buffer.ofHost(found, DataType.I32, COUNT), peer, 1);
            check(world, found, 3);
            second.awaitOn(stream);
            fill(host, world.rank(), 5);
            group.messages().send(Buffer.ofHost(host, DataType.I32, COUNT), peer, 3);
            Buffer other = theirs;
            group.messages().recv(other, -1, 3);
            MemorySegment copied = arena.allocate(4L * COUNT, Long.BYTES);
            SimulatedCuda.copy(copied, theirs.memory(), stream);
            SimulatedCuda.synchronize(mine.device());
            check(world, copied, 5);
            group.messages().exchange(List.of(new Transfer.Recv(theirs, peer, 4), new Transfer.Send(mine, peer, 4)));
        }

        private static void fill(MemorySegment host, int rank, int salt) {
            for (int i = 0; i < COUNT; i++) {
                host.setAtIndex(ValueLayout.JAVA_INT, i, 1000 * i + 10 * salt + rank);
            }
        }

        /** @param salt the number of the peer's message; negative: the larger of both ranks' elements */
        private static void check(World world, MemorySegment found, int salt) {
            for (int i = 0; i < COUNT; i++) {
                int expected =
                        1000 * i + 10 * Math.max(salt, 7 * Integer.signum(-salt)) + (salt < 0 ? 1 : 1 - world.rank());
                int element = found.getAtIndex(ValueLayout.JAVA_INT, i);
                if (element != expected) {
                    throw new AssertionError(
                            "message " + salt + ", element " + i + " is " + element + ", not " + expected);
                }
            }
        }
    }

    @Test
    void aMissingRankIsNamedAndTheDeviceIsUsableAfterwards() throws Exception {
        String printed = run(MissesARank.class, Map.of("SIMCUDA_DEVICES", "2"));
        assertThat(printed)
                .contains(
                        "rank 0: COLLECTIVE_TIMEOUT allReduce #2(f32, 1008, SUM) on group of ranks 0-1 timed out after 1 s")
                .contains("rank 1 (host")
                .contains("the device of rank 0 is usable");
    }

    /** Rank 1 does not take part in the second operation. */
    public static final class MissesARank {
        private MissesARank() {}

        /** Entry point. */
        public static void main(String[] args) {
            LocalWorld.run(2, world -> {
                Device device = Device.cuda(world.localRank());
                try (ProcessGroup group = world.group()
                                .split(0, world.rank(), world.group().options().withBackend(OWN));
                        DeviceMemory memory = new DeviceMemory(device, 4L * COUNT)) {
                    Buffer buffer = memory.buffer(DataType.F32);
                    group.allReduce(buffer, ReduceOp.SUM);
                    if (world.rank() == 0) {
                        Work work = group.withTimeout(Duration.ofSeconds(1)).allReduceAsync(buffer, ReduceOp.SUM);
                        work.awaitOn(DeviceStream.defaultOf(device));
                        Work next = group.allReduceAsync(buffer, ReduceOp.SUM);
                        for (Work each : List.of(work, next)) {
                            try {
                                each.await();
                            } catch (CommException failure) {
                                System.out.println("rank 0: " + failure.code() + " " + failure.getMessage());
                            }
                        }
                        SimulatedCuda.synchronize(device);
                        System.out.println("the device of rank 0 is usable");
                    }
                    world.store().add("done", 1);
                    while (world.store().add("done", 0) < 2) {
                        Thread.onSpinWait();
                    }
                }
            });
        }
    }

    @Test
    void aLateReceiveFailsTheGroupAndItsHostMemoryIsNotUsedAgain() throws Exception {
        String printed = run(ReceivesLate.class, Map.of("SIMCUDA_DEVICES", "2", "SIMCUDA_COPY_MICROS", "300000"));
        String late = "COLLECTIVE_TIMEOUT recv #0(u8, 10000, from 1) on group of ranks 0-1 timed out after 1 s: rank 0";
        assertThat(printed)
                .contains("rank 0: " + late, "Check the device with nvidia-smi.")
                .containsPattern("rank 0: sent 1048576: .*timed out after 1 s: rank 0")
                .containsPattern("rank 0: sent 10000: .*timed out after 1 s: rank 0")
                .containsPattern("rank 1: received 1048576: .*timed out after 1 s: rank 0")
                .containsPattern("rank 1: received 10000: .*timed out after 1 s: rank 0")
                .doesNotContain("is wrong", "is right");
        List<String> lines =
                calls().stream().map(SimulatedCuda.LoggedCall::text).toList();
        String received = lines.stream()
                .filter(line -> line.startsWith("cudaMemcpyAsync 10000 bytes") && line.contains(" kind 1 "))
                .map(line -> line.replaceAll(".* from (\\S+) .*", "$1"))
                .findFirst()
                .orElseThrow();
        assertThat(lines)
                .anyMatch(line -> line.startsWith("cudaMemcpyAsync 10000 bytes") && line.contains(" kind 2 "))
                .noneMatch(line -> line.contains("bytes to " + received + " "));
    }

    /** The device of rank 0 is busy beyond the deadline of a receive. Then rank 0 sends, and the device goes on. */
    public static final class ReceivesLate {
        private static final long SMALL = 10_000;
        private static final long LARGE = 1 << 20;

        private ReceivesLate() {}

        /** Entry point. */
        public static void main(String[] args) {
            LocalWorld.run(2, world -> {
                Device device = Device.cuda(world.localRank());
                try (ProcessGroup group = world.group()
                                .split(0, world.rank(), world.group().options().withBackend(OWN));
                        Arena arena = Arena.ofShared();
                        DeviceMemory target = new DeviceMemory(device, SMALL);
                        DeviceMemory small = new DeviceMemory(device, SMALL);
                        DeviceMemory large = new DeviceMemory(device, LARGE)) {
                    if (world.rank() == 0) {
                        receiveLate(group, target.buffer(DataType.U8), small, large);
                    } else {
                        MemorySegment host = arena.allocate(SMALL).fill((byte) 1);
                        group.messages().send(Buffer.ofHost(host, DataType.U8, SMALL), 0, 0);
                        receive(group, arena.allocate(LARGE));
                        receive(group, arena.allocate(SMALL));
                    }
                }
            });
        }

        private static void receiveLate(ProcessGroup group, Buffer target, DeviceMemory small, DeviceMemory large) {
            SimulatedCuda.hold(DeviceStream.defaultOf(target.device()));
            Work late = group.withTimeout(Duration.ofSeconds(1)).messages().recvAsync(target, 1, 0);
            System.out.println("rank 0: " + outcome(late));
            Work first = group.messages().sendAsync(large.buffer(DataType.U8), 1, 0);
            Work second = group.messages().sendAsync(small.buffer(DataType.U8), 1, 0);
            SimulatedCuda.release();
            System.out.println("rank 0: sent " + LARGE + ": " + outcome(first));
            System.out.println("rank 0: sent " + SMALL + ": " + outcome(second));
            SimulatedCuda.synchronize(target.device());
        }

        private static String outcome(Work work) {
            try {
                work.await();
                return "done";
            } catch (CommException failure) {
                return failure.code() + " " + failure.getMessage();
            }
        }

        /** Receives a message. New device memory has 0xA5 in each byte. The message that is late has ones. */
        private static void receive(ProcessGroup group, MemorySegment host) {
            Buffer buffer = Buffer.ofHost(host, DataType.U8, host.byteSize());
            String outcome = outcome(group.messages().recvAsync(buffer, 0, 0));
            if (outcome.equals("done")) {
                boolean isRight = host.asSlice(1).mismatch(host.asSlice(0, host.byteSize() - 1)) < 0
                        && host.get(ValueLayout.JAVA_BYTE, 0) == (byte) 0xA5;
                outcome = isRight ? "is right" : "is wrong";
            }
            System.out.println("rank 1: received " + host.byteSize() + ": " + outcome);
        }
    }

    @Test
    void aGroupClosesWithinItsGraceAlthoughADeviceIsHeld() throws Exception {
        String printed = run(ClosesHeld.class, Map.of("SIMCUDA_DEVICES", "2"));
        assertThat(printed)
                .contains("rank 0 has closed within 6 s", "rank 1 has closed within 6 s")
                .contains("rank 0: COLLECTIVE_TIMEOUT send #1", "rank 0 is right");
    }

    /** Closes groups with a message that waits for a held device. Then uses a new group. */
    public static final class ClosesHeld {
        private ClosesHeld() {}

        /** Entry point. */
        public static void main(String[] args) {
            LocalWorld.run(2, world -> {
                Device device = Device.cuda(world.localRank());
                int peer = 1 - world.rank();
                try (DeviceMemory memory = new DeviceMemory(device, COUNT);
                        Arena arena = Arena.ofShared()) {
                    Buffer buffer = memory.buffer(DataType.U8);
                    ProcessGroup group = own(world);
                    group.allReduce(buffer, ReduceOp.SUM);
                    Work sent = group.messages().sendAsync(buffer, peer, 0);
                    group.messages().recv(buffer, peer, 0);
                    sent.await();
                    SimulatedCuda.synchronize(device);
                    group.barrier();
                    if (world.rank() == 0) {
                        SimulatedCuda.hold(DeviceStream.defaultOf(device));
                        Work late = group.withTimeout(Duration.ofMillis(200))
                                .messages()
                                .sendAsync(buffer, peer, 1);
                        System.out.println("rank 0: " + ReceivesLate.outcome(late));
                    }
                    long begin = System.nanoTime();
                    group.close();
                    boolean isInTime = System.nanoTime() - begin < 6_000_000_000L;
                    System.out.println(
                            "rank " + world.rank() + (isInTime ? " has closed within 6 s" : " has closed late"));
                    world.group().barrier();
                    SimulatedCuda.release();
                    // The memory that the late copy still used is not used for this message.
                    try (ProcessGroup next = own(world)) {
                        MemorySegment host = arena.allocate(COUNT).fill((byte) world.rank());
                        memory.copyFrom(host);
                        Work again = next.messages().sendAsync(buffer, peer, 0);
                        MemorySegment found = arena.allocate(COUNT);
                        next.messages().recv(Buffer.ofHost(found, DataType.U8, COUNT), peer, 0);
                        again.await();
                        assertThat(found.mismatch(host.fill((byte) peer))).isEqualTo(-1);
                        System.out.println("rank " + world.rank() + " is right");
                    }
                }
            });
        }

        private static ProcessGroup own(World world) {
            return world.group().split(0, world.rank(), world.group().options().withBackend(OWN));
        }
    }

    @Test
    void hostMemoryNeverUsesNcclAndDeviceMemoryDoesWhereRanksHaveGpusOfTheirOwn() throws Exception {
        String printed = run(Chooses.class, Map.of("SIMCUDA_DEVICES", "2"));
        assertThat(printed).contains("rank 0 is right", "rank 1 is right").doesNotContain("jrun:");
        List<String> lines =
                calls().stream().map(SimulatedCuda.LoggedCall::text).toList();
        assertThat(lines.stream().filter(line -> line.startsWith("ncclAllReduce")))
                .hasSize(2 * 2);
        assertThat(lines.stream().filter(line -> line.startsWith("ncclCommInit")))
                .hasSize(2);
        // The groups of one rank move nothing but the gathered elements, which stay on the device.
        assertThat(lines.stream().filter(line -> line.contains(" kind 3 on "))).hasSize(2);
        // The scaled view is on jrun's own plane.
        assertThat(lines.stream().filter(line -> line.startsWith("cudaHostRegister")))
                .hasSize(2 * 2);
    }

    /** Sums device memory and host memory with the default options, and on groups of one rank. */
    public static final class Chooses {
        private Chooses() {}

        /** Entry point. */
        public static void main(String[] args) {
            LocalWorld.run(2, world -> {
                Device device = Device.cuda(world.localRank());
                ProcessGroup group = world.group();
                try (Arena arena = Arena.ofShared();
                        ProcessGroup alone = group.split(world.rank(), 0);
                        DeviceMemory memory = new DeviceMemory(device, 4L * COUNT);
                        DeviceMemory other = new DeviceMemory(device, 4L * COUNT)) {
                    MemorySegment host = arena.allocate(4L * COUNT, Long.BYTES);
                    for (int i = 0; i < COUNT; i++) {
                        host.setAtIndex(ValueLayout.JAVA_FLOAT, i, i + world.rank());
                    }
                    SimulatedCuda.copy(memory.buffer(DataType.F32).memory(), host, DeviceStream.defaultOf(device));
                    Buffer buffer = memory.buffer(DataType.F32);
                    group.allReduce(buffer, ReduceOp.SUM);
                    group.allReduce(host, DataType.F32, COUNT, ReduceOp.SUM);
                    Work later = group.allReduceAsync(buffer, ReduceOp.MAX);
                    group.barrier();
                    later.await();
                    alone.allReduce(buffer, ReduceOp.SUM);
                    alone.allGather(buffer, other.buffer(DataType.F32));
                    Work scaled = group.scaled(0.5).allReduceAsync(other.buffer(DataType.F32), ReduceOp.SUM);
                    scaled.awaitOn(DeviceStream.defaultOf(device));
                    MemorySegment found = arena.allocate(4L * COUNT, Long.BYTES);
                    other.copyTo(found);
                    assertThat(found.mismatch(host)).isEqualTo(-1);
                    System.out.println("rank " + world.rank() + " is right");
                }
            });
        }
    }

    @Test
    void aGroupClosesRightAfterAnOperationAndAnAbortEndsOperations() throws Exception {
        String printed = run(Ends.class, Map.of("SIMCUDA_DEVICES", "2", "SIMCUDA_COPY_MICROS", "20000"));
        assertThat(printed)
                .contains("rank 0 has closed", "rank 1 has closed")
                .contains("rank 0: ABORTED", "rank 1: ABORTED", "because of a test");
    }

    /** Closes a group right after an operation. Then aborts a group whose devices still compute. */
    public static final class Ends {
        private Ends() {}

        /** Entry point. */
        public static void main(String[] args) {
            LocalWorld.run(2, world -> {
                Device device = Device.cuda(world.localRank());
                try (Arena arena = Arena.ofShared();
                        DeviceMemory memory = new DeviceMemory(device, 4L * COUNT)) {
                    MemorySegment host = arena.allocate(4L * COUNT, Long.BYTES);
                    memory.copyFrom(host);
                    Buffer buffer = memory.buffer(DataType.I32);
                    try (ProcessGroup group = own(world)) {
                        SimulatedCuda.copy(buffer.memory(), host.fill((byte) 1), DeviceStream.defaultOf(device));
                        group.allReduce(buffer, ReduceOp.SUM);
                    }
                    memory.copyTo(host);
                    assertThat(host.getAtIndex(ValueLayout.JAVA_INT, COUNT - 1)).isEqualTo(0x02020202);
                    System.out.println("rank " + world.rank() + " has closed");
                    try (ProcessGroup group = own(world)) {
                        group.allReduce(buffer, ReduceOp.SUM);
                        SimulatedCuda.delay(DeviceStream.defaultOf(device), Duration.ofMillis(400));
                        Work work = group.allReduceAsync(buffer, ReduceOp.SUM);
                        if (world.rank() == 0) {
                            group.abort("because of a test");
                        }
                        work.await();
                    } catch (CommException failure) {
                        System.out.println("rank " + world.rank() + ": " + failure.code() + " " + failure.getMessage());
                    }
                    SimulatedCuda.synchronize(device);
                }
            });
        }

        private static ProcessGroup own(World world) {
            return world.group().split(0, world.rank(), world.group().options().withBackend(OWN));
        }
    }
}
