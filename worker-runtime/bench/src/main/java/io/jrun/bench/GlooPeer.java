package io.jrun.bench;

import io.jrun.comm.World;
import io.jrun.train.Libtorch;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.SizeTPointer;
import org.bytedeco.javacpp.chrono.Milliseconds;
import org.bytedeco.pytorch.GlooDeviceVector;
import org.bytedeco.pytorch.PrefixStore;
import org.bytedeco.pytorch.ProcessGroupGloo;
import org.bytedeco.pytorch.Store;
import org.bytedeco.pytorch.TCPStore;
import org.bytedeco.pytorch.TCPStoreOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.Work;
import org.bytedeco.pytorch.global.torch;

/** libtorch's ProcessGroupGloo over loopback TCP, as torch.distributed uses it on CPUs. */
final class GlooPeer implements Peer {
    /**
     * Everything of c10d that was made here, for the life of the process: JavaCPP's destructor of a store that has been
     * handed over fails an assertion of libtorch, which ends the process.
     */
    private static final List<Pointer> KEPT = Collections.synchronizedList(new ArrayList<>());

    /** A Gloo group and the store its ranks met through. */
    record Connection(ProcessGroupGloo group, Store store) {}

    /** Ranks connect equally often, so the count names the same meeting on all. */
    private static final AtomicInteger CONNECTIONS = new AtomicInteger();

    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    private final ProcessGroupGloo group;
    private final Tensor whole;
    private final Map<Long, TensorVector> views = new HashMap<>();

    GlooPeer(World world, long maxCount) {
        group = connect(world).group();
        whole = torch.zeros(maxCount);
    }

    /** Every rank's Gloo group, met through a TCPStore that rank 0 opens on a free port and publishes. */
    static Connection connect(World world) {
        Libtorch.load();
        TCPStoreOptions options = new TCPStoreOptions();
        options.isServer(world.rank() == 0);
        options.waitWorkers(false);
        options.timeout(new Milliseconds(TIMEOUT.toMillis()));
        SizeTPointer workers = new SizeTPointer(1);
        workers.put(world.size());
        options.numWorkers(workers);
        String key = "bench/gloo-store-port/" + CONNECTIONS.incrementAndGet();
        options.port((short) (world.rank() == 0 ? 0 : port(world, key)));
        TCPStore tcpStore = kept(new TCPStore("127.0.0.1", options));
        if (world.rank() == 0) {
            world.store().set(key, Integer.toString(tcpStore.getPort() & 0xffff).getBytes(StandardCharsets.US_ASCII));
        }
        // A store made in Java can be handed over only once; the one inside a PrefixStore any number of times.
        Store shared = kept(kept(new PrefixStore("", tcpStore)).getUnderlyingStore());
        ProcessGroupGloo.Options glooOptions =
                kept(ProcessGroupGloo.Options.create(new Milliseconds(TIMEOUT.toMillis())));
        glooOptions.devices(new GlooDeviceVector(ProcessGroupGloo.createDeviceForHostname("127.0.0.1")));
        glooOptions.threads(2);
        ProcessGroupGloo group = NativeStdout.toStderr(
                () -> new ProcessGroupGloo(new PrefixStore("bench", shared), world.rank(), world.size(), glooOptions));
        return new Connection(group, shared);
    }

    /** Keeps {@code object} from being collected. */
    static <P extends Pointer> P kept(P object) {
        KEPT.add(object);
        return object;
    }

    private static int port(World world, String key) {
        return Integer.parseInt(new String(world.store().get(key, TIMEOUT), StandardCharsets.US_ASCII));
    }

    @Override
    public String name() {
        return "gloo";
    }

    @Override
    public MemorySegment buffer(long count) {
        return MemorySegment.ofAddress(whole.data_ptr().address()).reinterpret(count * Float.BYTES);
    }

    @Override
    public void allReduceSum(long count) {
        TensorVector view = views.computeIfAbsent(count, n -> new TensorVector(whole.narrow(0, 0, n)));
        try (Work work = group.allreduce(view)) {
            work._wait();
        }
    }

    @Override
    public void close() {
        views.values().forEach(TensorVector::close);
    }
}
