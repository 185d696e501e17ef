package io.jrun.train.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.Buffer;
import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.Device;
import io.jrun.comm.DeviceStream;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.Work;
import io.jrun.comm.World;
import io.jrun.comm.cuda.DeviceMemory;
import io.jrun.comm.local.LocalWorld;
import io.jrun.train.nccl.SimulatedCuda.LoggedCall;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** In which order the GPU gets its work, and from which threads. */
@Timeout(120)
class NcclOrderTest {
    @TempDir
    private Path folder;

    private static ProcessGroup nccl(World world) {
        return world.group().split(0, world.rank(), world.group().options().withBackend("nccl"));
    }

    /** Reduces device memory: once without a wait on the host, then asynchronously. */
    public static final class Reduces {
        private Reduces() {}

        /** Entry point. */
        public static void main(String[] args) {
            LocalWorld.run(2, world -> {
                Device device = Device.cuda(world.localRank());
                try (ProcessGroup group = nccl(world);
                        DeviceMemory memory = new DeviceMemory(device, 4000);
                        DeviceMemory all = new DeviceMemory(device, 8000)) {
                    Buffer buffer = memory.buffer(DataType.F32);
                    group.allReduce(buffer, ReduceOp.SUM);
                    DeviceStream own = SimulatedCuda.stream(device);
                    System.out.println("rank " + world.rank() + " has the stream 0x" + Long.toHexString(own.handle()));
                    Work work = group.allReduceAsync(buffer, ReduceOp.SUM);
                    work.awaitOn(own);
                    work.await();
                    Work other = group.allReduceAsync(buffer, ReduceOp.SUM);
                    refused(() -> other.awaitOn(new DeviceStream(Device.cuda(5), 0)));
                    other.awaitOn(DeviceStream.defaultOf(device));
                    refused(() -> group.allReduce(
                            new Buffer(buffer.memory(), DataType.F32, 1000, Device.cuda(5)), ReduceOp.SUM));
                    group.allGatherV(buffer, all.buffer(DataType.F32), 1000, 1000);
                }
            });
        }

        private static void refused(Runnable call) {
            try {
                call.run();
            } catch (CommException refusal) {
                System.out.println(refusal.code() + " " + refusal.getMessage());
            }
        }
    }

    /** Queues operations while earlier ones run. */
    public static final class Queues {
        private Queues() {}

        /** Entry point. */
        public static void main(String[] args) {
            LocalWorld.run(2, world -> {
                Device device = Device.cuda(world.localRank());
                try (ProcessGroup group = nccl(world);
                        DeviceMemory memory = new DeviceMemory(device, 4000)) {
                    for (int i = 0; i < 100; i++) {
                        group.allReduce(memory.buffer(DataType.F32), ReduceOp.SUM);
                    }
                }
            });
        }
    }

    /** The watchdog asks for the state of the communicator while the program queues operations. */
    @Test
    void noTwoThreadsUseACommunicatorAtATime() throws Exception {
        String _ = SimulatedCuda.start(
                        folder, Queues.class, Map.of("SIMNCCL_MICROS", "2000", "SIMNCCL_CALL_MICROS", "100"))
                .join();
        assertThat(SimulatedCuda.calls(folder))
                .anyMatch(call -> call.text().startsWith("ncclAllReduce"))
                .noneMatch(call -> call.text().startsWith("two threads use"));
    }

    @Test
    void eventsOrderAnOperationOnDeviceMemoryAndTheHostWaitsForNoStream() throws Exception {
        String printed = SimulatedCuda.start(folder, Reduces.class, Map.of("SIMNCCL_MICROS", "30000"))
                .join();
        List<String> lines =
                SimulatedCuda.calls(folder).stream().map(LoggedCall::text).toList();
        String all = String.join("\n", lines);
        for (int each = 0; each < 2; each++) {
            int rank = each;
            String own =
                    printed.split("rank " + rank + " has the stream ", 2)[1].split("\n", 2)[0];
            String stream = words(lines, line -> line.matches("cudaStreamCreateWithFlags .* device " + rank), 1)
                    .getFirst();
            assertThat(stream).isNotEqualTo(own);
            assertThat(lines).contains("cudaStreamCreateWithFlags " + stream + " flags 1 device " + rank);
            List<String> before = words(lines, line -> line.startsWith("cudaStreamWaitEvent " + stream + " "), 3);
            List<String> ends =
                    words(lines, line -> line.startsWith("cudaEventRecord ") && line.endsWith(" on " + stream), 1);
            assertThat(before).as(all).hasSize(4); // three reductions and a gather
            assertThat(ends).as(all).hasSize(4);
            Pattern reduces = Pattern.compile("ncclAllReduce 1000 of type 7 .* on " + stream);
            assertThat(lines.stream().map(line -> reduces.matcher(line).matches() ? "reduces on " + stream : line))
                    .as(all)
                    .containsSubsequence(
                            "cudaEventRecord " + before.get(0) + " on (nil)",
                            "cudaStreamWaitEvent " + stream + " awaits " + before.get(0),
                            "reduces on " + stream,
                            "cudaEventRecord " + ends.get(0) + " on " + stream,
                            "cudaStreamWaitEvent (nil) awaits " + ends.get(0),
                            "cudaEventRecord " + before.get(1) + " on (nil)",
                            "cudaStreamWaitEvent " + stream + " awaits " + before.get(1),
                            "reduces on " + stream,
                            "cudaEventRecord " + ends.get(1) + " on " + stream,
                            "cudaStreamWaitEvent " + own + " awaits " + ends.get(1));
        }
        List<LoggedCall> calls = SimulatedCuda.calls(folder);
        assertThat(calls).as("the host waits").noneMatch(call -> call.text().matches("cuda\\w*Synchronize.*"));
        assertThat(calls)
                .filteredOn(call -> call.thread().startsWith("rank-"))
                .noneMatch(call -> call.text().startsWith("cudaEventQuery"));
        assertThat(printed)
                .contains("USAGE awaitOn: the stream is of the device cuda:5, but")
                .contains("USAGE allReduce: the buffer is on the device cuda:5, but the backend"
                        + " nccl of this group of 2 cannot use memory of that device.");
        onlyOnTheirDevice(calls);
    }

    /** A question about an event of another device opens a context on the current device. */
    private static void onlyOnTheirDevice(List<LoggedCall> calls) {
        Map<String, Integer> devices = new HashMap<>();
        for (LoggedCall call : calls) {
            String[] words = call.text().split(" ", -1);
            if (words[0].matches("cuda(Event|Stream)CreateWithFlags")) {
                devices.put(words[1], call.device());
            } else if (words[0].matches("cuda(Event|Stream).*") && devices.containsKey(words[1])) {
                assertThat(call.device()).as(call.toString()).isEqualTo(devices.get(words[1]));
            }
        }
        assertThat(calls)
                .filteredOn(call -> call.thread().equals("nccl watchdog"))
                .extracting(LoggedCall::device)
                .contains(0, 1);
    }

    private static List<String> words(List<String> lines, Predicate<String> which, int word) {
        return lines.stream()
                .filter(which)
                .map(line -> line.split(" ", -1)[word])
                .toList();
    }
}
