package io.jrun.train.gloo;

import io.jrun.train.Libtorch;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.SizeTPointer;
import org.bytedeco.javacpp.chrono.Milliseconds;
import org.bytedeco.pytorch.GlooDeviceVector;
import org.bytedeco.pytorch.PrefixStore;
import org.bytedeco.pytorch.ProcessGroupGloo;
import org.bytedeco.pytorch.Store;
import org.bytedeco.pytorch.TCPStore;
import org.bytedeco.pytorch.TCPStoreOptions;

/**
 * A ProcessGroupGloo and the libtorch store by which its ranks have met.
 *
 * @param group connected
 * @param store a store that other objects of libtorch may take any number of times
 * @param made the objects of libtorch in the order of their creation, the store and the group last
 */
public record GlooRendezvous(ProcessGroupGloo group, Store store, List<Pointer> made) implements AutoCloseable {
    /**
     * All open objects of c10d that this class made. The set keeps the objects from the garbage collector: if the
     * collector destroys a store that another object uses, an assertion of libtorch ends the process.
     */
    private static final Set<Pointer> KEPT =
            Collections.synchronizedSet(Collections.newSetFromMap(new IdentityHashMap<>()));

    /** Gloo's threads for one group; torch.distributed uses the same number. */
    private static final int THREADS = 2;

    /**
     * Connects the ranks of a group. Collective. Rank 0 opens a store on a free port.
     *
     * @param addresses numeric, by rank
     * @param announce gives all ranks the value that rank 0 passes
     * @param timeout of the connection, and the default of an operation
     * @throws RuntimeException of libtorch, if a rank does not connect before the timeout
     */
    public static GlooRendezvous open(
            int rank, List<String> addresses, UnaryOperator<byte[]> announce, Duration timeout) {
        Libtorch.load();
        int size = addresses.size();
        TCPStoreOptions options = new TCPStoreOptions();
        options.isServer(rank == 0);
        options.waitWorkers(false);
        options.timeout(new Milliseconds(timeout.toMillis()));
        SizeTPointer workers = new SizeTPointer(1);
        workers.put(size);
        options.numWorkers(workers);
        TCPStore tcpStore;
        if (rank == 0) {
            options.port((short) 0);
            tcpStore = kept(new TCPStore(addresses.getFirst(), options));
            byte[] _ =
                    announce.apply(Integer.toString(tcpStore.getPort() & 0xffff).getBytes(StandardCharsets.US_ASCII));
        } else {
            String port = new String(announce.apply(new byte[0]), StandardCharsets.US_ASCII);
            options.port((short) Integer.parseInt(port));
            tcpStore = kept(new TCPStore(addresses.getFirst(), options));
        }
        // One object of libtorch can take a store that Java made. Any number of objects can take the store inside a
        // PrefixStore.
        PrefixStore first = kept(new PrefixStore("", tcpStore));
        Store shared = kept(first.getUnderlyingStore());
        ProcessGroupGloo.Options glooOptions =
                kept(ProcessGroupGloo.Options.create(new Milliseconds(timeout.toMillis())));
        glooOptions.devices(new GlooDeviceVector(ProcessGroupGloo.createDeviceForHostname(addresses.get(rank))));
        glooOptions.threads(THREADS);
        PrefixStore own = kept(new PrefixStore("gloo", shared));
        ProcessGroupGloo group = NativeStdout.toStderr(() -> kept(new ProcessGroupGloo(own, rank, size, glooOptions)));
        return new GlooRendezvous(group, shared, List.of(tcpStore, first, shared, glooOptions, own, group));
    }

    /**
     * Closes the connections and the store, the youngest object first. No operation may be pending, on this rank or on
     * other ranks.
     */
    @Override
    public void close() {
        for (Pointer object : made.reversed()) {
            object.deallocate();
            KEPT.remove(object);
        }
    }

    /** Keeps {@code object} from the garbage collector and from an open PointerScope. */
    public static <P extends Pointer> P kept(P object) {
        object.retainReference();
        KEPT.add(object);
        return object;
    }
}
